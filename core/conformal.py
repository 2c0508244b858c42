"""How far labels are from predictions, by how far those learned last were: adaptive conformal intervals.

Of n residuals and the one that comes next, each is equally likely to be the k-th largest if rows are alike; so the next
one does not exceed the ⌈(n + 1) a⌉-th smallest of them with the probability a, whatever the noise. Where rows change, a
is not the level wanted: had each residual so far been judged by those before it, too few would have been held, or too
many. So a begins at the level, and each residual moves it,

    a += γ (level - held)

Source: V. Vovk, A. Gammerman and G. Shafer, "Algorithmic learning in a random world", 2005; I. Gibbs and E. Candès,
"Adaptive conformal inference under distribution shift", NeurIPS 2021.
"""

import math
from bisect import bisect_left, insort

import numpy as np
from numpy.typing import NDArray

KEPT = 400
"""Residuals of the rows learned last that are kept."""
_ENOUGH, _LATEST, _RATE = 20, 200, 0.02  # from which intervals are made; those that they are made of; γ


def reach_of(residuals: NDArray[np.float64], level: float, normal: float = 0.0) -> float:
    """What the next residual does not exceed, with a probability.

    Args:
        residuals: sizes of those of the rows learned last, in their order.
        level: the probability, between 0 and 1.
        normal: the answer where there are too few of them: less than 20, or than a level near 1 needs; of 20 and more
            it is at least their largest.

    >>> reach_of(np.arange(19.0), 0.9, 7.0), reach_of(np.random.default_rng(0).permutation(100), 0.9)
    (7.0, 90)
    """
    ordered: list[float] = []
    sizes, wanted = residuals.tolist(), level
    for k, size in enumerate(sizes):
        if len(ordered) >= _ENOUGH:
            wanted = min(max(wanted + _RATE * (level - (size <= _smallest(ordered, wanted, normal))), 0.0), 1.0)
        insort(ordered, size)
        if len(ordered) > _LATEST:
            ordered.pop(bisect_left(ordered, sizes[k - _LATEST]))
    return _smallest(ordered, wanted, normal) if len(ordered) >= _ENOUGH else normal


def _smallest(ordered: list[float], share: float, normal: float) -> float:
    """What so many of some ordered residuals, and of one more, do not exceed."""
    place = math.ceil((len(ordered) + 1) * share)
    return ordered[max(place, 1) - 1] if place <= len(ordered) else max(normal, ordered[-1])
