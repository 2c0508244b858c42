"""The posterior of one number against sums over a fine grid, the implicit step and h_min against their equations."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.kernel.abi import SHARED
from hutch.core.kernel.cache import compiled
from hutch.core.loss.losses import BUILTIN_LOSSES
from hutch.core.loss.tilted import implicit_step, importance_for, loss_at, posterior, slope_at

SHARED_RECORD = np.zeros(1, SHARED)
LOSSES = {loss.name: loss for loss in BUILTIN_LOSSES}
LABELS = {"hinge": -1.0, "logistic": 1.0, "poisson": 3.0}
SMOOTH = ("squared", "logistic", "expectile", "poisson")


@cache
def record(name):
    """The record of a loss; made by a test, for it compiles the loss."""
    return LOSSES[name].record(SHARED_RECORD)


@compiled
def call(which, p, q, h, y, loss):
    if which == 0:
        return posterior(p, q, h, y, loss)
    if which == 1:
        return implicit_step(p, q * h, y, loss), 0.0
    if which == 2:
        return importance_for(p, q, h, y, loss), 0.0
    return loss_at(p, y, loss), slope_at(p, y, loss)


@compiled
def losses_of(points, y, loss, found):
    for k in range(len(points)):
        found[k] = loss_at(points[k], y, loss)


def run(which, name, p, q, h, y=None):
    label = LABELS.get(name, 0.5) if y is None else y
    return call(which, float(p), float(q), float(h), float(label), np.uint64(record(name).ctypes.data))


def on_a_grid(name, p, q, h):
    """Mean and added precision by 20,000 points."""
    t = np.linspace(p - 12 * math.sqrt(q) - 4, p + 12 * math.sqrt(q) + 4, 20_001)
    losses = np.empty(len(t))
    losses_of(t, LABELS.get(name, 0.5), np.uint64(record(name).ctypes.data), losses)
    log = -((t - p) ** 2) / (2 * q) - h * losses
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    mean = weights @ t
    return mean, 1 / (weights @ (t - mean) ** 2) - 1 / q


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize(("p", "q", "h"), [(0.0, 1.0, 1.0), (-2.0, 4.0, 1.0), (1.5, 0.3, 5.0), (0.4, 6.0, 0.5)])
def test_moments_are_those_of_a_grid(name, p, q, h):
    mean, added = run(0, name, p, q, h)
    wanted, precision = on_a_grid(name, p, q, h)
    assert mean == pytest.approx(wanted, abs=0.02 * math.sqrt(q))
    assert 1 / (1 / q + added) == pytest.approx(1 / (1 / q + precision), rel=0.05)


@pytest.mark.parametrize("name", ["hinge", "quantile"])
@pytest.mark.parametrize(("p", "q", "h"), [(0.0, 1.0, 1.0), (-2.0, 4.0, 1.0), (0.4, 0.3, 5.0)])
def test_moments_about_a_kink_are_near_those_of_a_grid(name, p, q, h):
    mean, added = run(0, name, p, q, h)
    wanted, precision = on_a_grid(name, p, q, h)
    assert mean == pytest.approx(wanted, abs=0.1 * math.sqrt(q))
    assert 1 / (1 / q + added) == pytest.approx(1 / (1 / q + precision), rel=0.4)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(sorted(LOSSES)),
    p=st.floats(-20, 20),
    exponent=st.floats(-8, 12),
)
def test_an_implicit_step_solves_its_equation_or_ends_at_the_optimum(name, p, exponent):
    reach = 10**exponent
    end = run(1, name, p, reach, 1.0)[0]
    before, after = (run(3, name, at, 1, 1)[1] for at in (p, end))
    assert math.isfinite(end)
    assert (end - p) * before <= 0
    nudge = 1e-7 * (1 + abs(end))
    lower, upper = (run(3, name, end + side * nudge, 1, 1)[1] for side in (-1, 1))
    residuals = [end + side * nudge - p + reach * slope for side, slope in ((-1, lower), (1, upper))]
    solved = abs(end - p + reach * after) <= 1e-6 * (abs(p) + abs(end) + 1e-3)
    assert solved or residuals[0] <= 0 <= residuals[1]


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(SMOOTH),
    p=st.floats(-4, 4),
    q=st.floats(0.01, 30),
    share=st.floats(0.05, 0.9),
)
def test_h_min_is_the_importance_that_gets_there(name, p, q, share):
    far = run(0, name, p, q, 50.0)[0]
    target = p + share * (far - p)
    if abs(target - p) < 1e-3:
        return
    h = run(2, name, p, q, target)[0]
    assert run(0, name, p, q, h)[0] == pytest.approx(target, abs=2e-3 * (1 + abs(target - p)))
    assert run(2, name, p, q, p - (far - p))[0] == math.inf


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("h", [1e-20, 1e-3, 1e10, 1e30])
@pytest.mark.parametrize("q", [1e-30, 1.0, 1e40])
def test_nothing_overflows(name, h, q):
    mean, added = run(0, name, 0.3, q, h)
    assert math.isfinite(mean)
    assert added >= 0
    assert not math.isnan(run(2, name, 0.3, q, 0.2)[0])
