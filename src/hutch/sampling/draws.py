"""Draws without replacement, each item with a chance that is known: systematic, and one after the other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

ROWS = 1 << 16
"""Number of items to process at a time; the order of a draw by lot is random within these."""


def choose(probabilities: NDArray[Any], seed: Sequence[int]) -> NDArray[np.int64]:
    """Draw examples with given probabilities that add up to a whole number, exactly so many.

    Systematic sampling in random order, the order random within blocks: each example is drawn with exactly its
    probability.

    Args:
        probabilities: float64 (examples), in (0, 1].
        seed: of the draw.

    Returns:
        int64: the numbers of those drawn, ascending.
    """
    random, n = np.random.default_rng(list(seed)), len(probabilities)
    total = round(float(sum(probabilities[i : i + ROWS].sum() for i in range(0, n, ROWS))))
    drawn, before, start, step = [], 0.0, None, 0.0
    for first in range(0, n, ROWS):
        block = probabilities[first : first + ROWS]
        order = random.permutation(len(block))
        start = random.random() if start is None else start
        sums = before + np.cumsum(block[order])
        before = float(sums[-1])
        if first + ROWS >= n:
            sums[-1] = total
        steps = np.minimum(np.floor(sums + start), total)
        drawn.append(np.sort(order[np.diff(steps, prepend=step) > 0]) + first)
        step = float(steps[-1])
    return np.concatenate(drawn).astype(np.int64)


def in_order(chances: Array, order: Places, random: np.random.Generator) -> Places:
    """Draw items with given chances, as evenly as possible along an order of them.

    Systematic sampling (W. Madow, Annals of Mathematical Statistics 20, 1949): where neighbours have similar answers,
    the draw is as good as one from many strata.

    Args:
        chances: in (0, 1], adding up to a whole number (items).
        order: places of the items.
        random: the generator.

    Returns:
        Places of those drawn, in this order.

    >>> in_order(np.array([0.5, 0.5, 1.0]), np.array([0, 1, 2]), np.random.default_rng(0)).tolist()
    [1, 2]
    """
    ends = np.cumsum(chances[order])
    many = round(float(ends[-1]))
    ticks = (random.random() + np.arange(many)) * (ends[-1] / many)
    return np.asarray(order[np.minimum(np.searchsorted(ends, ticks, side="right"), len(order) - 1)])


def draw_by_lot(weights: Array, count: int, random: np.random.Generator) -> tuple[NDArray[np.int64], Array, Array]:
    """Draw items one after the other without replacement.

    Sorting by exponential(1) / weight draws in proportion to the weights of those that are left (P. Efraimidis,
    P. Spirakis, Information Processing Letters 97, 2006).

    Args:
        weights: of the items, above 0.
        count: number to draw, at most all.
        random: the generator.

    Returns:
        Places of the items in the order drawn, the chance with which each was drawn, and the least chance of any item
        in the same draw.

    >>> places, chances, least = draw_by_lot(np.array([1.0, 1.0, 2.0]), 3, np.random.default_rng(1))
    >>> places.tolist(), chances.round(2).tolist(), least.round(2).tolist()
    ([1, 0, 2], [0.25, 0.33, 1.0], [0.25, 0.33, 0.5])
    """
    keys = random.exponential(size=len(weights)) / weights
    places = np.argsort(keys)[:count]
    left = weights.sum() - (np.cumsum(weights[places]) - weights[places])
    least = np.minimum(weights.min(), left)
    return places, np.minimum(weights[places] / left, 1.0), np.minimum(least / left, 1.0)


def smallest(scores: NDArray[Any], count: int) -> NDArray[np.int64]:
    """The numbers of the smallest scores, ascending; of equal ones the first.

    >>> smallest(np.array([3.0, 1.0, 2.0, 1.0, 1.0]), 2)
    array([1, 3])
    """
    return np.sort(np.argsort(scores, kind="stable")[:count])
