"""A base learner: the smallest step that gives the example a margin of 1 (passive-aggressive; Crammer 2006)."""

from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64

from hutch.plugin import (
    UNLABELED,
    Kernels,
    Labels,
    Parameters,
    Predictions,
    Record,
    Reduction,
    Within,
    example_of,
    float32s_at,
    helper,
    kernel,
    registering,
    shared_of,
    state_of,
    uint32s_at,
)


class MineParameters(Parameters):
    """Parameters of `mine`.

    Attributes:
        longest: the longest step for an example of importance 1.
    """

    longest: Annotated[float, Within(gt=0)] = 0.1


STATE = np.dtype([("longest", "f8")])
own_of = state_of(STATE)


@helper
def row_of(shared, index, offset):
    """Where the weights of a feature begin, in the sub-model at `offset`."""
    return ((uint64(index) * shared.multiplier + offset) & shared.mask) * shared.stride


@helper
def predicted(example, label, importance, offset):
    """Predict, and write down the score and the loss."""
    e = example_of(example)
    shared = shared_of(e.shared)
    weights = float32s_at(shared.weights, (shared.mask + uint64(1)) * shared.stride)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    score = np.float64(e.base)
    for i in range(e.length):
        score += np.float64(weights[row_of(shared, indices[i], offset)]) * values[i]
    e.raw = np.float32(score)
    e.loss = importance * max(0.0, 1.0 - label * score) if label != UNLABELED else 0.0
    return e.raw


@kernel
def predict(layer, example, label, importance, offset):
    """The score."""
    return predicted(example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Step as far as a margin of 1 needs, or as is allowed; returns the prediction from before."""
    longest, e = own_of(layer).longest, example_of(example)
    prediction = predicted(example, label, importance, offset)
    shared = shared_of(e.shared)
    weights = float32s_at(shared.weights, (shared.mask + uint64(1)) * shared.stride)
    indices, values, square = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length), 0.0
    for i in range(e.length):
        square += np.float64(values[i]) * values[i]
    loss = max(0.0, 1.0 - np.float64(label) * prediction)
    if loss > 0.0 and square > 0.0:
        step = min(longest * importance, loss / square) * label
        for i in range(e.length):
            weights[row_of(shared, indices[i], offset)] += np.float32(step * values[i])
    return prediction


class Mine(Reduction):
    """The smallest step that gives an example a margin of 1."""

    name: ClassVar[str] = "mine"
    Parameters: ClassVar[type[Parameters]] = MineParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    is_base = True
    kernels = Kernels(learn, predict)

    def __init__(self, parameters, context):
        super().__init__(parameters, context)
        self.state = Record(STATE, longest=parameters.longest)


hutch_register_reductions = registering(Mine)
