"""P(item is of the class), learned from all labels by people: it decides order and stakes, never a proof."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hutch.label.posterior import CERTAIN, Array, Votes, fit_logit

_LEAST, _MOST = 1e-5, 0.97
_FAR = 12.0
"""Log-odds are at most so far from 0."""
_STEPS = np.arange(-8.5, 3.0, 1.5)
"""Log-odds between which probabilities are compared with what people said."""
_RIDGE, _START = np.array([0.3, 3.0]), np.array([0.0, 1.0])


def log_odds(p: Array) -> Array:
    """Log-odds of probabilities, at most 12 from 0."""
    inside = np.clip(p, 1e-9, 1 - 1e-9)
    return np.asarray(np.clip(np.log(inside / (1 - inside)), -_FAR, _FAR))


def evidence_of(q: Array, votes: Sequence[Votes], positive: int) -> Array:
    """Predictors of the class (items, 2): 1, and log-odds of the posterior that go on where claims are near certain.

    Posteriors cut claims off. Among many items that are surely not of the class, those with the surest claims are still
    the least likely: what was cut off counts as much as what was not.

    Args:
        q: posteriors (items, classes).
        votes: by kind.
        positive: the class.
    """
    odds, said, beyond = log_odds(q[:, positive]), np.zeros(len(q)), np.zeros(len(q))
    limit = float(log_odds(np.array([CERTAIN]))[0])
    for each in votes:
        has = (each.label >= 0) & np.isfinite(each.probability)
        claim = log_odds(np.where(has, each.probability, 0.5)) * np.where(each.label == positive, 1, -1)
        said += np.clip(claim, -limit, limit).sum(axis=1)
        beyond += (claim - np.clip(claim, -limit, limit)).sum(axis=1)
    spread = float(said.var())
    slope = float(np.mean((odds - odds.mean()) * (said - said.mean()))) / spread if spread > 0 else 0.0
    return np.column_stack([np.ones(len(q)), odds + max(slope, 0.0) * beyond])


def relevance(features: Array, known: NDArray[np.int64], true: NDArray[np.bool_], left: NDArray[np.int64]) -> Array:
    """P(item is of the class), logistic in its features, of the items that are left.

    The start takes the second feature, the log-odds of a posterior, at its word.

    Args:
        features: (items, 2), as of `evidence_of`.
        known: places of the items that people labelled.
        true: whether these are of the class.
        left: places of the items without labels of people.

    >>> x = np.array([-3.0, -2, -1, 0, 1, 2, 3, -2.5, 2.5])
    >>> features = np.column_stack([np.ones(9), x])
    >>> relevance(features, np.arange(7), x[:7] > 0, np.array([7, 8])).round(2).tolist()
    [0.04, 0.97]
    """
    design = np.stack([np.zeros_like(features), features], axis=1)
    worth = fit_logit(design[known], _RIDGE, _START, true.astype(np.int32))
    odds = np.clip(features @ worth, -_FAR, _FAR)
    p = _calibrated(odds, known, true)[left]
    level = p.mean() if len(p) else 0.0
    return np.asarray(np.clip(0.97 * p + 0.03 * level, _LEAST, _MOST))


def _calibrated(odds: Array, known: NDArray[np.int64], true: NDArray[np.bool_]) -> Array:
    """Probabilities from log-odds, raised or lowered where the labelled items of such odds say so.

    A logistic curve that fits where most labels are can be far off among the surely irrelevant, which are many.
    """
    p = 1 / (1 + np.exp(-odds))
    step = np.clip(np.searchsorted(_STEPS, odds), 0, len(_STEPS))
    found = np.bincount(step[known], true, len(_STEPS) + 1)
    expected = np.bincount(step[known], p[known], len(_STEPS) + 1)
    centres = np.concatenate([[_STEPS[0] - 0.75], (_STEPS[1:] + _STEPS[:-1]) / 2, [_STEPS[-1] + 0.75]])
    return np.asarray(p * np.exp(np.interp(odds, centres, np.log((found + 1) / (expected + 1)))))
