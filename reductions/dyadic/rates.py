"""Learning rates of the dyadic learner: one for each feature's linear weight and one for its whole factor.

Rates within a factor must be equal, else the step has no closed form. Two kinds:

* `power`: learning_rate (t0 / (t0 + t))^power_t for everything, t being the examples seen before; constant for
  power_t = 0. A row holds nothing more.
* `posterior`, for squared loss: the variance of the weight or factor given what it has seen, as a Kalman filter whose
  covariance is one number per block. A row holds which part of the model it belongs to, and count and precision of this
  pass and of the one before. The partner's variance acts as decay: E[(y - a·b)²] over a posterior of b is
  (y - a·E[b])² + Var(b) |a|².

Rates are read before the step, so that for one example a step of importance h is a semigroup in h. The kernels take the
address of a DYADIC record in place of a layer's, and the offset of its sub-model; all of them are of posterior rates.
"""

import math
from typing import Any

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import UNLABELED, example_of, int64s_at, kernel, uint32s_at
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.decorators import helper
from hutch.core.learner.features import features_of, scratch_of
from hutch.reductions.dyadic.state import (
    POSTERIOR,
    POWER,
    WEIGHT,
    dyadic_of,
    gathered,
    learned_of,
    metric_of,
    ranges_of,
    side_of,
    storable,
)

RATES = {"power": POWER, "posterior": POSTERIOR}
HEADS = {"power": 1, "posterior": 6}
"""Floats of a row before the factor."""

KIND, COUNT, COUNT_BEFORE, PRECISION, PRECISION_BEFORE = 1, 2, 3, 4, 5
LEFT, RIGHT, OTHER, CONSTANT = 1, 2, 3, 4

_0 = np.float32(0)
_CONSTANT_PACE = 1e-3  # labels are centred, so the constant has little to do


@helper
def rate_of(state, examples):
    """The rate common to all features."""
    if state.rates != POWER or state.power_t == 0.0:
        return state.learning_rate
    share = state.initial_t / (state.initial_t + np.float64(examples))
    return state.learning_rate * (math.sqrt(share) if state.power_t == 0.5 else share**state.power_t)


@helper
def _most(weights, at, slot):
    """A sum of this pass or of the previous one, whichever is greater: rates must not jump when a pass begins."""
    return np.float64(max(weights[at + uint64(slot)], weights[at + uint64(slot + 1)]))


@helper
def factor_rate(state, learned, weights, at):
    """The rate of the factor of the row at `at`, without the common rate."""
    return 1.0 / (state.precision + _most(weights, at, PRECISION) / learned.noise)


@helper
def linear_precision(learned, kind):
    """Prior precision of the linear weight of a feature of this kind."""
    if kind == np.float32(LEFT):
        return learned.left_precision
    return learned.right_precision if kind == np.float32(RIGHT) else learned.other_precision


@helper
def linear_rate(learned, weights, at):
    """The rate of the linear weight of the row at `at`, without the common rate."""
    kind = weights[at + uint64(KIND)]
    if kind == np.float32(CONSTANT):
        return _CONSTANT_PACE
    return 1.0 / (linear_precision(learned, kind) + _most(weights, at, COUNT) / learned.noise)


@helper
def see_label(learned, label, importance):
    """Take a label into the running moments."""
    learned.label_weight += importance
    off = label - learned.label_mean
    learned.label_mean += off * importance / learned.label_weight
    learned.label_squares += importance * off * (label - learned.label_mean)


@kernel
def see(record, example, label, importance, offset):
    """Posterior rates: take a label into the running moments, and mark features by the part of the model they are in.

    UNLABELED takes no label in: of a difference of two sub-models, only the unit of the labels matters.
    """
    state, e = dyadic_of(record), example_of(example)
    weights, stride, rows, _, n = gathered(state, example)
    ranges = ranges_of(state)
    if label != UNLABELED:
        see_label(learned_of(state, offset), np.float64(label), np.float64(importance))
    for k in range(2 * state.pair_count):
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            mark(weights, uint64(rows[i]) * stride, LEFT if k % 2 == 0 else RIGHT)
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    last = int64(e.namespace_count) - 1
    constant = int64(-1)
    if last >= 0 and uint32s_at(e.namespace_ids, e.namespace_count)[last] == CONSTANT_NAMESPACE:
        constant = starts[last] - starts[0]
    for i in range(n):
        mark(weights, uint64(rows[i]) * stride, CONSTANT if i == constant else OTHER)
    return _0


@helper
def mark(weights, at, kind):
    """Record the part of the model that a feature is in, if that is new."""
    if weights[at + uint64(KIND)] == _0:
        weights[at + uint64(KIND)] = np.float32(kind)


