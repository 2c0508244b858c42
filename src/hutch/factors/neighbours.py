"""What is known of a new row before its first answer: it is near one of the rows of the table, or a stranger."""

import math
from dataclasses import dataclass

import numpy as np

from hutch.factors.logistic import Array
from hutch.factors.table import Factors

NEIGHBOURS, FEW = 5, 8
"""Nearest rows whose distance counts; fewer rows have no neighbourhood of their own."""
BAND, STRANGER, WIDE = 1.2, 0.1, 2.0
"""Width around a row, in distances of neighbours; chance of a stranger; variance of one, in variances of all rows."""


@dataclass(frozen=True)
class Part:
    """Normal components of one covariance.

    Attributes:
        means: (components, size).
        precision: (size, size).
        log_determinant: of the precision.
        log_weight: of each component.
    """

    means: Array
    precision: Array
    log_determinant: float
    log_weight: float

    @classmethod
    def of(cls, means: Array, covariance: Array, weight: float) -> "Part":
        """Components of a covariance that share a weight equally."""
        log_determinant = -float(np.linalg.slogdet(covariance)[1])
        return cls(
            means, np.asarray(np.linalg.inv(covariance), np.float64), log_determinant, math.log(weight / len(means))
        )


def prior_of(factors: Factors) -> tuple[Part, Part]:
    """The prior of a new row u = (A, alpha): a mixture of a component at each row, and a wide one.

    Args:
        factors: of the table, of one row or more.

    >>> from hutch.factors.table import learn_factors
    >>> near, stranger = prior_of(learn_factors(np.eye(12), rank=2))
    >>> near.means.shape, round(math.exp(near.log_weight), 3), stranger.means.shape
    ((12, 3), 0.075, (1, 3))
    """
    places = factors.places
    size = places.shape[1]
    apart = places - places.mean(axis=0)
    spread = apart.T @ apart / max(len(places) - 1, 1) + 1e-4 * np.eye(size)
    near = Part.of(places, BAND**2 * _neighbourhood(places, spread), 1 - STRANGER)
    return near, Part.of(places.mean(axis=0)[None], WIDE * spread, STRANGER)


def _neighbourhood(places: Array, spread: Array) -> Array:
    """Half the covariance of the difference between a row and its nearest ones, shrunk where rows are few."""
    rows, size = places.shape
    if rows < FEW:
        return 0.3 * spread
    scaled = (places - places.mean(axis=0)) @ np.linalg.cholesky(np.linalg.inv(spread))
    norms = (scaled * scaled).sum(axis=1)
    distance = norms + norms[:, None] - 2 * scaled @ scaled.T
    np.fill_diagonal(distance, np.inf)
    nearest = np.argpartition(distance, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    differences = (places[:, None] - places[nearest]).reshape(-1, size)
    sure = rows / (rows + size)
    own = differences.T @ differences / len(differences) / 2
    return np.asarray(sure * own + (1 - sure) * 0.3 * spread + 1e-4 * np.eye(size))
