"""Promises about one class: the measures, their inequalities, and what can be written."""

import numpy as np
import pytest

from hutch.core.errors import UsageError
from hutch.label.one_class.promise import MEASURES, Promise, promises_of


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("level", [0.3, 0.8, 0.95])
def test_a_promise_holds_where_its_errors_cost_no_more_than_is_allowed(measure, level):
    promise, random, both = Promise(measure, level), np.random.default_rng(0), [0, 0]
    for _ in range(2000):
        delivered, missed = int(random.integers(1, 60)), int(random.integers(0, 30))
        false = int(random.integers(0, delivered + 1))
        right = delivered - false
        value = {
            "recall": right / (right + missed) if right + missed else 1.0,
            "precision": right / delivered,
            "f1": 2 * right / (2 * right + false + missed),
        }[measure]
        assert promise.value(delivered, false, missed) == pytest.approx(value)
        cost = promise.missed * missed + promise.false * false
        if abs(value - level) > 1e-9 and right + missed:
            assert (value > level) == (cost < promise.credit * delivered)
            both[value > level] += 1
    assert min(both) > 10


@pytest.mark.parametrize("measure", MEASURES)
def test_the_least_value_is_that_of_the_worst_errors_the_cost_pays(measure):
    promise, random = Promise(measure, 0.8), np.random.default_rng(1)
    for _ in range(60):
        delivered, false, missed = (int(each) for each in random.integers(1, 12, 3))
        false, cost = min(false, delivered), float(random.random() * 10)
        worst = min(
            promise.value(delivered, a, b)
            for a in np.linspace(0, false, 60)
            for b in np.linspace(0, missed, 60)
            if promise.false * a + promise.missed * b <= cost
        )
        found = promise.least(delivered, false, missed, cost)
        assert found <= worst + 1e-9 and worst - found < 0.12


@pytest.mark.parametrize(
    "text", ["recall", "recall=1", "recal=.9", "recall=.9,recall=.8", "f1=.9,recall=.9", "=.9", ""]
)
def test_a_target_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="--target: got"):
        promises_of(text)
