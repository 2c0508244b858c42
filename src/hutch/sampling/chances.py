"""How likely each of some items is to be drawn: more where its answer tells more, never 0."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def chances_of(size: Array, count: int, even: float) -> Array:
    """Chances of a draw without replacement: a share is even, the rest in proportion to a size, at most 1.

    Args:
        size: of each item, above 0.
        count: of items.
        even: share, 0 to 1.

    Returns:
        The chances, which add up to `count`.

    >>> chances_of(np.array([1.0, 1, 1, 9]), 2, 0.0).round(2).tolist()
    [0.33, 0.33, 0.33, 1.0]
    """
    if count >= len(size):
        return np.ones(len(size))
    wanted: Array = (1 - even) * size / size.sum() + even / len(size)
    sure, chance = np.zeros(len(size), np.bool_), np.asarray(count * wanted)
    while (more := (chance >= 1) & ~sure).any():
        sure |= more
        chance = np.where(sure, 1.0, (count - sure.sum()) * wanted / max(float(wanted[~sure].sum()), 1e-300))
    return chance


def weights_of(p: Array, tilt: float) -> Array:
    """How likely each item is to be audited: a mixture of even draws and draws in proportion to sqrt(p).

    Args:
        p: probabilities that labels are wrong.
        tilt: 0: even, 1: only by p.
    """
    root = np.sqrt(p)
    return np.asarray(tilt * root / root.mean() + 1 - tilt)
