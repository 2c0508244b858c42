"""Examples kept in memory of a fixed size, in the leaves of a tree; those used least recently leave for others.

An example is a slot, one of the first ones, and a piece of an array of words. The array is twice as long as all pieces
may be together: a new piece goes behind the others, and where that would be beyond the end, gaps are closed first. What
is kept thus depends on the examples alone, never on where they lie. The slots of a leaf form a list, and all slots form
one by the time of their use.
"""

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import array_at, float32s_at, int64s_at, uint32s_at, uint64s_at
from hutch.core.kernel.decorators import helper, inlined

NOWHERE = int64(-1)
_0, _1, _2 = uint64(0), uint64(1), uint64(2)

SLOT = np.dtype(
    [
        ("start", "u8"),  # of its words
        ("words", "u8"),
        ("laid", "u8"),  # its place in the order of words
        ("next", "i8"),  # the slot behind it in its leaf; -1: none
        ("node", "i8"),  # its leaf
        ("older", "i8"),  # the slot used before it; -1: none
        ("newer", "i8"),
        ("label", "i8"),
        ("length", "u8"),  # of its first list of features
        ("count", "u8"),  # of its flat features
        ("spaces", "u8"),
        ("square", "f4"),  # sum of squares of its flat features
        ("importance", "f4"),
    ]
)
NODE = np.dtype(
    [
        ("parent", "i8"),  # -1 for the root
        ("left", "i8"),  # -1 for a leaf
        ("right", "i8"),
        ("head", "i8"),  # the first slot of a leaf; -1: it is empty
        ("tail", "i8"),
        ("count", "i8"),
    ]
)
slots_at, nodes_at = array_at(SLOT), array_at(NODE)

FIELDS = (
    ("slots", "u8"),  # address of SLOT[capacity]
    ("capacity", "u8"),
    ("kept", "u8"),
    ("newest", "i8"),  # the slot used last; -1: none
    ("oldest", "i8"),
    ("words", "u8"),  # address of uint64[2 · limit]
    ("limit", "u8"),  # words of all examples
    ("live", "u8"),
    ("end", "u8"),  # where the next piece is put
    ("order", "u8"),  # address of int64[2 · capacity]: the slots whose pieces lie there, in that order; -1: a gap
    ("laid_count", "u8"),
    ("crowded", "u8"),  # examples that left, or never came in, since words were missing
    ("gone", "u8"),  # examples that left
    ("nodes", "u8"),  # address of NODE[most_nodes]
    ("most_nodes", "u8"),
    ("node_count", "u8"),
)
"""The fields of a state record that these kernels need."""


@inlined
def slot_of(state, k):
    """A slot."""
    return slots_at(state.slots, state.capacity)[k]


@inlined
def node_of(state, k):
    """A node."""
    return nodes_at(state.nodes, state.most_nodes)[k]


@inlined
def address_of(state, slot):
    """Where the words of a slot lie."""
    return state.words + uint64(8) * slot.start


@inlined
def list_at(address, count):
    """Rows and values of a list of features."""
    return uint32s_at(address, count), float32s_at(address + uint64(4) * count, count)


@inlined
def _order_of(state):
    return int64s_at(state.order, _2 * state.capacity)


@helper
def append(state, node, k):
    """Put a slot behind those of a leaf."""
    leaf, slot = node_of(state, node), slot_of(state, k)
    slot.next, slot.node = NOWHERE, node
    if leaf.tail == NOWHERE:
        leaf.head = k
    else:
        slot_of(state, leaf.tail).next = k
    leaf.tail = k
    leaf.count += 1


@helper
def _before(state, node, k):
    """The slot before another one in a leaf; -1 if it is the first."""
    before, at = NOWHERE, node_of(state, node).head
    while at != k:
        before, at = at, slot_of(state, at).next
    return before


@helper
def take_out(state, k):
    """Take a slot out of its leaf."""
    node, behind = slot_of(state, k).node, slot_of(state, k).next
    leaf, before = node_of(state, node), _before(state, node, k)
    if before == NOWHERE:
        leaf.head = behind
    else:
        slot_of(state, before).next = behind
    if leaf.tail == k:
        leaf.tail = before
    leaf.count -= 1


