"""A round of the examples nearest to the threshold that are not all alike.

Rows that lie close together have about one margin, and the label of one of them tells most of what the others' would. A
learner with a Gaussian posterior knows that before any label comes: once the value of one prediction is known, the
variance of another falls from q to q - r² / q', with r their covariance and q' the variance of the one. So rows are
chosen one after the other, each the one with the least

    |margin| · (variance before the round) / (variance once the values at those chosen are known).

The first is the nearest to the threshold, and a round of one is what it was.
Source: the conditional variance of a Gaussian; choosing by it within a batch is T. Desautels, A. Krause and J. Burdick,
"Parallelizing exploration-exploitation tradeoffs in Gaussian process bandit optimization", JMLR 15, 2014.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hutch.active.drawing import Scores, smallest
from hutch.core.batch import joined

if TYPE_CHECKING:
    from hutch.chain import Chain

LOOKED_AT = 4096
"""Nearest examples of a pool among which a round is chosen, or four times as many as are wanted."""
_LEAST = 1e-3  # part of its variance that a prediction keeps: with as many rows as dimensions all would be known
Rows = NDArray[np.float64]


def unlike(margins: Rows, rows: Rows, products: Rows, count: int) -> NDArray[np.int64]:
    """The numbers of near examples that tell of different things, in the order in which they were chosen.

    Args:
        margins: float64 (examples), at least 0.
        rows, products: float64 (examples, n): row i of the one times row j of the other is a covariance.
        count: examples wanted, up to all.

    >>> margins, rows = np.array([0.1, 0.11, 0.2]), np.array([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]])
    >>> unlike(margins, rows, rows, 2)  # the second is nearly the first again
    array([0, 2])
    """
    before = np.maximum(np.einsum("ij,ij->i", rows, products), 0.0)
    variance, scores = before.copy(), margins.astype(np.float64)
    found = np.empty(count, np.int64)
    known = np.zeros((count, rows.shape[1]))  # a row of it times x: covariance of x with one chosen, over its deviation
    for k in range(count):
        found[k] = best = int(np.argmin(scores))
        scores[best] = np.inf
        direction = products[best] - (known[:k] @ rows[best]) @ known[:k]
        if not variance[best] > _LEAST * before[best]:
            continue
        known[k] = direction / np.sqrt(variance[best])
        variance = np.maximum(variance - (rows @ known[k]) ** 2, _LEAST * before)
        left = np.isfinite(scores) & (before > 0.0)
        scores[left] = margins[left] * (before[left] / variance[left])
    return found


def diverse_round(
    chain: "Chain", scores: Scores, left: Rows, asked: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """The numbers, among the examples of a pool that were not asked for before, of those to ask for by margin.

    Args:
        chain: the layer below its top says covariances; where it says none, the nearest examples are taken.
        scores: of the pool.
        left: margins of the examples that were not asked for before.
        asked: places of the others, ascending.
        count: examples wanted, up to all.

    Returns:
        int64 (count), ascending.
    """
    some = smallest(left, max(LOOKED_AT, 4 * count))
    found = None
    if 1 < count < len(some) and chain.layers[1].is_base:
        found = chain.layers[1].covariances(joined(*chain.batches(scores.lines_of(some, asked))))
    return np.sort(some[unlike(left[some], *found, count)]) if found else smallest(left, count)
