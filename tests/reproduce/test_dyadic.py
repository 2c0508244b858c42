"""`hutch reproduce dyadic`, in small."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hutch.cli.commands import app
from hutch.core.errors import DataError
from hutch.reproduce import dyadic
from hutch.reproduce.dyadic import constant_error, read_ratings, sweep, tree_error
from hutch.reproduce.simulate import simulate_ratings


def write_ratings(path: Path) -> Path:
    random = np.random.default_rng(2)
    users, items = random.normal(size=(40, 2)), random.normal(size=(30, 2))
    lines = []
    for _ in range(2500):
        u, i = random.integers(40), random.integers(30)
        lines.append(f"u{u}\ti{i}\t{3 + users[u, 0] + users[u] @ items[i] + 0.1 * random.normal():.2f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_ratings_of_ones_own(tmp_path: Path) -> None:
    path = write_ratings(tmp_path / "ratings.tsv")
    result = CliRunner().invoke(app, ["reproduce", "dyadic", "--ratings", str(path), "--json"])
    assert result.exit_code == 0, result.output
    rmse = {name: row["rmse"] for name, row in json.loads(result.stdout).items()}
    assert rmse["dyadic rank 20, 40 passes"] < 0.5 * rmse["bias only, 40 passes"] < 0.6 * rmse["global mean"]


@pytest.mark.parametrize("bad", ["a\tb", "a\tb\tmany", "a b 3", "a\tb\tnan"])
def test_wrong_lines_are_named(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "ratings.tsv"
    path.write_text(f"a\tb\t3\n{bad}\n")
    with pytest.raises(DataError, match=r"ratings.tsv:2: got .*, wanted user TAB item TAB rating"):
        read_ratings(path)


def test_missing_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "dyadic", "--ratings", str(tmp_path / "none.tsv")])
    assert result.exit_code == 1


def test_ratings_have_no_plots(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "dyadic", "--ratings", "x", "--plots", str(tmp_path)])
    assert isinstance(result.exception, SystemExit) and not list(tmp_path.iterdir())


def test_ranks_and_rates_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dyadic, "_BITS", 17)
    ratings = simulate_ratings(tasks=600, raters=60, seed=1)
    train, test = ratings[300:], ratings[:300]
    errors = [tree_error(train, test, 5, rank=rank, learning_rate=0.5, l2=0.3, shift=0.0)[0] for rank in (0, 2)]
    assert max(errors) < 0.8 * constant_error(train, test)
    curves = sweep(train, test, rates=(0.1, 1.0, 1e4))
    assert None not in curves["aware"] and curves["gradient"][-1] is None
