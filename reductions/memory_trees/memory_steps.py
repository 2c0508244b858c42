"""The steps of a memory tree: down to a leaf, examples that come in and are put elsewhere, leaves that are divided."""

import math

import numpy as np
from numpy import float32, int64, uint64

from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    learn_next,
    predict_next,
    shared_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import reserve
from hutch.reductions.memory_trees.kept import cosine, flat_in, show_kept
from hutch.reductions.memory_trees.learner import with_interactions, without_interactions
from hutch.reductions.memory_trees.routers import draw
from hutch.reductions.memory_trees.store import (
    NOWHERE,
    append,
    empty,
    forget,
    new_leaf,
    node_of,
    slot_of,
    take_out,
)

_0, _1 = np.float32(0), np.float32(1)
_LEAST, _NONE, _HEAVIEST, _LIGHTEST = 1e-300, 0.001, np.float32(100), np.float32(0.01)
_NAMESPACE = np.uint32(120)

FIELDS = (
    ("flows", "u8"),  # address of float64[most_nodes, 2]: examples that went left and right
    ("features", "u8"),  # address of the FEATURES record of the learner below
    ("shown", "u8"),  # BUFFER of what is shown to the layer below
    ("path", "u8"),  # BUFFER of int64: nodes of a path, or slots of a leaf
    ("most_in_leaf", "u8"),
    ("learns_scores", "u8"),
    ("alpha", "f4"),
)
"""The fields of a state record that these kernels need, beside those of the store."""


@inlined
def flow_of(state, node):
    """How many examples a node has sent left and right, float64[2]."""
    return float64s_at(state.flows + uint64(16) * uint64(node), uint64(2))


@inlined
def _balance(left, right):
    """The logarithm of how much more goes left than right, where nothing may go."""
    return math.log(max(left, _LEAST) / max(right, _LEAST))


@inlined
def _count(state, node, score):
    """Count an example that goes left or right; returns the child."""
    left = score < _0
    flow_of(state, node)[0 if left else 1] += 1.0
    return node_of(state, node).left if left else node_of(state, node).right


@helper
def side_at(layer, example, offset, node):
    """The score of a node for what the example shows: below 0 it leads left."""
    return predict_next(layer, example, UNLABELED, _1, submodel(layer, offset, node))


@helper
def leaf_below(layer, state, example, offset, node):
    """The leaf to which what the example shows leads, from a node on."""
    while node_of(state, node).left != NOWHERE:
        score = side_at(layer, example, offset, node)
        node = node_of(state, node).left if score < _0 else node_of(state, node).right
    return node


@helper
def teach_node(layer, state, example, offset, node):
    """Let a node learn where what the example shows should go: where it says, unless that side is too full.

    Returns what the node says then.
    """
    score, flow = side_at(layer, example, offset, node), flow_of(state, node)
    alpha = np.float64(state.alpha)
    balance = (1.0 - alpha) * _balance(flow[0], flow[1] + 0.1) / math.log(2.0)
    side = -_1 if float32(balance + alpha * np.float64(score)) < _0 else _1
    learn_next(layer, example, side, _1, submodel(layer, offset, node))
    return side_at(layer, example, offset, node)


@helper
def _divide(layer, state, example, offset, node):
    """Divide a leaf; the example shows what it likes afterwards."""
    left = new_leaf(state, node)
    right = new_leaf(state, node)
    for child in range(2):
        flow = flow_of(state, left + child)
        flow[0], flow[1] = _NONE, _NONE
    leaf, e = node_of(state, node), example_of(example)
    count = uint64(leaf.count)
    slots, k = int64s_at(reserve(state.path, uint64(8) * count), count), leaf.head
    for n in range(count):
        slots[n] = k
        k = slot_of(state, k).next
    empty(leaf)
    leaf.left, leaf.right = left, right
    for n in range(count):
        show_kept(state, e, slot_of(state, slots[n]))
        child = left if side_at(layer, example, offset, node) < _0 else right
        append(state, child, slots[n])
        _count(state, child, teach_node(layer, state, example, offset, child))
    flow = flow_of(state, node)
    flow[0] = max(np.float64(node_of(state, left).count), _NONE)
    flow[1] = max(np.float64(node_of(state, right).count), _NONE)


