"""`hutch.judges` in Python: verdicts in frames or files, sections as frames."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hutch
from hutch.cli.dispatch import run
from hutch.core.errors import UsageError

pd = pytest.importorskip("pandas")


def logs(seed: int = 0) -> tuple[Any, Any]:
    """Verdicts of two judges on 300 answers, and people's on 80 of them."""
    random = np.random.default_rng(seed)
    truth = random.choice(["pass", "fail"], 300, p=[0.7, 0.3])
    rows = [
        {
            "judge": name,
            "answer_id": f"a{k}",
            "topic": "ab"[k % 2],
            "verdict": true if random.random() < right else "pass",
        }
        for name, right in (("large", 0.95), ("small", 0.5))
        for k, true in enumerate(truth)
    ]
    people = [{"reviewer": "ann", "answer_id": f"a{k}", "verdict": truth[k]} for k in random.permutation(300)[:80]]
    return pd.DataFrame(rows), pd.DataFrame(people)


@pytest.mark.slow
def test_frames_and_files_say_what_the_command_says(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    verdicts, people = logs()
    verdicts.to_csv(tmp_path / "v.csv", index=False)
    people.to_csv(tmp_path / "p.csv", index=False)
    files = hutch.judges(tmp_path / "v.csv", people=tmp_path / "p.csv", slices=["topic"])
    assert repr(files) == repr(hutch.judges(verdicts, people=people, slices=["topic"]))
    assert run(["judges", str(tmp_path / "v.csv"), "--people", str(tmp_path / "p.csv"), "--slice", "topic"]) == 0
    said = capfd.readouterr().out
    assert repr(files) in said
    assert files.verdict[0].startswith("large agrees with people on ")


def test_sections_are_frames() -> None:
    verdicts, people = logs()
    found = hutch.judges([verdicts], people=people, slices=["topic"])
    judged = found.to_frame()
    assert list(judged.index) == ["large", "small"]
    assert (judged.accuracy_low <= judged.accuracy).all() and (judged.accuracy <= judged.accuracy_high).all()
    assert len(found.to_frame("slices")) == 4
    with pytest.raises(UsageError, match="no section 'slice'; did you mean 'slices'"):
        found.to_frame("slice")


def test_without_people_it_says_what_is_missing() -> None:
    found = hutch.judges(logs()[0])
    assert found.verdict[0].startswith("Cannot tell how good the 2 judges are")
    pytest.importorskip("matplotlib")
    with pytest.raises(UsageError, match="no judge was compared with people"):
        found.plot()


def test_the_plot_names_the_judges() -> None:
    pytest.importorskip("matplotlib")
    verdicts, people = logs()
    figure = hutch.judges(verdicts, people=people).plot()
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["large", "small"]
