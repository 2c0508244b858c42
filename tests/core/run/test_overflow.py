"""Runs that end where a number grows beyond float32, and say which and why."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from hutch.cli.dispatch import run

LARGE_LABELS = "1e30 | a:0.5 b:1\n-1e30 | a:0.25 b:1\n" * 20
_random = np.random.default_rng(1)
ORDINARY = "".join(
    f"{label:.6g} {importance} | a:{a:.4f} b:{b:.4f} c:{c:.4f}\n"
    for label, importance, (a, b, c) in zip(
        _random.uniform(0, 1e4, 300), _random.integers(1, 4, 300), _random.uniform(-1, 1, (300, 3)), strict=True
    )
)


@pytest.mark.parametrize(
    ("layer", "text", "wanted"),
    [
        (
            "pistol",
            ORDINARY,
            r"example \d+: the score is nan: weights, or .*; scale features, labels and importances down$",
        ),
        (
            "coin_betting",
            LARGE_LABELS,
            r"example 1: label 1e\+30, prediction 0: the loss is beyond float32; scale .* down$",
        ),
        (
            "bayesian_linear: {dimension: 8, features: named}",
            LARGE_LABELS,
            r"example \d: label .*: the loss is beyond",
        ),
        ("linear", LARGE_LABELS, r"example 1: .* importances down, or lower the learning rate$"),
    ],
)
def test_numbers_beyond_float32_end_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], layer: str, text: str, wanted: str
) -> None:
    (tmp_path / "a.vw").write_text(text)
    (tmp_path / "chain.yaml").write_text(f"chain:\n- {layer}\n")
    model = tmp_path / "a.model"
    assert run(["train", str(tmp_path / "a.vw"), "-C", str(tmp_path / "chain.yaml"), "--quiet", "-f", str(model)]) == 1
    captured = capsys.readouterr()
    assert re.search(wanted, captured.err.strip()), captured.err
    assert not model.exists()


def test_finite_runs_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("1 | a:1\n-1 | a:-1\n| a:1\n" * 30)
    for layer in ("pistol", "coin_betting", "linear"):
        (tmp_path / "chain.yaml").write_text(f"chain: [{layer}]\n")
        assert run(["train", str(tmp_path / "a.vw"), "-C", str(tmp_path / "chain.yaml"), "--quiet"]) == 0


@pytest.mark.parametrize("dynamics", ["fast", "exact"])
def test_a_far_prediction_has_a_finite_logistic_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], dynamics: str
) -> None:
    (tmp_path / "a.vw").write_text("1 |u ann |t good\n" * 100 + "-1 |u ann |t good:400\n")
    layer = f"{{left: u, right: t, loss: logistic, dynamics: {dynamics}}}"
    (tmp_path / "chain.yaml").write_text(f"chain: [dyadic: {layer}]\n")
    out = tmp_path / "predictions"
    command = ["train", str(tmp_path / "a.vw"), "-C", str(tmp_path / "chain.yaml"), "--quiet", "--json", "-p", str(out)]
    assert run(command) == 0
    predictions = [float(line) for line in out.read_text().split()]
    assert predictions[-1] > 100  # e to it is beyond float32
    losses = [math.log1p(math.exp(-p)) for p in predictions[:-1]] + [predictions[-1]]
    assert json.loads(capsys.readouterr().out)["average_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
