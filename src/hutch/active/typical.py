"""The first round from a pool of rows of numbers: examples that are typical of it.

A model that knows nothing has no margins. The row nearest to the centre of each cluster of k-means is a better
beginning than chance where labels are few (G. Hacohen, A. Dekel and D. Weinshall, "Active learning on a budget:
opposite strategies suit high and low budgets", 2022).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hutch.active.drawing import Scores
from hutch.core.batch import Batch

if TYPE_CHECKING:
    from hutch.chain import Chain

LOOKED_AT = 4096
"""Examples of a pool among which typical ones are looked for, or four times as many as are wanted."""
_WIDTH = 512
_STEPS = 20
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
    found = np.unique(_distances(rows, lengths, centres).argmin(axis=0), return_counts=True)[0]
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
    places = some + np.searchsorted(asked - np.arange(len(asked)), some, "right")
    wanted, lines = set(places.tolist()), []
    for place, _, entry, _ in scores.named(np.unique(scores.key[places], return_counts=True)[0]):
        if place in wanted:
            lines.append(entry.line)
    rows = np.concatenate([sketch(batch) for batch in chain.batches(lines)])
    return some[typical(rows, count, seed)]
