"""A softmax regression on gold: its mode, its draws, and what is left out."""

import numpy as np
import pytest

from hutch.crowd.mixed import recalibration
from hutch.crowd.mixed.recalibration import Prior, drawn, features, left_out, prior_of, probability, softmax


@pytest.fixture
def gold():
    """Log-posteriors, labels of three judges, and the truth of 80 items in three classes."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 3, 80).astype(np.int32)
    said = np.where(random.random((3, 80)) < 0.7, truth, random.integers(0, 3, (3, 80))).astype(np.int32)
    said[2, ::4] = -1
    return np.log(np.full((80, 3), 0.2) + 0.4 * np.eye(3)[said[0]]), said, truth


def test_features_are_biases_the_posterior_and_labels(gold):
    logs, said, _ = gold
    x = features(logs, said)
    assert x.shape == (80, 3, 3 + 1 + 3)
    assert np.array_equal(x[:, :, :3], np.tile(np.eye(3), (80, 1, 1)))
    assert x[:, :, 3].sum(axis=1) == pytest.approx(np.zeros(80))
    assert np.array_equal(x[:, :, 4].argmax(axis=1), said[0]) and x[::4, :, 6].sum() == 0
    assert features(np.zeros((2, 40)), said[:, :2]).shape == (2, 40, 1 + 3)


def test_the_mean_of_the_draws_is_where_gold_and_prior_pull_alike(gold):
    logs, said, truth = gold
    x, prior = features(logs, said), prior_of(3, 3, 0.4)
    draws = drawn(x, truth, prior)
    best = draws.mean(axis=0)  # the draws come in pairs around the mode
    p = softmax(x @ best)
    pull = (x[np.arange(80), truth] - np.einsum("gk,gkd->gd", p, x)).sum(axis=0)
    assert pull == pytest.approx((best - prior.mean) / prior.deviation**2, abs=1e-2)
    assert best[4:].min() > 0.1


def test_draws_have_the_covariance_of_the_posterior(gold):
    logs, said, truth = gold
    x, prior = features(logs, said), prior_of(3, 3, 0.4)
    draws = drawn(x, truth, prior, 20_000)
    _, hessian = recalibration._most_probable(x, truth, prior)
    assert np.cov(draws.T) == pytest.approx(np.linalg.inv(hessian), abs=0.01)


def test_without_information_the_prior_stays():
    prior = Prior(np.array([0.5]), np.array([0.2]))
    draws = drawn(np.zeros((10, 2, 1)), np.zeros(10, np.int32), prior, 4000)
    assert draws.mean() == pytest.approx(0.5) and draws.std() == pytest.approx(0.2, rel=0.05)


def test_gold_is_foretold_from_other_gold(gold):
    logs, said, _ = gold
    chance = np.random.default_rng(3).integers(0, 3, 80).astype(np.int32)
    x, prior = features(logs, said), Prior(np.zeros(7), np.full(7, 3.0))
    inside = np.log(probability(x, drawn(x, chance, prior))[np.arange(80), chance]).mean()
    outside = np.log(left_out(x, chance, prior)[np.arange(80), chance]).mean()
    assert outside < -np.log(3) < inside  # labels without information only seem to have some
