"""Ordered classes: ratings from 1 to 5, grades, degrees."""

from dataclasses import dataclass

import numpy as np

from hutch.crowd.data.degrees import are_degrees, numbers_of, ranks_of
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array

INTERVAL = 0.95
"""Probability of the interval of a rating."""
MANY_VALUES = 8
"""Above this number of classes, each is too rare to estimate its meaning: posteriors are compared with means."""
UNKNOWN_LEVEL = 0.04
"""Standard error of the crowd's level, as a share of the scale, from which people should hear of it."""
_STEPS = 60


def has_known_order(classes: list[str]) -> bool:
    """Whether the classes are numbers, or words of a usual scale, whose order is known.

    >>> has_known_order(["0.5", "1"]), has_known_order(["low", "medium", "high"]), has_known_order(["cat", "dog"])
    (True, True, False)
    """
    return numbers_of(classes) is not None or ranks_of(classes) is not None


def scale(classes: list[str]) -> Array:
    """The value of each class: the numbers that they are if they are ascending numbers, else 1, 2, 3, ...

    >>> scale(["1", "2", "5"]).tolist(), scale(["bad", "fair", "good"]).tolist()
    ([1.0, 2.0, 5.0], [1.0, 2.0, 3.0])
    """
    values = np.array(numbers_of(classes) or [])
    rising = len(values) > 0 and np.isfinite(values).all() and bool((np.diff(values) > 0).all())
    return values if rising else np.arange(1.0, len(classes) + 1)


def scale_of(classes: list[str], ordered: bool | None) -> Array | None:
    """`scale`, or None if the classes are only names: not declared as ordered, and no degrees by themselves."""
    return scale(classes) if (are_degrees(classes) if ordered is None else ordered) else None


@dataclass(frozen=True)
class Ratings:
    """Summary of posteriors over ordered classes for each item, on the classes' scale (items).

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


def leaned(probability: Array, values: Array, labels: Labels, others: Array) -> Array:
    """Posteriors tilted so that their means lie between their own and those of the labels, judged by left-out labels.

    How far they lie towards the labels' is the least-squares fit of each label by the mean of the others of its item
    and the mean that the model has without it. A posterior is leaned by exp(t u), u the places of the classes, which
    of all ways to change its mean changes the rest least (relative entropy).

    Args:
        probability: (items, classes).
        values: of the classes, ascending (classes).
        labels: of the items.
        others: evidence of everything but a label about its item; see `CrowdModel.others` (labels, classes).
    """
    u = 2 * (values - values[0]) / (values[-1] - values[0]) - 1
    item, given, count = labels.label_items, u[labels.labels], np.diff(labels.item_ptr)
    total = np.bincount(item, given, labels.items)
    several = count[item] > 1
    rest = ((total[item] - given) / np.maximum(count[item] - 1, 1))[several]
    more = (others @ u / others.sum(axis=1))[several] - rest
    share = float(np.clip(more @ (given[several] - rest) / max(more @ more, 1e-12), 0, 1))
    own = probability @ u
    wanted = np.where(count > 0, share * own + (1 - share) * total / np.maximum(count, 1), own)
    logs, lean = np.log(np.maximum(probability, 1e-12)), np.zeros(labels.items)
    for _ in range(_STEPS):
        found = np.exp((scores := logs + lean[:, None] * u) - scores.max(axis=1, keepdims=True))
        found /= found.sum(axis=1, keepdims=True)
        mean = found @ u
        lean += np.clip((wanted - mean) / np.maximum(found @ u**2 - mean**2, 1e-4), -2, 2)
    return np.asarray(found)


def level_error(labels: Labels, confusions: Array, class_prior: Array, values: Array) -> float:
    """Standard error of the level at which the crowd labels: how far all values may be shifted.

    It is that of the mean of the workers' biases, weighted by their labels. No interval of an item holds it, since it
    is the same error for all. 0 for a single worker, who shows no difference.

    >>> from hutch.crowd.data.labels import from_triples
    >>> kind, strict = [[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]
    >>> votes = from_triples([("ann", "t1", "2"), ("bob", "t1", "1")])
    >>> level_error(votes, np.array([kind, strict]), np.array([0.5, 0.5]), np.array([1.0, 2.0]))
    0.5
    """
    share = np.bincount(labels.workers, minlength=len(confusions)) / max(len(labels), 1)
    bias = np.einsum("k,wkl,l->w", class_prior, confusions, values)
    several = 1 / max(float(share @ share), 1e-12) - 1
    return float(np.sqrt(share @ (bias - share @ bias) ** 2 / several)) if several > 1e-9 else 0.0


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
