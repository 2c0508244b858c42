"""Judges without people: gold trains a ridge regression on their labels, on top of their consensus."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array, State
from hutch.crowd.models.two_level import TwoLevel

CORRELATION = 0.5
"""Correlation of judges' errors by which the posterior of `TwoLevel` is tempered before it is the offset."""
RIDGE = 2.0
_STEPS = 150
_OWN = "two_level."  # prefix of the arrays that TwoLevel learned


def forecast(labels: Labels, state: State, history: State | None, learn: bool) -> Array:
    """Log-forecasts of all items from judges alone.

        log f_i[k] = log q_i[k] / (1 + .5 (m - 1)) + sum_j b_j[x_ij, k]

    q is the posterior of `TwoLevel`, which never sees the gold, m the mean number of labels of an item. The weights b
    maximise the likelihood of gold with a ridge, by steps under Boehning's bound of the Hessian (Annals of the
    Institute of Statistical Mathematics 44, 1992).

    Args:
        labels: judges' labels; gold on some items if there is no history.
        state: receives the result; `factor` in its scratch is the effect of each label (workers, labels, classes).
        history: learned by an earlier run, or None.
        learn: from these labels; else only the history counts.

    Returns:
        float64 (items, classes), normalised.

    Raises:
        UsageError: there is neither gold nor a history.
    """
    if history is None and not np.any(labels.gold >= 0) and len(labels):
        raise UsageError("mixed: wanted people (--reference NAME), or without them gold (--gold FILE)")
    workers, classes = len(labels.worker_names), len(labels.classes)
    alike = TwoLevel()
    unseen = replace(labels, gold=np.full_like(labels.gold, -1))
    old = _own(history) if history else None
    fit = alike.fit(unseen, old) if learn or old is None else alike.infer(unseen, old)
    weights = np.zeros((workers, classes, classes))
    if history:
        before = history.workers["weights"]
        weights[tuple(slice(n) for n in before.shape)] = before
    per_item = len(labels) / max(labels.items, 1)
    offset = np.log(fit.posterior + 1e-9) / (1 + CORRELATION * max(per_item - 1, 0))
    scale = max(1.0, per_item / max(len(np.unique(labels.workers)), 1))
    known = np.flatnonzero(labels.gold >= 0)
    if learn and len(known):
        weights += _solve(labels, known, offset + _sum(labels, _factor(weights, scale)), scale)
    factor = _factor(weights, scale)
    scores = offset + _sum(labels, factor)
    scores -= scores.max(axis=1, initial=-np.inf, keepdims=True)
    state.workers |= {_OWN + name: array for name, array in fit.state.workers.items()} | {"weights": weights}
    state.shared |= {_OWN + name: array for name, array in fit.state.shared.items()}
    state.scratch["factor"] = factor
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def _own(history: State) -> State:
    """The state of `TwoLevel` inside that of an earlier run."""
    parts = [
        {name.removeprefix(_OWN): array for name, array in arrays.items() if name.startswith(_OWN)}
        for arrays in (history.workers, history.shared)
    ]
    return State(history.classes, history.worker_names, *parts)


def _factor(weights: Array, scale: float) -> Array:
    """Effect of each label on the log-odds: weights over the mean of their row."""
    return np.asarray((weights - weights.mean(axis=1, keepdims=True)) / scale)


def _sum(labels: Labels, factor: Array) -> Array:
    """Sum of the effects of an item's labels (items, classes)."""
    result = np.zeros((labels.items, factor.shape[2]))
    np.add.at(result, labels.label_items, factor[labels.workers, labels.labels])
    return result


def _solve(labels: Labels, known: NDArray[np.int64], offset: Array, scale: float) -> Array:
    """Increment of the weights (workers, labels, classes): ridge regression in the span of the gold items' labels."""
    workers, classes = len(labels.worker_names), len(labels.classes)
    votes = np.zeros((len(known), workers, classes))
    place = np.full(labels.items, -1)
    place[known] = np.arange(len(known))
    here = place[labels.label_items]
    seen = here >= 0
    np.add.at(votes, (here[seen], labels.workers[seen]), (np.eye(classes)[labels.labels[seen]] - 1 / classes) / scale)
    left, lengths, right = np.linalg.svd(votes.reshape(len(known), -1), full_matrices=False)
    features = left * lengths
    truth, start = np.eye(classes)[labels.gold[known]], offset[known]
    step, b = 1 / (0.5 * lengths**2 + RIDGE), np.zeros((len(lengths), classes))
    for _ in range(_STEPS):
        scores = start + features @ b
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        b += step[:, None] * (features.T @ (truth - chances) - RIDGE * b)
    return np.asarray((right.T @ b).reshape(workers, classes, classes))
