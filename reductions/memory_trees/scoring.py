"""How far two examples are from each other, for an eigen memory tree: by a fixed distance, and what was learned.

The layer below learns from the differences of two examples, |x - y| for each row, or from their products, x · y. It
begins with the fixed distance, and is told 0 of the better example and 1 of the other.
"""

import math

import numpy as np
from numpy import float32, uint64

from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    learn_next,
    predict_next,
    shared_of,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.flat import dot
from hutch.core.learner.memory import reserve
from hutch.reductions.memory_trees.learner import with_interactions, without_interactions
from hutch.reductions.memory_trees.routers import draw

RANDOM, DISTANCE, DIFFERENCES, PRODUCTS = range(4)
COSINE, EUCLIDEAN, GAUSSIAN, NONE = range(4)
_0, _1 = np.float32(0), np.float32(1)
_LARGEST = np.float32(1e10)
"""Of a product, so that the learner below can square it."""
_NAMESPACE = np.uint32(120)
"""VW's namespace x, of what it makes for the learner."""
SAME = -UNLABELED
"""The distance of an example that has the same features."""

FIELDS = (
    ("scorer", "u8"),
    ("initial", "u8"),
    ("features", "u8"),  # address of the FEATURES record of the learner below
    ("shown", "u8"),  # BUFFER of what is shown to the layer below
)
"""The fields of a state record that these kernels need."""


@helper
def _squared_difference(rows, values, others, their_values):
    """The squared distance of two examples, summed up row by row."""
    total, i, j = _0, 0, 0
    while i < len(rows) or j < len(others):
        difference = _0
        if j == len(others) or (i < len(rows) and rows[i] < others[j]):
            difference, i = values[i], i + 1
        elif i == len(rows) or others[j] < rows[i]:
            difference, j = their_values[j], j + 1
        else:
            difference, i, j = values[i] - their_values[j], i + 1, j + 1
        total += difference * difference
    return total


@helper
def fixed_distance(state, one, square, other, their_square):
    """The distance of two examples before anything is learned.

    Args:
        state: with the fields above.
        one, other: rows and values of each.
        square, their_square: the sums of squares of their values.
    """
    if state.initial == uint64(NONE):
        return _0
    if state.initial == uint64(COSINE):
        both = float32(math.sqrt(square)) * float32(math.sqrt(their_square))
        if both != _0:
            return _1 - dot(one[0], one[1], other[0], other[1]) / both
    apart = float32(math.sqrt(_squared_difference(one[0], one[1], other[0], other[1])))
    return apart if state.initial == uint64(EUCLIDEAN) else _1 - float32(math.exp(-apart))


@helper
def are_same(one, other):
    """Whether two examples have the same features."""
    same = len(one[0]) == len(other[0])
    for k in range(len(one[0]) if same else 0):
        same &= one[0][k] == other[0][k] and one[1][k] == other[1][k]
    return same


@helper
def _write_differences(one, other, rows, values):
    """Write |x - y| for each row in which two examples differ; returns their number."""
    n, i, j = 0, 0, 0
    while i < len(one[0]) or j < len(other[0]):
        if j == len(other[0]) or (i < len(one[0]) and one[0][i] < other[0][j]):
            row, value, i = one[0][i], one[1][i], i + 1
        elif i == len(one[0]) or other[0][j] < one[0][i]:
            row, value, j = other[0][j], other[1][j], j + 1
        else:
            row, value, i, j = one[0][i], one[1][i] - other[1][j], i + 1, j + 1
        if value != _0:
            rows[n], values[n] = row, abs(value)
            n += 1
    return uint64(n)


@helper
def _write_products(one, other, rows, values):
    """Write x · y for each row that two examples share; returns their number."""
    n, i, j = 0, 0, 0
    while i < len(one[0]) and j < len(other[0]):
        if one[0][i] < other[0][j]:
            i += 1
        elif other[0][j] < one[0][i]:
            j += 1
        else:
            if one[1][i] * other[1][j] != _0:
                rows[n], values[n] = one[0][i], min(max(one[1][i] * other[1][j], -_LARGEST), _LARGEST)
                n += 1
            i, j = i + 1, j + 1
    return uint64(n)


@helper
def _point(state, e, one, other):
    """Let an example show what the learner learns of two examples; returns whether it is anything."""
    most = uint64(len(one[0]) + len(other[0]))
    address = reserve(state.shown, uint64(24) + uint64(8) * most)
    if address == uint64(0):
        return False
    starts, names = int64s_at(address, uint64(2)), uint32s_at(address + uint64(16), uint64(1))
    rows, values = address + uint64(24), address + uint64(24) + uint64(4) * most
    their_rows, their_values = uint32s_at(rows, most), float32s_at(values, most)
    if state.scorer == uint64(PRODUCTS):
        n = _write_products(one, other, their_rows, their_values)
    else:
        n = _write_differences(one, other, their_rows, their_values)
    starts[0], starts[1], names[0] = 0, n, _NAMESPACE
    show(e, (rows, values, n, address, address + uint64(16), uint64(1)))
    return n > uint64(0)


@helper
def _ask(layer, state, example, offset, one, square, other, their_square, label, importance):
    """Let the layer below predict the distance of two examples, or learn it where it is told one."""
    e = example_of(example)
    read, base, distance = shown_by(e), e.base, fixed_distance(state, one, square, other, their_square)
    kept = without_interactions(state.features)
    there, e.base = _point(state, e, one, other), distance
    if label == UNLABELED:
        distance = predict_next(layer, example, UNLABELED, _1, offset)
    elif there:
        learn_next(layer, example, label, importance, offset)
    with_interactions(state.features, kept)
    show(e, read)
    e.base = base
    return distance


@helper
def distance_of(layer, state, example, offset, one, square, other, their_square):
    """The distance of two examples, as the scorer knows it.

    Args:
        layer, example, offset: as of a kernel; the example shows its own features afterwards.
        state: with the fields above, and those of routers.
        one, other: rows and values of each.
        square, their_square: the sums of squares of their values.
    """
    if state.scorer == uint64(RANDOM):
        return draw(shared_of(example_of(example).shared))
    if state.scorer == uint64(DISTANCE):
        return fixed_distance(state, one, square, other, their_square)
    if are_same(one, other):
        return SAME
    return _ask(layer, state, example, offset, one, square, other, their_square, UNLABELED, _1)


@helper
def teach_distance(layer, state, example, offset, one, square, other, their_square, label, importance):
    """Tell the layer below the distance of two examples, 0 or 1.

    Args:
        layer, state, example, offset, one, square, other, their_square: as of `distance_of`.
        label: the distance.
        importance: of the example.
    """
    _ask(layer, state, example, offset, one, square, other, their_square, label, importance)
