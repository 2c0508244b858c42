import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.crowd.models.calibration import accuracy, calibrate, calibration_error, log_loss, towards_prior


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1e-6, 1), min_size=2, max_size=5), st.integers(1, 500), st.floats(0, 1))
def test_calibration_keeps_the_best_class_and_sums_to_one(weights, ratings, rho):
    posterior = np.array([weights]) / np.sum(weights)
    found = calibrate(posterior, np.array([ratings]), rho)
    assert found.sum() == pytest.approx(1)
    assert found[0, posterior.argmax()] == pytest.approx(found.max())
    assert found.max() <= posterior.max() + 1e-12


def test_no_correlation_leaves_the_posterior():
    posterior = np.array([[0.9, 0.1]])
    assert calibrate(posterior, np.array([5]), 0) is posterior


def test_scores_by_hand():
    posterior = np.array([[0.8, 0.2], [0.5, 0.5], [0.3, 0.7], [1.0, 0.0]])
    gold = np.array([0, 1, 0, -1], np.int32)
    assert accuracy(posterior, gold) == pytest.approx((1 + 0.5 + 0) / 3)
    assert log_loss(posterior, gold) == pytest.approx(-(np.log(0.8) + np.log(0.5) + np.log(0.3)) / 3)
    assert log_loss(np.array([[1.0, 0.0]]), np.array([1], np.int32)) == pytest.approx(-np.log(1e-6))
    assert calibration_error(np.array([[0.75, 0.25]] * 4), np.array([0, 0, 0, 1], np.int32)) == pytest.approx(0)
    assert calibration_error(np.array([[0.75, 0.25]] * 4), np.array([1, 1, 1, 1], np.int32)) == pytest.approx(0.75)


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_probabilities_lean_towards_the_class_prior_as_the_formula_says(seed, classes):
    random = np.random.default_rng(seed)
    posterior, prior = random.dirichlet(np.full(classes, 0.3), 6), random.dirichlet(np.full(classes, 0.5))
    exponents, votes = random.uniform(0.05, 1, 6), random.integers(0, 4, (6, classes)).astype(float)
    found = towards_prior(posterior, prior, exponents, votes, floor=0.05, pooled=0.1)
    assert found.sum(axis=1) == pytest.approx(1) and (found.argmax(axis=1) == posterior.argmax(axis=1)).all()
    clear = np.maximum(prior, 1e-9) / np.maximum(prior, 1e-9).sum()
    for i in range(6):
        wanted = clear * (np.maximum(posterior[i], 1e-12) / clear) ** exponents[i]
        wanted = 0.9 * (0.95 * wanted / wanted.sum() + 0.05 * clear)
        shares = votes.sum(axis=0) / max(votes.sum(), 1)
        wanted += 0.1 * (votes[i] + shares) / (votes[i].sum() + 1)
        if wanted.argmax() == posterior[i].argmax():
            np.testing.assert_allclose(found[i], wanted, atol=1e-9)


def test_an_item_without_evidence_gets_the_shares_of_the_classes():
    prior = np.array([0.97, 0.03])
    found = towards_prior(prior[None], prior, np.array([0.5]), np.zeros((1, 2)))
    assert found[0, 1] == pytest.approx(
        0.9 * 0.03
    )  # no vote anywhere: the pooled part is empty, and nothing is invented
