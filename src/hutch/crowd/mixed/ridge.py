"""A ridge regression on judges' labels, on top of their consensus: it learns each judge's row where gold is enough.

    log f_i[k] = log q_i[k] / (1 + .5 (m - 1)) + sum_j b_j[x_ij, k]

q is the posterior of `TwoLevel`, m the mean number of labels of an item. The weights b maximise the likelihood of gold
with a ridge, by steps under Boehning's bound of the Hessian (Annals of the Institute of Statistical Mathematics 44,
1992).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array

CORRELATION = 0.5
"""Correlation of judges' errors by which q is tempered before it is the offset."""
RIDGE = 2.0
_STEPS = 150


@dataclass(frozen=True)
class Regression:
    """The regression over some labels.

    Attributes:
        labels: of judges.
        offset: log q, tempered (items, classes).
        scale: labels by which the effect of one is divided.
    """

    labels: Labels
    offset: Array
    scale: float

    @classmethod
    def of(cls, labels: Labels, posterior: Array) -> "Regression":
        """The regression on top of posteriors (items, classes)."""
        per_item = len(labels) / max(labels.items, 1)
        offset = np.log(posterior + 1e-9) / (1 + CORRELATION * max(per_item - 1, 0))
        return cls(labels, offset, max(1.0, per_item / max(len(np.unique(labels.workers)), 1)))

    def effects(self, weights: Array) -> Array:
        """Effect of each label on the log-odds: weights over the mean of their row (workers, labels, classes)."""
        return np.asarray((weights - weights.mean(axis=1, keepdims=True)) / self.scale)

    def scores(self, weights: Array) -> Array:
        """log f up to a constant (items, classes)."""
        found, effects = self.offset.copy(), self.effects(weights)
        np.add.at(found, self.labels.label_items, effects[self.labels.workers, self.labels.labels])
        return found

    def learned(self, weights: Array, known: NDArray[np.int64]) -> Array:
        """Weights (workers, labels, classes) after some gold items, from those before."""
        if not len(known):
            return weights
        return np.asarray(weights + self._step(known, self.scores(weights)))

    def _step(self, known: NDArray[np.int64], offset: Array) -> Array:
        """Increment of the weights: ridge regression in the span of the gold items' labels."""
        labels = self.labels
        workers, classes = len(labels.worker_names), len(labels.classes)
        votes = np.zeros((len(known), workers, classes))
        place = np.full(labels.items, -1)
        place[known] = np.arange(len(known))
        here = place[labels.label_items]
        seen = here >= 0
        centred = (np.eye(classes)[labels.labels[seen]] - 1 / classes) / self.scale
        np.add.at(votes, (here[seen], labels.workers[seen]), centred)
        left, lengths, right = np.linalg.svd(votes.reshape(len(known), -1), full_matrices=False)
        x = left * lengths
        truth, start = np.eye(classes)[labels.gold[known]].T, offset[known].T.copy()
        step, b = 1 / (0.5 * lengths**2 + RIDGE), np.zeros((classes, len(lengths)))
        for _ in range(_STEPS):  # classes first: numpy folds few long rows faster than many short ones
            chances = b @ x.T
            chances += start
            chances -= chances.max(axis=0)
            np.exp(chances, out=chances)
            chances /= chances.sum(axis=0)
            b += step * ((truth - chances) @ x - RIDGE * b)
        return np.asarray((b @ right).T.reshape(workers, classes, classes))
