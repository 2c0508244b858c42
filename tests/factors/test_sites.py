"""A site gives a logit the mean and variance of its distribution after the answer."""

import numpy as np
import pytest
from scipy.integrate import quad

from hutch.factors import sites


def moments(mean, variance, answer):
    """Mean and variance of N(mean, variance) times the chance of the answer, by quadrature."""

    def density(t):
        return np.exp(-((t - mean) ** 2) / 2 / variance + answer * t - np.logaddexp(0, t))

    ends = mean - 12 * np.sqrt(variance), mean + 12 * np.sqrt(variance)
    total, first, second = (quad(lambda t, k=k: t**k * density(t), *ends)[0] for k in range(3))
    return first / total, second / total - (first / total) ** 2


@pytest.mark.parametrize("mean", [-3.0, 0.0, 1.0])
@pytest.mark.parametrize("variance", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("answer", [0.0, 0.3, 1.0])
def test_a_site_matches_two_moments(mean, variance, answer):
    precision, shift = np.empty(1), np.empty(1)
    given = (np.array([each]) for each in (mean, variance, answer))
    sites.match(*given, sites.NODES, sites.WEIGHTS, precision, shift)
    found = 1 / (1 / variance + precision[0])
    wanted_mean, wanted_variance = moments(mean, variance, answer)
    assert found == pytest.approx(wanted_variance, rel=2e-3)
    assert found * (mean / variance + shift[0]) == pytest.approx(wanted_mean, abs=2e-3 * np.sqrt(variance))
