"""The leaves of an eigen memory tree: which memory is nearest, what is learned of it, and what is kept."""

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, shared_of
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.memory import reserve
from hutch.reductions.memory_trees.routers import draw, drop_router, set_router, shuffle, side_of
from hutch.reductions.memory_trees.scoring import DIFFERENCES, are_same, distance_of, teach_distance
from hutch.reductions.memory_trees.store import (
    NOWHERE,
    address_of,
    append,
    empty,
    forget,
    keep,
    list_at,
    must_leave,
    node_of,
    slot_of,
    use,
)

_0, _1, _HALF = np.float32(0), np.float32(1), np.float32(0.5)

FIELDS = (
    ("leaf", "u8"),  # memories in a leaf at most
    ("listed", "u8"),  # BUFFER of int64 and float32: the slots of a leaf, and their scores
    ("undivided", "u8"),  # leaves that were to be divided when there was no room for it
)
"""The fields of a state record that these kernels need, beside those of the modules they use."""


@inlined
def _plain_of(state, slot):
    """Rows and values of the features of a slot without interactions."""
    return list_at(address_of(state, slot), slot.length)


@inlined
def _flat_of(state, slot):
    """Rows and values of all features of a slot."""
    behind = uint64(0) if slot.words == slot.length else uint64(8) * slot.length
    return list_at(address_of(state, slot) + behind, slot.count)


@helper
def leaf_of(state, rows, values):
    """The leaf to which features lead.

    Args:
        state: of the layer.
        rows, values: the features without interactions.
    """
    k = int64(0)
    while node_of(state, k).left != NOWHERE:
        k = side_of(state, k, rows, values)
    return k


@helper
def _slots_of(state, node):
    """The slots of a leaf in their order, and as many scores; both are empty without memory."""
    leaf = node_of(state, node)
    count = uint64(leaf.count)
    address = reserve(state.listed, uint64(12) * max(count, uint64(1)))
    if address == uint64(0):
        count = uint64(0)
    order, scores, k = int64s_at(address, count), float32s_at(address + uint64(8) * count, count), leaf.head
    for n in range(count):
        order[n] = k
        k = slot_of(state, k).next
    return order, scores


@helper
def _mix(state, shared, node, order):
    """Shuffle the slots of a leaf, so that chance decides between those that are equally near."""
    shuffle(shared, order)
    empty(node_of(state, node))
    for n in range(len(order)):
        append(state, node, order[n])


@helper
def _measure(layer, state, example, offset, flat, square, order, scores):
    """Write the distances of all slots of a leaf."""
    for n in range(len(order)):
        slot = slot_of(state, order[n])
        scores[n] = distance_of(layer, state, example, offset, flat, square, _flat_of(state, slot), slot.square)


@helper
def _nearest(order, scores):
    """The place of the least score; -1 if there is none."""
    best = -1
    for n in range(len(order)):
        if best < 0 or scores[n] < scores[best]:
            best = n
    return best


@helper
def _alternative(state, order, scores, best, label):
    """The place of the least score of another slot of the label, or of another slot at all."""
    found, wrong = -1, True
    for n in range(len(order)):
        if n != best:
            differs = slot_of(state, order[n]).label != label
            if found < 0 or (wrong and not differs) or (wrong == differs and scores[n] < scores[found]):
                found, wrong = n, differs
    return found


@helper
def teach(layer, state, example, offset, flat, square, node, label, importance):
    """Let the layer below learn which memory of a leaf is better, where the nearest one is wrong and another right.

    Args:
        layer, example, offset: as of a kernel.
        state: of the layer.
        flat, square: rows and values of the example, and the sum of their squares.
        node: the leaf.
        label, importance: of the example.
    """
    shared, leaf = shared_of(example_of(example).shared), node_of(state, node)
    if state.scorer < uint64(DIFFERENCES) or leaf.count < 2:
        return
    order, scores = _slots_of(state, node)
    if len(order) == 0:
        return
    _mix(state, shared, node, order)
    _measure(layer, state, example, offset, flat, square, order, scores)
    best = _nearest(order, scores)
    other = _alternative(state, order, scores, best, label)
    mistakes = slot_of(state, order[best]).label != label, slot_of(state, order[other]).label != label
    if mistakes[0] == mistakes[1]:
        return
    first = draw(shared) < _HALF
    for turn in range(2):
        nearest = first == (turn == 0)
        slot = slot_of(state, order[best if nearest else other])
        target = _1 if mistakes[0] == nearest else _0
        their = _flat_of(state, slot)
        teach_distance(layer, state, example, offset, flat, square, their, slot.square, target, importance)


