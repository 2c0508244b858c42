"""The posterior of several scores against an optimiser; its limits; the importance that puts a class ahead."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from hutch.core.kernel.cache import compiled
from hutch.core.loss.tilted_softmax import ROOM, importance_to_lead, nearest_rival, scores_after


@compiled
def call(rival, p, q, shares, importance, after, added, room):
    if rival < 0:
        scores_after(p, q, shares, importance, after, added, room)
        return 0.0, 0
    if importance > 0.0:
        return importance_to_lead(p, q, rival, importance, shares, after, added, room), rival
    found, guess = nearest_rival(p, q, rival)
    return guess, found


def posterior(p, q, label, importance=1.0):
    """Means and added precisions; a label is a class or a share of each."""
    p, q = np.array(p, float), np.array(q, float)
    shares = np.eye(len(p))[label] if np.ndim(label) == 0 else np.array(label, float)
    after, added = np.zeros(len(p)), np.zeros(len(p))
    call(-1, p, q, shares, float(importance), after, added, np.zeros(ROOM * len(p)))
    return after, added


CASES = [  # scores, variances, label, importance
    ([0.0, 0.0], [1.0, 1.0], 0, 1),
    ([0.5, -2.0, 1.0], [2.0, 0.5, 1.0], 1, 1),
    ([0.5, -2.0, 1.0], [2.0, 0.5, 1.0], 2, 6),
    ([3.0, 0.0, -1.0], [5.0, 8.0, 20.0], 0, 0.01),
    ([0.0, 0.1, -0.1], [30.0, 30.0, 30.0], 2, 1),
    ([1.0, -1.0, 0.0], [30.0, 0.3, 6.0], 0, 1e6),
    ([1.0, -1.0, 0.0], [2.0, 0.3, 1.0], (0.2, 0.5, 0.3), 1),
    ([1.0, -1.0, 0.0], [2.0, 9.0, 1.0], (0.0, 0.5, 0.5), 4),
]


@pytest.mark.parametrize(("p", "q", "label", "importance"), CASES)
def test_the_mode_is_the_one_that_an_optimiser_finds(p, q, label, importance):
    p, q = np.array(p), np.array(q)
    shares = np.eye(len(p))[label] if np.ndim(label) == 0 else np.array(label)
    after, added = posterior(p, q, label, importance)

    def energy(t):
        return np.sum((t - p) ** 2 / (2 * q)) + importance * (logsumexp(t) - shares @ t)

    found = minimize(energy, p, jac=lambda t: (t - p) / q + importance * (softmax(t) - shares), tol=1e-13).x
    np.testing.assert_allclose(after, found, atol=1e-5 * (1 + np.abs(found).max()))
    np.testing.assert_allclose(added, importance * softmax(after) * (1 - softmax(after)), rtol=1e-6)


@pytest.mark.parametrize("gap", [4.0, 8.0, 16.0])
def test_a_label_that_was_sure_teaches_next_to_nothing(gap):
    after, added = posterior([gap, 0.0, 0.0], [0.5, 0.4, 0.6], 0)
    assert 0 < after[0] - gap < 2 * math.exp(-gap)
    assert 0 < added.max() < 2 * math.exp(-gap) * 2


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-30, 30), st.floats(1e-6, 1e8)), min_size=2, max_size=6),
    st.integers(0, 5),
    st.floats(1e-6, 1e30),
)
def test_scores_move_towards_the_label_within_bounds_and_in_any_order(classes, label, importance):
    p, q = (np.array(column) for column in zip(*classes, strict=True))
    label %= len(p)
    after, added = posterior(p, q, label, importance)
    assert np.isfinite(after).all() and np.isfinite(added).all() and (added >= 0).all()
    room = 1e-9 * (1 + np.abs(p))
    assert after[label] >= p[label] - room[label]
    assert (np.delete(after - p - room, label) <= 0).all()
    order = np.roll(np.arange(len(p)), 1)
    turned, _ = posterior(p[order], q[order], int(np.flatnonzero(order == label)[0]), importance)
    np.testing.assert_allclose(turned, after[order], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rival", [1, 2])
@pytest.mark.parametrize("spread", [0.05, 1.0, 10.0])
def test_h_min_puts_the_rival_ahead_and_no_less_does(rival, spread):
    p, q = np.array([1.5, 1.0, -1.0]), spread * np.array([1.0, 0.5, 2.0])
    scratch = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3 * ROOM)
    found, _ = call(rival, p, q, scratch[0], 1.0, *scratch[1:])

    def lead(h):
        after, _ = posterior(p, q, rival, h)
        return after[rival] - np.delete(after, rival).max()

    assert lead(found * 0.99) < 0 < lead(found * 1.01)


def test_the_nearest_rival_needs_least():
    p, q = np.array([2.0, 1.5, 1.0]), np.array([1.0, 0.1, 5.0])
    guess, rival = call(0, p, q, np.zeros(3), 0.0, np.zeros(3), np.zeros(3), np.zeros(3 * ROOM))
    assert (rival, guess) == (2, pytest.approx(1 / 3))
