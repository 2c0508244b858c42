"""The step of posterior rates where it is simplest: one pair of sides of one feature each, nothing gathered.

What it does is what `kernels` and `rates` do in general, in less time: rates, decay, step and counts of an example in
two walks over its features, and each weight is written once.
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import (
    call,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    shared_of,
    uint32s_at,
    weights_of,
)
from hutch.core.kernel.decorators import helper
from hutch.reductions.dyadic.plain import row_of
from hutch.reductions.dyadic.rates import (
    CONSTANT,
    COUNT,
    KIND,
    LEFT,
    OTHER,
    PRECISION,
    RIGHT,
    add,
    count_with,
    factor_rate,
    linear_precision,
    linear_rate,
    mark,
    see_label,
)
from hutch.reductions.dyadic.state import (
    balance_of,
    learned_of,
    metric_of,
    side_of,
    storable,
    touch,
    unit_of,
)

MOST_FEATURES = 32
"""Of an example; there is room for so many rates and shares kept."""

_0 = np.float32(0)


@helper
def _mark_features(state, e, weights, shared, offset):
    """Mark the features by the part of the model they are in."""
    indices, stride, n = uint32s_at(e.indices, e.length), shared.stride, int64(e.length)
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    last, constant = int64(e.namespace_count) - 1, int64(-1)
    if last >= 0 and uint32s_at(e.namespace_ids, e.namespace_count)[last] == CONSTANT_NAMESPACE:
        constant = starts[last] - starts[0]
    for i in range(n):
        kind = CONSTANT if i == constant else OTHER
        kind = LEFT if i == state.left else RIGHT if i == state.right else kind
        mark(weights, row_of(indices[i], shared, offset) * stride, kind)


@helper
def _factor_keep(state, learned, weights, at, half, rate, partner, h):
    """What a factor is multiplied by before the step and again after it."""
    strength = partner + learned.noise * state.precision / count_with(weights, at, h)
    return math.exp(-half * rate * strength)


@helper
def _measure(state, e, weights, shared, half, h, offset):
    """Set the linear part after the first half of the decay, and `square`; rates and shares kept go to `short`."""
    n, stride, learned = int64(e.length), shared.stride, learned_of(state, offset)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    short = float64s_at(state.short, uint64(2 * MOST_FEATURES))
    state.linear, state.square = 0.0, 0.0
    for i in range(n):
        at, value = row_of(indices[i], shared, offset) * stride, np.float64(values[i])
        rate, keep, kind = linear_rate(learned, weights, at), 1.0, weights[at + uint64(KIND)]
        if kind != np.float32(CONSTANT):
            prior = learned.noise * linear_precision(learned, kind)
            keep = math.exp(-half * rate * prior / count_with(weights, at, h))
        short[2 * i], short[2 * i + 1] = rate, keep
        state.square += rate * value * value
        state.linear += keep * np.float64(weights[at]) * value


@helper
def _meet(state, weights, left, right, x, z, keep_left, keep_right):
    """Set the sides after the first half of the decay, the dyad's part, U and V."""
    a, b, q, rank = side_of(state, 0), side_of(state, 1), balance_of(state)[0], uint64(state.rank)
    inverse_q, head = 1.0 / q, uint64(state.head)
    dyads, U, V, shift = 0.0, 0.0, 0.0, state.shift
    x, z, left, right = x * keep_left, z * keep_right, left + head, right + head
    for d in range(rank):
        A = x * np.float64(weights[left + d]) + shift
        B = z * np.float64(weights[right + d]) + shift
        a[d], b[d] = A, B
        u, v = q * A + inverse_q * B, q * A - inverse_q * B
        dyads += A * B
        U += u * u
        V += v * v
    state.dyads = dyads - shift * shift * state.rank
    state.U, state.V = U, V


@helper
def _move_sides(state, weights, left, right, to_left, to_right, keep_left, keep_right):
    """Move both factors by the step, and decay them by the second half."""
    a, b, q, rank, head = (
        side_of(state, 0),
        side_of(state, 1),
        balance_of(state)[0],
        uint64(state.rank),
        uint64(state.head),
    )
    inverse_q, shrink, grow, left, right = 1.0 / q, state.shrink, state.grow, left + head, right + head
    to_left, to_right = to_left * inverse_q, to_right * q
    for d in range(rank):
        along, across = (q * a[d] + inverse_q * b[d]) * shrink, (q * a[d] - inverse_q * b[d]) * grow
        A, B = np.float64(weights[left + d]), np.float64(weights[right + d])
        moved = (keep_left * A + to_left * (along + across)) * keep_left
        weights[left + d] = storable(moved, weights[left + d])
        moved = (keep_right * B + to_right * (along - across)) * keep_right
        weights[right + d] = storable(moved, weights[right + d])


