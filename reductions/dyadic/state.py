"""State of the kernels of the dyadic learner: its record, the layout of a row, the sides of an example.

A row of the weight table is (w, …, factor of `rank` numbers): the linear weight of a feature, whatever the rates keep
(see `rates`), and the feature's vector; zeros alone are the vector of a feature never touched. A side of a dyad
is a = shift + Σ x_f A_f over the features f of its namespace, so that p = a·b - shift² rank + w·x.
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import (
    example_of,
    float64s_at,
    int64s_at,
    record_of,
    shared_of,
    state_of,
    uint32s_at,
    weights_of,
)
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import GOLDEN, mixed
from hutch.core.learner.features import features_of, rows_of, values_of

DYADIC = np.dtype(
    [
        ("self", "u8"),  # address of this record
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("pairs", "u8"),  # address of uint32[pair_count, 2]: namespace ids of the sides
        ("ranges", "u8"),  # address of int64[pair_count, 4]: features of the left and the right side in this example
        ("metric", "u8"),  # address of float64[pair_count, 2]: |x|² of each side, weighted by the rates
        ("balance", "u8"),  # address of float64[pair_count]: q, see `measure`
        ("sides", "u8"),  # address of float64[pair_count, 2, rank]: a and b
        ("learned", "u8"),  # address of the LEARNED records, one per sub-model
        ("rival", "u8"),  # address of a second DYADIC record, of the sub-model whose prediction is subtracted
        ("step", "u8"),  # address of the kernel that makes the step; see `dyadic_steps`
        ("generic_step", "u8"),  # the same for labels without a closed form
        ("see", "u8"),  # addresses of the kernels of the rates, see `rates`; 0 if none is needed
        ("measure", "u8"),
        ("decay", "u8"),
        ("observe", "u8"),
        ("pair_count", "i8"),
        ("rank", "i8"),
        ("head", "i8"),  # where in a row the factor begins
        ("rates", "i8"),
        ("clip", "i8"),  # 1: predictions are clipped to the labels' range
        ("seed", "u8"),
        ("learning_rate", "f8"),
        ("power_t", "f8"),
        ("initial_t", "f8"),
        ("l2", "f8"),
        ("undecayed", "i8"),  # 1: a step is all that changes weights
        ("shift", "f8"),
        ("spread", "f8"),  # standard deviation of a factor at first touch
        ("precision", "f8"),  # tau, prior precision of a factor
        ("tolerance", "f8"),  # of generic steps
        ("offset", "u8"),  # from here on, fields of the present example: the sub-model
        ("kind", "i8"),  # of its loss
        ("label", "f8"),  # standardised
        ("linear", "f8"),  # w·x as predicted
        ("dyads", "f8"),  # the dyads' part of the prediction
        ("error", "f8"),  # label - prediction
        ("square", "f8"),  # |x|² of the linear features, weighted by their rates
        ("variance", "f8"),  # of the dyads' part of the prediction
        ("scale", "f8"),  # the factor of all rates of features
        ("rate", "f8"),  # the rate common to all features
        ("product", "f8"),  # of the rates r at which the pairs present move, and the number of these pairs
        ("present", "i8"),
        ("common", "f8"),  # the geometric mean of those rates
        ("budget", "f8"),  # rate · importance · r
        ("U", "f8"),
        ("V", "f8"),
        ("X", "f8"),
        ("wx", "f8"),
        ("t", "f8"),  # the step, r s
        ("shrink", "f8"),
        ("grow", "f8"),
    ]
)

LEARNED = np.dtype(
    [
        ("label_weight", "f8"),  # running moments of the labels: sum of importance, mean, sum of squares
        ("label_mean", "f8"),
        ("label_squares", "f8"),
        ("noise", "f8"),  # sigma², of standardised labels
        ("pace", "f8"),  # rho, falls with the passes
        ("left_precision", "f8"),  # prior precision of the linear weights, by `TOUCHED_` kind
        ("right_precision", "f8"),
        ("other_precision", "f8"),
        ("error", "f8"),  # progressive squared error of this pass, and its weight
        ("error_weight", "f8"),
    ]
)
"""State of a sub-model beside the weight table; saved with the model."""

WEIGHT = 0
POWER, POSTERIOR = 0, 1
"""Kinds of rates, see `rates`."""

dyadic_of, own_dyadic, _learned_of = record_of(DYADIC), state_of(DYADIC), record_of(LEARNED)

_MOST = 1e37
_LEARNED_SIZE = np.uint64(LEARNED.itemsize)


@inlined
def rival_of(state):
    """The DYADIC record of the sub-model whose prediction is subtracted."""
    return dyadic_of(state.rival)


@helper
def first_of(offset):
    """The offset of the sub-model itself."""
    return offset & uint64(0xFFFFFFFF)


@helper
def rival_offset(offset):
    """The offset of the sub-model whose prediction is subtracted, -1 for none."""
    return int64(offset >> uint64(32)) - 1


@inlined
def learned_of(state, offset):
    """The LEARNED record of the sub-model at an offset."""
    return _learned_of(state.learned + _LEARNED_SIZE * offset)


@helper
def unit_of(state, offset):
    """Mean and standard deviation of the labels, by which they are standardised under posterior rates."""
    if state.rates != POSTERIOR:
        return 0.0, 1.0
    learned = learned_of(state, offset)
    variance = learned.label_squares / learned.label_weight if learned.label_weight > 0.0 else 0.0
    return learned.label_mean, math.sqrt(variance) if variance > 0.0 else 1.0


@helper
def ranges_of(state):
    """int64[4 pair_count]: where the sides' features begin and end."""
    return int64s_at(state.ranges, uint64(4 * state.pair_count))


