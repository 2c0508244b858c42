"""Probability that a worker's labels do not depend on the items."""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array

SPAM_PRIOR = 0.1
"""Share of spammers expected before any label is seen."""
ODD_PRIOR = 0.001
"""Share of workers whose labels depend on the classes in an unusual way, such as adversaries."""
HONEST_STRENGTH = 12.0
"""Pseudo-counts of the population's row in each row of an honest worker."""
ODD_STRENGTH = 2.0
"""Pseudo-counts of each row of an unusual worker."""
HABIT_STRENGTH = 4.0
"""Pseudo-counts of the crowd's label shares in a worker's own."""
_ROUNDS = 3  # of estimating the population's row without apparent spammers


def spam_probability(labels: Labels, others: Array, confusions: Array) -> Array:
    """P(a worker's labels do not depend on the classes), by the evidence of three explanations.

    A spammer draws every label from one habit, which is close to the crowd's label shares or to their own. An honest
    worker has a row for each class, close to that of the population; an unusual worker, say an
    adversary, has a row for each class that may be anything. The evidence is the probability of the labels one after
    the other, each given the earlier ones and the evidence of all other labels; a label that the item's class did
    not decide comes from the habit under every explanation. So where the others have no evidence, the prior stays.

    Args:
        labels: the labels.
        others: float64 (labels, classes): for each label, the probability that class k decided it, by everything
            but this label; the rest to 1 is the item's difficulty. See `CrowdModel.others`.
        confusions: P(label | class) of every worker (workers, classes, labels).

    Returns:
        float64 (workers); `SPAM_PRIOR` for workers without labels.
    """
    workers, classes = len(labels.worker_names), len(labels.classes)
    spam = np.full(workers, SPAM_PRIOR)
    if classes < 2 or not len(labels):
        return spam
    cells = labels.workers.astype(np.int64) * classes + labels.labels
    given = np.bincount(cells, minlength=workers * classes).reshape(workers, classes)
    shares = given.sum(axis=0) + 1.0
    common = np.broadcast_to(shares / shares.sum(), (workers, classes))
    own = given + HABIT_STRENGTH * common
    own /= own.sum(axis=1, keepdims=True)
    priors = np.stack([HONEST_STRENGTH * classes * common, HABIT_STRENGTH * own])
    habit = np.stack([_evidence(labels, np.ones((len(labels), 1)), prior[:, None], prior) for prior in priors])
    best = habit.argmax(axis=0), np.arange(workers)
    habit, habits = habit[best], priors[best]
    odd_rows = np.repeat((own[:, None] + 1 / classes) / 2, classes, axis=1)
    odd = _against(habit, _evidence(labels, others, ODD_STRENGTH * odd_rows, habits))
    for _ in range(_ROUNDS):
        weight = given.sum(axis=1) * (1 - spam) + 1e-9
        population = np.einsum("w,wkl->kl", weight / weight.sum(), confusions)
        rows = np.broadcast_to(population, (workers, classes, classes))
        honest = _against(habit, _evidence(labels, others, HONEST_STRENGTH * rows, habits))
        spam = SPAM_PRIOR / (SPAM_PRIOR + (1 - SPAM_PRIOR - ODD_PRIOR) * honest + ODD_PRIOR * odd)
    return np.asarray(spam)


def _evidence(labels: Labels, others: Array, rows: Array, habits: Array) -> Array:
    """`evidence` of every worker."""
    result = np.empty(len(rows))
    pointer, places, _ = labels.by_worker
    evidence(pointer, places, labels.labels, others, np.ascontiguousarray(rows), habits, result)
    return result


def _against(habit: Array, other: Array) -> Array:
    """Odds of another explanation against a habit, from their log-evidences."""
    return np.asarray(np.exp(np.clip(other - habit, -600, 600)))


@compiled
def evidence(pointer, places, labels, others, rows, habits, result):
    """Log-probability of each worker's labels, one after the other.

    A label comes from row r with probability `others[label, r]`, from the habit with the rest; each row and the habit
    learn from the earlier labels, a row by the share in which it explains them.

    Args:
        pointer, places: see `Labels.by_worker`.
        labels: int32 (labels).
        others: float64 (labels, rows).
        rows: float64 (workers, rows, labels), pseudo-counts.
        habits: float64 (workers, labels), pseudo-counts.
        result: out, float64 (workers).
    """
    count = rows.shape[1]
    parts, totals = np.empty(count), np.empty(count)
    for worker in range(len(rows)):
        counts, habit = rows[worker].copy(), habits[worker].copy()
        habit_total, value = habit.sum(), 0.0
        for k in range(count):
            totals[k] = counts[k].sum()
        for i in range(pointer[worker], pointer[worker + 1]):
            place = places[i]
            label = labels[place]
            undecided, probability = 1.0, 0.0
            for k in range(count):
                parts[k] = others[place, k] * counts[k, label] / totals[k]
                probability += parts[k]
                undecided -= others[place, k]
            probability += max(undecided, 0.0) * habit[label] / habit_total
            value += math.log(max(probability, 1e-300))
            for k in range(count):
                share = parts[k] / max(probability, 1e-300)
                counts[k, label] += share
                totals[k] += share
            habit[label] += 1.0
            habit_total += 1.0
        result[worker] = value
