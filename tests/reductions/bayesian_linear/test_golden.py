"""Golden rows of `bayesian_linear`: what twelve rows have taught, against exact fractions and integrals on a grid."""

from fractions import Fraction

import numpy as np
import pytest

from hutch import Chain

ROWS = [(k % 5 - 2, k * k % 7 - 3, k % 3) for k in range(1, 13)]
LABELS = [1, -1, 1, 1, -1, -1, 1, -1, 1, -1, -1, 1]
GOLDEN = {
    "logistic": [0.7574135505700855, -0.13531440034624784, -0.68649462948689, 0.4539484451957171],
    "squared": [0.3206117620549797, -0.06411484152020437, -0.5108532371939312, 0.4794952681388012],
}
INTEGRATED = {  # each posterior's moments in NumPy: 40,001 points over 20 standard deviations of the prediction
    "logistic": [0.7573685563481205, -0.1353681321290536, -0.6864433271606284, 0.4540022314075383],
}


def learned(loss):
    layer = {"dimension": 3, "loss": loss, "prior_variance": 0.5, "constant_variance": 2.0}
    chain = Chain.from_config({"chain": [{"bayesian_linear": layer}]})
    chain.learn(np.array(ROWS, np.float32), np.array(LABELS, np.float32))
    return chain.layers[-1].means[0]


@pytest.mark.parametrize("loss", GOLDEN)
def test_twelve_rows_teach_what_they_taught(loss):
    means = learned(loss)
    np.testing.assert_allclose(means, GOLDEN[loss], rtol=1e-9)
    if loss in INTEGRATED:
        np.testing.assert_allclose(means, INTEGRATED[loss], atol=4e-4)


def test_squared_loss_is_the_posterior_in_exact_fractions():
    mean = [Fraction(0)] * 4
    covariance = [[Fraction((1, 4)[i == 3], 2) * (i == j) for j in range(4)] for i in range(4)]
    for row, label in zip(ROWS, LABELS, strict=True):
        x = [*row, 1]
        direction = [sum(c * v for c, v in zip(line, x, strict=True)) for line in covariance]
        variance = sum(d * v for d, v in zip(direction, x, strict=True)) + Fraction(1, 2)  # (p - y)²: noise of 1/2
        missed = label - sum(m * v for m, v in zip(mean, x, strict=True))
        mean = [m + d * missed / variance for m, d in zip(mean, direction, strict=True)]
        covariance = [
            [c - direction[i] * direction[j] / variance for j, c in enumerate(line)]
            for i, line in enumerate(covariance)
        ]
    np.testing.assert_allclose(learned("squared"), [float(m) for m in mean], rtol=1e-12)
