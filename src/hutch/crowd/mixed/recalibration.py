"""A panel's posteriors recalibrated on gold: a softmax regression whose uncertainty is averaged over.

    s_k = b_k + theta log P_k + sum_w c_w [w said k]

P are the posteriors of the panel, b ~ N(0, .7^2) moves the classes, theta ~ N(mean, .5^2) is how far to trust P, and
c ~ N(0, .3^2) what each judge's label adds. The posterior of (b, theta, c) is Laplace's; probabilities are means over
draws from it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.models.model import Array

DRAWS = 100
"""Antithetic draws of the parameters."""
BIAS, TEMPERATURE, JUDGE = 0.7, 0.5, 0.3
"""Prior standard deviations of b, theta and c."""
MOST_BIASES = 30
"""Classes up to which each has a bias."""
_STEPS, _SHORTEST, _GAIN = 12, 1e-3, 1e-6


@dataclass(frozen=True)
class Prior:
    """Independent normal distributions of the parameters: biases (classes, or none), theta, judges.

    Attributes:
        mean, deviation: float64 (parameters).
    """

    mean: Array
    deviation: Array


def prior_of(classes: int, judges: int, trust: float) -> Prior:
    """The prior; `trust` is the mean of theta."""
    biases = classes if classes <= MOST_BIASES else 0
    mean = np.r_[np.zeros(biases), trust, np.zeros(judges)]
    return Prior(mean, np.r_[np.full(biases, BIAS), TEMPERATURE, np.full(judges, JUDGE)])


def features(log_posterior: Array, said: NDArray[np.int32]) -> Array:
    """What the parameters multiply (items, classes, parameters).

    Args:
        log_posterior: log P (items, classes).
        said: label of each judge, -1 for none (judges, items).
    """
    items, classes = log_posterior.shape
    biases = classes if classes <= MOST_BIASES else 0
    found = np.zeros((items, classes, biases + 1 + len(said)))
    found[:, np.arange(biases), np.arange(biases)] = 1.0
    found[:, :, biases] = centred(log_posterior)
    for judge, labels in enumerate(said, biases + 1):
        there = np.flatnonzero(labels >= 0)
        found[there, labels[there], judge] = 1.0
    return found


def centred(log_posterior: Array) -> Array:
    """Logarithms with mean 0 over the classes."""
    return np.asarray(log_posterior - log_posterior.mean(axis=1, keepdims=True))


def drawn(x: Array, truth: NDArray[np.int32], prior: Prior, draws: int = DRAWS) -> Array:
    """Parameters drawn from their posterior given gold (draws, parameters).

    Args:
        x: `features` of the gold items.
        truth: their classes (items).
        prior: of the parameters.
        draws: number of draws, an even one.
    """
    best, hessian = _most_probable(x, truth, prior)
    half = np.random.default_rng(0).standard_normal((draws // 2, len(best)))
    z = np.concatenate([half, -half])
    spread = np.linalg.solve(np.linalg.cholesky(hessian).T, z.T).T
    return np.asarray(best + spread)


def probability(x: Array, parameters: Array) -> Array:
    """Mean probabilities over draws (items, classes)."""
    found = np.zeros(x.shape[:2])
    for each in parameters:
        found += softmax(x @ each)
    return found / len(parameters)


def left_out(x: Array, truth: NDArray[np.int32], prior: Prior, folds: int = 10, seed: int = 0) -> Array:
    """Probabilities of each gold item given the gold of the other folds (items, classes)."""
    fold = np.random.default_rng(seed).permutation(len(truth)) % folds
    found = np.empty(x.shape[:2])
    for number in range(min(folds, len(truth))):
        out = np.flatnonzero(fold == number)
        rest = np.flatnonzero(fold != number)
        found[out] = probability(x[out], drawn(x[rest], truth[rest], prior, DRAWS // 2))
    return found


def softmax(scores: Array) -> Array:
    """Probabilities from scores (items, classes)."""
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _most_probable(x: Array, truth: NDArray[np.int32], prior: Prior) -> tuple[Array, Array]:
    """The mode of the posterior, by Newton steps that are halved until they gain, and the negative Hessian there."""
    rows, best, precision = np.arange(len(truth)), prior.mean.copy(), 1 / prior.deviation**2

    def height(b: Array) -> float:
        p = softmax(x @ b)[rows, truth]
        return float(np.log(np.maximum(p, 1e-300)).sum() - 0.5 * (precision * (b - prior.mean) ** 2).sum())

    at, hessian = height(best), np.diag(precision)
    for _ in range(_STEPS):
        slope, hessian = _slope(x, truth, best, prior.mean, precision)
        step, length = np.linalg.solve(hessian, slope), 1.0
        while length > _SHORTEST and height(best + length * step) < at - 1e-9:
            length /= 2
        best, before = best + length * step, at
        at = height(best)
        if at - before < _GAIN:
            break
    return best, _slope(x, truth, best, prior.mean, precision)[1]


def _slope(x: Array, truth: NDArray[np.int32], b: Array, mean: Array, precision: Array) -> tuple[Array, Array]:
    """Gradient, and the negative Hessian."""
    p = softmax(x @ b)
    expected = np.einsum("gk,gkd->gd", p, x)
    flat = x.reshape(-1, x.shape[2])
    hessian = (flat * p.reshape(-1, 1)).T @ flat - expected.T @ expected + np.diag(precision)
    return (x[np.arange(len(truth)), truth] - expected).sum(axis=0) - precision * (b - mean), hessian