@helper
def insert(layer, state, example, offset, k):
    """Lead a kept example down, let the nodes on its way learn, and put it into the leaf; it is in none."""
    e, node = example_of(example), int64(0)
    show_kept(state, e, slot_of(state, k))
    while node_of(state, node).left != NOWHERE:
        node = _count(state, node, teach_node(layer, state, example, offset, node))
    append(state, node, k)
    _count(state, node, teach_node(layer, state, example, offset, node))
    if uint64(node_of(state, node).count) >= state.most_in_leaf and state.node_count + uint64(2) <= state.most_nodes:
        _divide(layer, state, example, offset, node)


@helper
def put_back_in(layer, state, example, offset, k):
    """Lead a kept example down as the nodes are, and put it into the leaf; it is in none."""
    e, node = example_of(example), int64(0)
    show_kept(state, e, slot_of(state, k))
    while node_of(state, node).left != NOWHERE:
        node = _count(state, node, side_at(layer, example, offset, node))
    append(state, node, k)
    if uint64(node_of(state, node).count) >= state.most_in_leaf and state.node_count + uint64(2) < state.most_nodes:
        _divide(layer, state, example, offset, node)


@helper
def _at(state, node, position):
    """The slot at a position of a leaf."""
    k = node_of(state, node).head
    for _ in range(position):
        k = slot_of(state, k).next
    return k


@helper
def draw_kept(state, shared):
    """Take a kept example out of the tree by chance, all being about as likely; -1 if the leaf drawn is empty."""
    node = int64(0)
    while node_of(state, node).left != NOWHERE:
        flow = flow_of(state, node)
        if flow[0] < 1.0:
            left = False
        elif flow[1] < 1.0:
            left = True
        else:
            left = np.float64(draw(shared)) < flow[0] / (flow[1] + flow[0])
        flow[0 if left else 1] -= 1.0
        node = node_of(state, node).left if left else node_of(state, node).right
    count = node_of(state, node).count
    if count == 0:
        return NOWHERE
    k = _at(state, node, int64(draw(shared) * float32(count)))
    take_out(state, k)
    return k


@helper
def leave(state, k):
    """Let a kept example leave for good."""
    node = slot_of(state, k).node
    while node_of(state, node).parent != NOWHERE:
        above = node_of(state, node).parent
        side = 0 if node_of(state, above).left == node else 1
        flow = flow_of(state, above)
        flow[side] = max(flow[side] - 1.0, _NONE)
        node = above
    forget(state, k)


@helper
def _show_products(state, e, one, square, other, their_square):
    """Let an example show x · y / (|x| |y|) for each row that two examples share."""
    most = uint64(min(len(one[0]), len(other[0])))
    address = reserve(state.shown, uint64(24) + uint64(8) * most)
    lengths, n, i, j = float32(math.sqrt(np.float64(float32(square * their_square)))), uint64(0), 0, 0
    starts, names = int64s_at(address, uint64(2)), uint32s_at(address + uint64(16), uint64(1))
    rows_at, values_at = address + uint64(24), address + uint64(24) + uint64(4) * most
    rows, values = uint32s_at(rows_at, most), float32s_at(values_at, most)
    while i < len(one[0]) and j < len(other[0]):
        if one[0][i] < other[0][j]:
            i += 1
        elif other[0][j] < one[0][i]:
            j += 1
        else:
            rows[n], values[n] = one[0][i], one[1][i] * other[1][j] / lengths
            n, i, j = n + uint64(1), i + 1, j + 1
    starts[0], starts[1], names[0] = 0, int64(n), _NAMESPACE
    show(e, (rows_at, values_at, n, address, address + uint64(16), uint64(1)))


