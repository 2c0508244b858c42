import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hutch.reproduce.simulate import simulate_ratings

Run = Callable[..., Any]


@pytest.mark.slow
def test_quick_learners_beat_the_constant_under_both_names(hutch: Run) -> None:
    result = hutch("reproduce", "dyadic", "--quick", "--json")
    found = json.loads(result.out)
    former = hutch("demo", "--quick", "--json")
    assert json.loads(former.out)["losses"] == found["losses"]
    assert "this is `hutch reproduce dyadic --quick` now" in former.err
    losses = found["losses"]
    assert list(losses) == ["best constant", "linear", "dyadic, rank 1", "dyadic, rank 2", "dyadic, rank 3"]
    assert (found["train"], found["test"]) == (18_750, 1_250)
    assert abs(losses["best constant"] - 0.70) < 0.04
    assert 0.15 < losses["linear"] < 0.25
    assert min(loss for name, loss in losses.items() if "rank" in name) < losses["linear"] + 0.01


def test_the_table_and_the_files(hutch: Run, tmp_path: Path) -> None:
    result = hutch("reproduce", "dyadic", "--quick", "--seed", "3", "--write", tmp_path)
    assert len(re.findall(r"^(best constant|linear|dyadic, rank \d) +0\.\d{4}$", result.out, re.MULTILINE)) == 5
    ratings = simulate_ratings(tasks=4_000, raters=1_200, seed=3)
    assert (tmp_path / "test.vw").read_bytes() + (tmp_path / "train.vw").read_bytes() == ratings.examples()
    first = (tmp_path / "labels.tsv").read_text().splitlines()[0]
    assert re.fullmatch(r"r\d+\tt\d+\t[1-5]", first)


@pytest.mark.parametrize("more", [["--seed", "3"], ["--write", "data"], ["--quick", "--plots", "figures"]])
def test_options_that_do_not_go_together(hutch: Run, more: list[str]) -> None:
    result = hutch("reproduce", "dyadic", *more)
    assert result.code == 2 and "--quick" in result.err
