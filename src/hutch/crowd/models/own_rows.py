"""Whether workers err each in a way of their own: whether rows of single workers make halves of them agree better."""

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.models import confusion_kernels
from hutch.crowd.models.model import Array, CrowdModel, Fit

_STRENGTH, _NONE, _ITERATIONS = 10.0, 1e12, 5
"""Pseudo-counts of the prior of a worker's rows; so many that the rows are the prior; iterations of EM."""
_SPREAD = 0.1
"""Share of the mean posterior in each, so that one sure error does not decide."""
_DIVISIONS = 3


def gain_of_rows(labels: Labels, model: CrowdModel, seed: int = 0) -> tuple[float, float]:
    """How much better two halves of the workers, fitted apart, predict each other's classes if workers have rows.

    With A and B the posteriors of an item and m their mean over all items, log sum_k A(k) B(k) / m(k) says how much
    more probable it is that both see one item than any two. Rows that only explain the labels they were learned from
    gain nothing by it, since no label is in both halves. Of two workers with about as many labels one is in each.

    Args:
        labels: the labels.
        model: without rows of single workers; its confusions are the prior of the rows.
        seed: of the divisions.

    Returns:
        mean over the items, and its standard error; 0 and infinity if too few items have labels of both halves.
    """
    random, gains = np.random.default_rng(seed), np.zeros((_DIVISIONS, labels.items))
    both = np.zeros((_DIVISIONS, labels.items), np.bool_)
    for division in range(_DIVISIONS):
        first = _half(labels, random)
        parts = [labels.chosen(first[labels.workers] == side) for side in (True, False)]
        both[division] = here = np.all([np.diff(part.item_ptr) > 0 for part in parts], axis=0)
        if here.sum() < 2:
            return 0.0, float("inf")
        fits = [model.fit(part) for part in parts]
        for sign, strength in ((1, _STRENGTH), (-1, _NONE)):
            found = [_with_rows(*each, model, strength)[here] for each in zip(parts, fits, strict=True)]
            gains[division, here] += sign * _agreement(*found)
    seen = both.sum(axis=0)
    each = gains.sum(axis=0)[seen > 0] / seen[seen > 0]
    return float(each.mean()), float(each.std() / np.sqrt(len(each)))


def _half(labels: Labels, random: np.random.Generator) -> NDArray[np.bool_]:
    """Of two workers with about as many labels, one (workers)."""
    given = np.bincount(labels.workers, minlength=len(labels.worker_names))
    order = random.permutation(np.flatnonzero(given))
    order = order[np.argsort(-given[order], kind="stable")]
    pairs, half = order[: len(order) // 2 * 2].reshape(-1, 2), np.zeros(len(given), np.bool_)
    half[pairs[np.arange(len(pairs)), random.integers(2, size=len(pairs))]] = True
    return half


def _agreement(one: Array, other: Array) -> Array:
    one, other = ((1 - _SPREAD) * each + _SPREAD * each.mean(axis=0) for each in (one, other))
    mean = 0.5 * (one.mean(axis=0) + other.mean(axis=0))
    return np.asarray(np.log(np.maximum((one * other / np.maximum(mean, 1e-9)).sum(axis=1), 1e-6)))


def _with_rows(labels: Labels, fit: Fit, model: CrowdModel, strength: float) -> Array:
    """Posteriors of Dawid and Skene's model from those of the fit, its confusions as prior, own labels left out."""
    prior, log_prior = model.confusions(fit.state), np.log(np.maximum(model.class_prior(fit.state), 1e-12))
    known, items, q = prior[labels.workers, :, labels.labels], labels.label_items, fit.posterior
    for _ in range(_ITERATIONS):
        counts = np.zeros_like(prior)
        confusion_kernels.add_labels(labels.item_ptr, labels.workers, labels.labels, q, counts)
        own, rows = q[items], counts.sum(axis=1)
        likelihood = (counts[labels.workers, labels.labels] - own + strength * known) / (
            rows[labels.workers] - own + strength
        )
        scores = np.tile(log_prior, (labels.items, 1))
        np.add.at(scores, items, np.log(np.maximum(likelihood, 1e-12)))
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        q = scores / scores.sum(axis=1, keepdims=True)
    return q
