"""Agreement of pairs of workers and within tasks, and the labels that are most probably wrong."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.aggregate import Aggregate
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.copies import Pairs, count_pairs
from hutch.crowd.models.model import Array

MOST_WORKERS = 60
"""Pairs are counted among so many workers at most, those with most labels."""
COMMON = 5
"""Tasks that two workers share, at least, to be listed."""


def pair_agreement(labels: Labels, most: int = MOST_WORKERS) -> Pairs:
    """Agreement of the workers with most labels.

    Args:
        labels: the anonymous worker is left out.
        most: workers at most.
    """
    counts = np.bincount(labels.workers, minlength=len(labels.worker_names))
    if "" in labels.worker_names:
        counts[labels.worker_names.index("")] = 0
    chosen = np.argsort(-counts, kind="stable")[:most]
    return count_pairs(labels.chosen(np.isin(labels.workers, chosen[counts[chosen] > 0])))


def lowest(pairs: Pairs, count: int) -> Pairs:
    """The pairs with the lowest kappa, among those with `COMMON` tasks."""
    enough = np.flatnonzero(pairs.tasks >= COMMON)
    return pairs.some(enough[np.argsort(pairs.kappa[enough], kind="stable")[:count]])


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
        wrong: probability that the label is not the task's class; 1 if gold contradicts it.
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
        result: of an aggregation; its calibrated posteriors count, and gold where it is known.
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
