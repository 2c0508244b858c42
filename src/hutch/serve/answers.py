"""What a model answers to a request: the predictions of its pieces, put together, and the losses that it knows of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.batch import Batch, ends_of_groups, shared_rows
from hutch.core.chain.engine import Outputs
from hutch.core.run.prediction_intervals import Intervals

ROWS = 256
"""Examples of a large body that are run before others have their turn."""
WINDOW = 1000
"""Examples over which the recent loss is a mean, each weighing a little less than the next."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a request.

    Attributes:
        predictions: float32 (examples), made before learning.
        scores: float32 (examples, classes).
        position: the last entry of the log that the model had learned; after learning, the request's own.
        repeated: the request was known, and learned before.
        actions: of decisions, the number of actions of each; the predictions are theirs, one after the other.
        ranked: of decisions, uint32 (actions): the actions of each, counted from 0, with the best one first.
        intervals: float64 (examples, 2), if they were wanted.
    """

    predictions: NDArray[np.float32]
    scores: NDArray[np.float32]
    position: int
    repeated: bool = False
    actions: list[int] | None = None
    ranked: NDArray[np.uint32] | None = None
    intervals: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class RecentLoss:
    """The mean loss of the last examples.

    Attributes:
        mean: of the losses.
        count: of the examples, up to `WINDOW`.

    >>> RecentLoss().after([1.0, 0.0, 0.5])
    RecentLoss(mean=0.5, count=3)
    """

    mean: float = 0.0
    count: int = 0

    def after(self, losses: Sequence[float]) -> "RecentLoss":
        """It, once further examples have been learned."""
        mean, count = self.mean, self.count
        for loss in losses:
            count = min(count + 1, WINDOW)
            mean += (loss - mean) / count
        return RecentLoss(mean, count)


def gathered(
    chain: Chain, runs: Sequence[tuple[Batch, Outputs]], position: int, intervals: Intervals | None = None
) -> tuple[Answered, list[float]]:
    """The answers to the pieces of a body as one, and the losses of its examples or decisions.

    Args:
        chain: that ran them.
        runs: the pieces, with what the chain said.
        position: see `Answered`.
        intervals: that are wanted.
    """
    predictions: list[NDArray[np.float32]] = []
    actions: list[int] | None = [] if chain.takes.of_decisions else None
    orders: list[NDArray[np.uint32]] = []
    all_losses: list[float] = []
    for batch, outputs in runs:
        losses, found = outputs.losses, outputs.predictions
        if actions is not None:
            shared, ends = shared_rows(batch), ends_of_groups(batch)
            starts = np.concatenate([[0], ends[:-1]])
            losses, found = losses[starts], found[~shared]
            orders.append(outputs.ranked[~shared] if len(outputs.ranked) == len(shared) else outputs.ranked[:0])
            actions += (ends - starts - shared[starts]).tolist()
        all_losses += losses.tolist()
        predictions.append(found)
    scores = np.concatenate([outputs.scores for _, outputs in runs])
    sides = None if intervals is None else np.concatenate([intervals.ends(*run) for run in runs])
    ranked = np.concatenate(orders) if orders else None
    found = np.concatenate(predictions)
    return Answered(found, scores, position, actions=actions, ranked=ranked, intervals=sides), all_losses


def stops_of(chain: Chain, batch: Batch) -> list[int]:
    """The rows behind the pieces in which a batch is run."""
    if chain.whole_groups:
        return [len(batch)]
    if not chain.takes.of_decisions:
        return [*range(ROWS, len(batch), ROWS), len(batch)]
    ends = ends_of_groups(batch)
    found = ends[np.diff(ends // ROWS, append=-1) != 0]
    return [int(stop) for stop in found]
