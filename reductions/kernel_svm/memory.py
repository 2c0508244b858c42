"""The examples of a support vector machine: their features, sorted by row, and the kernel of each pair.

An example has a slot, which stays the same as long as it is kept. The kernels of all pairs of slots form a triangle, so
that a new slot goes behind the others. Features of slots that are free leave gaps, which are closed when they make up
more than half of the memory.
"""

import math

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import array_at, float32s_at, uint32s_at, uint64s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.flat import dot, flat_of
from hutch.core.learner.memory import buffer_of, reserve

LINEAR, RBF, POLY = range(3)
_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_FEW = uint64(4096)

SLOT = np.dtype(
    [
        ("start", "u8"),  # of its features
        ("length", "u8"),
        ("used", "u8"),  # 0: the slot is free
        ("label", "f4"),
        ("importance", "f4"),
        ("square", "f4"),  # sum of squares of its values
        ("alpha", "f4"),
        ("delta", "f4"),
        ("unused", "f4"),
    ]
)
slots_at = array_at(SLOT)
_SLOT_BYTES = np.uint64(SLOT.itemsize)

FIELDS = (
    ("kernel", "i8"),
    ("degree", "i8"),
    ("supports", "u8"),  # number of support vectors
    ("slots", "u8"),  # BUFFER of SLOT
    ("slot_count", "u8"),
    ("order", "u8"),  # BUFFER of uint64: the slots of the support vectors
    ("free", "u8"),  # BUFFER of uint64: slots to use again
    ("free_count", "u8"),
    ("rows", "u8"),  # BUFFER of uint32: rows of the weight table that features would have
    ("values", "u8"),  # BUFFER of float32
    ("used", "u8"),  # number of features in these
    ("live", "u8"),  # of slots that are not free
    ("spare_rows", "u8"),  # BUFFERS to close gaps with
    ("spare_values", "u8"),
    ("sorted", "u8"),  # BUFFER of rows and values of the present example
    ("gram", "u8"),  # BUFFER of float32: the kernel of each pair of slots
    ("column", "u8"),  # BUFFER of float32: kernels of one example and all support vectors
    ("bandwidth", "f4"),
)
"""The fields of a state record that these kernels need."""


@inlined
def slots_of(state):
    """All slots, SLOT[slot_count]."""
    return slots_at(buffer_of(state.slots).address, state.slot_count)


@inlined
def order_of(state):
    """The slots of the support vectors, uint64[supports]."""
    return uint64s_at(buffer_of(state.order).address, state.supports)


@inlined
def features_in(state, slot):
    """Rows and values of a slot."""
    start = uint64(4) * slot.start
    rows, values = buffer_of(state.rows).address + start, buffer_of(state.values).address + start
    return uint32s_at(rows, slot.length), float32s_at(values, slot.length)


@helper
def similarity(state, rows, values, square, slot):
    """The kernel of an example and that of a slot."""
    others, their_values = features_in(state, slot)
    product = dot(rows, values, others, their_values)
    if state.kernel == RBF:
        return np.float32(math.exp(-(square + slot.square - _2 * product) * state.bandwidth))
    if state.kernel == POLY:
        return np.float32(math.pow(np.float64(_1 + product), np.float64(state.degree)))
    return product


@inlined
def pair(state, i, j):
    """The kernel of two slots, as a place in the triangle and the triangle itself."""
    high, low = max(i, j), min(i, j)
    size = state.slot_count * (state.slot_count + uint64(1)) // uint64(2)
    return high * (high + uint64(1)) // uint64(2) + low, float32s_at(buffer_of(state.gram).address, size)


@helper
def _close_gaps(state):
    """Move the features of all slots together."""
    size = uint64(4) * max(state.live, uint64(1))
    rows_at, values_at = reserve(state.spare_rows, size), reserve(state.spare_values, size)
    if rows_at == uint64(0) or values_at == uint64(0):
        return
    slots, end = slots_of(state), uint64(0)
    for k in range(state.slot_count):
        if slots[k].used == uint64(1):
            rows, values = features_in(state, slots[k])
            copy(rows, uint32s_at(rows_at + uint64(4) * end, slots[k].length))
            copy(values, float32s_at(values_at + uint64(4) * end, slots[k].length))
            slots[k].start = end
            end += slots[k].length
    state.used = end
    state.rows, state.spare_rows = state.spare_rows, state.rows
    state.values, state.spare_values = state.spare_values, state.values


@helper
def _new_slot(state):
    """A slot that is free; 0 with False if there is no memory for one."""
    if state.free_count > uint64(0):
        state.free_count -= uint64(1)
        return uint64s_at(buffer_of(state.free).address, state.free_count + uint64(1))[state.free_count], True
    count = state.slot_count + uint64(1)
    size = count * (count + uint64(1)) // uint64(2)
    room = reserve(state.slots, _SLOT_BYTES * count), reserve(state.gram, uint64(4) * size)
    more = reserve(state.free, uint64(8) * count), reserve(state.order, uint64(8) * count)
    if room[0] == uint64(0) or room[1] == uint64(0) or more[0] == uint64(0) or more[1] == uint64(0):
        return uint64(0), False
    if reserve(state.column, uint64(4) * count) == uint64(0):
        return uint64(0), False
    state.slot_count = count
    return count - uint64(1), True


@helper
def store(state, count, square, label, importance):
    """Keep the example that `flatten` left; returns its slot, and whether there was memory for it."""
    if state.used - state.live > state.live + _FEW:
        _close_gaps(state)
    total = state.used + count
    if reserve(state.rows, uint64(4) * total) == uint64(0) or reserve(state.values, uint64(4) * total) == uint64(0):
        return uint64(0), False
    k, found = _new_slot(state)
    if not found:
        return k, False
    slot = slots_of(state)[k]
    slot.start, slot.length, slot.used = state.used, count, uint64(1)
    slot.label, slot.importance, slot.square, slot.alpha, slot.delta = label, importance, square, _0, _0
    state.used, state.live = total, state.live + count
    own_rows, own_values = features_in(state, slot)
    rows, values = flat_of(state.sorted, count)
    copy(rows, own_rows)
    copy(values, own_values)
    at, gram = pair(state, k, k)
    gram[at] = similarity(state, own_rows, own_values, square, slot)
    return k, True


@helper
def release(state, k):
    """Free a slot."""
    slot = slots_of(state)[k]
    slot.used = uint64(0)
    state.live -= slot.length
    state.free_count += uint64(1)
    uint64s_at(buffer_of(state.free).address, state.free_count)[state.free_count - uint64(1)] = k


@helper
def compare(state, k):
    """Write the kernels of a slot and all support vectors."""
    slots, order = slots_of(state), order_of(state)
    rows, values = features_in(state, slots[k])
    for position in range(state.supports):
        other = order[position]
        if other != k:
            at, gram = pair(state, k, other)
            gram[at] = similarity(state, rows, values, slots[k].square, slots[other])


@helper
def column_of(state, k):
    """The kernels of a slot and all support vectors, in their order, as `compare` wrote them."""
    order, found = order_of(state), float32s_at(buffer_of(state.column).address, state.supports)
    for position in range(state.supports):
        at, gram = pair(state, k, order[position])
        found[position] = gram[at]
    return found
