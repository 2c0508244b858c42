"""The constant prediction that would have done best, for the end of VW's report."""

import math

import numpy as np
from numpy.typing import NDArray

from hutch.core.abi import UNLABELED
from hutch.core.statistics import Statistics


class BestConstant:
    """Gathers which labels were seen; two at most are told apart, since only then the constant's loss is known.

    >>> best = BestConstant()
    >>> best.observe(np.array([1, -1, -1, 1, 1], np.float32))
    >>> best.labels
    [1.0, -1.0]
    """

    def __init__(self) -> None:
        self.labels: list[float] = []
        self.many = False

    def observe(self, labels: NDArray[np.float32]) -> None:
        """See the labels of a batch."""
        while not self.many:
            new = labels != UNLABELED
            for known in self.labels:
                new &= labels != np.float32(known)
            if not new.any():
                return
            if len(self.labels) == 2:
                self.many = True
            else:
                self.labels.append(float(labels[np.argmax(new)]))

    def of(self, loss: str, seen: Statistics) -> tuple[float | None, float | None]:
        """The best constant for a loss, and its loss per unit of importance; None where VW knows neither.

        Args:
            loss: `squared` and `classic` have one for any labels, `hinge` and `logistic` for the labels -1 and 1.
            seen: the counters of the run.
        """
        weight = seen.weighted_labeled
        if not self.labels or weight <= 0:
            return None, None
        mean = seen.weighted_labels / weight
        if loss in ("squared", "classic"):
            return mean, None if self.many else self._squared_loss(mean)
        if self.many or loss not in ("hinge", "logistic") or not set(self.labels) <= {-1.0, 1.0}:
            return None, None
        positive = (1 + mean) / 2  # share of importance with label 1
        if loss == "hinge":
            return (1.0 if positive > 0.5 else -1.0), 2 * min(positive, 1 - positive)
        if not 0 < positive < 1:
            return math.copysign(1.0, mean), math.log1p(math.exp(-1.0))
        entropy = -positive * math.log(positive) - (1 - positive) * math.log1p(-positive)
        return math.log(positive / (1 - positive)), entropy

    def _squared_loss(self, mean: float) -> float:
        """Variance of labels of at most two values: (high - mean)(mean - low)."""
        return max(0.0, (max(self.labels) - mean) * (mean - min(self.labels)))
