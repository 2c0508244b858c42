"""Which label to ask for next: in a pool, in a stream, and from whom."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.models.model import Array

HOPELESS = 20.0
"""An uninformative item that would need more labels than this, each like the first, is not worth asking for."""


@dataclass(frozen=True)
class Pool:
    """What one more label of an average worker would do to every item.

    Attributes:
        score: (1 - max posterior) / (1 + labels) (items); the higher, the sooner to ask.
        gain: expected fall of the posterior's entropy by one label, in nats (items).
        needed: entropy over gain: how many such labels would settle the item (items).
        doubt: 1 - max posterior (items).
        hopeless: labels will not settle it because of the item itself (items).
    """

    score: Array
    gain: Array
    needed: Array
    doubt: Array
    hopeless: NDArray[np.bool_]

    def next(self, count: int) -> NDArray[np.int64]:
        """The items to ask for, best first, without those that labels will not settle."""
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
        informative: g, how much a label of the item depends on its class, 0 to 1 (items).
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


def ask_more(
    posterior: Array,
    label_counts: NDArray[np.int64],
    draws: Array,
    threshold: float = 0.3,
    most: int = 7,
    random_share: float = 0.05,
    random_labels: int = 3,
) -> NDArray[np.bool_]:
    """The stream's rule: ask while 1 - max posterior exceeds a threshold; items without labels ask by their prior.

    Args:
        posterior: (items, classes).
        label_counts: labels so far (items).
        draws: uniform random numbers in [0, 1), one per item, the same at every call for that item.
        threshold: the higher, the fewer labels.
        most: labels of an item at most.
        random_share: share of items that get `random_labels` in any case, so that drift is noticed.

    >>> ask_more(np.array([[0.6, 0.4], [0.9, 0.1]]), np.array([1, 1]), np.array([0.5, 0.5])).tolist()
    [True, False]
    """
    doubtful = (1 - posterior.max(axis=1) > threshold) & (label_counts < most)
    return np.asarray(doubtful | ((draws < random_share) & (label_counts < random_labels)))


def worker_value(confusions: Array, class_prior: Array, label_counts: NDArray[np.int64]) -> Array:
    """How much to prefer each of the available workers: I(class; label), plus a bonus for those hardly known.

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


@dataclass(frozen=True, slots=True)
class Asked:
    """One label that is asked for; it has what a request of `hutch.durable.records` wants.

    Attributes:
        item: its number in the pool.
        prediction: most probable class, counted from 1.
        probability: with which the item was asked for, in (0, 1].
        importance: 1 / probability, for estimates over the whole pool.
    """

    item: int
    prediction: int
    probability: float
    importance: float


def ask_pool(
    posterior: Array,
    label_counts: NDArray[np.int64],
    count: int,
    seed: int,
    *,
    random_share: float = 0.05,
    most: int = 7,
    uniform_until: float = 0.25,
) -> Iterator[Asked]:
    """Ask for labels of a pool's items: the highest (1 - max posterior) / (1 + labels), and some drawn by lot.

    The best are asked for with certainty, and the lot falls on each of the others with one probability: every item has
    a known chance. While there are fewer than `uniform_until` labels per item, all are drawn by lot: doubt means
    nothing yet.

    Args:
        posterior: (items, classes).
        label_counts: labels so far (items).
        count: labels wanted; fewer if the pool has fewer items with less than `most` labels.
        seed: of the lot; another one for each round.
        random_share: of `count`, drawn by lot.
        most: labels of an item at most.
        uniform_until: labels per item, on average, from which on doubt decides.

    >>> posterior = np.array([[0.9, 0.1], [0.5, 0.5], [0.6, 0.4]])
    >>> [asked.item for asked in ask_pool(posterior, np.array([1, 1, 1]), 2, seed=0)]
    [1, 2]
    """
    random = np.random.default_rng(seed)
    eligible = np.flatnonzero(label_counts < most)
    count = min(count, len(eligible))
    early = len(label_counts) > 0 and float(np.mean(label_counts)) < uniform_until
    by_lot = count if early else round(random_share * count)
    doubt = 1 - posterior.max(axis=1, initial=0.0)
    score = doubt / (1 + label_counts)
    order = eligible[np.argsort(-score[eligible], kind="stable")]
    best, rest = order[: count - by_lot], order[count - by_lot :]
    chance = by_lot / len(rest) if len(rest) else 1.0
    drawn = random.choice(rest, by_lot, replace=False) if by_lot else rest[:0]
    for items, probability in ((best, 1.0), (drawn, chance)):
        for item in items.tolist():
            yield Asked(item, int(posterior[item].argmax()) + 1, probability, 1 / probability)


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
