"""The rules of the active layer against their formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.reductions.active.rules import (
    BUDGET,
    IWAL,
    MARGIN,
    RANDOM,
    iwal_probability,
    pool_probabilities,
    probability,
    vw_probability,
)


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-6, 1e3), st.floats(1e-6, 1e3))
def test_iwal_solves_its_equation(gap, rate):
    s = iwal_probability.py_func(gap, rate)
    if gap <= math.sqrt(rate) + rate:
        assert s == 1.0
    else:
        assert 0 < s < 1
        assert math.sqrt(rate / s) + rate / s == pytest.approx(gap, rel=1e-9)


@pytest.mark.parametrize(
    ("rule", "score", "cutoff", "expected"),
    [
        (BUDGET, 1.0, 2.0, 1.0),
        (BUDGET, 2.0, 1.0, 1 / 16),
        (BUDGET, 100.0, 1.0, 0.02),
        (BUDGET, math.inf, 1.0, 0.02),
        (BUDGET, math.inf, 1e30, 1.0),
        (BUDGET, 0.0, 0.0, 1.0),
        (MARGIN, 1.0, 1.0, 1.0),
        (MARGIN, 1.1, 1.0, 0.0),
        (RANDOM, 7.0, 0.25, 0.25),
        (IWAL, 0.0, 0.01, 1.0),
        (IWAL, math.inf, 0.01, 0.02),
    ],
)
def test_probabilities(rule, score, cutoff, expected):
    assert probability(rule, score, cutoff, 10.0, 0.02) == expected


@pytest.mark.parametrize("rule", [BUDGET, IWAL, RANDOM])
@pytest.mark.parametrize("wanted", [3, 50, 199, 200])
def test_probabilities_of_a_pool_add_up(rule, wanted):
    scores = np.random.default_rng(1).lognormal(0, 2, 200)
    scores[:3], scores[3] = 0.0, np.inf
    found = scores.copy()
    pool_probabilities(rule, found, float(wanted), 1000.0, 0.2 * wanted / 200)
    assert found.sum() == pytest.approx(wanted, rel=1e-12)
    assert (found > 0).all() and (found <= 1).all()
    if rule != RANDOM:
        assert (np.diff(found[np.argsort(scores)]) <= 0).all()


def test_a_pool_of_which_nothing_is_known_is_asked_for_evenly():
    found = np.zeros(50)
    pool_probabilities(BUDGET, found, 5.0, 0.0, 0.02)
    assert found == pytest.approx(np.full(50, 0.1), rel=1e-5)


def test_vws_probability_multiplies_where_the_rule_divides():
    rate = 0.01 * (math.log(101) + 1e-4) / (100 + 1e-4)
    gap = 50.0 / 100
    s = (math.sqrt(rate) + math.sqrt(rate + 4 * gap * rate)) / 2 * gap
    assert vw_probability(50.0, 100.0, 20.0, 0.01) == pytest.approx(s * s, rel=1e-5)
    assert vw_probability(0.1, 100.0, 20.0, 0.01) == 1.0 == vw_probability(50.0, 1.0, 0.0, 0.01)
    assert iwal_probability.py_func(gap, rate) > 10 * s * s
