"""Online boosting: weak binary learners, each learning most from what those before it get wrong.

AdaBoost.OL: after weak learner i the margin is s_i = s_{i-1} + α_i z_i with its vote z_i = ±1. It learns the example
with the importance 1 / (1 + e^{y s_{i-1}}), and α_i follows the gradient of ln(1 + e^{-y s_i}), kept in [-2, 2].

Source: A. Beygelzimer, S. Kale and H. Luo, "Optimal and adaptive algorithms for online boosting", ICML 2015.
"""

import math
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.plugin import (
    UNLABELED,
    Answers,
    Context,
    Kernels,
    Labels,
    Limits,
    Parameters,
    Predictions,
    Record,
    Reduction,
    Within,
    example_of,
    float64s_at,
    helper,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    registering,
    state_of,
    submodel,
)


class BoostParameters(Parameters):
    """Parameters of `boost`.

    Attributes:
        learners: how many weak learners.
    """

    learners: Annotated[int, Within(ge=1, le=1024)] = 10


STATE = np.dtype(
    [
        ("learners", "u8"),
        ("threshold", "f8"),  # a vote above it is for the label +1
        ("alphas", "u8"),  # address of float64[sub-models, learners + 1]: the learners' weights, then examples seen
    ]
)
state = state_of(STATE)

_0 = np.float32(0)


@helper
def _alphas(layer, s, offset):
    """The weights of the sub-model at `offset`, and how many examples it has seen."""
    own = offset // (layer_of(layer).step * s.learners)  # a layer above may ask for several sub-models
    size = uint64(8) * (s.learners + uint64(1))
    return float64s_at(s.alphas + own * size, s.learners + uint64(1))


@helper
def _finish(example, margin, label, importance):
    """Say the margin, and the logistic loss of it."""
    e = example_of(example)
    e.raw = np.float32(margin)
    e.loss = importance * math.log1p(math.exp(-label * margin)) if label != UNLABELED else 0.0
    return e.raw


@kernel
def predict(layer, example, label, importance, offset):
    """The margin of the weighted votes."""
    s = state(layer)
    alphas, margin = _alphas(layer, s, offset), 0.0
    for i in range(s.learners):
        vote = predict_next(layer, example, label, importance, submodel(layer, offset, i))
        margin += alphas[i] if vote > s.threshold else -alphas[i]
    return _finish(example, margin, label, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Let each learner learn with the importance that those before it leave, and adjust its weight."""
    s = state(layer)
    alphas, margin, sign = _alphas(layer, s, offset), 0.0, 1.0 if label > _0 else -1.0
    alphas[s.learners] += 1.0
    rate = 4.0 / math.sqrt(alphas[s.learners])
    for i in range(s.learners):
        weight = np.float32(1.0 / (1.0 + math.exp(sign * margin)))
        vote = learn_next(layer, example, label, importance * weight, submodel(layer, offset, i))
        z = 1.0 if vote > s.threshold else -1.0
        margin += alphas[i] * z
        alphas[i] += rate * sign * z / (1.0 + math.exp(sign * margin))
        alphas[i] = max(-2.0, min(2.0, alphas[i]))
    return _finish(example, margin, np.float32(sign), importance)


class Boost(Reduction):
    """Online boosting over any layer that takes ±1 and predicts a scalar."""

    name: ClassVar[str] = "boost"
    Parameters: ClassVar[type[Parameters]] = BoostParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: BoostParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self._alphas = np.zeros((context.submodels, parameters.learners + 1))
        self._alphas[:, :-1] = 1 / parameters.learners
        threshold = context.below.answers.decision_threshold if context.below else 0.0
        self.state = Record(STATE, learners=parameters.learners, threshold=threshold, alphas=self._alphas)

    @classmethod
    def width(cls, parameters: BoostParameters) -> int:
        """One sub-model per learner."""
        return parameters.learners

    @property
    def answers(self) -> Answers:
        """The threshold is that of the margin."""
        return replace(super().answers, decision_threshold=0.0)

    def saved(self) -> dict[str, NDArray[Any]]:
        """The learners' weights."""
        return {"alphas": self._alphas}

    def limits(self) -> dict[str, Limits]:
        """Weights are numbers."""
        return {"alphas": Limits(finite=True)}


hutch_register_reductions = registering(Boost)
