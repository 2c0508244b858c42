"""State of the kernels of `fields`: its record, the rows of the weight table, and the fields of an example.

A row of the weight table holds a linear weight and its information, in columns 0 and `rank`, or the vector of a feature
for one other namespace and the information of each of its numbers. The row of a vector is a hash of the feature and
that namespace; a vector whose first number is 0 was never touched.
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import (
    example_of,
    float64s_at,
    int64s_at,
    prefetch,
    record_of,
    shared_of,
    state_of,
    uint32s_at,
    uint64s_at,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import GOLDEN, mixed
from hutch.core.learner.features import features_of, gather
from hutch.core.learner.memory import reserve
from hutch.reductions.dyadic.state import normal_of

_0 = np.float32(0)

FIELDS = np.dtype(
    [
        ("dyad", "u8"),  # address of a DYADIC record: the example as the step sees it, and the step
        ("step", "u8"),  # addresses of the kernels of `dyadic.steps`
        ("generic_step", "u8"),
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("named", "u8"),  # address of uint32[named_count]: ids of the fields; all namespaces if there are none
        ("named_count", "u8"),
        ("learned", "u8"),  # address of the LEARNED records, one per sub-model
        ("work", "u8"),  # BUFFER of what `places_of`, `slots_of` and `sides_of` see of the example
        ("rank", "i8"),
        ("gradient", "i8"),  # 1: plain gradient steps
        ("in_units", "i8"),  # 1: of a loss of numbers in a unit
        ("seed", "u8"),
        ("learning_rate", "f8"),
        ("adaptation", "f8"),
        ("precision", "f8"),
        ("linear_precision", "f8"),
        ("l2", "f8"),
        ("partner_variance", "f8"),
        ("spread", "f8"),
        ("count", "i8"),  # from here on, of the present example: the number of its fields
        ("linear", "f8"),  # w·x
        ("pairs", "f8"),  # Σ a·b
        ("prior", "f8"),  # P (1 + 1 / rate) of a vector, and of a linear weight
        ("linear_prior", "f8"),
        ("noise", "f8"),
        ("X", "f8"),
        ("K", "f8"),
        ("A", "f8"),
        ("B", "f8"),
        ("half_z", "f8"),
    ]
)
LEARNED = np.dtype(
    [
        ("label_weight", "f8"),  # running moments of the labels: sum of importance, mean, sum of squares
        ("label_mean", "f8"),
        ("label_squares", "f8"),
        ("error", "f8"),  # progressive error of standardised labels, and its weight
        ("error_weight", "f8"),
        ("lift", "f8"),  # logarithm of the factor of the learning rate
        ("gains", "f8"),  # sum of squares of what moved it
        ("again", "f8"),  # the share of the prior that a pass over known examples applies; 0 in the first
    ]
)
"""State of a sub-model beside the weight table; saved with the model."""
fields_of, _learned_of = state_of(FIELDS), record_of(LEARNED)
_LEARNED_SIZE = uint64(LEARNED.itemsize)


@helper
def learned_of(state, offset):
    """The LEARNED record of the sub-model at an offset."""
    return _learned_of(state.learned + _LEARNED_SIZE * offset)


@helper
def unit_of(state, offset):
    """Mean and standard deviation by which labels are standardised."""
    if state.in_units == 0:
        return 0.0, 1.0
    learned = learned_of(state, offset)
    variance = learned.label_squares / learned.label_weight if learned.label_weight > 0.0 else 0.0
    return learned.label_mean, math.sqrt(variance) if variance > 0.0 else 1.0


@helper
def places_of(state):
    """int64[2 count]: where the features of each field begin and end in the example."""
    return int64s_at(reserve(state.work, uint64(0)), uint64(2 * state.count))


@helper
def slots_of(state, length):
    """uint64[length, count]: where the vector of a feature for each field begins in the weight table."""
    return uint64s_at(reserve(state.work, uint64(0)) + uint64(24 * state.count), uint64(length * state.count))


@helper
def sides_of(state, length):
    """float64[count (count - 1) / 2 + 1, 4, rank]: a, b, α and β of each pair; what is last is scratch."""
    start = reserve(state.work, uint64(0)) + uint64(24 * state.count + 8 * length * state.count)
    return float64s_at(start, uint64((2 * state.count * (state.count - 1) + 4) * state.rank))


@inlined
def pair_of(sides, at, rank):
    """a, b, α and β of the pair that begins at `at`."""
    return (
        sides[at : at + rank],
        sides[at + rank : at + 2 * rank],
        sides[at + 2 * rank : at + 3 * rank],
        sides[at + 3 * rank : at + 4 * rank],
    )


@inlined
def _is_field(state, name):
    """Whether pairs of this namespace are learned."""
    found = state.named_count == uint64(0) and name != CONSTANT_NAMESPACE
    for k in range(state.named_count):
        found |= uint32s_at(state.named, state.named_count)[k] == name
    return found


@helper
def find_fields(state, example, offset):
    """Gather the features, and find the fields of the example and the rows of all vectors."""
    gather(features_of(state.features), example, offset)
    e, shared = example_of(example), shared_of(example_of(example).shared)
    ids = uint32s_at(e.namespace_ids, e.namespace_count)
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    fields, length = 0, int64(e.length)
    for j in range(e.namespace_count if state.rank else uint64(0)):
        fields += _is_field(state, ids[j]) and starts[j] < starts[j + uint64(1)]
    state.count = fields
    size = 24 * fields + 8 * length * fields + (16 * fields * (fields - 1) + 32) * state.rank
    address = reserve(state.work, uint64(size))
    if address == uint64(0) or fields < 2:
        state.count = 0  # without memory: better no pairs than a crash
        return
    places, keys, k = places_of(state), uint64s_at(address + uint64(16 * fields), uint64(fields)), 0
    for j in range(e.namespace_count):
        if _is_field(state, ids[j]) and starts[j] < starts[j + uint64(1)]:
            places[2 * k], places[2 * k + 1] = starts[j] - starts[0], starts[j + uint64(1)] - starts[0]
            keys[k] = mixed(uint64(ids[j]) + GOLDEN)
            k += 1
    indices, slots, last = uint32s_at(e.indices, e.length), slots_of(state, length), state.rank - 1
    for f in range(fields):
        for i in range(places[2 * f], places[2 * f + 1]):
            for g in range(fields):
                row = (mixed(uint64(indices[i]) ^ keys[g]) * shared.multiplier + offset) & shared.mask
                slots[i * fields + g] = row * shared.stride
                if g != f:
                    prefetch(shared.weights + uint64(4) * (row * shared.stride + uint64(last)))


@inlined
def add_up(weights, values, slots, count, first, last, side):
    """Sum up the vectors of some features."""
    for d in range(uint64(len(side))):
        side[d] = 0.0
    for i in range(first, last):
        at, x = slots[i * count], np.float64(values[i])
        for d in range(uint64(len(side))):
            side[d] += x * np.float64(weights[at + d])


@helper
def touch_vectors(state, example, weights, stride):
    """Give vectors of zeros their first numbers; the first number of a vector tells."""
    length, places, k = int64(example_of(example).length), places_of(state), uint64(state.rank)
    slots, scale = slots_of(state, length), state.spread / math.sqrt(state.rank)
    for f in range(state.count):
        for i in range(places[2 * f], places[2 * f + 1]):
            for g in range(state.count):
                at = slots[i * state.count + g]
                if g != f and weights[at] == _0:
                    for d in range(k):
                        weights[at + d] = np.float32(scale * normal_of(state.seed, at // stride, d))
