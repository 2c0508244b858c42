"""Calibrated probabilities, and measures of calibration."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DEFAULT_RHO = 0.1
"""Correlation of the errors of an item's labels without other information."""
_AHEAD = 1e-4
"""Part of its probability by which a class is ahead of those that share with it."""
CLIP = 1e-6
"""Probabilities below this count as this in the log-loss."""


def calibrate(
    posterior: Array, label_counts: NDArray[np.int64], rho: float | None = None, floor: float = 0.05
) -> Array:
    """Temper posteriors for labels of one item that err together; the most probable class stays the same.

    The exponent is 1 / (1 + rho (n - 1)), the design effect of n labels with intra-class correlation rho; see
    `tempered`. `rho = 0` returns the posterior unchanged.

    Args:
        posterior: (items, classes).
        label_counts: labels of each item (items).
        rho: correlation of the errors of an item's labels, ≥ 0; None: `DEFAULT_RHO`.
        floor: mass spread over all classes.

    >>> calibrate(np.array([[0.9, 0.1]]), np.array([11])).round(3)
    array([[0.737, 0.262]])
    """
    if rho == 0 or posterior.size == 0:
        return posterior
    rho = DEFAULT_RHO if rho is None else rho
    return tempered(posterior, 1 / (1 + rho * np.maximum(label_counts - 1, 0)), floor)


def tempered(posterior: Array, exponents: Array, floor: float) -> Array:
    """(1 - floor) Q + floor / K with Q proportional to P^exponent.

    Args:
        posterior: (items, classes).
        exponents: of each item (items).
        floor: mass spread over all classes.
    """
    result = np.maximum(posterior, 1e-12) ** exponents[:, None]
    result /= result.sum(axis=1, keepdims=True)
    return np.asarray((1 - floor) * result + floor / max(posterior.shape[1], 1))


def towards_prior(
    posterior: Array, prior: Array, exponents: Array, votes: Array, floor: float = 0.05, pooled: float = 0.1
) -> Array:
    """Posteriors made less sure, so that a class that evidence says nothing of gets its share and not an equal one.

        Q_i(k) ~ prior_k (P_i(k) / prior_k)^e_i
        R_i = (1 - pooled) ((1 - floor) Q_i + floor prior) + pooled (votes_i + v) / (n_i + 1)

    v are the shares of all votes. The most probable class stays the same: those that would overtake it share with it.

    Args:
        posterior: P (items, classes).
        prior: probabilities of the classes (classes).
        exponents: e of each item, in (0, 1] (items).
        votes: number of labels of each class (items, classes).
        floor: mass that is spread as the prior is.
        pooled: weight of the vote with one pseudo-vote that is divided as all votes are.

    >>> sure, prior, votes = np.array([[0.999, 0.001]]), np.array([0.9, 0.1]), np.array([[1.0, 0.0]])
    >>> towards_prior(sure, prior, np.array([0.01]), votes).round(2)
    array([[0.91, 0.09]])
    """
    prior = np.maximum(prior, 1e-9) / np.maximum(prior, 1e-9).sum()
    log_prior = np.log(prior)
    scores = log_prior + exponents[:, None] * (np.log(np.maximum(posterior, 1e-12)) - log_prior)
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    shares = votes.sum(axis=0) / max(votes.sum(), 1)
    vote = (votes + shares) / (votes.sum(axis=1, keepdims=True) + 1)
    found = (1 - pooled) * ((1 - floor) * found + floor * prior) + pooled * vote
    return keeping(found, posterior.argmax(axis=1))


def keeping(found: Array, label: NDArray[np.int64]) -> Array:
    """Probabilities in which a class of each item (items) is the most probable: classes above it share with it."""
    items = np.flatnonzero(found.argmax(axis=1) != label)
    pooled = np.zeros(found.shape, np.bool_)
    pooled[items, label[items]] = True
    while len(items):
        pooled[items, found[items].argmax(axis=1)] = True
        rows = np.where(pooled[items], found[items], 0.0)
        mean = rows.sum(axis=1, keepdims=True) / pooled[items].sum(axis=1, keepdims=True)
        found[items] = np.where(pooled[items], mean, found[items])
        items = items[found[items].max(axis=1) > mean[:, 0]]
    turned = np.flatnonzero(pooled.any(axis=1))
    share = _AHEAD * found[turned, label[turned]]
    found[turned] -= pooled[turned] * (share / pooled[turned].sum(axis=1))[:, None]
    found[turned, label[turned]] += share
    return found


def accuracy(posterior: Array, gold: NDArray[np.int32]) -> float:
    """Share of gold items whose most probable class is right; ties share the point.

    Args:
        posterior: (items, classes).
        gold: true class of each item, -1 where it is not known.
    """
    p, truth = _known(posterior, gold)
    best = p >= p.max(axis=1, keepdims=True) - 1e-12
    return float(np.mean(best[np.arange(len(truth)), truth] / best.sum(axis=1)))


def log_loss(posterior: Array, gold: NDArray[np.int32]) -> float:
    """Mean of -ln p(true class) over gold items, p at least `CLIP`."""
    p, truth = _known(posterior, gold)
    return float(-np.mean(np.log(np.maximum(p[np.arange(len(truth)), truth], CLIP))))


def calibration_error(posterior: Array, gold: NDArray[np.int32], bins: int = 10) -> float:
    """Expected calibration error of the most probable class: mean |confidence - accuracy| over equal-width bins."""
    p, truth = _known(posterior, gold)
    confidence, hit = p.max(axis=1), p.argmax(axis=1) == truth
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = [abs(np.sum(confidence[place == b]) - np.sum(hit[place == b])) for b in range(bins)]
    return float(np.sum(gaps) / len(truth))


def _known(posterior: Array, gold: NDArray[np.int32]) -> tuple[Array, NDArray[np.int32]]:
    known = gold >= 0
    return posterior[known], gold[known]
