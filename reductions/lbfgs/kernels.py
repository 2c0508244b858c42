"""What an example adds to the sums of a pass: loss, gradient, second derivatives, curvature along the direction."""

import math

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import (
    call_loss,
    example_of,
    kernel,
    loss_of,
    shared_of,
    state_of,
    weights_of,
    widen,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.loss import kinds
from hutch.reductions.ftrl.base import learns
from hutch.reductions.lbfgs.table import DIRECTION, GRADIENT, SCALE
from hutch.reductions.linear.kernels import predicted

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
NEW, SLOPES, CURVATURE = range(3)
"""What a pass sums up: everything, before the first step; the gradient; the curvature along the direction."""

STATE = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("phase", "i8"),  # what this pass sums up
        ("pairs", "i8"),  # of the memory, index of the oldest
        ("origin", "i8"),  # in a row of the memory, where the newest numbers begin
        ("passes", "i8"),  # of this search, which have ended
        ("learned", "i8"),  # examples of this pass
        ("losses", "f8"),  # sum of this pass
        ("last_losses", "f8"),  # sum before the last step
        ("importance", "f8"),  # sum of the first pass
        ("curvature", "f8"),  # sum of this pass
        ("step", "f4"),  # the last one
    ]
)
own = state_of(STATE)


@helper
def _second_derivative(loss, p, y):
    """Of the loss at prediction p, float32; of losses without a closed form, by differences of the first."""
    record = loss_of(loss)
    if record.kind == kinds.CLASSIC:
        return _2
    if record.kind in (kinds.SQUARED, kinds.EXPECTILE):
        shared = shared_of(record.shared)
        second = _2 if shared.min_label <= p <= shared.max_label else _0
        weight = 1.0 - record.parameter if y < p else record.parameter
        return second * np.float32(weight) if record.kind == kinds.EXPECTILE else second
    if record.kind == kinds.LOGISTIC:
        lower, upper = np.float32(record.lower), np.float32(record.upper)
        share = (y - lower) / (upper - lower)
        up, down = _1 / (_1 + math.exp(p)), _1 / (_1 + math.exp(-p))
        return share * (up * (_1 - up)) + (_1 - share) * (down * (_1 - down))
    if record.kind == kinds.POISSON:
        return math.exp(p)
    if record.kind in (kinds.HINGE, kinds.QUANTILE):
        return _0
    reach = 1e-3 * max(1.0, abs(np.float64(p)))
    high = call_loss(record.derivative, np.float64(p) + reach, np.float64(y), 0.0, 0.0, loss)
    low = call_loss(record.derivative, np.float64(p) - reach, np.float64(y), 0.0, 0.0, loss)
    return max(np.float32((high - low) / (2.0 * reach)), _0)


@inlined
def _along(state, shared, column):
    """The sum over the features gathered last of a column's number times the value."""
    features, weights, total = features_of(state.features), weights_of(shared), _0
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        total += weights[uint64(rows[i]) * shared.stride + uint64(column)] * values[i]
    return total


@helper
def _score(layer, example, offset):
    """Gather the features; returns base + w·x."""
    state, e = own(layer), example_of(example)
    features, shared, p = features_of(state.features), shared_of(e.shared), e.base
    n = uint64(gather(features, example, offset))
    rows, values, weights = rows_of(features, n), values_of(features, n), weights_of(shared)
    for i in range(n):
        p += weights[uint64(rows[i]) * shared.stride] * values[i]
    return p


@helper
def _sum_up(state, shared, slope, second):
    """Take the features gathered last into the gradient, and in the first pass into the second derivatives."""
    features, weights = features_of(state.features), weights_of(shared)
    n = features.length
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        at = uint64(rows[i]) * shared.stride
        weights[at + uint64(GRADIENT)] += slope * values[i]
    if state.phase == NEW:
        for i in range(n):
            at = uint64(rows[i]) * shared.stride
            weights[at + uint64(SCALE)] += second * values[i] * values[i]


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return predicted(example, own(layer).loss, label, importance, _score(layer, example, offset))


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and sum up what the step at the end of the pass needs."""
    state, e = own(layer), example_of(example)
    shared = shared_of(e.shared)
    widen(shared, label)
    prediction = predicted(example, state.loss, label, importance, _score(layer, example, offset))
    if not learns(shared, label, importance):
        return prediction
    state.learned += 1
    if state.phase == CURVATURE:
        along, second = np.float64(_along(state, shared, DIRECTION)), _second_derivative(state.loss, prediction, label)
        state.curvature += along * along * np.float64(second) * np.float64(importance)
        return prediction
    slope = call_loss(loss_of(state.loss).derivative, np.float64(prediction), np.float64(label), 0.0, 0.0, state.loss)
    second = _0
    if state.phase == NEW:
        state.importance += np.float64(importance)
        second = _second_derivative(state.loss, prediction, label) * importance
    state.losses += e.loss
    _sum_up(state, shared, np.float32(slope) * importance, second)
    return prediction
