"""Each row of the progress table is a line of the file."""

import json

from hutch import Chain


def test_progress_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("HUTCH_MINE", str(tmp_path / "log"))
    Chain.from_config({"chain": ["linear"]}).learn(["1 |f a"] * 8, on_progress=lambda event: None)
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [row["examples"] for row in rows] == [1, 2, 4, 8]
