"""Rounds by margin from a pool of rows of numbers: at first typical ones, then near ones that are not all alike.

A model that knows nothing has no margins. The row nearest to the centre of each cluster of k-means is a better
beginning than chance where labels are few (G. Hacohen, A. Dekel and D. Weinshall, "Active learning on a budget:
opposite strategies suit high and low budgets", 2022).

Later, rows that lie close together have about one margin, and the label of one of them tells most of what the others'
would. A Gaussian posterior knows that before any label comes: once the value of one prediction is known, the variance
of another falls from q to q - r² / q', with r their covariance and q' the variance of the one. So rows are chosen one
after the other, each the one with the least

    |margin| · (variance before the round) / (variance once the values at those chosen are known),

which is the conditional variance by which T. Desautels, A. Krause and J. Burdick choose within a batch ("Parallelizing
exploration-exploitation tradeoffs in Gaussian process bandit optimization", JMLR 15, 2014).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.drawing import Scores, distinct, smallest
from hutch.core.batch import Batch, joined

if TYPE_CHECKING:
    from hutch.chain import Chain

LOOKED_AT = 4096
"""Examples of a pool among which typical ones, or near ones that differ, are looked for, or four times as many as are
wanted."""
_WIDTH = 512
_STEPS = 20
_LEAST = 1e-3  # part of its variance that a prediction keeps: with as many rows as dimensions all would be known
_SIGN = np.uint64(0x9E3779B97F4A7C15)
Rows = NDArray[np.float64]


def sketch(batch: Batch, width: int = _WIDTH) -> Rows:
    """Features as rows of a fixed width, in which distances are about what they were.

    Each feature is added, with a sign of its own, in the column of its index modulo the width: numbered features of no
    more dimensions than that do not meet. The constant, which all examples have, moves all rows alike.

    Args:
        batch: the examples.
        width: columns.

    Returns:
        float64 (examples, width).
    """
    rows = np.zeros((len(batch), width))
    numbers = np.repeat(np.arange(len(batch)), np.diff(batch.row_ptr))
    features = slice(int(batch.row_ptr[0]), int(batch.row_ptr[-1]))
    indices = batch.indices[features].astype(np.uint64)
    signs = 1.0 - 2.0 * ((indices * _SIGN) >> np.uint64(63)).astype(np.float64)
    np.add.at(rows, (numbers, indices % np.uint64(width)), signs * batch.values[features])
    return rows


def typical(rows: Rows, count: int, seed: list[int]) -> NDArray[np.int64]:
    """Rows near the centres of as many clusters: k-means from k-means++ centres.

    Args:
        rows: float64 (examples, columns).
        count: rows wanted, up to all.
        seed: of the first centres.

    Returns:
        int64 (count), ascending, all different; where rows come again, chance fills up.

    >>> typical(np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]), 2, [0])
    array([1, 4])
    """
    random = np.random.default_rng(seed)
    lengths = (rows * rows).sum(axis=1)
    drawn = [int(random.integers(len(rows)))]
    nearest = np.full(len(rows), np.inf)
    while len(drawn) < count:
        nearest = np.minimum(nearest, _distances(rows, lengths, rows[drawn[-1:]])[:, 0])
        total = nearest.sum()
        drawn.append(int(random.choice(len(rows), p=nearest / total if total > 0 else None)))
    centres = rows[drawn]
    for _ in range(_STEPS):
        own = _distances(rows, lengths, centres).argmin(axis=1)
        sizes = np.bincount(own, minlength=count)
        sums = np.zeros_like(centres)
        np.add.at(sums, own, rows)
        moved = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    found = distinct(_distances(rows, lengths, centres).argmin(axis=0))
    others = np.setdiff1d(np.arange(len(rows)), found)
    return np.sort(np.concatenate([found, random.choice(others, count - len(found), replace=False)]))


def _distances(rows: Rows, lengths: Rows, centres: Rows) -> Rows:
    """Squared distances (rows, centres)."""
    found: Rows = lengths[:, None] + (centres * centres).sum(axis=1) - 2.0 * rows @ centres.T
    return np.maximum(found, 0.0)


def first_round(chain: "Chain", scores: Scores, asked: NDArray[np.int64], count: int, seed: list[int]) -> Any:
    """The numbers, among the examples of a pool that were not asked for before, of those to ask for first.

    Args:
        chain: parses the examples.
        scores: of the pool.
        asked: places of the examples that were asked for before, ascending.
        count: examples wanted, up to all.
        seed: of the draw.

    Returns:
        int64 (count), ascending.
    """
    size = len(scores.score) - len(asked)
    some = np.arange(size)
    most = max(LOOKED_AT, 4 * count)
    if size > most:
        some = np.sort(np.random.default_rng([*seed, 1]).choice(size, most, replace=False))
    rows = np.concatenate([sketch(batch) for batch in chain.batches(scores.lines_of(some, asked))])
    return some[typical(rows, count, seed)]


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
