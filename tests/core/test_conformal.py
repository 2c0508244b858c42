"""Adaptive conformal intervals: against a plain twin, and how many of the next residuals they hold."""

import math

import numpy as np
import pytest

from hutch.core.conformal import reach_of


def plain(residuals, level):
    """The same by sorting anew for each residual."""
    wanted = level

    def smallest(earlier):
        place = math.ceil((len(earlier) + 1) * wanted)
        return sorted(earlier)[max(place, 1) - 1] if place <= len(earlier) else max(earlier)

    for k in range(20, len(residuals)):
        held = residuals[k] <= smallest(residuals[max(k - 200, 0) : k])
        wanted = min(max(wanted + 0.02 * (level - held), 0.0), 1.0)
    return smallest(residuals[-200:])


@pytest.mark.parametrize("count", [20, 21, 199, 200, 201, 400])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_is_its_plain_twin(count, level):
    random = np.random.default_rng(count)
    for residuals in (random.exponential(size=count), np.arange(count) * 1.0, random.integers(3, size=count) * 1.0):
        assert reach_of(residuals, level) == plain(residuals.tolist(), level)


def test_few_residuals_leave_it_to_the_normal_answer():
    assert reach_of(np.arange(19.0), 0.9, 123.0) == 123.0
    assert reach_of(np.arange(20.0), 0.999, 123.0) == 123.0
    assert reach_of(np.arange(20.0), 0.999, 1.0) == 19.0
    assert reach_of(np.zeros(0), 0.9, 5.0) == 5.0


@pytest.mark.parametrize("level", [0.8, 0.9])
@pytest.mark.parametrize("change", ["none", "four times", "a quarter", "grows"])
def test_holds_what_it_says_also_where_residuals_change(level, change):
    random, t = np.random.default_rng(1), np.arange(3000)
    half = t < 1500
    size = {
        "none": 1.0,
        "four times": np.where(half, 1, 4),
        "a quarter": np.where(half, 4, 1),
        "grows": np.exp(t / 900),
    }
    residuals = np.abs(random.standard_t(3, size=3000)) * size[change]
    held = [residuals[k] <= reach_of(residuals[max(k - 400, 0) : k], level) for k in range(100, 3000, 2)]
    assert np.mean(held) == pytest.approx(level, abs=0.025)
