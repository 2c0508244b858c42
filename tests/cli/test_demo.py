"""What `hutch demo` writes and shows: every command runs, and the first one beats what people do without it."""

import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hutch.chain import Chain
from hutch.demo.cli import KINDS

Run = Callable[..., Any]


def lines_of(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_commands_of_each_kind_run(hutch: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    made = json.loads(hutch("demo", kind, "--json").out)
    assert made["kind"] == kind and len(made["commands"]) >= 3
    assert all(Path(file).stat().st_size > 0 for file in made["files"])
    ran = 0
    for each in made["commands"]:
        words = shlex.split(each["command"])
        if words[0] == "hutch" and words[1] != "serve":
            result = hutch(*words[1:])
            assert not re.search("refused|cannot|wanted", result.err), result.err
            ran += 1
    assert ran >= 1


def test_without_a_kind_all_are_listed_and_the_first_runs(
    hutch: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = hutch("demo").out
    assert all(f"hutch demo {kind}" in out for kind in KINDS)
    said = float(re.search(r"^accuracy +(0\.\d+)$", out, re.MULTILINE)[1])  # type: ignore[index]
    truth = dict(lines_of(tmp_path / "demo-ratings" / "truth.csv"))
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for ticket, _, category in lines_of(tmp_path / "demo-ratings" / "labels.csv"):
        votes[ticket][category] += 1
    right = 0.0
    for ticket, counts in votes.items():
        best = [name for name, count in counts.items() if count == max(counts.values())]
        right += (truth[ticket] in best) / len(best)
    assert said > right / len(truth) + 0.05
    found = dict(
        line.split("\t")[:2] for line in (tmp_path / "demo-ratings" / "categories.tsv").read_text().splitlines()
    )
    assert sum(found[ticket] == category for ticket, category in truth.items()) / len(truth) == pytest.approx(
        said, abs=1e-4
    )


def test_a_file_that_somebody_changed_stays(hutch: Run, tmp_path: Path) -> None:
    hutch("demo", "vw", "--to", tmp_path)
    hutch("demo", "vw", "--to", tmp_path)  # the same files
    (tmp_path / "new.vw").write_text("mine")
    result = hutch("demo", "vw", "--to", tmp_path)
    assert result.code == 2 and "is there with another content, which stays" in result.err
    assert (tmp_path / "new.vw").read_text() == "mine"


def test_an_unknown_kind_is_refused_with_the_nearest(hutch: Run) -> None:
    result = hutch("demo", "judge")
    assert result.code == 2 and "no demonstration 'judge'; did you mean 'judges'?" in result.err


def test_the_service_answers_as_its_commands_say(hutch: Run, tmp_path: Path) -> None:
    made = json.loads(hutch("demo", "serve", "--to", tmp_path, "--json").out)
    learn, _, asked, told = (shlex.split(each["command"]) for each in made["commands"])
    hutch(*learn[1:])
    model = Chain.load(tmp_path / "triage.model")
    record = json.loads(asked[asked.index("-d") + 1])
    assert list(model.predict([record])) == ["billing"] or list(model.predict([record])) == [1]
    model.learn([json.loads(told[told.index("-d") + 1])])
