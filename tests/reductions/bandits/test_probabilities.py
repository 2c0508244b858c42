"""Arithmetic of distributions over actions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.kernel.cache import compiled
from hutch.reductions.bandits.probabilities import enforce_minimum, leaders, softmax, sort_by_probability
from hutch.reductions.bandits.random import draw_action

SCORES = st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=8)


@compiled
def _enforce(epsilon, zeros, values, scratch):
    enforce_minimum(epsilon, zeros, values, scratch)


@compiled
def _exponentials(rate, scores, out):
    softmax(rate, scores, out)


@compiled
def _count_leaders(scores):
    return leaders(scores)


@compiled
def _sort(ranked, values, scores):
    sort_by_probability(ranked, values, scores)


@compiled
def _draw(values, u):
    return draw_action(values, u)


def _minimum(epsilon, zeros, values):
    found = np.array(values, np.float32)
    _enforce(np.float32(epsilon), zeros, found, np.zeros_like(found))
    return found


def _softmax(rate, scores):
    found = np.zeros(len(scores), np.float32)
    _exponentials(np.float32(rate), np.array(scores, np.float32), found)
    return found


@settings(deadline=None)
@given(SCORES, st.floats(-3, 3, width=32))
def test_softmax_is_the_normalised_exponential(scores, rate):
    exact = np.exp(np.float64(rate) * np.array(scores))
    np.testing.assert_allclose(_softmax(rate, scores), exact / exact.sum(), rtol=1e-4, atol=1e-6)


@settings(deadline=None)
@given(SCORES, st.floats(0.015625, 1, width=32))
def test_minimum_is_the_nearest_distribution_with_that_least_probability(scores, epsilon):
    """The Euclidean projection: p - tau cut at the minimum, which the order of arithmetic leaves a distribution."""
    p = _softmax(1, scores)
    found = _minimum(epsilon, True, p)
    assert found.min() >= epsilon / len(p) * (1 - 1e-5)
    assert found.sum() == pytest.approx(1, abs=1e-5)
    assert (np.diff(found[np.argsort(p)]) >= -1e-6).all()


@pytest.mark.parametrize(
    ("epsilon", "zeros", "before", "after"),
    [
        (0, True, [0.7, 0.3, 0], [0.7, 0.3, 0]),
        (0.3, True, [1, 0, 0], [0.8, 0.1, 0.1]),
        (0.3, False, [1, 0, 0], [1, 0, 0]),
        (0.2, False, [0.95, 0.05, 0], [0.9, 0.1, 0]),
        (1, True, [0.7, 0.3, 0], [1 / 3, 1 / 3, 1 / 3]),
        (1, False, [0.7, 0.3, 0], [1 / 2, 1 / 2, 0]),
    ],
)
def test_minimum_by_example(epsilon, zeros, before, after):
    np.testing.assert_allclose(_minimum(epsilon, zeros, before), after, atol=1e-6)


@pytest.mark.parametrize(
    ("scores", "count"),
    [([0, 0, 1], 2), ([1, 1.0001, 1.0003, 5], 2), ([-1, -1, -0.9], 2), ([0, 1e-9], 1), ([3], 1)],
)
def test_leaders_are_those_within_a_share_of_their_size(scores, count):
    assert _count_leaders(np.array(scores, np.float32)) == count


def test_likelier_actions_come_first_and_equal_ones_by_score_then_number():
    ranked = np.array([0, 1, 2, 3], np.uint32)
    values = np.array([0.1, 0.4, 0.4, 0.1], np.float32)
    _sort(ranked, values, np.array([0, 2, 1, 0], np.float32))
    assert ranked.tolist() == [2, 1, 0, 3]
    np.testing.assert_array_equal(values, np.array([0.4, 0.4, 0.1, 0.1], np.float32))


@pytest.mark.parametrize(("u", "place"), [(0.0, 0), (0.19, 0), (0.21, 1), (0.999, 2)])
def test_drawn_by_running_sums(u, place):
    found, total = _draw(np.array([0.2, 0.3, 0.5], np.float32), np.float32(u))
    assert (found, total) == (place, pytest.approx(1))


@pytest.mark.parametrize(
    ("values", "u", "place", "after"),
    [([-1, 1, 1], 0.4, 1, [0, 1, 1]), ([-1, 1, 1], 0.6, 2, [0, 1, 1]), ([0, -2], 0.9, 0, [1, 0])],
)
def test_a_draw_takes_what_is_below_0_as_0(values, u, place, after):
    shares = np.array(values, np.float32)
    assert _draw(shares, np.float32(u)) == (place, sum(after))
    assert shares.tolist() == after