@helper
def metric_of(state):
    """float64[2 pair_count]."""
    return float64s_at(state.metric, uint64(2 * state.pair_count))


@helper
def balance_of(state):
    """float64[pair_count]: q, which makes both sides q a and b / q move at one rate."""
    return float64s_at(state.balance, uint64(state.pair_count))


@helper
def side_of(state, k):
    """Side k of the example: 0 is the left of the first pair, 1 its right, 2 the left of the second pair, …"""
    return float64s_at(state.sides + uint64(8 * k * state.rank), uint64(state.rank))


@helper
def find_sides(state, example):
    """Find the features of all sides; a pair with a side missing from the example has no features at all."""
    e = example_of(example)
    count = int64(e.namespace_count)
    ids = uint32s_at(e.namespace_ids, e.namespace_count)
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    wanted = uint32s_at(state.pairs, uint64(2 * state.pair_count))
    ranges = ranges_of(state)
    for k in range(2 * state.pair_count):
        ranges[2 * k] = ranges[2 * k + 1] = 0
        for j in range(count):
            if ids[j] == wanted[k]:
                ranges[2 * k], ranges[2 * k + 1] = starts[j] - starts[0], starts[j + 1] - starts[0]
    for d in range(state.pair_count):
        if ranges[4 * d] == ranges[4 * d + 1] or ranges[4 * d + 2] == ranges[4 * d + 3]:
            ranges[4 * d + 1], ranges[4 * d + 3] = ranges[4 * d], ranges[4 * d + 2]


@compiled
def normal_of(seed, row, dimension):
    """A standard normal number, a function of the arguments alone."""
    z = seed
    for part in (row, uint64(dimension), uint64(0)):
        z = mixed(z + GOLDEN) ^ part
    radius = (np.float64(z >> uint64(32)) + 1.0) * 2.0**-32
    return math.sqrt(-2.0 * math.log(radius)) * math.cos(2.0 * math.pi * np.float64(z & uint64(0xFFFFFFFF)) * 2.0**-32)


@helper
def touch_sides(state, weights, stride, rows):
    """Give the features of the sides their first factors, if they have none."""
    ranges = ranges_of(state)
    for k in range(2 * state.pair_count):
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            at, touched = uint64(rows[i]) * stride + uint64(state.head), False
            for d in range(state.rank):
                touched |= weights[at + uint64(d)] != np.float32(0)
            for d in range(0 if touched else state.rank):
                weights[at + uint64(d)] = np.float32(state.spread * normal_of(state.seed, uint64(rows[i]), d))


@helper
def linear_score(weights, stride, rows, values, n):
    """w·x."""
    total = 0.0
    for i in range(n):
        total += np.float64(weights[uint64(rows[i]) * stride]) * np.float64(values[i])
    return total


@helper
def compute_sides(state, weights, stride, rows, values):
    """Sum up a and b of every pair; returns the sum of a·b - shift² rank."""
    ranges, total = ranges_of(state), 0.0
    for k in range(2 * state.pair_count):
        if ranges[2 * k] == ranges[2 * k + 1]:
            continue
        side = side_of(state, k)
        for d in range(state.rank):
            side[d] = state.shift
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            at, x = uint64(rows[i]) * stride + uint64(state.head), np.float64(values[i])
            for d in range(state.rank):
                side[d] += x * np.float64(weights[at + uint64(d)])
        if k % 2 == 1:
            other = side_of(state, k - 1)
            for d in range(state.rank):
                total += other[d] * side[d]
            total -= state.shift * state.shift * state.rank
    return total


@helper
def shrink_sides(state, keep):
    """Return the value of `compute_sides` after all factors were multiplied by `keep`."""
    ranges, total = ranges_of(state), 0.0
    for k in range(0, 2 * state.pair_count, 2):
        if ranges[2 * k] == ranges[2 * k + 1]:
            continue
        a, b = side_of(state, k), side_of(state, k + 1)
        for d in range(state.rank):
            a[d] = keep * (a[d] - state.shift) + state.shift
            b[d] = keep * (b[d] - state.shift) + state.shift
            total += a[d] * b[d]
        total -= state.shift * state.shift * state.rank
    return total


@helper
def storable(value, before):
    """The value as a weight, or the old weight if float32 cannot hold the value."""
    return np.float32(value) if abs(value) < _MOST else before


@helper
def gathered(state, example):
    """Weight table, stride, and the features gathered last: rows, values and their number."""
    shared, features = shared_of(example_of(example).shared), features_of(state.features)
    n = int64(features.length)
    return weights_of(shared), shared.stride, rows_of(features, n), values_of(features, n), n
