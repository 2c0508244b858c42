"""Preferences: a label tells which of two sides won, or that they tied; the layer below learns their strengths.

An example holds the difference of the two sides: the features of the left side with their values, those of the right
side with minus their values. The layer below predicts m, half the logarithm of the odds of left against right, and

    P(left), P(right), P(tie) ~ e^(r m), e^(-r m), e^t

with a reliability r and a readiness for ties of each worker, learned here. R. Davidson, "On extending the
Bradley-Terry model to accommodate ties in paired comparison experiments", JASA 65, 1970.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Answers, Inputs
from hutch.core.chain.limits import FINITE, POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float64s_at,
    importance_to_next,
    int64s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.loss import kinds
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id

TIES, WEIGHT = 100.0, 10.0
"""Prior variance of t, which all workers share; the largest importance passed to the layer below."""

_1 = np.float32(1)


class PairwiseParameters(Parameters):
    """Parameters of `pairwise`.

    Attributes:
        worker: namespace whose features name the worker; None: all workers are alike.
        slots: rows of the table of workers, a power of two.
        reliability: prior variance of a worker's reliability, whose mean is 1.
        ties: prior variance of a worker's readiness to call a tie.
    """

    worker: str | None = None
    slots: Annotated[int, Within(ge=1, le=1 << 24)] = 4096
    reliability: Annotated[float, Within(ge=0)] = 0.15
    ties: Annotated[float, Within(ge=0)] = 1.0

    def __post_init__(self) -> None:
        if self.slots & (self.slots - 1):
            raise ValueError(f"slots: got {self.slots}, wanted a power of two")


PAIRWISE = np.dtype(
    [
        ("worker", "i8"),  # id of the workers' namespace; -1: none
        ("slots", "u8"),
        ("means", "u8"),  # address of float64[submodels, 2 + 2 slots]: t, unused, then r - 1 and t of each worker
        ("variances", "u8"),  # likewise
        ("size", "u8"),  # size of either array
    ]
)
pairwise_of = state_of(PAIRWISE)


@helper
def _place(layer, example, offset):
    """The places of this sub-model's numbers, and of those of the example's worker; -1 without a worker."""
    state, e = pairwise_of(layer), example_of(example)
    size = int64(2 + 2 * state.slots)
    start = int64(offset // layer_of(layer).step) * size
    if state.worker >= 0:
        pointer, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), e.namespace_ids
        for k in range(int64(e.namespace_count)):
            if int64(uint32s_at(ids, e.namespace_count)[k]) == state.worker and pointer[k + 1] > pointer[k]:
                slot = uint64(0)
                for i in range(pointer[k] - pointer[0], pointer[k + 1] - pointer[0]):
                    slot ^= uint64(uint32s_at(e.indices, e.length)[i])
                return start, start + 2 + 2 * int64(slot & (state.slots - uint64(1)))
    return start, int64(-1)


@helper
def _outcomes(state, start, place, m):
    """P(left), P(right), P(tie), and the worker's reliability."""
    means = float64s_at(state.means, state.size)
    r, t = 1.0, means[start]
    if place >= 0:
        r, t = 1.0 + means[place], t + means[place + 1]
    z = r * float(m)
    top = max(abs(z), t)
    a, b, c = math.exp(z - top), math.exp(-z - top), math.exp(t - top)
    return a / (a + b + c), b / (a + b + c), c / (a + b + c), r


@helper
def _said(example, label, importance, left, right, tie):
    """The expected score of left, a tie being half a win; the raw score is the logarithm of its odds."""
    example_of(example).raw = np.float32(math.log(max(left + tie / 2, 1e-30) / max(right + tie / 2, 1e-30)))
    if label != UNLABELED and importance > np.float32(0):
        p = left if label > 0 else (right if label < 0 else tie)
        example_of(example).loss = -float(importance) * math.log(max(p, 1e-12))
    else:
        example_of(example).loss = 0.0
    return np.float32(left + tie / 2)


@helper
def _asked(r, left, right, label, m):
    """The label and the importance under which logistic loss has the slope of this one at m."""
    slope = r * (left - right - (1.0 if label > 0 else (-1.0 if label < 0 else 0.0)))
    side = -1.0 if slope > 0 else 1.0
    return np.float32(side), np.float32(min(abs(slope) * (1.0 + math.exp(min(side * float(m), 30.0))), WEIGHT))


@helper
def _move(means, variances, k, derivative, slope, information):
    """One step of an extended Kalman filter."""
    spread = variances[k] * derivative
    whole = 1.0 + information * derivative * spread
    means[k] -= spread * slope / whole
    variances[k] = max(variances[k] / whole, 0.0)