@helper
def pick(layer, state, example, offset, flat, square, node, learns):
    """The label of the nearest memory of a leaf; 0 if it is empty.

    Args:
        layer, example, offset, state, flat, square, node: as of `teach`.
        learns: whether chance decides between equally near ones, and the memory counts as used.
    """
    order, scores = _slots_of(state, node)
    if learns:
        _mix(state, shared_of(example_of(example).shared), node, order)
    _measure(layer, state, example, offset, flat, square, order, scores)
    best = _nearest(order, scores)
    if best < 0:
        return int64(0)
    if learns:
        use(state, order[best])
    return slot_of(state, order[best]).label


@helper
def _without_use(state):
    """An inner node whose two leaves are empty; -1 if there is none."""
    for k in range(int64(state.node_count)):
        node = node_of(state, k)
        if node.left != NOWHERE:
            left, right = node_of(state, node.left), node_of(state, node.right)
            if left.left == NOWHERE and right.left == NOWHERE and left.count + right.count == 0:
                return int64(k)
    return NOWHERE


@helper
def _new_pair(state, unused):
    """The number of the first of two new leaves: behind all others, or those of an inner node that is a leaf then."""
    if unused == NOWHERE:
        state.node_count += uint64(2)
        return int64(state.node_count) - 2
    node = node_of(state, unused)
    first = node.left
    node.left, node.right = NOWHERE, NOWHERE
    drop_router(state, unused)
    return first


@helper
def _divide(state, shared, node):
    """Divide a leaf that holds too many memories, if there is room for it."""
    leaf, unused = node_of(state, node), NOWHERE
    if uint64(leaf.count) <= state.leaf:
        return
    if state.node_count + uint64(2) > state.most_nodes:
        unused = _without_use(state)
        if unused == NOWHERE:
            state.undivided += uint64(1)
            return
    if not set_router(state, shared, node):
        state.undivided += uint64(1)
        return
    first, order = _new_pair(state, unused), _slots_of(state, node)[0]
    empty(leaf)
    leaf.left, leaf.right = first, first + 1
    for child in range(2):
        new = node_of(state, first + child)
        new.parent, new.left, new.right = node, NOWHERE, NOWHERE
        empty(new)
    for n in range(len(order)):
        rows, values = _plain_of(state, slot_of(state, order[n]))
        append(state, side_of(state, node, rows, values), order[n])


@helper
def _is_kept(state, node, flat):
    """Whether a leaf has a memory of the same features."""
    k = node_of(state, node).head
    while k != NOWHERE:
        slot = slot_of(state, k)
        if are_same(flat, _flat_of(state, slot)):
            return True
        k = slot.next
    return False


@helper
def remember(state, shared, plain, flat, square, label, node, apart):
    """Keep an example in a leaf, unless one of the same features is there; others leave if there is no room.

    Args:
        state: of the layer.
        shared: the SHARED record.
        plain, flat: rows and values of the example, without interactions and with them.
        square: the sum of the squares of the latter.
        label: of the example.
        node: the leaf.
        apart: whether there are interactions.
    """
    words = uint64(len(flat[0])) + (uint64(len(plain[0])) if apart else uint64(0))
    if _is_kept(state, node, flat):
        return
    if words > state.limit:
        state.crowded += uint64(1)
        return
    while must_leave(state, words):
        forget(state, state.oldest)
    k = keep(state, words)
    append(state, node, k)
    slot = slot_of(state, k)
    slot.label, slot.square = label, square
    slot.length, slot.count = uint64(len(plain[0])), uint64(len(flat[0]))
    for part in range(2):
        source = flat if part == 1 else plain
        rows, values = _flat_of(state, slot) if part == 1 else _plain_of(state, slot)
        copy(source[0], rows)
        copy(source[1], values)
    _divide(state, shared, node)
