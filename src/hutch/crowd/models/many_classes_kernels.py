"""Counts and E step of `ManyClasses`, over the candidates of each item: the classes that it was given.

A posterior is one number per label, that of the label's class, and one per item for all other classes together.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.crowd.models.blocks import most_labels

_LEAST = 1e-12


class Crowd(NamedTuple):
    """What the kernels read of workers and crowd.

    Attributes:
        right, given: expected right labels, and labels (workers).
        telling: P(a worker's labels depend on the class) (workers).
        mean: skill of the crowd.
        cells: expected wrong labels [class, label] of workers who tell, and their sums by class.
        totals: see `cells`.
        class_counts: expected items of each class, with the anchor.
        mass: items that these counts come from, with the anchor.
        fixed: the given class prior, or empty (classes).
        strength, spread, anchor: parameters of the model.
        least, most: bounds of a skill.
    """

    right: NDArray[np.float64]
    given: NDArray[np.float64]
    telling: NDArray[np.float64]
    mean: float
    cells: NDArray[np.float64]
    totals: NDArray[np.float64]
    class_counts: NDArray[np.float64]
    mass: float
    fixed: NDArray[np.float64]
    strength: float
    spread: float
    anchor: float
    least: float
    most: float


@helper
def _candidates(labels, first, last, slots, found):
    """The classes of an item into `found`, their places into `slots` (-1 elsewhere); their number."""
    count = 0
    for place in range(first, last):
        k = labels[place]
        if slots[k] < 0:
            slots[k], found[count] = count, k
            count += 1
    return count


@compiled
def vote_shares(item_ptr, labels, gold, classes, q, rest):
    """Into `q` (labels) and `rest` (items): the share of its class among an item's labels, or its gold."""
    votes = np.zeros(classes)
    for item in range(len(item_ptr) - 1):
        first, last = item_ptr[item], item_ptr[item + 1]
        for place in range(first, last):
            votes[labels[place]] += 1
        known, rest[item] = False, 0.0 if last > first else 1.0
        for place in range(first, last):
            known = known or labels[place] == gold[item]
            q[place] = votes[labels[place]] / (last - first)
            if gold[item] >= 0:
                q[place] = 1.0 if labels[place] == gold[item] else 0.0
        if gold[item] >= 0:
            rest[item] = 0.0 if known else 1.0
        for place in range(first, last):
            votes[labels[place]] = 0


@compiled
def count_labels(item_ptr, workers, labels, gold, q, telling, right, said, cells, class_counts):
    """Add what the posteriors expect: right labels, labels [worker, label], wrong labels [class, label], classes."""
    classes, most = len(class_counts), max(most_labels(item_ptr), 1)
    slots, found, own = np.full(classes, -1), np.empty(most + 1, np.int64), np.empty(most + 1)
    for item in range(len(item_ptr) - 1):
        first, last = item_ptr[item], item_ptr[item + 1]
        count = _candidates(labels, first, last, slots, found)
        for place in range(first, last):
            own[slots[labels[place]]] = q[place]
            right[workers[place]] += q[place]
            said[workers[place], labels[place]] += 1
        if gold[item] >= 0 and slots[gold[item]] < 0:
            slots[gold[item]], found[count], own[count] = count, gold[item], 1.0
            count += 1
        for c in range(count):
            k = found[c]
            class_counts[k] += own[c]
            slots[k] = -1
            if own[c] > 0:
                for place in range(first, last):
                    if labels[place] != k:
                        cells[k, labels[place]] += own[c] * telling[workers[place]]


@helper
def _coin(crowd, worker, own, learned, classes):
    """P(right) of a worker, without a label that was right with probability `own`."""
    seen = crowd.given[worker] - (1.0 if learned else 0.0) + crowd.strength
    right = crowd.right[worker] - (own if learned else 0.0) + crowd.strength * crowd.mean
    skill = min(max(right / max(seen, crowd.strength), crowd.least / classes), crowd.most)
    return crowd.telling[worker] * skill + (1 - crowd.telling[worker]) / classes


@compiled
def expect(item_ptr, workers, labels, gold, crowd, learned, q, rest):
    """E step that leaves out each label's own share in its worker's skill, and each item's in errors and class prior.

    Args:
        learned: the crowd was estimated from these labels.
        q: in and out, the posterior of each label's class (labels).
        rest: in and out, that of the classes that an item was not given (items).

    Returns:
        sum of the items' log-likelihoods, largest change of a posterior.
    """
    classes, most, out = len(crowd.class_counts), max(most_labels(item_ptr), 1), 1.0 if learned else 0.0
    slots, found = np.full(classes, -1), np.empty(most + 1, np.int64)
    own, score, said, right = np.empty(most + 1), np.empty(most + 1), np.empty(most + 1), np.empty(most)
    votes, objective, change = np.empty(most + 1), 0.0, 0.0
    even, whole = 1.0 / max(classes - 1, 1), crowd.class_counts.sum() + classes
    for item in range(len(item_ptr) - 1):
        first, last = item_ptr[item], item_ptr[item + 1]
        count, truth = _candidates(labels, first, last, slots, found), gold[item]
        given = count
        for c in range(count):
            own[c], said[c], votes[c] = 0.0, 0.0, 0.0
        if truth >= 0 and slots[truth] < 0:
            slots[truth], found[count], own[count], said[count], votes[count] = count, truth, 1.0, 0.0, 0.0
            count += 1
        told, others, taken = 0.0, 0.0, 0.0
        for place in range(first, last):
            c, worker = slots[labels[place]], workers[place]
            own[c] = q[place]
            said[c] += crowd.telling[worker]
            votes[c] += 1.0 / (last - first)
            told += crowd.telling[worker]
            right[place - first] = _coin(crowd, worker, q[place], learned, classes)
            others += math.log(max((1 - right[place - first]) * even, _LEAST))
        for c in range(count):
            k = found[c]
            if truth >= 0:
                votes[c] = 1.0 if k == truth else 0.0
            if len(crowd.fixed):
                prior = crowd.fixed[k]
                taken += prior
            else:
                mine = crowd.class_counts[k] + 1 - out * (own[c] + crowd.anchor * votes[c])
                prior = max(mine, 1e-9) / (crowd.mass + classes - out * (1 + crowd.anchor))
                taken += (crowd.class_counts[k] + 1) / whole
            score[c] = math.log(max(prior, 1e-300))
            total = max(crowd.totals[k] - out * own[c] * (told - said[c]), 0.0) + crowd.spread
            for place in range(first, last):
                worker, p = workers[place], right[place - first]
                if labels[place] != k:
                    cell = max(crowd.cells[k, labels[place]] - out * own[c] * said[slots[labels[place]]], 0.0)
                    wrong = (cell + crowd.spread * even) / total
                    p = (1 - p) * (crowd.telling[worker] * wrong + (1 - crowd.telling[worker]) * even)
                score[c] += math.log(max(p, _LEAST))
        others += math.log(max(1 - taken, _LEAST))
        top, left = others, 1.0
        if truth >= 0:
            top, left = score[slots[truth]], 0.0
        elif count == classes:
            top, left = score[0], 0.0
        for c in range(count):
            top = max(top, score[c]) if truth < 0 else top
        scale = left * math.exp(others - top) if left else 0.0
        for c in range(count):
            score[c] = math.exp(score[c] - top) if truth < 0 or found[c] == truth else 0.0
            scale += score[c]
        objective += top + math.log(scale)
        fresh = left * math.exp(others - top) / scale if left else 0.0
        if truth >= 0 and slots[truth] >= given:
            fresh = 1.0
        change, rest[item] = max(change, abs(fresh - rest[item])), fresh
        for place in range(first, last):
            fresh = score[slots[labels[place]]] / scale
            change, q[place] = max(change, abs(fresh - q[place])), fresh
        for c in range(count):
            slots[found[c]] = -1
    return objective, change
