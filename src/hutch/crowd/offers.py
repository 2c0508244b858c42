"""Requests where labels have prices: a cheap judge or an expensive person for each item."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.aggregate import Aggregate
from hutch.crowd.models.model import Array
from hutch.crowd.requests import entropy

_BLOCK = 8192  # items at a time


@dataclass(frozen=True)
class Offers:
    """The best buy for every item.

    Attributes:
        worker: code of the worker to ask, -1 if all have labelled the item (items).
        gain: expected fall of the posterior's entropy by their label, in nats (items).
        price: of that label (items).
    """

    worker: NDArray[np.int64]
    gain: Array
    price: Array

    def best(self, count: int) -> NDArray[np.int64]:
        """The items with the largest gain per price, best first."""
        order = np.argsort(-self.gain / self.price, kind="stable")
        return order[self.worker[order] >= 0][:count]


def offers(result: Aggregate, workers: Sequence[int], prices: Sequence[float]) -> Offers:
    """For every item, the worker whose label gains most for its price, among those who have not labelled it.

    Args:
        result: of the aggregation; its model determines how much a label counts, so that a judge who only repeats the
            others has little value.
        workers: codes of the available workers.
        prices: of one label of each, > 0.
    """
    labels = result.labels
    found = Offers(np.full(labels.items, -1), np.zeros(labels.items), np.ones(labels.items))
    factors, best = result.factors(), np.full(labels.items, -1.0)
    for worker, price in zip(workers, prices, strict=True):
        gain = expected_gain(result.fit.posterior, result.confusions[worker], factors[worker])
        gain[labels.label_items[labels.workers == worker]] = -np.inf
        better = gain / price > best
        found.worker[better], found.gain[better], found.price[better] = worker, gain[better], price
        best[better] = gain[better] / price
    return found


def expected_gain(posterior: Array, row: Array, factor: Array) -> Array:
    """Expected fall of each posterior's entropy by one label of a worker, at least 0 (items).

    Args:
        posterior: (items, classes).
        row: P(label | class), the expected distribution of labels (classes, labels).
        factor: by which each label multiplies the probabilities (labels, classes).

    >>> sure, coin = np.eye(2), np.full((2, 2), 0.5)
    >>> expected_gain(np.array([[0.5, 0.5], [1.0, 0.0]]), sure, sure).round(3).tolist()
    [0.693, 0.0]
    >>> expected_gain(np.array([[0.5, 0.5]]), coin, coin).tolist()
    [0.0]
    """
    result = np.empty(len(posterior))
    for start in range(0, len(posterior), _BLOCK):
        q = posterior[start : start + _BLOCK]
        after = q[:, None] * factor + 1e-300
        after /= after.sum(axis=2, keepdims=True)
        result[start : start + _BLOCK] = entropy(q) - np.sum((q @ row) * entropy(after), axis=1)
    return np.maximum(result, 0.0)
