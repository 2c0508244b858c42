"""Nat-oEM above `ppca`: against the learners of `hutch.em`, boundaries from everywhere, resuming, refusals."""

from functools import cache

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.em.constrained.natural import Sketch, merged
from hutch.em.constrained.natural_class import ClassPPCA
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.nat_oem import NatOEMLayer

LENGTHS = (80, 103, 57, 60)
CLASSES = np.repeat(range(4), LENGTHS)
BELOW = [{"ppca": {"namespace": "p", "dimension": 12, "rank": 3}}, "linear"]


def make_rows(seed=0):
    random = np.random.default_rng(seed)
    parts = [
        random.normal(size=(n, 3)) @ random.normal(size=(3, 12))
        + 2 * random.normal(size=12)
        + 0.1 * random.normal(size=(n, 12))
        for n in LENGTHS
    ]
    return np.concatenate(parts).round(4)


def lines_of(rows, labels=None, blank=True):
    lines = []
    for i, row in enumerate(rows):
        if blank and i and CLASSES[i] != CLASSES[i - 1]:
            lines.append("")
        label = (-1) ** i if labels is None else labels[i]
        lines.append(f"{label} |c {chr(97 + CLASSES[i])} |p " + " ".join(f"{j}:{x:g}" for j, x in enumerate(row)))
    return lines


def build(nat_oem=None, **ppca):
    above = [] if nat_oem is None else [{"nat_oem": nat_oem}]
    below = [{"ppca": {**BELOW[0]["ppca"], **ppca}}, "linear"]
    return Chain.from_config({"weights": {"bits": 16}, "chain": [*above, *below]})


def learned(nat_oem, lines):
    chain = build(nat_oem)
    chain.learn(lines)
    return chain, next(layer for layer in chain.layers if layer.name == "ppca").model


ROWS = make_rows()
LINES = lines_of(ROWS)


@cache
def parsed() -> np.ndarray:
    """The rows as the parser reads them."""
    batch = next(iter(build().batches(LINES)))
    return batch.values.reshape(len(ROWS), -1)[:, 1:13].astype(float)


def blocks():
    """Blocks as the layer learns them, the last left waiting, with whether a class ends behind."""
    for k in range(4):
        rows = parsed()[CLASSES == k]
        rows = rows[:50] if k == 3 else rows
        if k == 0:
            yield rows[:20], False
            rows = rows[20:]
        for first in range(0, len(rows), 10):
            yield rows[first : first + 10], k < 3 and first + 10 >= len(rows)


def assert_same_model(got, wanted):
    np.testing.assert_allclose(got.mean, wanted.mean, atol=1e-10)
    np.testing.assert_allclose(got.noise, wanted.noise, rtol=1e-10)
    np.testing.assert_allclose(got.loadings.T @ got.loadings, wanted.loadings.T @ wanted.loadings, atol=1e-10)


@pytest.mark.parametrize(
    "check",
    checks_of_reduction(
        NatOEMLayer, below=[{"ppca": {"namespace": "words", "dimension": 32, "features": "hashed"}}, "linear"]
    ),
    ids=str,
)
def test_contract(check):
    check()


def test_classes_by_count_are_those_of_the_learner():
    chain, model = learned({}, LINES)
    learner = ClassPPCA(parsed()[:20], 3, block=20)
    for block, ends in blocks():
        learner.learn(block)
        if ends:
            learner.boundary()
    assert chain.layers[0].boundaries == 3
    assert_same_model(model, learner.parameters)


def test_an_anchor_of_fixed_weight_is_merged_with_statistics_that_go_on():
    _, model = learned({"beta": 0.7}, LINES)
    current, anchor, seen = Sketch.of(parsed()[:20], 3), None, 0
    for block, ends in blocks():
        current.absorb(block, seen + 1)
        seen += len(block)
        report = current if anchor is None else merged(anchor, current, 0.7, 1.0)
        if ends:
            anchor = report.copy()
    assert_same_model(model, report.parameters())


def test_a_step_anchor_shortens_steps():
    _, model = learned({"mode": "step", "beta": 3.0}, LINES)
    sketch, seen = Sketch.of(parsed()[:20], 3), 0
    for first, stop in [(0, 20), *((i, i + 10) for i in range(20, 290, 10))]:
        step = (stop - first) / (seen + stop - first + 1) / (1 + 3.0)
        sketch.absorb(parsed()[first:stop], (stop - first) * (1 - step) / step)
        seen = stop
    assert_same_model(model, sketch.parameters())


