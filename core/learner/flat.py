"""Examples as learners that compare them need them: one value for each row of the weight table, sorted by row.

Interactions are included; the values of features that share a row are added up.
"""

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import float32s_at, uint32s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decision import sort_actions
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.learner.memory import buffer_of, reserve

_0 = np.float32(0)


@helper
def _sort(rows, values):
    """Sort features in place by row, those of one row by value."""
    is_sorted = True
    for k in range(1, len(rows)):
        is_sorted = is_sorted and rows[k - 1] < rows[k]
    if not is_sorted:
        sort_actions(values, rows, len(rows))  # which sorts by its second array, and equal entries by the first


@helper
def _merge(rows, values):
    """Add up the values of one row; returns the number of rows, and the sum of squares."""
    count, square = 0, _0
    for k in range(len(rows)):
        if count > 0 and rows[count - 1] == rows[k]:
            values[count - 1] += values[k]
            continue
        if count > 0:
            square += values[count - 1] * values[count - 1]
        rows[count], values[count] = rows[k], values[k]
        count += 1
    if count > 0:
        square += values[count - 1] * values[count - 1]
    return uint64(count), square


@helper
def flatten(features_at, buffer, example, offset):
    """Write an example's rows, rising, and their values into a buffer; returns their number, and the sum of squares.

    The number is 0 without memory.

    Args:
        features_at: address of the FEATURES record.
        buffer: address of the BUFFER.
        example: address of the EXAMPLE.
        offset: of the sub-model, in rows.
    """
    features = features_of(features_at)
    n = uint64(gather(features, example, offset))
    address = reserve(buffer, uint64(8) * max(n, uint64(1)))
    if address == uint64(0):
        return uint64(0), _0
    rows, values = uint32s_at(address, n), float32s_at(address + uint64(4) * n, n)
    copy(rows_of(features, n), rows)
    copy(values_of(features, n), values)
    _sort(rows, values)
    count, square = _merge(rows, values)
    moved = float32s_at(address + uint64(4) * count, count)
    for k in range(count):  # values go right behind the rows that are left
        moved[k] = values[k]
    return count, square


@inlined
def flat_of(buffer, count):
    """Rows and values that `flatten` left."""
    address = buffer_of(buffer).address
    return uint32s_at(address, count), float32s_at(address + uint64(4) * count, count)


@helper
def dot(rows, values, others, their_values):
    """The product of two examples, whose rows rise."""
    total, i, j = _0, 0, 0
    while i < len(rows) and j < len(others):
        if rows[i] == others[j]:
            total += values[i] * their_values[j]
            i, j = i + 1, j + 1
        elif rows[i] < others[j]:
            i += 1
        else:
            j += 1
    return total
