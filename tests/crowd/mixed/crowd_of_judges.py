"""Simulated crowds of people and judges."""

import numpy as np

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_triples
from hutch.crowd.models.calibration import accuracy, log_loss


def mixed_crowd(items=600, classes=3, judges=5, person=0.8, together=0.5, people=1, seed=0, right=0.7):
    """Rows (worker, task, label) of people and judges, and the truth by task.

    All judges take an item of class 0 for class 1 at once, with probability `together`.
    """
    random = np.random.default_rng(seed)
    truth = random.integers(classes, size=items)
    seen = np.where((truth == 0) & (random.random(items) < together), 1, truth)
    rows = []
    for i in range(items):
        for w in random.choice(20, people, replace=False):
            own = truth[i] if random.random() < person else (truth[i] + 1 + random.integers(classes - 1)) % classes
            rows.append((f"ann{w}", f"t{i}", str(own)))
        for j in range(judges):
            own = seen[i] if random.random() < right else random.integers(classes)
            rows.append((f"judge{j}", f"t{i}", str(own)))
    return rows, {f"t{i}": str(k) for i, k in enumerate(truth)}


def codes(labels, truth):
    """True classes by item."""
    return np.array([labels.classes.index(truth[name]) for name in labels.item_names], np.int32)


def scored(rows, truth, model, **options):
    """Accuracy and log-loss."""
    labels = from_triples(rows)
    probability = aggregate(labels, model, **options).probability
    return accuracy(probability, codes(labels, truth)), log_loss(probability, codes(labels, truth))
