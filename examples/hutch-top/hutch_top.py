"""Explore among the best: the actions with the lowest scores share all probability equally."""

from typing import Annotated, Any, ClassVar

import numpy as np

from hutch.plugin import (
    UNLABELED,
    Context,
    Kernels,
    Labels,
    Parameters,
    Predictions,
    Record,
    Reduction,
    Within,
    conclude,
    decision_of,
    kernel,
    predict_and_teach,
    predict_next,
    registering,
    state_of,
    values_of,
)


class ExploreTopParameters(Parameters):
    """Parameters of `explore_top`.

    Attributes:
        count: how many of the best actions share the probability.
    """

    count: Annotated[int, Within(ge=1)] = 2


STATE = np.dtype([("count", "i8")])
own_of = state_of(STATE)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the best first."""
    predict_next(layer, example, UNLABELED, importance, offset)  # ranks the actions, values are their scores
    values = values_of(decision_of(example))
    count = min(own_of(layer).count, len(values))
    for k in range(len(values)):
        values[k] = np.float32(1) / np.float32(count) if k < count else np.float32(0)
    return conclude(example, importance)


class ExploreTop(Reduction):
    """Chooses among the best actions, each as likely as the others."""

    name: ClassVar[str] = "explore_top"
    Parameters: ClassVar[type[Parameters]] = ExploreTopParameters
    takes = Labels.LOGGED_ACTION
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_SCORES)
    kernels = Kernels(predict_and_teach, predict)

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(STATE, count=parameters.count)


hutch_register_reductions = registering(ExploreTop)
