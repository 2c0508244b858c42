"""The dyadic learner where it is simplest: one pair of sides of one feature each, all rates equal, nothing gathered.

What it does is what `kernels` does in general, in half the time: what the step needs stays in registers.
"""

import math

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.kernel.abi import call, example_of, float32s_at, int64s_at, shared_of, uint32s_at, weights_of
from hutch.core.kernel.decorators import helper
from hutch.core.loss.kinds import KIND_GENERIC
from hutch.reductions.dyadic.rates import rate_of
from hutch.reductions.dyadic.state import storable, touch

SEVERAL = -2
"""In place of the left feature: a side has several."""

_0 = np.float32(0)


@helper
def row_of(index, shared, offset):
    """The row of the weight table of a feature in the sub-model at `offset`."""
    return uint64((uint32(index) * uint32(shared.multiplier) + uint32(offset)) & uint32(shared.mask))


@helper
def _find(state, e):
    """Set the features of both sides."""
    state.left = state.right = -1
    if state.pair_count == 0:
        return
    count = e.namespace_count
    wanted, ids = uint32s_at(state.pairs, uint64(2)), uint32s_at(e.namespace_ids, count)
    starts = int64s_at(e.namespaces, count + uint64(1))
    left = right = -1
    for j in range(int64(count)):
        left, right = j if ids[j] == wanted[0] else left, j if ids[j] == wanted[1] else right
    if left < 0 or right < 0 or starts[left + 1] == starts[left] or starts[right + 1] == starts[right]:
        return
    state.left, state.right = starts[left] - starts[0], starts[right] - starts[0]
    if starts[left + 1] - starts[left] > 1 or starts[right + 1] - starts[right] > 1:
        state.left = SEVERAL


@helper
def score_plainly(state, example, offset):
    """Set w·x and the dyad's part of the prediction; False if a side has several features."""
    e = example_of(example)
    _find(state, e)
    if state.left == SEVERAL:
        return False
    shared, n = shared_of(example_of(example).shared), uint64(e.length)
    stride, weights = shared.stride, weights_of(shared)
    indices, values = uint32s_at(e.indices, n), float32s_at(e.values, n)
    linear, dyads = 0.0, 0.0
    for i in range(n):
        linear += np.float64(weights[row_of(indices[i], shared, offset) * stride]) * np.float64(values[i])
    if state.left >= 0:
        head, shift = uint64(state.head), state.shift
        left = row_of(indices[state.left], shared, offset) * stride + head
        right = row_of(indices[state.right], shared, offset) * stride + head
        x, z = np.float64(values[state.left]), np.float64(values[state.right])
        for d in range(uint64(state.rank)):
            a, b = x * np.float64(weights[left + d]) + shift, z * np.float64(weights[right + d]) + shift
            dyads += a * b
        dyads -= shift * shift * state.rank
    e.features = n
    state.linear, state.dyads = linear, dyads
    return True


@helper
def train_plainly(state, example, importance, offset):
    """The step of one example that `score_plainly` has scored, and half of its decay before and after it."""
    e, shared, h = example_of(example), shared_of(example_of(example).shared), np.float64(importance)
    n, stride, weights = uint64(e.length), shared.stride, weights_of(shared)
    indices, values = uint32s_at(e.indices, n), float32s_at(e.values, n)
    rate, shift, rank = rate_of(state, shared.examples), state.shift, uint64(state.rank)
    keep = math.exp(-0.5 * rate * h * state.l2) if state.l2 > 0.0 else 1.0
    square, U, V, dyads = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        square += np.float64(values[i]) * np.float64(values[i])
    left, right, x, z, q, inverse_q, common = uint64(0), uint64(0), 0.0, 0.0, 1.0, 1.0, 1.0
    paired = state.left >= 0
    if paired:
        x, z = np.float64(values[state.left]), np.float64(values[state.right])
        left, right = row_of(indices[state.left], shared, offset), row_of(indices[state.right], shared, offset)
        touch(state, weights, stride, left)
        touch(state, weights, stride, right)
        left, right = left * stride + uint64(state.head), right * stride + uint64(state.head)
        if x == 0.0 or z == 0.0:
            paired, dyads = False, state.dyads
    if paired:
        common = abs(x * z)
        q = math.sqrt(abs(z / x)) if abs(x) != abs(z) else 1.0
        inverse_q = 1.0 / q
        for d in range(rank):
            a = keep * (x * np.float64(weights[left + d])) + shift
            b = keep * (z * np.float64(weights[right + d])) + shift
            u, v = q * a + inverse_q * b, q * a - inverse_q * b
            dyads += a * b
            U += u * u
            V += v * v
        dyads -= shift * shift * state.rank
    state.U, state.V, state.X = U, V, square / common
    state.wx = keep * state.linear + np.float64(e.base) + (dyads - 0.25 * (U - V))
    state.budget = rate * h * common
    step = state.generic_step if state.kind == KIND_GENERIC else state.step
    call(step, state.self, example, _0, importance, offset)
    reach, shrink, grow = state.t / common, state.shrink, state.grow
    for i in range(n):
        at = row_of(indices[i], shared, offset) * stride
        moved = (keep * np.float64(weights[at]) - reach * np.float64(values[i])) * keep
        weights[at] = storable(moved, weights[at])
    if paired:
        dyads = -shift * shift * state.rank
        to_left, to_right = inverse_q / x, q / z
        for d in range(rank):
            A, B = keep * np.float64(weights[left + d]), keep * np.float64(weights[right + d])
            a, b = q * (x * A + shift), inverse_q * (z * B + shift)
            along, across = (a + b) * shrink, (a - b) * grow
            A, B = (A + (along + across) * to_left) * keep, (B + (along - across) * to_right) * keep
            weights[left + d], weights[right + d] = storable(A, weights[left + d]), storable(B, weights[right + d])
            dyads += (x * A + shift) * (z * B + shift)
    linear = keep * (keep * state.linear - reach * square)
    e.updated = np.float32(linear + dyads + np.float64(e.base))
