"""Classes that `ppca` finds by itself, against `hutch.em`."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.em.constrained.natural_class import ClassPPCA
from hutch.em.ppca.model import PPCAParameters
from hutch.plugins.checks import checks_of_reduction
from hutch.plugins.checks.run import Check
from hutch.reductions.ppca.layer import PPCALayer

LENGTHS = (80, 103, 57, 60)
CLASSES = np.repeat(range(4), LENGTHS)
WORDS = {"namespace": "words", "dimension": 32, "features": "hashed"}


def make_rows(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    parts = [
        random.normal(size=(n, 3)) @ random.normal(size=(3, 12))
        + 2 * random.normal(size=12)
        + 0.1 * random.normal(size=(n, 12))
        for n in LENGTHS
    ]
    return np.concatenate(parts).round(4)


def lines_of(rows: np.ndarray, labels: Any = None, blank: bool = True) -> list[str]:
    lines = []
    for i, row in enumerate(rows):
        if blank and i and CLASSES[i] != CLASSES[i - 1]:
            lines.append("")
        label = (-1) ** i if labels is None else labels[i]
        lines.append(f"{label} |c {chr(97 + CLASSES[i])} |p " + " ".join(f"{j}:{x:g}" for j, x in enumerate(row)))
    return lines


def build(ppca: dict[str, Any], nat_oem: dict[str, Any] | None = None) -> Chain:
    above = [] if nat_oem is None else [{"nat_oem": nat_oem}]
    layer = {"ppca": {"namespace": "p", "dimension": 12, "rank": 3, **ppca}}
    return Chain.from_config({"weights": {"bits": 16}, "chain": [*above, layer, "linear"]})


def layer_of(chain: Chain) -> Any:
    return next(layer for layer in chain.layers if isinstance(layer, PPCALayer))


ROWS = make_rows()
LINES = lines_of(ROWS)


@cache
def parsed() -> np.ndarray:
    """The rows as the parser reads them."""
    batch = next(iter(build({}).batches(LINES)))
    return batch.values.reshape(len(ROWS), -1)[:, 1:13].astype(float)


def blocks() -> list[tuple[np.ndarray, bool]]:
    """Blocks as the layer learns them, the last left waiting, with whether a class ends behind."""
    found = []
    for k in range(4):
        rows = parsed()[CLASSES == k]
        rows = rows[:50] if k == 3 else rows
        if k == 0:
            found.append((rows[:20], False))
            rows = rows[20:]
        for first in range(0, len(rows), 10):
            found.append((rows[first : first + 10], k < 3 and first + 10 >= len(rows)))
    return found


def assert_same_model(got: PPCAParameters, wanted: PPCAParameters) -> None:
    np.testing.assert_allclose(got.mean, wanted.mean, atol=1e-9)
    np.testing.assert_allclose(got.noise, wanted.noise, rtol=1e-9)
    np.testing.assert_allclose(got.loadings.T @ got.loadings, wanted.loadings.T @ wanted.loadings, atol=1e-9)


@pytest.mark.parametrize("check", checks_of_reduction(PPCALayer, {**WORDS, "mode": "class"}), ids=str)
def test_contract(check: Check) -> None:
    check()


@pytest.mark.parametrize(("past", "balanced"), [(1.0, False), (0.35, False), (1.0, True), (0.5, True)])
def test_classes_are_those_of_the_learner(past: float, balanced: bool) -> None:
    chain = build({"mode": "class", "past": past, "balanced": balanced})
    chain.learn(LINES)
    learner = ClassPPCA(parsed()[:20], 3, block=20, past=past, balanced=balanced)
    for block, ends in blocks():
        learner.learn(block)
        if ends:
            learner.boundary()
    assert layer_of(chain).boundaries == 3
    assert_same_model(layer_of(chain).model, learner.parameters)


@pytest.mark.parametrize(
    ("ppca", "lines"),
    [
        ({"boundary": "label"}, lines_of(ROWS, CLASSES, blank=False)),
        ({"boundary": "namespace", "class_namespace": "c"}, lines_of(ROWS, blank=False)),
    ],
)
def test_boundaries_from_elsewhere_are_the_same(ppca: dict[str, Any], lines: list[str]) -> None:
    wanted, chain = build({"mode": "class"}), build({"mode": "class", **ppca})
    wanted.learn(LINES)
    chain.learn(lines)
    assert layer_of(chain).boundaries == 3
    assert_same_model(layer_of(chain).model, layer_of(wanted).model)


def test_drift_is_found() -> None:
    chain = build({"mode": "class", "boundary": "drift"})
    chain.learn(lines_of(ROWS, blank=False))
    assert layer_of(chain).boundaries == 3


@pytest.mark.parametrize(
    "ppca",
    [
        {"boundary": "label"},
        {"boundary": "drift", "past": 0.5},
        {"balanced": True, "boundary": "namespace", "class_namespace": "c"},
    ],
    ids=str,
)
@pytest.mark.parametrize("cut", [7, 85, 250])
def test_resuming_is_exact(ppca: dict[str, Any], cut: int, tmp_path: Path) -> None:
    lines = lines_of(ROWS, CLASSES, blank=False)
    whole, first = (build({"mode": "class", **ppca}) for _ in range(2))
    whole.learn(lines)
    first.learn(lines[:cut])
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    second.learn(lines[cut:])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


@pytest.mark.parametrize("mode", ["step", "class"])
@pytest.mark.parametrize(
    "rows",
    [ROWS[:120] + 1e6, np.ones((120, 12)), ROWS[:120] * np.r_[0, np.ones(11)], ROWS[:1], ROWS[:25]],
    ids=["offset", "constant", "constant column", "one row", "few rows"],
)
@pytest.mark.parametrize("rank", [2, 15])
def test_the_model_stays_valid(mode: str, rows: np.ndarray, rank: int) -> None:
    chain = build({"mode": mode, "rank": rank, "warm_up": 1 if len(rows) < 20 else 20})
    chain.learn([f"1 |p {' '.join(f'{j}:{x:.9g}' for j, x in enumerate(row))}" for row in [*rows, rows[0]]])
    model = layer_of(chain).model
    assert layer_of(chain).samples > 0
    assert 0 < model.noise < np.inf and np.isfinite(model.loadings).all()
    assert np.isfinite(chain.weights[:, 0]).all()  # the others are sums and rates of the linear learner


@pytest.mark.parametrize(
    ("ppca", "nat_oem", "message"),
    [
        ({"boundary": "label"}, None, "boundary: mode 'step' has no use for it"),
        ({"past": 0.5}, None, "past: mode 'step' has no use for it"),
        ({"balanced": True}, None, "balanced: mode 'step' has no use for it"),
        ({"mode": "class", "boundary": "namespace"}, None, "class_namespace: belongs to boundary"),
        ({"mode": "class"}, {}, "class needs no nat_oem"),
    ],
)
def test_parameters_are_checked(ppca: dict[str, Any], nat_oem: dict[str, Any] | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(ppca, nat_oem)
