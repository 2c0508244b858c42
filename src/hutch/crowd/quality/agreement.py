"""Agreement of pairs of workers and within tasks, and the labels that are most probably wrong."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.aggregate import Aggregate
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array

MOST_WORKERS = 60
"""Pairs are counted among so many workers at most, those with most labels."""
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Pairs:
    """Agreement of pairs of workers, over the tasks that both labelled.

    Attributes:
        workers: codes of the workers, most labels first.
        common: int64 (workers, workers): tasks that both labelled.
        agreement: share of these on which their labels are the same; NaN without any.
        kappa: Cohen's kappa: 1 is agreement, 0 is that of chance given how often each uses each class; NaN where chance
            alone agrees always. J. Cohen, "A coefficient of agreement for nominal scales", 1960.
    """

    workers: NDArray[np.int64]
    common: NDArray[np.int64]
    agreement: Array
    kappa: Array

    def lowest(self, count: int, least_common: int = 5) -> list[tuple[int, int]]:
        """The pairs of places with the lowest kappa, among those with enough tasks in common."""
        first, second = np.triu_indices(len(self.workers), 1)
        enough = (self.common[first, second] >= least_common) & np.isfinite(self.kappa[first, second])
        first, second = first[enough], second[enough]
        order = np.argsort(self.kappa[first, second], kind="stable")[:count]
        return list(zip(first[order].tolist(), second[order].tolist(), strict=True))


def pair_agreement(labels: Labels, most: int = MOST_WORKERS) -> Pairs:
    """Agreement of all pairs of the workers with most labels; of contradictions the last one counts.

    Args:
        labels: the anonymous worker is left out.
        most: workers at most.

    >>> from hutch.crowd.data.labels import from_triples
    >>> votes = [("a", "1", "x"), ("b", "1", "x"), ("a", "2", "y"), ("b", "2", "y"), ("a", "3", "x"), ("b", "3", "y")]
    >>> found = pair_agreement(from_triples(votes))
    >>> int(found.common[0, 1]), round(float(found.agreement[0, 1]), 3), round(float(found.kappa[0, 1]), 3)
    (3, 0.667, 0.4)
    """
    counts = np.bincount(labels.workers, minlength=len(labels.worker_names))
    if "" in labels.worker_names:
        counts[labels.worker_names.index("")] = 0
    chosen = np.argsort(-counts, kind="stable")[:most]
    chosen = chosen[counts[chosen] > 0]
    size, classes = len(chosen), len(labels.classes)
    place = np.full(len(counts) + 1, -1)
    place[chosen] = np.arange(size)
    common, same = np.zeros((size, size)), np.zeros((size, size))
    used = np.zeros((classes, size, size))  # how often a worker used a class on the tasks shared with another
    for start in range(0, labels.items, _BLOCK):
        stop = min(start + _BLOCK, labels.items)
        begin, end = labels.item_ptr[start], labels.item_ptr[stop]
        item = np.repeat(np.arange(stop - start), np.diff(labels.item_ptr[start : stop + 1]))
        column = place[labels.workers[begin:end]]
        given = np.full((stop - start, size), -1, np.int32)
        given[item[column >= 0], column[column >= 0]] = labels.labels[begin:end][column >= 0]
        labelled = (given >= 0).astype(np.float32)
        common += labelled.T @ labelled
        for k in range(classes):
            those = (given == k).astype(np.float32)
            same += those.T @ those
            used[k] += those.T @ labelled
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = same / common
        chance = np.einsum("kwv,kvw->wv", used, used) / common**2
        kappa = np.where(chance < 1, (agreement - chance) / (1 - chance), np.nan)
    return Pairs(chosen, np.rint(common).astype(np.int64), agreement, kappa)


def task_agreement(labels: Labels) -> Array:
    """The share of pairs of labels of each task that are the same (items); NaN with fewer than two labels."""
    ratings = np.diff(labels.item_ptr).astype(np.float64)
    votes = labels.vote_share() * ratings[:, None]
    pairs = ratings * (ratings - 1)
    same = np.sum(votes * (votes - 1), axis=1)
    return np.asarray(np.divide(same, pairs, out=np.full(labels.items, np.nan), where=pairs > 0))


@dataclass(frozen=True)
class Suspects:
    """Labels that are probably wrong, the surest first.

    Attributes:
        labels: int64, their places among the labels.
        items: int64, their tasks.
        suggested: int64, the most probable class of the task.
        wrong: probability that the label is not the task's class; 1 where gold says so.
    """

    labels: NDArray[np.int64]
    items: NDArray[np.int64]
    suggested: NDArray[np.int64]
    wrong: Array

    def __len__(self) -> int:
        return len(self.labels)


def suspects(result: Aggregate, least: float = 0.5) -> Suspects:
    """The labels whose class is not that of their task with a probability above `least`.

    Args:
        result: of an aggregation; its calibrated posteriors are what counts, and gold where it is known.
        least: of the probability, from 0 to 1.
    """
    labels = result.labels
    items = labels.label_items
    probability = result.probability.copy()
    known = labels.gold >= 0
    probability[known] = np.eye(len(labels.classes))[labels.gold[known]]
    wrong = 1 - probability[items, labels.labels]
    found = np.flatnonzero(wrong > least)
    found = found[np.argsort(-wrong[found], kind="stable")]
    best = probability.argmax(axis=1) if len(found) else np.zeros(labels.items, np.int64)
    return Suspects(found, items[found].astype(np.int64), best[items[found]], wrong[found])
