"""Calibrated probabilities, and measures of calibration."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DEFAULT_RHO = 0.1
"""Correlation of the errors of an item's labels without other information."""
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
