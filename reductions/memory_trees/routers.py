"""Routers of an eigen memory tree: a direction for each inner node, and the median of its examples along it.

The direction is random, or near the first principal component of the examples, by Oja's rule: 40 times over them in
random order, w grows by (x·w / n) x at the n-th example x, less their mean, and is brought back to length 1.

Source: A. Balsubramani, S. Dasgupta, Y. Freund, "The fast convergence of incremental PCA", NeurIPS 2013; VW 9.11.9.
"""

import math

import numpy as np
from numpy import float32, uint64

from hutch.core.kernel.abi import array_at, float32s_at, uint32s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decision import sort_actions
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48
from hutch.core.learner.flat import dot
from hutch.core.learner.memory import buffer_of, reserve
from hutch.reductions.memory_trees.store import NOWHERE, address_of, list_at, node_of, slot_of

_0, _1 = np.float32(0), np.float32(1)
_TIMES, _RENEWED = 40, 4
_BELOW_1 = 0.999

ROUTER = np.dtype([("start", "u8"), ("length", "u8"), ("median", "f8")])
routers_at = array_at(ROUTER)

FIELDS = (
    ("routers", "u8"),  # address of ROUTER[most_nodes]
    ("router_rows", "u8"),  # address of uint32[router_limit]
    ("router_values", "u8"),  # address of float32[the same]
    ("router_limit", "u8"),
    ("router_used", "u8"),
    ("eigen", "u8"),  # 1: the first principal component, 0: a random direction
    ("scratch", "u8"),  # BUFFER
)
"""The fields of a state record that these kernels need."""


@helper
def draw(shared):
    """A random number in [0, 1)."""
    shared.random_state, drawn = merand48(shared.random_state)
    return drawn


@helper
def shuffle(shared, order):
    """Shuffle numbers in place, as VW does: all of an array may be exchanged for its first ones."""
    n = len(order)
    for i in range(n - 1):
        j = int(np.float64(draw(shared)) * _BELOW_1 * np.float64(n - i))
        order[i], order[j] = order[j], order[i]


@inlined
def router_of(state, node):
    """Rows and weights of a node's direction."""
    router = routers_at(state.routers, state.most_nodes)[node]
    start = uint64(4) * router.start
    return (
        uint32s_at(state.router_rows + start, router.length),
        float32s_at(state.router_values + start, router.length),
    )


@helper
def side_of(state, node, rows, values):
    """The child of an inner node to which features lead."""
    directions, weights = router_of(state, node)
    below = (
        np.float64(dot(rows, values, directions, weights)) < routers_at(state.routers, state.most_nodes)[node].median
    )
    inner = node_of(state, node)
    return inner.left if below else inner.right


@helper
def _normalise(weights):
    square = _0
    for u in range(len(weights)):
        square += weights[u] * weights[u]
    scale = _1 / float32(math.sqrt(square))
    for u in range(len(weights)):
        weights[u] *= scale


@helper
def _rows_of_leaf(state, node):
    """The rows of all examples of a leaf, each once, rising, at the start of the scratch; returns their number.

    The number is -1 without memory.
    """
    total, k = uint64(0), node_of(state, node).head
    while k != NOWHERE:
        total, k = total + slot_of(state, k).length, slot_of(state, k).next
    address = reserve(state.scratch, uint64(8) * max(total, uint64(1)))
    if address == uint64(0):
        return -1
    rows, unused = list_at(address, total)
    n, k = uint64(0), node_of(state, node).head
    while k != NOWHERE:
        slot = slot_of(state, k)
        copy(list_at(address_of(state, slot), slot.length)[0], rows[n : n + slot.length])
        n, k = n + slot.length, slot.next
    for i in range(total):
        unused[i] = _0
    sort_actions(unused, rows, int(total))
    count = 0
    for i in range(total):
        if count == 0 or rows[i] != rows[count - 1]:
            rows[count] = rows[i]
            count += 1
    return count


@helper
def _place_of(rows, row, after):
    """Where a row stands among rising ones, not before `after`."""
    while rows[after] < row:
        after += 1
    return after


