"""`baseline` against gradient descent in NumPy, the constant first and all others on top of it."""

import random

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.baseline import Baseline

PLAIN = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": 0.05}


def rows(count=60):
    draw = random.Random(4)
    for _ in range(count):
        x = [draw.choice((0.0, 1.0, -0.5)) for _ in range(3)]
        yield 2.0 + x[0] - x[1] + draw.gauss(0, 0.1), x


def text(y, x):
    return f"{y!r} |f " + " ".join(f"{k}:{value!r}" for k, value in enumerate(x))


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("multiplier", [1.0, 3.0, 0.0])
def test_the_constant_learns_alone_and_the_others_on_top(own, multiplier):
    layer = {"baseline": {"multiplier": multiplier, "global_only": own}}
    chain = Chain.from_config({"chain": [layer, {"linear": PLAIN}]})
    weights, constant, rate, low, high = np.zeros(4), 0.0, PLAIN["learning_rate"], 0.0, 0.0
    for y, x in rows():
        features = np.array([*x, 1.0 if own else 0.0])
        [got] = chain.learn(text(y, x))
        below = np.clip(constant, low, high) if own else constant
        assert got == pytest.approx(np.clip(below + weights @ features, low, high), rel=2e-4, abs=2e-4)
        low, high = min(low, y), max(high, y)
        below = np.clip(constant, low, high)
        above = np.clip(below + weights @ features, low, high)
        constant += 2 * rate * (multiplier or max(-low, high)) * (y - below)
        weights += 2 * rate * (y - above) * features


def test_examples_without_a_constant_and_with_an_offset():
    chain = Chain.from_config({"input": {"constant": False}, "chain": ["baseline", {"linear": PLAIN}]})
    plain = Chain.from_config({"input": {"constant": False}, "chain": [{"linear": PLAIN}]})
    lines = [text(y, x) for y, x in rows()]
    assert chain.learn(lines).tolist() == plain.learn(lines).tolist()
    found = Chain.from_config({"chain": ["baseline", {"linear": {"min_prediction": -9, "max_prediction": 9}}]})
    found.learn("1 1 0.5 |f a")
    assert found.predict(["0 1 2 |f b", "|f b"]).tolist() == pytest.approx(
        [2 + found.predict("|f b")[0]] + [found.predict("|f b")[0]]
    )


def test_a_multiplier_needs_a_rate():
    with pytest.raises(ConfigError, match="baseline.multiplier: got 2, but 'coin_betting' has no rate"):
        Chain.from_config({"chain": [{"baseline": {"multiplier": 2}}, "coin_betting"]})
    Chain.from_config({"chain": ["baseline", "coin_betting"]}).learn("1 |f a")


@pytest.mark.slow
def test_contract():
    for check in checks_of_reduction(Baseline, {"multiplier": 2.0, "global_only": True}):
        check()


@pytest.mark.parametrize("global_only", [False, True])
def test_labels_are_asked_for_by_the_sensitivity_of_both(global_only):
    """With plain steps the constant moves by the rate, and the rest by the rate times the sum of its squares."""
    linear = {"linear": {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0}}
    layers = [{"active": {"rule": "vw", "mellowness": 0.02, "simulation": False}}]
    layers += [{"baseline": {"global_only": global_only}}, linear]
    chain = Chain.from_config({"chain": layers, "weights": {"bits": 10}})
    chain.learn(["1 |a x:2", "-1 |a y:3", "1 |a x:2 z"])
    before = chain.weights.copy()
    scores = chain.layers[0].trace(20)
    chain.predict(["|a x:1 z:2"] * 20)
    np.testing.assert_array_equal(chain.weights, before)
    rate, squares = 0.5, 1 + (6 if global_only else 5)
    prediction = float(chain.predict(["|a x:1 z:2"])[0])
    assert scores["score"][0] == pytest.approx(abs(prediction) / (rate * squares), rel=1e-5)
