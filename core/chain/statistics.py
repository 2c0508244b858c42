"""Statistics of a chain or of a run so far, read from their records."""

import math
from dataclasses import dataclass, fields
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counters of a chain or of a run.

    Attributes:
        examples: examples seen, those held out not counted.
        features: features used, interactions and the constant included.
        weighted_examples: sum of their importance.
        weighted_labeled: the same over labelled examples.
        weighted_labels: sum of importance times label.
        sum_loss: sum of importance times progressive loss.
        weighted_holdout, sum_loss_holdout: the same over examples held out.
        queries: labels asked for by an active layer.
    """

    examples: int
    features: int
    weighted_examples: float
    weighted_labeled: float
    weighted_labels: float
    sum_loss: float
    weighted_holdout: float
    sum_loss_holdout: float
    queries: int

    @classmethod
    def of(cls, record: NDArray[Any]) -> "Statistics":
        """The counters in a SHARED or a TALLY record, an array of length 1."""
        total = record["weighted_labeled"].item() + record["weighted_unlabeled"].item()
        counted = (each.name for each in fields(cls) if each.name != "weighted_examples")
        return cls(weighted_examples=total, **{name: record[name].item() for name in counted})

    @property
    def average_loss(self) -> float:
        """Progressive loss per unit of importance; NaN before the first label."""
        return self.sum_loss / self.weighted_labeled if self.weighted_labeled > 0 else math.nan

    @property
    def holdout_loss(self) -> float:
        """Loss on examples held out, per unit of importance; NaN without any."""
        return self.sum_loss_holdout / self.weighted_holdout if self.weighted_holdout > 0 else math.nan
