"""Cost-sensitive one against all: the cost of each class is regressed, the class predicted cheapest is chosen."""

from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.chain.first_class import FirstClass, PerClass, detect, first_of
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions
from hutch.core.errors import counted
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    state_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within

_0, _1 = np.float32(0), np.float32(1)


class CostSensitiveParameters(Parameters):
    """Parameters of `cost_sensitive_one_against_all`.

    Attributes:
        classes: number of classes.
        first_class: the smallest class, 0 or 1; `detect` does as VW: classes count from 1 until a 0 comes before the
            largest class does.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 20)]
    first_class: FirstClass = "detect"


COST_SENSITIVE = np.dtype(
    [
        (
            "first",
            "i8",
        ),  # the smallest class, or 2 while undecided; not second, or Numba takes ONE_AGAINST_ALL for a subtype
        ("classes", "i8"),
        ("moved", "i8"),  # number of classes that there are not, taken for another one
    ]
)
own = state_of(COST_SENSITIVE)


@helper
def _settle(state, classes):
    """Detect the smallest class, and take classes that there are not for the nearest bound, as VW does."""
    for j in range(len(classes)):
        detect(state, np.float32(classes[j]))
        if state.first == 0 and int64(classes[j]) >= state.classes:
            classes[j] = uint32(0)
            state.moved += 1
        elif state.first == 1 and not 1 <= int64(classes[j]) <= state.classes:
            classes[j] = uint32(state.classes)
            state.moved += 1


@helper
def _loss_of(prediction, classes, costs):
    """The cost of the prediction above that of the cheapest class; 0 where it is not known."""
    least = chosen = UNLABELED
    for j in range(len(costs)):
        least = min(least, costs[j])
        if int64(classes[j]) == prediction:
            chosen = costs[j]
    return np.float64(chosen - least) if chosen != UNLABELED else 0.0


@helper
def _run(layer, example, importance, offset, learning):
    """Go over the classes of the label, or over all if it has none; returns the cheapest."""
    state, e = own(layer), example_of(example)
    classes, costs = uint32s_at(e.cost_classes, e.cost_count), float32s_at(e.costs, e.cost_count)
    _settle(state, classes)
    first = 0 if state.first == 0 else 1
    listed = int64(e.cost_count)
    prediction, least = int64(first), UNLABELED
    for j in range(listed if listed > 0 else state.classes):
        k = int64(classes[j]) if listed > 0 else int64(j + first)
        if not first <= k < first + state.classes:
            continue
        at = submodel(layer, offset, k - first)
        if learning and listed > 0:
            e.importance = _0 if costs[j] == UNLABELED else importance  # that of the last class counts, as in VW
            learn_next(layer, example, costs[j], e.importance, at)
        else:
            predict_next(layer, example, UNLABELED, _1, at)
        if e.raw < least or (e.raw == least and k < prediction):
            prediction, least = k, e.raw
        if e.scores != uint64(0) and int64(e.score_count) >= state.classes:
            float32s_at(e.scores, state.classes)[k - first] = e.raw
    e.raw = least
    e.loss = _loss_of(prediction, classes, costs) * np.float64(e.importance)
    return np.float32(prediction)


@kernel
def predict(layer, example, label, importance, offset):
    """The class predicted cheapest, among those of the label if it names any."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and train each class of the label on its cost."""
    return _run(layer, example, importance, offset, True)


class CostSensitiveOneAgainstAll(PerClass):
    """A regression of the cost of each class."""

    name: ClassVar[str] = "cost_sensitive_one_against_all"
    Parameters: ClassVar[type[Parameters]] = CostSensitiveParameters
    takes = Labels.COST_SENSITIVE
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: CostSensitiveParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(COST_SENSITIVE, classes=parameters.classes, first=first_of(parameters.first_class))

    def doubts(self) -> str | None:
        """Warning about classes that there are not."""
        moved, first, classes = (int(self.state[name][0]) for name in ("moved", "first", "classes"))
        if not moved:
            return None
        taken = f"taken for {first and classes}, as in Vowpal Wabbit"
        return f"{counted(moved, 'class', 'classes')} of labels {taken}, wanted {first} to {first + classes - 1}"
