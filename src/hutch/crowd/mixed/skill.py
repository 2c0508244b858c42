"""How skilled people are, from judges who know nothing of each other's errors."""

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array

SHRINKAGE = 1.0
"""Pseudo-counts of the class prior in what a judge's label says of people's."""


def squared_skill(people: Labels, judges: Labels, targets: Array, counts: Array, votes: Array) -> float:
    """The squared skill of people: 0 if they guess, 1 if they are always right; an estimate by threes.

    Three labels of an item that are independent given its class: those of a person h and of two judges j, k. With
    v_j = E[h | x_j] - pi the covariances multiply,

        s^2 = E[h v_j] E[h v_k] / (E[v_j v_k] (1 - sum pi^2)),

    summed over all pairs of judges (F. Parisi et al., "Ranking and combining multiple predictors without labeled
    data", PNAS 111, 2014). Judges who err together make the denominator larger, so that the estimate is too small.

    Args:
        people, judges: their labels, of the same items; the judges' workers are places in `counts`.
        targets: float64 (items, classes), people's votes.
        counts: float64 (judges, labels, classes), people's votes on what a judge labelled, these included.
        votes: float64 (classes), people's votes.

    Returns:
        0 to 1; 0 where nothing can be said: no two judges on an item, or none who agree.
    """
    if not len(people) or not len(judges):
        return 0.0
    covariance, seen = np.zeros(len(counts)), np.zeros(len(counts))
    together = covariances(
        people.item_ptr, people.labels, judges.item_ptr, judges.workers, judges.labels, targets, counts, votes,
        covariance, seen,
    )  # fmt: skip
    covariance /= np.maximum(seen, 1)
    by_item = np.bincount(judges.label_items, covariance[judges.workers], judges.items)
    squares = np.bincount(judges.label_items, covariance[judges.workers] ** 2, judges.items)
    share = votes / votes.sum()
    scale = together * max(1 - float(share @ share), 1e-9)
    above = float(np.sum(by_item**2 - squares))
    return min(above / scale, 1.0) if scale > 0 and above > 0 else 0.0


def skill_of_rows(rows: Array, share: Array) -> float:
    """The skill that rows P(label | class) show: their diagonal over the class prior, corrected for chance.

    Args:
        rows: (labels, classes).
        share: P(class) (classes).

    >>> skill_of_rows(np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0.5, 0.5]))
    0.8
    """
    chance = float(share @ share)
    return float((np.diag(rows) @ share - chance) / max(1 - chance, 1e-9))


@compiled
def covariances(people_ptr, said, item_ptr, judges, labels, targets, counts, votes, covariance, seen):
    """Add E[h v_j] of every judge to `covariance`, its terms to `seen`; returns twice the sum of v_j v_k over pairs.

    v_j is counted without the item's own people.
    """
    classes = len(votes)
    prior, v, total = np.empty(classes), np.empty(classes), np.empty(classes)
    together = 0.0
    for item in range(len(item_ptr) - 1):
        for k in range(classes):
            prior[k] = votes[k] - targets[item, k] + 1.0 / classes
        prior /= prior.sum()
        total[:] = 0.0
        for place in range(item_ptr[item], item_ptr[item + 1]):
            judge = judges[place]
            for k in range(classes):
                v[k] = counts[judge, labels[place], k] - targets[item, k]
            mass = v.sum() + SHRINKAGE
            mean, square = 0.0, 0.0
            for k in range(classes):
                v[k] = (v[k] + SHRINKAGE * prior[k]) / mass - prior[k]
                mean += prior[k] * v[k]
                square += v[k] * v[k]
                total[k] += v[k]
            together -= square
            for person in range(people_ptr[item], people_ptr[item + 1]):
                covariance[judge] += v[said[person]] - mean
                seen[judge] += 1.0
        for k in range(classes):
            together += total[k] * total[k]
    return together
