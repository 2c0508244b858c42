"""Features made of lines beside a line, and of the actions chosen before it, by Vowpal Wabbit's numbers."""

import numpy as np
from numpy import int8, int64, uint32, uint64

from hutch.core.kernel.abi import float32s_at, int64s_at, shared_of, uint32s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decision import ACTION_BYTES, actions_at, decision_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.memory import append, buffer_of, reserve

_BEFORE, _BEHIND = uint64(925871901), uint64(3824917)
_BIAS, _SPREAD = uint64(4398201), uint64(27942141)


@helper
def _beside(s, lines, i, k):
    """Of neighbour k of line i: whether it lies in the block, its line, and the place of its namespace there or -1."""
    j = int64(i) + (int64s_at(s.neighbours, s.neighbour_count)[k] >> 24)
    if j < 0 or j >= int64(s.count):
        return False, j, int64(-1)
    line = lines[uint64(j)]
    names, name = uint32s_at(line.namespace_ids, line.namespace_count), uint32s_at(s.neighbour_names, s.neighbour_count)
    for m in range(line.namespace_count):
        if names[m] == name[k]:
            return True, j, int64(m)
    return True, j, int64(-1)


@inlined
def _piece(line, m):
    """Where namespace m of a line begins and ends among its features."""
    starts = int64s_at(line.namespaces, line.namespace_count + uint64(1))
    return uint64(starts[uint64(m)] - starts[0]), uint64(starts[uint64(m) + uint64(1)] - starts[0])


@helper
def _count_beside(s, lines, i):
    """Features that a line gets from those beside it."""
    found = uint64(0)
    for k in range(s.neighbour_count):
        inside, j, m = _beside(s, lines, i, k)
        if not inside:
            found += uint64(1)
        elif m >= 0:
            first, end = _piece(lines[uint64(j)], m)
            found += end - first
    return found


@helper
def _add_beside(s, mask, lines, i, indices, values):
    """Write these features."""
    n = uint64(0)
    for k in range(s.neighbour_count):
        base = uint64(int64s_at(s.neighbours, s.neighbour_count)[k]) * uint64(13748127)
        inside, j, m = _beside(s, lines, i, k)
        if not inside:
            indices[n], values[n] = uint32((base + (_BEFORE if j < 0 else _BEHIND)) & mask), np.float32(1)
            n += uint64(1)
        elif m >= 0:
            line = lines[uint64(j)]
            first, end = _piece(line, m)
            theirs, weights = uint32s_at(line.indices, line.length), float32s_at(line.values, line.length)
            for f in range(first, end):
                indices[n], values[n] = uint32((base + uint64(theirs[f])) & mask), weights[f]
                n += uint64(1)


@helper
def _build_line(s, mask, given, i, line, at, count):
    """Give a line a copy of its features, with `count` of those beside it behind them; returns where memory goes on."""
    own, spaces, n = given[i], given[i].namespace_count, given[i].length
    ids_at, total = at + uint64(8) * (spaces + uint64(2)), n + count
    line.indices, line.length = ids_at + uint64(4) * (spaces + uint64(1)), total
    line.values, line.namespaces, line.namespace_ids = line.indices + uint64(4) * total, at, ids_at
    line.namespace_count = spaces + uint64(1)
    copy(uint32s_at(own.indices, n), uint32s_at(line.indices, n))
    copy(float32s_at(own.values, n), float32s_at(line.values, n))
    copy(uint32s_at(own.namespace_ids, spaces), uint32s_at(ids_at, spaces))
    uint32s_at(ids_at, spaces + uint64(1))[spaces] = s.neighbour_space
    starts, theirs = int64s_at(at, spaces + uint64(2)), int64s_at(own.namespaces, spaces + uint64(1))
    for m in range(spaces + uint64(1)):
        starts[m] = theirs[m] - theirs[0]
    starts[spaces + uint64(1)] = total
    behind = uint64(4) * n
    _add_beside(s, mask, given, i, uint32s_at(line.indices + behind, count), float32s_at(line.values + behind, count))
    return (line.values + uint64(4) * total + uint64(7)) >> uint64(3) << uint64(3)


