"""Drawing examples of a pool by their scores: which labels to ask for, and how likely that was."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]

ROWS = 1 << 16
"""Number of scores to process at a time; the order of drawing is random within these."""


def draw(layer: Any, scores: Numbers, count: int, seed: Sequence[int]) -> tuple[NDArray[np.int64], Numbers]:
    """Draw examples by the rule of an `active` layer; the more easily a prediction changes, the likelier the example.

    Args:
        layer: whose rule has probabilities for a pool, or is `margin`, which draws the smallest scores for sure.
        scores: as its `trace` records them, float64 (examples); they are overwritten.
        count: examples wanted, up to all.
        seed: of the draw.

    Returns:
        The numbers of those drawn, ascending, and the probability with which each was.
    """
    if layer.parameters.rule == "margin":
        return smallest(scores, count), np.ones(count)
    layer.pool_probabilities(scores, count, out=scores)
    drawn = choose(scores, seed)
    return drawn, scores[drawn]


def choose(probabilities: Numbers, seed: Sequence[int]) -> NDArray[np.int64]:
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


def smallest(scores: Numbers, count: int) -> NDArray[np.int64]:
    """The numbers of the smallest scores, ascending; of equal ones the first.

    >>> smallest(np.array([3.0, 1.0, 2.0, 1.0, 1.0]), 2)
    array([1, 3])
    """
    return np.sort(np.argsort(scores, kind="stable")[:count])