@helper
def _centre(state, node, rows, sums, centred):
    """Write the examples of a leaf, less their mean, float32[examples, rows]."""
    width = len(rows)
    for u in range(width):
        sums[u] = _0
    k = node_of(state, node).head
    while k != NOWHERE:
        slot, u = slot_of(state, k), 0
        own, values = list_at(address_of(state, slot), slot.length)
        for i in range(len(own)):
            u = _place_of(rows, own[i], u)
            sums[u] += values[i]
        k = slot.next
    examples = float32(node_of(state, node).count)
    for u in range(width):
        sums[u] /= examples
    first, k = 0, node_of(state, node).head
    while k != NOWHERE:
        slot, u = slot_of(state, k), 0
        own, values = list_at(address_of(state, slot), slot.length)
        for at in range(width):
            centred[first + at] = -sums[at]
        for i in range(len(own)):
            u = _place_of(rows, own[i], u)
            centred[first + u] = values[i] - sums[u]
        first, k = first + width, slot.next


@helper
def _turn(shared, weights, order, centred):
    """Turn a direction to the first principal component."""
    width, done = len(weights), 0
    for k in range(len(order)):
        order[k] = np.uint32(k)
    for _ in range(_TIMES):
        shuffle(shared, order)
        for k in range(len(order)):
            first, along = int(order[k]) * width, _0
            for u in range(width):
                along += centred[first + u] * weights[u]
            step = along / float32(k + 1)
            for u in range(width):
                weights[u] += step * centred[first + u]
            done += 1
            if done % _RENEWED == 0:
                _normalise(weights)
    _normalise(weights)


@helper
def _set_median(state, node):
    """Set the median of the examples of a leaf along its direction; the scratch has room for them."""
    examples = uint64(node_of(state, node).count)
    unused, found = list_at(buffer_of(state.scratch).address, examples)
    directions, weights = router_of(state, node)
    k, n = node_of(state, node).head, 0
    while k != NOWHERE:
        slot = slot_of(state, k)
        rows, values = list_at(address_of(state, slot), slot.length)
        unused[n], found[n] = np.uint32(0), dot(rows, values, directions, weights)
        n, k = n + 1, slot.next
    sort_actions(unused, found, int(examples))
    upper = found[examples // uint64(2)]
    if examples % uint64(2) == uint64(0):
        upper = float32(np.float64(found[examples // uint64(2) - uint64(1)] + upper) / 2.0)
    routers_at(state.routers, state.most_nodes)[node].median = np.float64(upper)


@helper
def set_router(state, shared, node):
    """Choose the direction of a leaf that is to be divided; returns False if there is no memory for it."""
    width = _rows_of_leaf(state, node)
    if width < 0 or state.router_used + uint64(width) > state.router_limit:
        return False
    examples, router = uint64(node_of(state, node).count), routers_at(state.routers, state.most_nodes)[node]
    size = uint64(width) * (uint64(2) + examples * state.eigen) + uint64(2) * examples
    address = reserve(state.scratch, uint64(4) * size)
    if address == uint64(0):
        return False
    router.start, router.length = state.router_used, uint64(width)
    state.router_used += uint64(width)
    rows, weights = router_of(state, node)
    copy(uint32s_at(address, uint64(width)), rows)
    for u in range(width):
        weights[u] = draw(shared)
    _normalise(weights)
    if state.eigen == uint64(1):
        sums_at = address + uint64(4 * width)
        order_at = sums_at + uint64(4 * width)
        centred = float32s_at(order_at + uint64(4) * examples, uint64(width) * examples)
        _centre(state, node, rows, float32s_at(sums_at, uint64(width)), centred)
        _turn(shared, weights, uint32s_at(order_at, examples), centred)
    _set_median(state, node)
    return True


@helper
def drop_router(state, node):
    """Free the memory of a node's direction."""
    routers = routers_at(state.routers, state.most_nodes)
    start, length = routers[node].start, routers[node].length
    left = state.router_used - start - length
    there, here = uint64(4) * (start + length), uint64(4) * start
    rows, values = uint32s_at(state.router_rows + there, left), float32s_at(state.router_values + there, left)
    to_rows, to_values = uint32s_at(state.router_rows + here, left), float32s_at(state.router_values + here, left)
    for u in range(left):
        to_rows[u], to_values[u] = rows[u], values[u]
    for k in range(state.node_count):
        if routers[k].start > start:
            routers[k].start -= length
    routers[node].length = uint64(0)
    state.router_used -= length
