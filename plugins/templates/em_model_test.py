"""The contract of a model of online EM, and that the M-step finds the maximum."""

import numpy as np
from hutch_mine import Mine, Rates

ROWS = np.random.default_rng(0).poisson([1.0, 4.0, 9.0], (500, 3)).astype(float)


def test_the_m_step_finds_the_maximum():
    model = Mine()
    best = model.maximise(model.statistics(ROWS, Rates(np.ones(3))))
    for factor in (0.9, 1.1):
        other = Rates(best.value * factor)
        assert model.log_likelihood(ROWS, other).sum() < model.log_likelihood(ROWS, best).sum()


def test_expected_statistics_are_a_fixed_point():
    model, rates = Mine(), Rates(np.array([0.5, 2.0, 7.0]))
    np.testing.assert_allclose(model.maximise(model.expected_statistics(rates)).value, rates.value)
