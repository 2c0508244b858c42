"""Recalibration, against an optimiser and against fitting again without an answer."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hutch.factors import recalibration
from hutch.factors.logistic import logit, squash
from hutch.factors.recalibration import recalibrated


def fitted(x, y):
    """The most likely coefficients and their covariance."""

    def loss(c):
        t = x @ c
        return np.sum(np.logaddexp(0, t) - y * t) + np.sum(((c - recalibration.CENTRE) / recalibration.SPREAD) ** 2) / 2

    c = minimize(loss, recalibration.CENTRE, method="BFGS", options={"gtol": 1e-9}).x
    f = 1 / (1 + np.exp(-x @ c))
    return c, np.linalg.inv((x * (f * (1 - f))[:, None]).T @ x + np.diag(1 / recalibration.SPREAD**2))


def test_it_is_the_most_likely_fit_and_leaves_out_its_own_answer():
    random = np.random.default_rng(0)
    p, ease = random.uniform(0.05, 0.95, 300), random.normal(size=300)
    asked = random.permutation(300)[:80]
    answers = (random.random(80) < p[asked] ** 2).astype(float)
    found = recalibrated(p, ease, asked, answers)
    x = np.column_stack([np.ones(300), logit(p), (ease - ease.mean()) / ease.std()])
    c, covariance = fitted(x[asked], answers)
    others = np.setdiff1d(np.arange(300), asked)
    wanted = squash(x @ c, (x @ covariance * x).sum(axis=1))
    np.testing.assert_allclose(found[others], np.clip(wanted, 0.003, 0.997)[others], atol=1e-5)
    for k in range(10):
        rest = np.delete(np.arange(80), k)
        c, covariance = fitted(x[asked[rest]], answers[rest])
        row = x[asked[k]]
        assert found[asked[k]] == pytest.approx(squash(row @ c, row @ covariance @ row), abs=0.01)


def test_few_answers_of_one_kind_move_predictions_to_their_rate():
    p = np.tile([0.2, 0.8], 50)
    found = recalibrated(p, np.zeros(100), np.arange(30), np.ones(30))
    np.testing.assert_allclose(found, np.clip(np.where(np.arange(100) < 30, 29.5 / 30, 30.5 / 31), 0.003, 0.997))


def test_without_answers_nothing_changes():
    p = np.array([0.1, 0.7])
    assert recalibrated(p, np.zeros(2), np.zeros(0, np.int64), np.zeros(0)) is p
