"""A reduction: learns each example as if it had come several times."""

from typing import Annotated, ClassVar

import numpy as np

from hutch.plugin import (
    Kernels,
    Labels,
    Parameters,
    Predictions,
    Record,
    Reduction,
    Within,
    example_of,
    kernel,
    learn_next,
    predict_next,
    registering,
    state_of,
)


class MineParameters(Parameters):
    """Parameters of `mine`.

    Attributes:
        times: how often each example counts.
    """

    times: Annotated[float, Within(gt=0)] = 2.0


STATE = np.dtype([("times", "f8")])
own_of = state_of(STATE)


@kernel
def predict(layer, example, label, importance, offset):
    """What the layer below predicts."""
    return predict_next(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layer below learn the example as `times` of them; the loss stays that of one."""
    times = own_of(layer).times
    prediction = learn_next(layer, example, label, np.float32(importance * times), offset)
    example_of(example).loss /= times
    return prediction


class Mine(Reduction):
    """Learns each example as if it had come several times."""

    name: ClassVar[str] = "mine"
    Parameters: ClassVar[type[Parameters]] = MineParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters, context):
        super().__init__(parameters, context)
        self.state = Record(STATE, times=parameters.times)


hutch_register_reductions = registering(Mine)
