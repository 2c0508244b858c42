"""Predictions corrected by the answers that they did not see: the protection against factors that do not fit a row."""

import numpy as np

from hutch.factors.logistic import Array, logit, squash
from hutch.factors.row import SURE, Places

CENTRE, SPREAD = np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.5])
"""Prior mean and standard deviation of intercept, slope, and effect of the ease."""
STEPS, CLOSE = 15, 1e-6
"""Newton steps at most; the largest entry of the last one."""
BOTH = 5.0
"""Right and wrong answers, of both so many, from which on predictions count in full."""


def recalibrated(predictions: Array, ease: Array, asked: Places, answers: Array) -> Array:
    """Predictions after a logistic regression of the answers on them and on the ease of the questions.

    Args:
        predictions: of all answers, of the known ones by the others (columns).
        ease: of the questions (columns).
        asked: the questions with an answer (n).
        answers: from 0 to 1 (n).

    Returns:
        The predictions (columns); that of an answered question does not use its own answer.

    Source: J. Platt's scaling ("Probabilistic outputs for support vector machines", 1999) with a normal prior; leaving
    one out by one Newton step is of D. Pregibon, Annals of Statistics 9, 1981.

    >>> truth = np.tile([0.1, 0.9], 50)
    >>> found = recalibrated(1 - truth, np.zeros(100), np.arange(60), truth[:60])  # predictions that are upside down
    >>> bool(found[98] < 0.3), bool(found[99] > 0.7)
    (True, True)
    """
    if not len(asked):
        return predictions
    scaled = (ease - ease.mean()) / max(float(ease.std()), 1e-9)
    features = np.column_stack([np.ones(len(ease)), logit(predictions), scaled])
    x, precision, now = features[asked], np.diag(1 / SPREAD**2), CENTRE.copy()
    for _ in range(STEPS):
        f = 1 / (1 + np.exp(-np.clip(x @ now, -30, 30)))
        curvature = (x * (f * (1 - f))[:, None]).T @ x + precision
        step = np.linalg.solve(curvature, x.T @ (answers - f) - precision @ (now - CENTRE))
        now = now + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < CLOSE:
            break
    covariance = np.linalg.inv(curvature)
    spread = (x @ covariance * x).sum(axis=1)
    leverage = np.minimum(spread * f * (1 - f), 0.9)
    without = now - (x @ covariance) * ((answers - f) / (1 - leverage))[:, None]
    t = features @ now
    t[asked] = (x * without).sum(axis=1)
    found = squash(t, np.maximum((features @ covariance * features).sum(axis=1), 0))
    return np.clip(_towards_level(found, asked, answers), SURE, 1 - SURE)


def _towards_level(predictions: Array, asked: Places, answers: Array) -> Array:
    """Predictions moved towards the rate of right answers while those of one kind are few: they say little of it."""
    right, n = np.full(len(predictions), float(answers.sum())), np.full(len(predictions), float(len(asked)))
    right[asked] -= answers
    n[asked] -= 1
    trust = np.minimum(np.minimum(right, n - right) / BOTH, 1.0)
    return np.asarray(trust * predictions + (1 - trust) * (right + 0.5) / (n + 1))
