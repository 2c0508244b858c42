"""Ordered classes: ratings from 1 to 5, grades, degrees."""

from dataclasses import dataclass

import numpy as np

from hutch.crowd.models.model import Array

INTERVAL = 0.95
"""Probability of the interval of a rating."""


def whole_numbers(classes: list[str]) -> bool:
    """Classes are 3 to 12 whole numbers in ascending order.

    >>> whole_numbers(["1", "2", "3"]), whole_numbers(["no", "yes"])
    (True, False)
    """
    if not 3 <= len(classes) <= 12 or not all(name.lstrip("+-").isdecimal() for name in classes):
        return False
    values = [int(name) for name in classes]
    return values == sorted(set(values))


def all_numbers(classes: list[str]) -> bool:
    """Whether the classes are numbers, whose order is known.

    >>> all_numbers(["0.5", "1"]), all_numbers(["bad", "good"])
    (True, False)
    """
    try:
        return bool(np.isfinite([float(name) for name in classes]).all())
    except ValueError:
        return False


def scale(classes: list[str]) -> Array:
    """The value of each class: the numbers that they are if they are ascending numbers, else 1, 2, 3, ...

    >>> scale(["1", "2", "5"]).tolist(), scale(["bad", "fair", "good"]).tolist()
    ([1.0, 2.0, 5.0], [1.0, 2.0, 3.0])
    """
    try:
        values = np.array([float(name) for name in classes])
    except ValueError:
        values = np.full(len(classes), np.nan)
    rising = len(values) > 0 and np.isfinite(values).all() and bool((np.diff(values) > 0).all())
    return values if rising else np.arange(1.0, len(classes) + 1)


def scale_of(classes: list[str], ordered: bool | None) -> Array | None:
    """`scale`, or None if the classes are only names: not declared as ordered, and no `whole_numbers`."""
    return scale(classes) if (whole_numbers(classes) if ordered is None else ordered) else None


@dataclass(frozen=True)
class Ratings:
    """What posteriors over ordered classes say of each item, on the classes' scale (items).

    Attributes:
        mean: expected value: least squared error.
        median: least absolute error.
        low, high: the narrowest range of classes that holds the value with probability `INTERVAL`, at least.
    """

    mean: Array
    median: Array
    low: Array
    high: Array


def ratings(probability: Array, values: Array) -> Ratings:
    """Mean, median and interval of every item.

    Args:
        probability: (items, classes).
        values: of the classes, ascending (classes).

    >>> found = ratings(np.array([[0.1, 0.2, 0.7]]), np.array([1.0, 2.0, 3.0]))
    >>> [round(float(x[0]), 3) for x in (found.mean, found.median, found.low, found.high)]
    [2.6, 3.0, 1.0, 3.0]
    """
    below = probability.cumsum(axis=1)

    def quantile(level: float) -> Array:
        place = np.minimum((below < level - 1e-12).sum(axis=1), len(values) - 1)
        return np.asarray(values[place])

    low, high = _narrowest(below, values)
    return Ratings(probability @ values, quantile(0.5), low, high)


def _narrowest(below: Array, values: Array) -> tuple[Array, Array]:
    """The ends of the narrowest range that holds `INTERVAL`; of equally narrow ones, that which holds most.

    Args:
        below: cumulative probabilities (items, classes).
        values: of the classes (classes).
    """
    items, classes = below.shape
    before = np.concatenate([np.zeros((items, 1)), below[:, :-1]], axis=1)
    best, low, high = np.full(items, np.inf), np.zeros(items, np.int64), np.full(items, classes - 1)
    room = 1.0 + values[-1] - values[0] if classes else 1.0
    for first in range(classes):
        last = np.minimum((below < before[:, first, None] + INTERVAL - 1e-9).sum(axis=1), classes - 1)
        held = below[np.arange(items), last] - before[:, first]
        width = values[last] - values[first] - held / (1e6 * room)
        better = (held >= INTERVAL - 1e-9) & (width < best)
        best[better], low[better], high[better] = width[better], first, last[better]
    return values[low], values[high]
