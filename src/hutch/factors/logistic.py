"""The logistic function, and its mean where its argument is uncertain."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def logit(share: Array) -> Array:
    """The logarithm of the odds.

    Args:
        share: above 0 and below 1, of any shape.

    >>> logit(np.array([0.5, 0.8])).round(3).tolist()
    [0.0, 1.386]
    """
    return np.asarray(np.log(share / (1 - share)))


def squash(mean: Array, variance: Array) -> Array:
    """The mean of 1 / (1 + exp(-t)) over a normal t, nearly.

    Args:
        mean, variance: of t, of any shape.

    Returns:
        sigmoid(mean / sqrt(1 + pi variance / 8)): D. MacKay, Neural Computation 4, 1992.

    >>> squash(np.array([0.0, 3.0]), np.array([1.0, 2.0])).round(3).tolist()
    [0.5, 0.904]
    """
    return np.asarray(1 / (1 + np.exp(-mean / np.sqrt(1 + np.pi * variance / 8))))
