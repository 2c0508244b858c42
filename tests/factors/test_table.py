"""Factors of a table of answers: a Newton step by its formula, missing answers, what factors predict."""

import numpy as np
import pytest

from hutch.factors.table import _Learner, learn_factors


def answers(rows=60, columns=80, rank=3, seed=0, missing=0.0):
    random = np.random.default_rng(seed)
    logits = random.normal(size=(rows, rank)) @ random.normal(size=(rank, columns)) + random.normal(size=columns)
    found = (random.random((rows, columns)) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    found[random.random((rows, columns)) < missing] = np.nan
    return found, logits


def predicted(found):
    return 1 / (1 + np.exp(-(found.ease + found.places @ found.directions.T)))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_step_of_the_columns_is_newtons(missing):
    """The gradient and the Hessian of each column, written out with loops in double precision."""
    y, _ = answers(30, 12, missing=missing)
    learner = _Learner(y, 2, 0)
    learner.step_columns()
    learner.step_rows()
    a, b = learner.a.astype(float), learner.b.astype(float)
    alpha, beta = learner.alpha.astype(float), learner.beta.astype(float)
    covariance = learner._full(learner.row_covariance).astype(float)
    covariance[:, 2, :] = covariance[:, :, 2] = 0
    learner.step_columns()
    for j in range(12):
        now, hessian, gradient = np.append(b[j], beta[j]), np.diag(1 / learner.spread), np.zeros(3)
        gradient -= (now - np.array([0, 0, beta.mean()])) / learner.spread
        for h in range(30):
            if np.isnan(y[h, j]):
                continue
            x = np.append(a[h], 1.0)
            p = 1 / (1 + np.exp(-(alpha[h] + x @ now)))
            hessian += p * (1 - p) * (np.outer(x, x) + covariance[h])
            gradient += (y[h, j] - p) * x - p * (1 - p) * covariance[h] @ now
        step = np.linalg.solve(hessian, gradient)
        wanted = now + step * min(1, 3 / np.abs(step).max())
        np.testing.assert_allclose(np.append(learner.b[j], learner.beta[j]), wanted, atol=2e-4)


def test_turning_changes_no_prediction():
    learner = _Learner(answers()[0], 3, 0)
    learner.step_columns()
    learner.step_rows()
    before = learner.alpha[:, None] + learner.beta + learner.a @ learner.b.T
    learner.turn()
    np.testing.assert_allclose(learner.alpha[:, None] + learner.beta + learner.a @ learner.b.T, before, atol=1e-4)
    np.testing.assert_allclose(learner.a.T @ learner.a / len(learner.a), np.eye(3), atol=1e-3)
    assert abs(learner.alpha.mean()) < 1e-6


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_factors_predict_better_than_rates(missing):
    y, logits = answers(200, 150, missing=missing)
    truth = 1 / (1 + np.exp(-logits))
    errors = np.mean((predicted(learn_factors(y, rank=3)) - truth) ** 2)
    assert errors < 0.35 * np.mean((np.nanmean(y, axis=0) - truth) ** 2)


def test_unknown_answers_count_for_nothing():
    """A row and a column without answers move no other prediction."""
    y, _ = answers(40, 30)
    wider = np.full((40, 31), np.nan, np.float32)
    wider[:, :30] = y
    found = learn_factors(wider, rank=2)
    assert np.isfinite(found.columns).all() and np.abs(found.columns[30]).max() < 1e-3
    assert found.ease[30] == pytest.approx(found.ease[:30].mean(), abs=0.2)


def test_the_same_seed_gives_the_same_factors():
    y, _ = answers()
    one, other, changed = (learn_factors(y, rank=3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.columns, other.columns) and not np.array_equal(one.columns, changed.columns)


@pytest.mark.parametrize("shape", [(1, 2), (2, 5), (3, 2), (1, 40)])
def test_small_tables(shape):
    y = np.random.default_rng(0).integers(0, 2, shape).astype(np.float32)
    found = learn_factors(y)
    assert all(np.isfinite(each).all() for each in (found.ability, found.rows, found.ease, found.columns))


def test_answers_that_are_all_alike():
    assert np.isfinite(predicted(learn_factors(np.ones((20, 30), np.float32)))).all()