def test_without_weight_it_changes_nothing():
    _, free = learned(None, LINES)
    _, held = learned({"mode": "step", "beta": 0.0}, LINES)
    _, strong = learned({"mode": "step", "beta": 100.0}, LINES)
    for name in ("mean", "loadings", "noise"):
        np.testing.assert_array_equal(getattr(held, name), getattr(free, name))
    assert np.abs(strong.mean - free.mean).max() > 0.1


@pytest.mark.parametrize(
    ("nat_oem", "lines"),
    [
        ({"boundary": "label"}, lines_of(ROWS, CLASSES, blank=False)),
        ({"boundary": "namespace", "namespace": "c"}, lines_of(ROWS, blank=False)),
    ],
)
def test_boundaries_from_elsewhere_are_the_same(nat_oem, lines):
    _, wanted = learned({}, LINES)
    chain, model = learned(nat_oem, lines)
    assert chain.layers[0].boundaries == 3
    assert_same_model(model, wanted)


def test_drift_is_found():
    chain, _ = learned({"boundary": "drift"}, lines_of(ROWS, blank=False))
    assert chain.layers[0].boundaries == 3


def test_a_row_is_one_sample_of_drift_however_many_sub_models_learn_it():
    nat_oem, lines = {"boundary": "drift"}, lines_of(ROWS, [1 + i % 3 for i in range(len(ROWS))], blank=False)
    many = Chain.from_config(
        {"weights": {"bits": 16}, "chain": [{"one_against_all": {"classes": 3}}, {"nat_oem": nat_oem}, *BELOW]}
    )
    many.learn(lines)
    one, _ = learned(nat_oem, lines)
    for name, array in one.layers[0].saved().items():
        np.testing.assert_array_equal(many.layers[1].saved()[name], array, err_msg=name)


@pytest.mark.parametrize("nat_oem", [{}, {"beta": 0.5}, {"boundary": "drift"}, {"mode": "step"}], ids=str)
@pytest.mark.parametrize("cut", [7, 85, 250])
def test_resuming_is_exact(nat_oem, cut, tmp_path):
    lines = lines_of(ROWS, blank=False)
    blocks_from = [{"boundary": "namespace", "namespace": "c"}, {}]["boundary" in nat_oem or "mode" in nat_oem]
    parameters = {**blocks_from, **nat_oem}
    whole, first = build(parameters), build(parameters)
    whole.learn(lines)
    first.learn(lines[:cut])
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    second.learn(lines[cut:])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name], err_msg=name)


@pytest.mark.parametrize(
    ("nat_oem", "message"),
    [
        ({"form": "literal"}, "unknown key"),
        ({"mode": "step", "boundary": "group"}, "mode 'step' has no use for boundaries"),
        ({"boundary": "namespace"}, "got one without the other"),
        ({"namespace": "c"}, "got one without the other"),
        ({"beta": -1}, "beta"),
    ],
)
def test_parameters_are_checked(nat_oem, message):
    with pytest.raises(ConfigError, match=message):
        build(nat_oem)


@pytest.mark.parametrize("below", [["linear"], [{"one_against_all": {"classes": 2}}, *BELOW]])
def test_it_stands_directly_above_statistics(below):
    name = below[0] if isinstance(below[0], str) else next(iter(below[0]))
    with pytest.raises(ConfigError, match=f"nat_oem needs .* which '{name}' lacks; wanted one such as 'ppca'"):
        Chain.from_config({"chain": [{"nat_oem": {}}, *below]})


@pytest.mark.parametrize("nat_oem", [None, {}], ids=str)
@pytest.mark.parametrize(
    "rows",
    [ROWS[:120] + 1e6, np.ones((120, 12)), ROWS[:120] * np.r_[0, np.ones(11)], ROWS[:1], ROWS[:25]],
    ids=["offset", "constant", "constant column", "one row", "few rows"],
)
@pytest.mark.parametrize("rank", [2, 15])
def test_the_model_stays_valid(nat_oem, rows, rank):
    warm_up = 1 if len(rows) < 20 else 20
    chain = build(nat_oem, rank=rank, warm_up=warm_up)
    chain.learn([f"1 |p {' '.join(f'{j}:{x:.9g}' for j, x in enumerate(row))}" for row in [*rows, rows[0]]])
    layer = chain.layers[-2]
    assert layer.samples > 0
    assert 0 < layer.model.noise < np.inf and np.isfinite(layer.model.loadings).all()
    assert np.isfinite(chain.weights[:, 0]).all()  # the others are sums and rates of the linear learner
