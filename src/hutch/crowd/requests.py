"""The label to request next, and the worker to ask."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.models.model import Array

HOPELESS = 20.0
"""An uninformative item that would need more labels than this, each like the first, is not worth asking for."""


@dataclass(frozen=True)
class Pool:
    """The effect of one more label of an average worker on every item.

    Attributes:
        score: (1 - max posterior) / (1 + labels) (items); the higher, the sooner to ask.
        gain: expected fall of the posterior's entropy by one label, in nats (items).
        needed: entropy over gain: number of such labels that would settle the item (items).
        doubt: 1 - max posterior (items).
        hopeless: labels will not settle it because of the item itself (items).
    """

    score: Array
    gain: Array
    needed: Array
    doubt: Array
    hopeless: NDArray[np.bool_]

    def next(self, count: int) -> NDArray[np.int64]:
        """The items to request, best first, without those that labels will not settle."""
        order = np.argsort(-self.score, kind="stable")
        return order[~self.hopeless[order]][:count]

    def unsettled(self, count: int, doubt: float = 0.3) -> NDArray[np.int64]:
        """The most doubtful of the items that further labels will not settle.

        Args:
            doubt: 1 - max posterior from which an item counts as doubtful.
        """
        order = np.argsort(-self.doubt, kind="stable")
        return order[self.hopeless[order] & (self.doubt[order] > doubt)][:count]


def pool(posterior: Array, label_counts: NDArray[np.int64], row: Array, informative: Array, habit: Array) -> Pool:
    """Score every item of a pool.

    The next label of item i is drawn from g_i row[k] + (1 - g_i) habit if its class is k; the gain is the mutual
    information of that label and the class.

    Args:
        posterior: (items, classes).
        label_counts: (items).
        row: P(label | class) of an average worker (classes, labels).
        informative: g, dependence of a label of the item on its class, 0 to 1 (items).
        habit: P(label) of an average worker, whatever the class (labels).
    """
    given = entropy(posterior)
    seen = informative[:, None] * (posterior @ row) + (1 - informative)[:, None] * habit
    levels = np.linspace(0.0, 1.0, 33)
    rows = levels[:, None, None] * row + (1 - levels)[:, None, None] * habit
    by_level = entropy(rows)
    inside = np.empty_like(posterior)
    for k in range(posterior.shape[1]):
        inside[:, k] = np.interp(informative, levels, by_level[:, k])
    gain = np.maximum(entropy(seen) - np.sum(posterior * inside, axis=1), 0.0)
    needed = np.divide(given, gain, out=np.full_like(given, np.inf), where=gain > 1e-9)
    doubt = 1 - posterior.max(axis=1, initial=0.0)
    needed = np.where(given < 1e-9, 0.0, needed)
    return Pool(doubt / (1 + label_counts), gain, needed, doubt, (needed > HOPELESS) & (informative < 0.5))


def worker_value(confusions: Array, class_prior: Array, label_counts: NDArray[np.int64]) -> Array:
    """Preference among the available workers: I(class; label), plus a bonus for those hardly known.

    value_w = I_w + mean(I) / sqrt(1 + n_w)

    Args:
        confusions: P(label | class) (workers, classes, labels).
        class_prior: (classes).
        label_counts: labels given so far (workers).
    """
    information = entropy(class_prior @ confusions) - entropy(confusions) @ class_prior
    return np.asarray(information + information.mean() / np.sqrt(1 + label_counts))


def entropy(probabilities: Array) -> Array:
    """Entropy over the last axis, in nats.

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [0.693, 0.0]
    """
    logs = np.log(np.where(probabilities > 0, probabilities, 1.0))
    return np.asarray(-np.sum(probabilities * logs, axis=-1) + 0.0)


def best_worker(
    available: NDArray[np.int64], confusions: Array, class_prior: Array, label_counts: NDArray[np.int64]
) -> int:
    """The one to ask among the available workers, by `worker_value`; the first of equals.

    Args:
        available: their numbers.
        confusions, class_prior, label_counts: of all workers, as in `worker_value`.

    >>> friend, spammer = np.array([[0.9, 0.1], [0.2, 0.8]]), np.full((2, 2), 0.5)
    >>> best_worker(np.array([0, 1]), np.array([spammer, friend]), np.array([0.5, 0.5]), np.array([5, 5]))
    1
    """
    value = worker_value(confusions, class_prior, label_counts)
    return int(available[np.argmax(value[available])])