@kernel
def measure(record, example, label, importance, offset):
    """Set the rates of the features, the metric of the sides, and `square` and `variance` of the record.

    The rates of the linear features, float32, are left in the first scratch of the features.
    """
    state = dyadic_of(record)
    weights, stride, rows, values, n = gathered(state, example)
    linear_rates = scratch_of(features_of(state.features), 0)
    learned, ranges, metric = learned_of(state, offset), ranges_of(state), metric_of(state)
    X, variance = 0.0, 0.0
    for i in range(n):
        rate = linear_rate(learned, weights, uint64(rows[i]) * stride)
        linear_rates[i] = np.float32(rate)
        X += rate * np.float64(values[i]) * np.float64(values[i])
    for k in range(2 * state.pair_count):
        metric[k] = 0.0
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            rate = factor_rate(state, learned, weights, uint64(rows[i]) * stride)
            metric[k] += rate * np.float64(values[i]) * np.float64(values[i])
        if k % 2 == 1:
            variance += state.rank * metric[k - 1] * metric[k]
    state.square, state.variance = X, variance
    return _0


@kernel
def decay(record, example, label, importance, offset):
    """Half of the regularisation of one example, to be applied before and after its step."""
    state = dyadic_of(record)
    weights, stride, rows, _, n = gathered(state, example)
    linear_rates = scratch_of(features_of(state.features), 0)
    learned, h = learned_of(state, offset), np.float64(importance)
    ranges, metric = ranges_of(state), metric_of(state)
    half = 0.5 * h * (state.scale * state.rate)
    for i in range(n):
        at = uint64(rows[i]) * stride
        kind = weights[at + uint64(KIND)]
        if kind == np.float32(CONSTANT):
            continue
        strength = learned.noise * linear_precision(learned, kind) / count_with(weights, at, h)
        weights[at] *= np.float32(math.exp(-half * np.float64(linear_rates[i]) * strength))
    for k in range(2 * state.pair_count):
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            at = uint64(rows[i]) * stride
            prior = learned.noise * state.precision / count_with(weights, at, h)
            strength = metric[k ^ 1] + prior
            factor = np.float32(math.exp(-half * factor_rate(state, learned, weights, at) * strength))
            for d in range(state.rank):
                weights[at + uint64(state.head + d)] *= factor
    return _0


@helper
def count_with(weights, at, importance):
    """Importance the feature has been seen with, this example included."""
    seen = np.float64(weights[at + uint64(COUNT)]) + importance
    return max(seen, np.float64(weights[at + uint64(COUNT_BEFORE)]))


@helper
def add(weights, slot, amount):
    """Add to a sum in the weight table."""
    weights[slot] = storable(np.float64(weights[slot]) + amount, weights[slot])


@kernel
def observe(record, example, label, importance, offset):
    """Update counts, precisions and errors by the example.

    The sides that the record holds are those before the step.
    """
    state = dyadic_of(record)
    weights, stride, rows, values, n = gathered(state, example)
    ranges, metric, h = ranges_of(state), metric_of(state), np.float64(importance)
    learned = learned_of(state, offset)
    learned.error += h * state.error * state.error
    learned.error_weight += h
    for i in range(n):
        add(weights, uint64(rows[i]) * stride + uint64(COUNT), np.float64(values[i]) * np.float64(values[i]) * h)
    for k in range(2 * state.pair_count):
        if ranges[2 * k] == ranges[2 * k + 1]:
            continue
        other, length = side_of(state, k ^ 1), 0.0
        for d in range(state.rank):
            length += other[d] * other[d]
        length /= max(state.rank, 1)
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            square = np.float64(values[i]) * np.float64(values[i]) * h
            add(weights, uint64(rows[i]) * stride + uint64(PRECISION), square * (length + metric[k ^ 1]))
    return _0


KERNELS: dict[str, AddressKernel] = {"see": see, "measure": measure, "decay": decay, "observe": observe}
"""Of posterior rates, by their fields in the learner's record."""


def end_pass(weights: NDArray[np.float32], learned: Any, noise_share: float) -> None:
    """Posterior rates when a pass ends: sums of the pass become those of the pass before, precisions are re-estimated.

    Args:
        weights: float32 (rows, stride) of one sub-model; a view, changed in place.
        learned: its LEARNED record.
        noise_share: part of the first pass's squared error that counts as noise.
    """
    seen = np.flatnonzero(weights[:, KIND])
    rows = weights[seen, : PRECISION_BEFORE + 1]
    if not learned["error_weight"] > 0:
        return
    if not rows[:, COUNT_BEFORE].any():
        learned["noise"] = max(noise_share * learned["error"] / learned["error_weight"], 1e-6)
    rows[:, [COUNT_BEFORE, PRECISION_BEFORE]] = rows[:, [COUNT, PRECISION]]
    rows[:, [COUNT, PRECISION]] = 0
    weights[seen, : PRECISION_BEFORE + 1] = rows
    for name, kind in (("left", LEFT), ("right", RIGHT), ("other", OTHER)):
        own = rows[rows[:, KIND] == kind].astype(np.float64)
        if len(own):
            variance = 1 / (learned[f"{name}_precision"] + own[:, COUNT_BEFORE] / learned["noise"])
            learned[f"{name}_precision"] = 1 / max(np.mean(own[:, WEIGHT] ** 2 + variance), 1e-6)
    learned["error"] = learned["error_weight"] = 0