@helper
def build_lines(s, e, d):
    """Copy the lines of a block, with features of their neighbours behind their own, if any; False without memory."""
    if s.neighbour_count == uint64(0):
        return True
    given, size = actions_at(d.actions, d.count), uint64(0)
    for i in range(d.count):
        features = given[i].length + _count_beside(s, given, i)
        size += uint64(8) * features + uint64(12) * (given[i].namespace_count + uint64(2)) + uint64(8)
    built, at = reserve(s.built, ACTION_BYTES * d.count), reserve(s.beside, size)
    if built == uint64(0) or at == uint64(0):
        return False
    lines = actions_at(built, d.count)
    for i in range(d.count):
        count, line = _count_beside(s, given, i), lines[i]
        if count > uint64(0):
            at = _build_line(s, shared_of(e.shared).mask, given, i, line, at, count)
        else:
            line.indices, line.values, line.length = given[i].indices, given[i].values, given[i].length
            line.namespaces, line.namespace_ids = given[i].namespaces, given[i].namespace_ids
            line.namespace_count = given[i].namespace_count
    return True


@inlined
def lines_of(s, e):
    """The lines of the block, ACTION[count], as `build_lines` left them."""
    decision = decision_at(e.decision)
    at = buffer_of(s.built).address if s.neighbour_count > uint64(0) else decision.actions
    return actions_at(at, decision.count)


@inlined
def show_line(s, e, k):
    """Make the example show a line of the block."""
    a = lines_of(s, e)[k]
    e.indices, e.values, e.length = a.indices, a.values, a.length
    e.namespaces, e.namespace_ids, e.namespace_count = a.namespaces, a.namespace_ids, a.namespace_count
    e.next_length, e.behind = uint64(0), uint64(0)


@helper
def _own_features(s, e):
    """How many features are the line's own, not its neighbours'."""
    last = e.namespace_count - uint64(1)
    if e.namespace_count == uint64(0) or uint32s_at(e.namespace_ids, e.namespace_count)[last] != s.neighbour_space:
        return e.length
    starts = int64s_at(e.namespaces, e.namespace_count)
    return uint64(starts[last] - starts[0])


@helper
def add_history(s, e, names, actions, count):
    """Add features made of actions: one for each run of neighbours up to `bias_length`, and its products with others.

    Args:
        s: SEARCH record.
        e: EXAMPLE record that shows a line.
        names: uint32[count] or longer, a byte for each action.
        actions: uint32[count] or longer.
        count: how many.
    """
    shared, n, own = shared_of(e.shared), e.length, _own_features(s, e)
    longest, total = max(s.bias_length, s.product_length), uint64(0)
    for i in range(count):
        for k in range(min(longest, count - i)):
            total += (uint64(1) if k < s.bias_length else uint64(0)) + (n if k < s.product_length else uint64(0))
    if total == uint64(0):
        return
    old, old_values, narrow = uint32s_at(e.indices, n), float32s_at(e.values, n), shared.mask // shared.multiplier
    indices, values = append(s.shown, e, s.condition_space, total)
    if len(indices) == 0:
        return
    f = uint64(0)
    for i in range(count):
        number = uint64(71933)
        for k in range(min(longest, count - i)):
            name = uint64(int64(int8(names[i + k])))
            number = number * uint64(328901) + uint64(71933) * (
                uint64(uint32(actions[i + k] + uint32(349101))) * (name + uint64(38490137))
            )
            base = number * _SPREAD
            if k < s.bias_length:
                indices[f], values[f] = uint32((base + _BIAS) & shared.mask), s.value
                f += uint64(1)
            if k < s.product_length:
                for j in range(n):
                    index = uint64(old[j]) & (shared.mask if j < own else narrow)  # VW has cut those of neighbours
                    indices[f], values[f] = uint32((base + index) & shared.mask), old_values[j] * s.value
                    f += uint64(1)