@inlined
def empty(leaf):
    """Forget which slots a leaf has."""
    leaf.head, leaf.tail, leaf.count = NOWHERE, NOWHERE, int64(0)


@helper
def _unlink(state, k):
    """Take a slot out of the order of use."""
    slot = slot_of(state, k)
    if slot.older == NOWHERE:
        state.oldest = slot.newer
    else:
        slot_of(state, slot.older).newer = slot.newer
    if slot.newer == NOWHERE:
        state.newest = slot.older
    else:
        slot_of(state, slot.newer).older = slot.older


@helper
def _link(state, k):
    """Make a slot the one used last."""
    slot = slot_of(state, k)
    slot.older, slot.newer = state.newest, NOWHERE
    if state.newest == NOWHERE:
        state.oldest = int64(k)
    else:
        slot_of(state, state.newest).newer = k
    state.newest = int64(k)


@helper
def use(state, k):
    """Note that a slot was used now."""
    if state.newest != k:
        _unlink(state, k)
        _link(state, k)


@helper
def _rename(state, old, new):
    """Give a slot another number."""
    slot, moved = slot_of(state, old), slot_of(state, new)
    leaf, before = node_of(state, slot.node), _before(state, slot.node, old)
    if before == NOWHERE:
        leaf.head = new
    else:
        slot_of(state, before).next = new
    if leaf.tail == old:
        leaf.tail = new
    if slot.older == NOWHERE:
        state.oldest = new
    else:
        slot_of(state, slot.older).newer = new
    if slot.newer == NOWHERE:
        state.newest = new
    else:
        slot_of(state, slot.newer).older = new
    _order_of(state)[slot.laid] = new
    moved.start, moved.words, moved.laid = slot.start, slot.words, slot.laid
    moved.next, moved.node, moved.older, moved.newer = slot.next, slot.node, slot.older, slot.newer
    moved.label, moved.length, moved.count, moved.spaces = slot.label, slot.length, slot.count, slot.spaces
    moved.square, moved.importance = slot.square, slot.importance


@inlined
def must_leave(state, words):
    """Whether an example leaves before one of so many words comes in."""
    return state.kept == state.capacity or state.live + words > state.limit


@helper
def forget(state, k):
    """Let an example leave; the last slot takes its number."""
    slot = slot_of(state, k)
    state.crowded += uint64(state.kept < state.capacity)
    state.gone += _1
    take_out(state, k)
    _unlink(state, k)
    _order_of(state)[slot.laid] = NOWHERE
    state.live -= slot.words
    state.kept -= _1
    if uint64(k) != state.kept:
        _rename(state, int64(state.kept), int64(k))


@helper
def _close_gaps(state):
    """Move all pieces together."""
    order, words, end, count = _order_of(state), uint64s_at(state.words, _2 * state.limit), _0, _0
    for at in range(state.laid_count):
        k = order[at]
        if k == NOWHERE:
            continue
        slot = slot_of(state, k)
        for i in range(slot.words):
            words[end + i] = words[slot.start + i]
        slot.start, slot.laid = end, count
        order[count] = k
        end, count = end + slot.words, count + _1
    state.end, state.laid_count = end, count


@helper
def keep(state, words):
    """Reserve a slot and its words for an example, used now and in no leaf yet; there is room. Returns its number."""
    if state.end + words > _2 * state.limit or state.laid_count == _2 * state.capacity:
        _close_gaps(state)
    k = int64(state.kept)
    slot = slot_of(state, k)
    slot.start, slot.words, slot.laid = state.end, words, state.laid_count
    _order_of(state)[state.laid_count] = k
    state.end += words
    state.laid_count += _1
    state.live += words
    state.kept += _1
    _link(state, k)
    return k


@helper
def new_leaf(state, parent):
    """An empty leaf behind all other nodes; there is room for it. Returns its number."""
    k = int64(state.node_count)
    state.node_count += _1
    leaf = node_of(state, k)
    leaf.parent, leaf.left, leaf.right = parent, NOWHERE, NOWHERE
    empty(leaf)
    return k
