"""A link: passes the prediction of the layer below through a function on its way up; learning is not touched."""

import math
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from hutch.core.chain.declarations import Answers
from hutch.core.chain.reduction import Kernels, Labels, Predictions
from hutch.core.declared.layer import Layer
from hutch.core.declared.state import State
from hutch.core.kernel.abi import importance_to_next, kernel, learn_next, predict_next
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.passing import pass_sensitivity
from hutch.core.parameters import Parameters

Function = Literal["identity", "logistic", "glf1", "poisson"]

_1, _2 = np.float32(1), np.float32(2)


class LinkParameters(Parameters):
    """Parameters of `link`.

    Attributes:
        function: `logistic` gives 1 / (1 + e^-p), `glf1` 2 / (1 + e^-p) - 1, `poisson` e^p.
    """

    function: Function = "logistic"


state = State(LinkParameters)


@helper
def _apply(function, p):
    if function == 1:
        return _1 / (_1 + math.exp(-p))
    if function == 2:
        return _2 / (_1 + math.exp(-p)) - _1
    if function == 3:
        return math.exp(p)
    return p


@helper
def _invert(function, q):
    """The prediction that the link turns into q; NaN or infinite where none does."""
    share = q if function == 1 else (q + _1) / _2
    if function == 1 or function == 2:
        return math.log(share / (_1 - share)) if 0 <= share <= 1 else np.float32(np.nan)
    return q if function == 0 else (math.log(q) if q >= 0 else np.float32(np.nan))


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layer below learn; returns its prediction through the link."""
    return _apply(state(layer, offset).function, learn_next(layer, example, label, importance, offset))


@kernel
def predict(layer, example, label, importance, offset):
    """The prediction of the layer below, through the link."""
    return _apply(state(layer, offset).function, predict_next(layer, example, label, importance, offset))


@kernel
def importance_to(layer, example, label, target, offset):
    """h_min of the layer below to the prediction that the link turns into `target`."""
    below = _invert(state(layer, offset).function, target)
    return importance_to_next(layer, example, label, below, offset) if math.isfinite(below) else np.float32(np.inf)


class Link(Layer):
    """Passes the prediction below through a function."""

    name: ClassVar[str] = "link"
    declares = state
    linear = True
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict, importance_to, pass_sensitivity)

    @property
    def answers(self) -> Answers:
        """The predictions are of the link, and the threshold is that of the layer below, through it."""
        found = super().answers
        below = found.decision_threshold
        rises = {"logistic": 1 / (1 + math.exp(-below)), "glf1": math.tanh(below / 2), "poisson": math.exp(below)}
        return replace(found, linked=True, decision_threshold=rises.get(self.parameters.function, below))
