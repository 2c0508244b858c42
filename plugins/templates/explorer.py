"""An explorer: the best few actions share all probability."""

from typing import Annotated, ClassVar

import numpy as np

from hutch.plugin import (
    UNLABELED,
    Explorer,
    Kernels,
    Parameters,
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


class MineParameters(Parameters):
    """Parameters of `mine`.

    Attributes:
        count: how many of the best actions share the probability.
    """

    count: Annotated[int, Within(ge=1)] = 2


STATE = np.dtype([("count", "i8")])
own_of = state_of(STATE)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the best first."""
    predict_next(layer, example, UNLABELED, importance, offset)  # ranks the actions; values are their scores
    values = values_of(decision_of(example))
    count = min(own_of(layer).count, len(values))
    for k in range(len(values)):
        values[k] = np.float32(1) / np.float32(count) if k < count else np.float32(0)
    return conclude(example, importance)


class Mine(Explorer):
    """Chooses among the best actions, each as likely as the others."""

    name: ClassVar[str] = "mine"
    Parameters: ClassVar[type[Parameters]] = MineParameters
    dtype: ClassVar[np.dtype] = STATE  # fields with the names of parameters have their values
    kernels = Kernels(predict_and_teach, predict)


hutch_register_reductions = registering(Mine)