@helper
def ask_scorer(layer, state, example, offset, one, square, k, base, label, importance):
    """The learned similarity of an example and a slot, or let it be learned where a label is given.

    Args:
        layer, example, offset: as of a kernel; the example shows its features again afterwards.
        state: of the layer.
        one, square: flat features of the example, and their sum of squares.
        k: the slot.
        base: the similarity to begin with.
        label, importance: UNLABELED and any, or what is learned.
    """
    e, slot = example_of(example), slot_of(state, k)
    shared = shared_of(e.shared)
    read, kept, multiplier = shown_by(e), without_interactions(state.features), shared.multiplier
    _show_products(state, e, one, square, flat_in(state, slot), slot.square)
    shared.multiplier, e.base = uint64(1), base  # what stands for indices now are rows
    model = submodel(layer, offset, state.most_nodes)
    if label == UNLABELED:
        predict_next(layer, example, UNLABELED, _1, model)
    else:
        learn_next(layer, example, label, importance, model)
    found = e.raw
    shared.multiplier, e.base = multiplier, _0
    with_interactions(state.features, kept)
    show(e, read)
    return found


@helper
def nearest(layer, state, example, offset, node, flat, square):
    """The slot of a leaf that is most similar to an example; -1 if there is none."""
    best, most, k = NOWHERE, -UNLABELED, node_of(state, node).head
    learned = state.learns_scores == uint64(1) and shared_of(example_of(example).shared)["pass"] > uint64(0)
    while k != NOWHERE:
        slot = slot_of(state, k)
        score = cosine(flat, square, flat_in(state, slot), slot.square)
        if learned:
            score = ask_scorer(layer, state, example, offset, flat, square, k, score, UNLABELED, _1)
        if score > most:
            best, most = k, score
        k = slot.next
    return best


@helper
def _reward(layer, state, example, offset, node, k, importance):
    """1 if the nearest memory below a node has the label of a kept example, else 0; its similarity is learned."""
    slot = slot_of(state, k)
    flat, square = flat_in(state, slot), slot.square
    leaf = leaf_below(layer, state, example, offset, node)
    found = nearest(layer, state, example, offset, leaf, flat, square)
    if found == NOWHERE:
        return _0
    reward = _1 if slot_of(state, found).label == slot.label else _0
    if state.learns_scores == uint64(1):
        _teach_scorer(layer, state, example, offset, flat, square, found, reward, importance)
    return reward


@helper
def _teach_scorer(layer, state, example, offset, flat, square, k, reward, importance):
    """Let the similarity of an example and a slot be learned."""
    slot = slot_of(state, k)
    base = -cosine(flat, square, flat_in(state, slot), slot.square)
    ask_scorer(layer, state, example, offset, flat, square, k, base, reward, importance)


@helper
def _path(layer, state, example, offset):
    """The nodes that what the example shows passes, the leaf included, int64."""
    count, node = 1, int64(0)
    nodes = int64s_at(reserve(state.path, uint64(8) * state.node_count), state.node_count)
    nodes[0] = node
    while node_of(state, node).left != NOWHERE:
        score = side_at(layer, example, offset, node)
        node = node_of(state, node).left if score < _0 else node_of(state, node).right
        nodes[count] = node
        count += 1
    return nodes[:count]


@helper
def query(layer, state, example, offset, k):
    """Let a node on the way of a kept example learn on which side its label is found, or the leaf what is similar."""
    e, slot = example_of(example), slot_of(state, k)
    shared = shared_of(e.shared)
    show_kept(state, e, slot)
    path = _path(layer, state, example, offset)
    size = float32(len(path))
    if len(path) < 2:
        return
    node = path[int64(draw(shared) * size)]
    if node_of(state, node).left == NOWHERE:
        count = node_of(state, node).count
        if state.learns_scores == uint64(1) and count > 0:
            other = _at(state, node, int64(draw(shared) * float32(count)))
            reward = _1 if slot_of(state, other).label == slot.label else _0
            _teach_scorer(layer, state, example, offset, flat_in(state, slot), slot.square, other, reward, _1)
        return
    right, importance = draw(shared) < float32(0.5), size / (size - _1)
    child = node_of(state, node).right if right else node_of(state, node).left
    found = np.float64(_reward(layer, state, example, offset, child, k, importance))
    flow, alpha = flow_of(state, node), np.float64(state.alpha)
    gain = alpha * (found if right else -found) / 0.5 / 2.0
    objective = float32((1.0 - alpha) * _balance(flow[0], flow[1]) + gain)
    weight = min(max(abs(objective), _LIGHTEST), _HEAVIEST)
    learn_next(layer, example, -_1 if objective < _0 else _1, weight, submodel(layer, offset, node))
