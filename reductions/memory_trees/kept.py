"""Whole examples in a store: as they were read, for the layer below, and flat, to be compared."""

import math

import numpy as np
from numpy import float32, uint32, uint64
from numpy.typing import NDArray

from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, uint32s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import show
from hutch.core.learner.flat import dot
from hutch.reductions.memory_trees.saved import is_list
from hutch.reductions.memory_trees.store import address_of, list_at

_1, _8 = uint64(1), uint64(8)


@inlined
def _halves(count):
    """Words that `count` 4-byte numbers take."""
    return (count + _1) // uint64(2)


@inlined
def words_of(e, count):
    """Words that an example takes.

    Args:
        e: the EXAMPLE.
        count: of its flat features.
    """
    return e.namespace_count + _1 + e.length + _halves(e.namespace_count) + count


@inlined
def _parts(state, slot):
    """Addresses of namespaces, indices, ids and flat features."""
    starts = address_of(state, slot)
    indices = starts + _8 * (slot.spaces + _1)
    ids = indices + _8 * slot.length
    return starts, indices, ids, ids + _8 * _halves(slot.spaces)


@inlined
def flat_in(state, slot):
    """Rows and values of the flat features of a slot."""
    return list_at(_parts(state, slot)[3], slot.count)


@helper
def fill(state, slot, example, flat):
    """Copy an example into a slot, which has room for it.

    Args:
        state: of the layer.
        slot: the slot.
        example: address of the EXAMPLE.
        flat: rows and values of its flat features.
    """
    e = example_of(example)
    slot.spaces, slot.length, slot.count = e.namespace_count, e.length, uint64(len(flat[0]))
    starts, indices, ids, _ = _parts(state, slot)
    source, target = int64s_at(e.namespaces, slot.spaces + _1), int64s_at(starts, slot.spaces + _1)
    for j in range(slot.spaces + _1):
        target[j] = source[j] - source[0]
    copy(uint32s_at(e.indices, e.length), uint32s_at(indices, e.length))
    copy(float32s_at(e.values, e.length), float32s_at(indices + uint64(4) * e.length, e.length))
    names = uint32s_at(ids, uint64(2) * _halves(slot.spaces))
    for j in range(len(names)):
        names[j] = uint32(0)  # what fills the last word is saved, too
    copy(uint32s_at(e.namespace_ids, slot.spaces), names)
    rows, values = flat_in(state, slot)
    copy(flat[0], rows)
    copy(flat[1], values)


@inlined
def show_kept(state, e, slot):
    """Let an example show the features of a slot."""
    starts, indices, ids, _ = _parts(state, slot)
    show(e, (indices, indices + uint64(4) * slot.length, slot.length, starts, ids, slot.spaces))


@helper
def cosine(one, square, other, their_square):
    """The cosine of two examples; NaN where one of them has no features.

    Args:
        one, other: rows and values of each.
        square, their_square: the sums of squares of their values.
    """
    lengths = float32(math.sqrt(np.float64(float32(square * their_square))))
    return dot(one[0], one[1], other[0], other[1]) / lengths if lengths > float32(0) else float32(np.nan)


def is_kept_example(words: NDArray[np.uint64], length: int, count: int, spaces: int) -> bool:
    """Whether the words of a model are an example that was read.

    Args:
        words: of the example.
        length: of its features.
        count: of its flat features.
        spaces: of its namespaces.
    """
    sizes = (spaces + 1, length, (spaces + 1) // 2, count)
    if len(words) != sum(sizes):
        return False
    starts, features, _, flat = np.split(np.ascontiguousarray(words), np.cumsum(sizes)[:-1])
    starts, values = starts.view(np.int64), features.view(np.float32)[length:]
    is_sound = int(starts[0]) == 0 and int(starts[-1]) == length and bool((np.diff(starts) >= 0).all())
    return is_sound and bool(np.isfinite(values).all()) and is_list(flat)
