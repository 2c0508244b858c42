"""E step and expected counts of models whose workers are tables of label probabilities."""

import math

import numpy as np

from hutch.core.kernel.cache import compiled


@compiled
def add_labels(item_ptr, workers, labels, q, counts):
    """Add the posterior of each label's item to its worker's counts (workers, labels, classes)."""
    for item in range(len(item_ptr) - 1):
        posterior = q[item]
        for place in range(item_ptr[item], item_ptr[item + 1]):
            cells = counts[workers[place], labels[place]]
            for k in range(len(posterior)):
                cells[k] += posterior[k]


@compiled
def expect(item_ptr, workers, labels, gold, log_prior, log_table, q):
    """E step over all items.

    Args:
        log_prior: log P(class), float64 (classes).
        log_table: log p(label | class, worker), float64 (workers, labels, classes).
        q: in and out, float64 (items, classes).

    Returns:
        mean log-likelihood of an item's labels, largest change of a posterior.
    """
    classes = len(log_prior)
    scores = np.empty(classes)
    objective, change = 0.0, 0.0
    for item in range(len(item_ptr) - 1):
        for k in range(classes):
            scores[k] = log_prior[k] if gold[item] < 0 or gold[item] == k else -np.inf
        for place in range(item_ptr[item], item_ptr[item + 1]):
            cells = log_table[workers[place], labels[place]]
            for k in range(classes):
                scores[k] += cells[k]
        top, total = scores.max(), 0.0
        for k in range(classes):
            scores[k] = math.exp(scores[k] - top)
            total += scores[k]
        objective += top + math.log(total)
        for k in range(classes):
            fresh = scores[k] / total
            change = max(change, abs(fresh - q[item, k]))
            q[item, k] = fresh
    return objective / max(len(item_ptr) - 1, 1), change
