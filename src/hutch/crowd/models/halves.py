"""What halves of the workers, fitted apart, show without the truth: about posteriors, and about rows of workers.

With A and B the posteriors of an item and m their mean over all items, log sum_k A(k) B(k) / m(k) says how much more
probable it is that both see one item than any two. What only explains the labels it was learned from gains nothing by
it, since no label is in both halves.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.models import confusion_kernels
from hutch.crowd.models.model import Array, CrowdModel, Fit
from hutch.crowd.models.trust import EXPONENTS

_STRENGTH, _NONE, _ITERATIONS = 10.0, 1e12, 5
"""Pseudo-counts of the prior of a worker's rows; so many that the rows are the prior; iterations of EM."""
_SPREAD = 0.1
"""Share of the mean posterior in each, so that one sure error does not decide."""
_LEAST = 0.02
"""Nats per task that halves agree by, at least; less is chance."""
_DIVISIONS, _EACH = 3, 5
"""Number of divisions; of the exponents, every so manieth is tried."""


def gain_of_rows(labels: Labels, model: CrowdModel, seed: int = 0) -> tuple[float, float]:
    """How much better two halves of the workers, fitted apart, predict each other's classes if workers have rows.

    Args:
        labels: the labels.
        model: without rows of single workers; its confusions are the prior of the rows.
        seed: of the divisions.

    Returns:
        mean over the items, and its standard error; 0 and infinity if too few items have labels of both halves.
    """
    gains, seen = np.zeros(labels.items), np.zeros(labels.items)
    for here, parts, fits in _halves(labels, model, seed):
        seen[here] += 1
        for sign, strength in ((1, _STRENGTH), (-1, _NONE)):
            found = [_with_rows(part, fit, model, strength)[here] for part, fit in zip(parts, fits, strict=True)]
            gains[here] += sign * _agreement(*found)
    each = gains[seen > 0] / seen[seen > 0]
    return (float(each.mean()), float(each.std() / np.sqrt(len(each)))) if len(each) else (0.0, float("inf"))


def exponent_of_agreement(labels: Labels, model: CrowdModel, prior: Array, seed: int = 0) -> float:
    """The exponent that makes halves of the workers, tempered towards the class prior, predict each other best.

    As `trust.exponent_of_halves`, without tables of workers. It is the least where they agree by chance, and 1 if too
    few items have labels of both halves.
    """
    tried, log_prior = EXPONENTS[::_EACH], np.log(np.maximum(prior, 1e-9))
    scores = np.zeros(len(tried))
    for here, _, fits in _halves(labels, model, seed):
        logs = [np.log(np.maximum(fit.posterior[here], 1e-9)) - log_prior for fit in fits]
        for place, exponent in enumerate(tried):
            found = [np.exp(log_prior + exponent * each) for each in logs]
            one, other = (each / each.sum(axis=1, keepdims=True) for each in found)
            mean = np.maximum(0.5 * (one.mean(axis=0) + other.mean(axis=0)), 1e-12)
            scores[place] += float(np.log(np.maximum((one * other / mean).sum(axis=1), 1e-6)).mean())
    if not scores.any():
        return 1.0
    return float(tried[scores.argmax() if scores.max() >= _LEAST * _DIVISIONS else 0])


def _halves(
    labels: Labels, model: CrowdModel, seed: int
) -> Iterator[tuple[NDArray[np.bool_], list[Labels], list[Fit]]]:
    """Of each division: which items have labels of both halves (items), the labels of each half, and its fit."""
    random = np.random.default_rng(seed)
    for _ in range(_DIVISIONS):
        first = _half(labels, random)
        parts = [labels.chosen(first[labels.workers] == side) for side in (True, False)]
        here = np.all([np.diff(part.item_ptr) > 0 for part in parts], axis=0)
        if here.sum() > 1:
            yield here, parts, [model.improve(part, model.start(part, None)) for part in parts]


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
    labelled = np.diff(labels.item_ptr) > 0
    for _ in range(_ITERATIONS):
        counts = np.zeros_like(prior)
        confusion_kernels.add_labels(labels.item_ptr, labels.workers, labels.labels, q, counts)
        own, rows = q[items], counts.sum(axis=1)
        likelihood = (counts[labels.workers, labels.labels] - own + strength * known) / (
            rows[labels.workers] - own + strength
        )
        scores = np.tile(log_prior, (labels.items, 1))
        scores[labelled] += np.add.reduceat(np.log(np.maximum(likelihood, 1e-12)), labels.item_ptr[:-1][labelled])
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        q = scores / scores.sum(axis=1, keepdims=True)
    return q