@helper
def _learn_workers(state, start, place, m, left, right, tie, label, importance):
    """Learn t, and the worker's reliability and readiness for ties."""
    means, variances = float64s_at(state.means, state.size), float64s_at(state.variances, state.size)
    w = float(importance)
    slope = w * (left - right - (1.0 if label > 0 else (-1.0 if label < 0 else 0.0)))
    slope_tie = w * (tie - (1.0 if label == 0 else 0.0))
    information, information_tie = w * (left + right - (left - right) ** 2), w * tie * (1 - tie)
    if place >= 0:
        _move(means, variances, place, float(m), slope, information)
        _move(means, variances, place + 1, 1.0, slope_tie, information_tie)
    _move(means, variances, start, 1.0, slope_tie, information_tie)


@kernel
def learn(layer, example, label, importance, offset):
    """Train the layer below on who is stronger, and update the workers; returns the score expected before."""
    state = pairwise_of(layer)
    start, place = _place(layer, example, offset)
    if label == UNLABELED or importance <= np.float32(0):
        m = learn_next(layer, example, UNLABELED, importance, offset)
        left, right, tie, _ = _outcomes(state, start, place, m)
        return _said(example, label, importance, left, right, tie)
    m = predict_next(layer, example, UNLABELED, importance, offset)
    left, right, tie, r = _outcomes(state, start, place, m)
    side, weight = _asked(r, left, right, label, m)
    if weight > np.float32(0):
        learn_next(layer, example, side, weight * importance, offset)
    _learn_workers(state, start, place, m, left, right, tie, label, importance)
    return _said(example, label, importance, left, right, tie)


@kernel
def predict(layer, example, label, importance, offset):
    """The expected score of left."""
    state = pairwise_of(layer)
    start, place = _place(layer, example, offset)
    m = predict_next(layer, example, UNLABELED, importance, offset)
    left, right, tie, _ = _outcomes(state, start, place, m)
    return _said(example, label, importance, left, right, tie)


@kernel
def importance_to(layer, example, label, target, offset):
    """h_min of the layer below to the m at which the expected score is `target`, to first order in the importance."""
    state = pairwise_of(layer)
    start, place = _place(layer, example, offset)
    m = predict_next(layer, example, UNLABELED, _1, offset)
    left, right, tie, r = _outcomes(state, start, place, m)
    if not 0 < target < 1 or r == 0 or label == UNLABELED:
        return np.float32(np.inf)
    side, weight = _asked(r, left, right, label, m)
    share = float(target)
    ratio = tie / math.sqrt(left * right)
    half = ratio * (share - 0.5)
    u = (half + math.sqrt(half * half + 4 * share * (1 - share))) / (2 * (1 - share))
    if weight <= np.float32(0):
        return np.float32(np.inf)
    return importance_to_next(layer, example, side, np.float32(math.log(u) / r), offset) / weight


class Pairwise(Reduction):
    """Predicts the winner of two, from votes with ties; above logistic loss on the difference of the two."""

    name: ClassVar[str] = "pairwise"
    Parameters: ClassVar[type[Parameters]] = PairwiseParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    parameters: PairwiseParameters
    kernels = Kernels(learn, predict, importance_to)
    keeps: ClassVar[Mapping[str, Limits]] = {"means": FINITE, "variances": POSITIVE}

    def __init__(self, parameters: PairwiseParameters, context: Context) -> None:
        super().__init__(parameters, context)
        kind = context.below.answers.loss_kind if context.below else None
        if kind not in (None, kinds.LOGISTIC):
            raise ConfigError("pairwise: the layer below has another loss, wanted loss logistic")
        self.inputs = Inputs(namespaces=() if parameters.worker is None else (parameters.worker,))
        size = 2 + 2 * parameters.slots if parameters.worker is not None else 2
        variances = np.zeros((context.submodels, size))
        variances[:, 0] = TIES
        variances[:, 2::2], variances[:, 3::2] = parameters.reliability, parameters.ties
        self.state = Record(
            PAIRWISE,
            worker=-1 if parameters.worker is None else namespace_id(parameters.worker, context.parser.namespaces),
            slots=parameters.slots if parameters.worker is not None else 0,
            means=np.zeros_like(variances),
            variances=variances,
            size=variances.size,
        )

    @property
    def answers(self) -> Answers:
        """Left is expected to win above one half; labels are 1 for left, -1 for right, 0 for a tie."""
        return replace(super().answers, decision_threshold=0.5, labels=(-1, 0, 1))
