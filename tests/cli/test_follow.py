"""`hutch crowd --follow`: a line whenever the verdict of a task changes."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.crowd.live import LiveCrowd


def labels(tasks: int = 80, seed: int = 0) -> list[tuple[str, str, str]]:
    """Labels of four workers of three classes, in any order."""
    random = np.random.default_rng(seed)
    rows = [
        (worker, f"t{task}", f"c{task % 3 if random.random() < right else random.integers(3)}")
        for worker, right in (("ann", 0.95), ("bob", 0.9), ("cy", 0.8), ("dee", 0.4))
        for task in range(tasks)
    ]
    return [rows[k] for k in random.permutation(len(rows))]


def typed(text: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()))


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text("reviewer,ticket,category\n" + "".join(",".join(row) + "\n" for row in labels()))
    return path


def test_the_last_line_of_each_task_is_its_verdict(stream: Path, tmp_path: Path, hutch: Callable[..., Any]) -> None:
    said = hutch("crowd", stream, "--follow", "-f", tmp_path / "live.model", "--json")
    assert said.code == 0
    assert said.err.splitlines()[-1].startswith("320 labels of 80 tasks; ") and "wrote " in said.err
    found = [json.loads(line) for line in said.out.splitlines()]
    last = {row["task"]: row for row in found}
    assert len(last) == 80 and len(found) < 320
    assert sum(row["label"] == f"c{int(task[1:]) % 3}" for task, row in last.items()) > 70
    crowd = LiveCrowd()
    for worker, task, label in labels():
        crowd.update(worker, task, label)
    again = LiveCrowd.load(tmp_path / "live.model")
    assert again.posterior("t5") == crowd.posterior("t5")
    told = dict[str, Any]()
    for row in found:  # each line says something new
        before = told.get(row["task"])
        new = before is None or row["label"] != before["label"] or row["state"] != before["state"]
        assert new or abs(row["confidence"] - before["confidence"]) >= 0.0999
        told[row["task"]] = row


def test_cut_into_files_it_says_the_same(stream: Path, tmp_path: Path, hutch: Callable[..., Any]) -> None:
    whole = hutch("crowd", stream, "--follow", "-f", tmp_path / "whole", "--quiet", "--classes", "c0,c1,c2")
    head, *rows = stream.read_text().splitlines(keepends=True)
    for name, part, more in (("a", rows[:150], []), ("b", rows[150:], ["-i", tmp_path / "part"])):
        (tmp_path / name).write_text(head + "".join(part))
        more = more or ["--classes", "c0,c1,c2"]
        assert hutch("crowd", tmp_path / name, "--follow", "-f", tmp_path / "part", "--quiet", *more).code == 0
    assert whole.code == 0
    one, other = LiveCrowd.load(tmp_path / "whole"), LiveCrowd.load(tmp_path / "part")
    assert [one.posterior(f"t{k}") for k in range(80)] == [other.posterior(f"t{k}") for k in range(80)]


def test_lines_that_are_not_labels(monkeypatch: pytest.MonkeyPatch, hutch: Callable[..., Any]) -> None:
    text = "ann\tt1\tcat\n\nbob\tt1\tdog\ncy\tt1\tunsure\ncy\tt1\n\nann\tt2\t\nann\tt2\tdog\n"
    monkeypatch.setattr(sys, "stdin", typed(text))
    said = hutch("crowd", "-", "--follow")
    assert said.code == 0 and "-:5: got no worker, task and label: left out" in said.err
    assert said.err.splitlines()[-1] == "3 labels of 2 tasks; 0 settled; 1 line left out"


def test_a_label_is_corrected_and_withdrawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hutch: Callable[..., Any]
) -> None:
    rows = labels()
    text = "".join("\t".join(row) + "\n" for row in rows)
    monkeypatch.setattr(sys, "stdin", typed(f"{text}ann\tt1\tc2\nbob\tt1\t\ncy\tt1\tnot sure\nzoe\tt1\t\n"))
    said = hutch("crowd", "-", "--follow", "--json", "-f", tmp_path / "m")
    assert said.code == 0 and said.err.splitlines()[-1].startswith("318 labels of 80 tasks; ")
    last = [json.loads(line) for line in said.out.splitlines() if '"t1"' in line][-1]
    assert (last["task"], last["label"], last["labels"]) == ("t1", "c2", 2)
    crowd = LiveCrowd.load(tmp_path / "m")
    with pytest.raises(UsageError, match="withdraw: got worker 'bob' and task 't1', which have no label"):
        crowd.withdraw("bob", "t1")


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("a,b\n1,2\n", [], "-:1:1: got a, b; wanted worker, task and label"),
        ("who,what,that,label\n", [], "-:1:1: got who, what, that, label; wanted"),
        ("a,b,c\n1,2,3\n", ["--columns", "worker=x"], "-:1:1: no column 'x'; got a, b, c"),
        ("a,b,c\n", ["--stream"], "--stream: cannot be combined with --follow"),
        ("a,b,c\n", ["-p", "out.tsv"], "--predictions: cannot be combined with --follow"),
    ],
)
def test_what_is_refused(
    monkeypatch: pytest.MonkeyPatch, hutch: Callable[..., Any], text: str, more: list[str], message: str
) -> None:
    monkeypatch.setattr(sys, "stdin", typed(text))
    said = hutch("crowd", "-", "--follow", *more)
    assert said.code in (1, 2) and message in said.err and not said.out


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08\x00\xff\xfe", bytes(range(128, 256)), b"a,b,caf\xe9\n"])
def test_what_is_no_text_is_refused(content: bytes, tmp_path: Path, hutch: Callable[..., Any]) -> None:
    (tmp_path / "x").write_bytes(content)
    said = hutch("crowd", tmp_path / "x", "--follow")
    assert said.code == 1 and ":1: got bytes that are no text, wanted lines in UTF-8" in said.err


def test_other_encodings_and_classes_that_are_not_named(tmp_path: Path, hutch: Callable[..., Any]) -> None:
    (tmp_path / "x").write_bytes("ann;t1;caf\xe9\nbob;t1;tea\ncy;t1;caf\xe9\n".encode("cp1252"))
    said = hutch("crowd", tmp_path / "x", "--follow", "--encoding", "cp1252", "--classes", "caf\xe9,milk", "--json")
    assert said.code == 0 and json.loads(said.out.splitlines()[-1])["label"] == "caf\xe9"
    assert ":2: got the label 'tea', wanted one of --classes" in said.err
    assert said.err.splitlines()[-1].startswith("2 labels of 1 task; ") and "1 line left out" in said.err
