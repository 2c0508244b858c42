"""Commands that report: `-o` takes what they print, `--quiet` leaves out the rest, both mean the same everywhere."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hutch.cli.dispatch import run as dispatch

REPORTS = ("crowd", "judges", "estimate", "label", "label simulate", "active simulate", "active report", "evaluate")
Run = Callable[..., Any]


@pytest.fixture
def hutch(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in an empty folder with labels; its status and what it prints."""
    monkeypatch.chdir(tmp_path)
    rows = [f"w{w},t{t},{'yes' if (t + w) % 4 else 'no'}\n" for t in range(20) for w in range(3)]
    (tmp_path / "labels.csv").write_text("worker,task,label\n" + "".join(rows))

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = dispatch([*words])
        return code, *capfd.readouterr()

    return run


@pytest.mark.parametrize("command", [*REPORTS, "em fit", "inspect"])
def test_reports_have_both_options(hutch: Run, command: str) -> None:
    _, out, _ = hutch(*command.split(), "--help")
    assert re.search(r"^  -o, --output FILE ", out, re.M) and re.search(r"^  --quiet ", out, re.M)


def test_a_report_goes_to_a_file(hutch: Run) -> None:
    _, printed, _ = hutch("estimate", "labels.csv", "--of", "rate=yes", "--reference", "w0", "--json")
    words = ("estimate", "labels.csv", "--of", "rate=yes", "--reference", "w0", "--json", "-o", "found.json")
    code, out, err = hutch(*words)
    assert (code, out, err) == (0, "", "wrote found.json\n")
    assert Path("found.json").read_text() == printed and json.loads(printed)["labels"] == 20
    assert hutch(*words, "--quiet") == (0, "", "")
    assert hutch(*words[:-1], "-")[1] == printed


def test_predictions_to_standard_output_go_to_the_file_too(hutch: Run) -> None:
    _, printed, _ = hutch("crowd", "labels.csv", "-p", "-", "--quiet")
    code, out, _ = hutch("crowd", "labels.csv", "-p", "-", "--quiet", "-o", "all.tsv")
    assert (code, out) == (0, "") and Path("all.tsv").read_text() == printed


def test_nothing_is_written_over_what_is_read(hutch: Run) -> None:
    before = Path("labels.csv").read_text()
    code, _, err = hutch("crowd", "labels.csv", "-o", "labels.csv")
    assert code == 2 and err.startswith("labels.csv: cannot be written: this run reads it")
    code, _, err = hutch("crowd", "labels.csv", "-p", "p.tsv", "-o", "p.tsv")
    assert code == 2 and "p.tsv: cannot be written" in err
    assert Path("labels.csv").read_text() == before and not Path("p.tsv").exists()


def test_a_run_that_fails_leaves_the_old_file(hutch: Run) -> None:
    Path("found.txt").write_text("old\n")
    code, _, err = hutch(
        "estimate", "labels.csv", "--of", "rate=maybe", "--reference", "w0", "-o", "found.txt", "--quiet"
    )
    assert code == 2 and "maybe" in err
    assert Path("found.txt").read_text() == "old\n"
