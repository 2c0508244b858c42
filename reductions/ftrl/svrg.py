"""Stochastic variance reduced gradient: steps against a gradient whose noise is taken out by an exact one.

A stage is one pass that takes no steps and n passes that do. The first sums up the gradient ∇ of its N examples at the
weights u that it begins with. An example with the features x and the weights w then moves every weight of a feature by

    -η ((g(w) - g(u)) x + ∇ / N)

with g the slope of the loss at a prediction, times the importance.

Source: R. Johnson, T. Zhang, "Accelerating stochastic gradient descent using predictive variance reduction", NIPS 2013;
VW 9.11.9, `--svrg`.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.limits import COUNT, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.kernel.abi import (
    example_of,
    int64s_at,
    kernel,
    shared_of,
    state_of,
    weights_of,
    widen,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.parameters import Within
from hutch.reductions.ftrl.base import NonNegative, SumsParameters, gradient, learns
from hutch.reductions.linear.kernels import clip, predicted
from hutch.reductions.linear.layer import HashedLearner

_0 = np.float32(0)
STEPPING, STABLE, EXACT = range(3)
"""Columns of the weight table: w, u and ∇."""


class SvrgParameters(SumsParameters):
    """Parameters of `svrg`.

    Attributes:
        stage: passes with steps after each pass that sums up the exact gradient.
        learning_rate: η.
        decay: the learning rate is multiplied by this after each pass.
    """

    stage: Annotated[int, Within(ge=1)] = 1
    learning_rate: NonNegative = 0.5
    decay: NonNegative = 1.0


STATE = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("counts", "u8"),  # address of int64[submodels]: N
        ("submodels", "u8"),
        ("stage", "u8"),  # passes with steps
        ("begun", "u8"),  # passes of which an example was learned
        ("learning_rate", "f4"),
    ]
)
own = state_of(STATE)


@helper
def _score(state, example, offset, column):
    """Gather the features; returns the score with the weights of a column."""
    e = example_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    n = uint64(gather(features, example, offset))
    rows, values, weights, p = rows_of(features, n), values_of(features, n), weights_of(shared), e.base
    for i in range(n):
        p += weights[uint64(rows[i]) * shared.stride + uint64(column)] * values[i]
    return p


@helper
def _begin_pass(state, shared):
    """Begin the pass; one without steps starts from the present weights."""
    if state.begun > shared["pass"]:
        return
    state.begun = shared["pass"] + uint64(1)
    if shared["pass"] % (state.stage + uint64(1)) != uint64(0):
        return
    weights = weights_of(shared)
    for at in range(0, len(weights), int64(shared.stride)):
        weights[at + STABLE], weights[at + EXACT] = weights[at + STEPPING], _0
    counts = int64s_at(state.counts, state.submodels)
    for k in range(len(counts)):
        counts[k] = 0


@helper
def _slope(layer, example, label, importance, offset, column):
    """The slope of the loss at the prediction by the weights of a column, times the importance."""
    state, shared = own(layer), shared_of(example_of(example).shared)
    return gradient(state, clip(shared, _score(state, example, offset, column)), label, importance)


@helper
def _sum_up(state, shared, slope, offset):
    """Take the features gathered last into the exact gradient."""
    features, weights = features_of(state.features), weights_of(shared)
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        weights[uint64(rows[i]) * shared.stride + uint64(EXACT)] += slope * values[i]
    int64s_at(state.counts, state.submodels)[offset] += 1


@helper
def _step(state, shared, difference, offset):
    """Move the weights of the features gathered last."""
    features, weights = features_of(state.features), weights_of(shared)
    n, count = features.length, np.float32(int64s_at(state.counts, state.submodels)[offset])
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        mean = weights[at + uint64(EXACT)] / count if count > _0 else _0
        weights[at] -= state.learning_rate * (difference * values[i] + mean)


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    state = own(layer)
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return predicted(example, state.loss, label, importance, _score(state, example, offset, STEPPING))


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then sum up the exact gradient or take a step."""
    state, shared = own(layer), shared_of(example_of(example).shared)
    widen(shared, label)
    prediction = predicted(example, state.loss, label, importance, _score(state, example, offset, STEPPING))
    if not learns(shared, label, importance):
        return prediction
    _begin_pass(state, shared)
    stable = _slope(layer, example, label, importance, offset, STABLE)
    if shared["pass"] % (state.stage + uint64(1)) == uint64(0):
        _sum_up(state, shared, stable, offset)
    else:
        _step(state, shared, gradient(state, prediction, label, importance) - stable, offset)
    return prediction


class Svrg(HashedLearner):
    """A linear learner whose steps have less noise, over several passes."""

    name: ClassVar[str] = "svrg"
    Parameters: ClassVar[type[Parameters]] = SvrgParameters
    known_failures = {
        "learns": "the first pass only sums up the exact gradient",
        "loss": "predictions of the first pass are all alike",
    }
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"counts": COUNT, "begun": COUNT, "learning_rate": POSITIVE}
    stride = 4
    """Weight, weight at the start of the stage, exact gradient; one is not used."""

    def __init__(self, parameters: SvrgParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(
            STATE,
            loss=context.loss(parameters.loss),
            features=self._features.record,
            counts=np.zeros(context.submodels, np.int64),
            submodels=context.submodels,
            stage=parameters.stage,
            learning_rate=parameters.learning_rate,
        )

    def end_pass(self) -> None:
        """Let the learning rate decay."""
        self.state["learning_rate"] *= np.float32(self.parameters.decay)
