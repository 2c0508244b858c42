"""The smallest label of a layer of classes, 0 or 1: given by its parameters, or detected from the labels as in VW."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy import int64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Answers, Parallel
from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Reduction
from hutch.core.kernel.decorators import inlined

FirstClass = Literal[0, 1, "detect"]
"""The smallest label; `detect`: labels count from 1 until a 0 comes before the largest does."""

UNDECIDED = 2
"""Value of a state's field `first` until a label determines it."""


def first_of(choice: FirstClass) -> int:
    """Initial value of a state's field `first`."""
    return UNDECIDED if choice == "detect" else choice


@inlined
def smallest_label(state):
    """The smallest label, 1 while it is unknown.

    Args:
        state: record of a layer, with a field `first`.
    """
    return int64(0) if state.first == 0 else int64(1)


@inlined
def detect(state, label):
    """Set the smallest label, if this label determines it.

    Args:
        state: record of a layer, with fields `first` and `classes`.
        label: float32.
    """
    if state.first == UNDECIDED and (label == np.float32(0) or label == np.float32(state.classes)):
        state.first = 0 if label == np.float32(0) else 1


class Detecting(Reduction):
    """A layer whose parameter `first_class` is a `FirstClass`; its state has a field `first`."""

    parallel = Parallel(merging={"first_class": "least"})

    def saved(self) -> dict[str, NDArray[Any]]:
        """The smallest label, where it was detected."""
        return {"first_class": self.state["first"]}

    def limits(self) -> Mapping[str, Limits]:
        """0 or 1, as the parameter gives it, or 2 while it is being detected."""
        detected = self.parameters.first_class == "detect"
        return {"first_class": Limits(0, UNDECIDED, fixed=not detected)}


class PerClass(Detecting):
    """A `Detecting` layer with a sub-model for each of the `classes`; scores are `probabilities` if it has those."""

    @classmethod
    def width(cls, parameters: Any) -> int:
        """One sub-model per class."""
        count: int = parameters.classes
        return count

    @property
    def answers(self) -> Answers:
        """One score per class."""
        p = self.parameters
        likely = getattr(p, "probabilities", False)
        return replace(super().answers, score_count=p.classes, scores_are_probabilities=likely)
