"""A chain's outputs for a batch."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Outputs:
    """Outputs of the chain for the examples of one batch; each array has one entry per example.

    Attributes:
        predictions: float32, of the top layer.
        raw: float32, of the base learner before clipping and link.
        queries: float32, importance of the label an active layer asks for, -1 where it does not ask.
        losses: float32, progressive loss times importance.
        scores: float32 (examples, classes), no columns unless asked for.
        ranked: of decisions, uint32 (examples): their actions, the best first, from the row of the first action on;
            `predictions` then has the score or the probability of each row's own action, NaN for a shared row. Of
            logged classes uint32 (examples · classes): those of each example, `scores` has the numbers by class. Of
            slots uint32 (examples · width): the actions of each slot's row, then `NOTHING`; `scores` has their
            probabilities.
    """

    predictions: NDArray[np.float32]
    raw: NDArray[np.float32]
    queries: NDArray[np.float32]
    losses: NDArray[np.float32]
    scores: NDArray[np.float32]
    ranked: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))


NOTHING = 2**32 - 1
"""In `Outputs.ranked` of a slot: behind its last action."""


def outputs_in(room: NDArray[np.float32], examples: int, classes: int) -> Outputs:
    """Outputs at the beginning of an array."""
    columns = room[: 4 * examples].reshape(4, examples)
    scores = room[4 * examples : (4 + classes) * examples].reshape(examples, classes)
    return Outputs(columns[0], columns[1], columns[2], columns[3], scores)