@helper
def train_posterior_plainly(state, example, label, importance, offset):
    """The step of one example that `score_plainly` has scored; False, with nothing done, where it is too simple."""
    e, shared, h = example_of(example), shared_of(example_of(example).shared), np.float64(importance)
    n, stride, weights, learned = int64(e.length), shared.stride, weights_of(shared), learned_of(state, offset)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    if state.left < 0 or n > MOST_FEATURES:
        return False
    x, z = np.float64(values[state.left]), np.float64(values[state.right])
    if x == 0.0 or z == 0.0:
        return False
    left, right = row_of(indices[state.left], shared, offset), row_of(indices[state.right], shared, offset)
    touch(state, weights, stride, left)
    touch(state, weights, stride, right)
    left, right = left * stride, right * stride
    see_label(learned, label, h)
    _mark_features(state, e, weights, shared, offset)
    left_rate, right_rate = factor_rate(state, learned, weights, left), factor_rate(state, learned, weights, right)
    metric, balance = metric_of(state), balance_of(state)
    metric[0], metric[1] = left_rate * x * x, right_rate * z * z
    state.variance = state.rank * metric[0] * metric[1]
    state.scale = learned.pace / (learned.noise + state.variance)
    balance[0] = math.sqrt(math.sqrt(metric[1] / metric[0])) if metric[0] != metric[1] else 1.0
    mean, deviation = unit_of(state, offset)
    state.label = (state.label - mean) / deviation
    state.error = state.label - (np.float64(e.raw) - mean) / deviation
    state.rate = state.learning_rate
    half = 0.5 * h * state.scale * state.rate
    _measure(state, e, weights, shared, half, h, offset)
    keep_left = _factor_keep(state, learned, weights, left, half, left_rate, metric[1], h)
    keep_right = _factor_keep(state, learned, weights, right, half, right_rate, metric[0], h)
    _meet(state, weights, left, right, x, z, keep_left, keep_right)
    state.common = state.scale * math.sqrt(metric[0]) * math.sqrt(metric[1])
    state.X = state.scale * state.square / state.common
    state.wx = state.linear + state.dyads + np.float64(e.base) / deviation - 0.25 * (state.U - state.V)
    state.budget = state.rate * h * state.common
    call(state.step, state.self, example, _0, importance, offset)
    _finish(state, e, weights, shared, left, right, offset, h)
    _move_sides(state, weights, left, right, 1.0 / x, right_rate * z / metric[1], keep_left, keep_right)
    _count(state, learned, weights, left, right, x, z, h)
    return True


@helper
def _finish(state, e, weights, shared, left, right, offset, h):
    """Move the linear weights, decay them by the second half, and count their features."""
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    short, reach = float64s_at(state.short, uint64(2 * MOST_FEATURES)), state.t * state.scale / state.common
    for i in range(int64(e.length)):
        at, value = row_of(indices[i], shared, offset) * shared.stride, np.float64(values[i])
        rate, keep = short[2 * i], short[2 * i + 1]
        weights[at] = storable((keep * np.float64(weights[at]) - reach * rate * value) * keep, weights[at])
        add(weights, at + uint64(COUNT), value * value * h)


@helper
def _count(state, learned, weights, left, right, x, z, h):
    """What the example says about the certainty of both factors."""
    a, b, metric = side_of(state, 0), side_of(state, 1), metric_of(state)
    learned.error += h * state.error * state.error
    learned.error_weight += h
    of_a, of_b = 0.0, 0.0
    for d in range(uint64(state.rank)):
        of_a += a[d] * a[d]
        of_b += b[d] * b[d]
    share = 1.0 / max(state.rank, 1)
    add(weights, left + uint64(PRECISION), x * x * h * (of_b * share + metric[1]))
    add(weights, right + uint64(PRECISION), z * z * h * (of_a * share + metric[0]))
