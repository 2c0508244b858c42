"""Online boosting: weak binary learners, each learning most from what those before it get wrong.

AdaBoost.OL: after weak learner i the margin is s_i = s_{i-1} + α_i z_i with its vote z_i = ±1. It learns the example
with the importance 1 / (1 + e^{y s_{i-1}}), and α_i follows the gradient of ln(1 + e^{-y s_i}), kept in [-2, 2].

Source: A. Beygelzimer, S. Kale and H. Luo, "Optimal and adaptive algorithms for online boosting", ICML 2015.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

import hutch
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float64s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    state_of,
)
from hutch.core.kernel.decorators import helper
from hutch.core.parameters import Parameters, Within


class BoostParameters(Parameters):
    """Parameters of `boost`.

    Attributes:
        learners: how many weak learners.
    """

    learners: Annotated[int, Within(ge=1, le=1024)] = 10


STATE = np.dtype(
    [
        ("learners", "u8"),
        ("alphas", "u8"),  # address of float64[sub-models, learners + 1]: the learners' weights, then examples seen
    ]
)
own = state_of(STATE)

_0, _1 = np.float32(0), np.float32(1)


@helper
def _alphas(layer, state, offset):
    """The weights of the sub-model at `offset`, and how many examples it has seen."""
    own = offset // (layer_of(layer).step * state.learners)  # a layer above may ask for several sub-models
    size = uint64(8) * (state.learners + uint64(1))
    return float64s_at(state.alphas + own * size, state.learners + uint64(1))


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
    state, step = own(layer), layer_of(layer).step
    alphas, margin = _alphas(layer, state, offset), 0.0
    for i in range(state.learners):
        vote = predict_next(layer, example, label, importance, offset + uint64(i) * step)
        margin += alphas[i] if vote > _0 else -alphas[i]
    return _finish(example, margin, label, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Let each learner learn with the importance that those before it leave, and adjust its weight."""
    state, step = own(layer), layer_of(layer).step
    alphas, margin, sign = _alphas(layer, state, offset), 0.0, 1.0 if label > _0 else -1.0
    alphas[state.learners] += 1.0
    rate = 4.0 / math.sqrt(alphas[state.learners])
    for i in range(state.learners):
        weight = np.float32(1.0 / (1.0 + math.exp(sign * margin)))
        vote = learn_next(layer, example, label, importance * weight, offset + uint64(i) * step)
        z = 1.0 if vote > _0 else -1.0
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

    def __init__(self, parameters: BoostParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self._alphas = np.zeros((context.submodels, parameters.learners + 1))
        self._alphas[:, :-1] = 1 / parameters.learners
        self.state = np.zeros(1, STATE)
        self.state["learners"], self.state["alphas"] = parameters.learners, self._alphas.ctypes.data

    @classmethod
    def width(cls, parameters: BoostParameters) -> int:
        """One sub-model a learner."""
        return parameters.learners

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    def saved(self) -> dict[str, NDArray[Any]]:
        """The learners' weights."""
        return {"alphas": self._alphas}


@hutch.hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the reduction."""
    register(Boost)
