import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.crowd.models.calibration import accuracy, calibrate, calibration_error, log_loss


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
