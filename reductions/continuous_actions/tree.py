"""A complete binary tree whose leaves are parts of a range: each inner node learns which side holds the cheaper leaf.

Node k has the children 2k + 1 and 2k + 2; the leaves come last, from left to right. A logged cost c belongs to a run of
leaves, the window around the logged action, and is divided by the probability of that window; all other leaves cost 0.
From the window's two ends up, each parent learns the side of the smaller cost, weighted by the difference, and passes
up the cost that its own choice would have. Within the window both sides cost the same, and nothing is learned.

Source: M. Majzoubi, C. Zhang, R. Chari, A. Krishnamurthy, J. Langford, A. Slivkins, "Efficient contextual bandits with
continuous actions", NeurIPS 2020; VW 9.11.9, `--cats_tree`.
"""

import numpy as np
from numpy import int64

from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import UNLABELED, learn_next, predict_next, record_of, submodel
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.text.hashing import hash_namespace

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
LIGHT = np.float32(0.00001)
"""Differences of costs below it are learned with this weight, or not at all."""

TREE = np.dtype(
    [
        ("leaves", "i8"),
        ("depth", "i8"),
        ("right_only", "i8"),  # the node above the leftmost window, which learns nothing and goes right; -1: none
        ("left_only", "i8"),
        ("least", "f4"),  # difference of costs from which on it is learned
    ]
)
tree_at = record_of(TREE)


def tree_of(leaves: int, reach: int) -> Record:
    """The TREE record.

    Args:
        leaves: their number, a power of two.
        reach: leaves on either side of an action that share its cost.

    Raises:
        ConfigError: another number of leaves.
    """
    depth = leaves.bit_length() - 1
    if leaves < 2 or leaves != 1 << depth:
        near = max(2, 1 << depth)
        raise ConfigError(f"got {leaves}, wanted a power of two such as {near} or {2 * near}: the tree is complete")
    windows = leaves // reach if reach else 0
    seed = hash_namespace("vw", 0, "all")
    draw = np.float32(merand48(np.uint64(hash_namespace(seed.to_bytes(8, "little"), seed, "all")))[1])
    ends = (node if node > 0 else -1 for node in (windows // 2 - 1, windows - 2))  # the root always chooses
    right_only, left_only = ends
    return Record(TREE, leaves=leaves, depth=depth, right_only=right_only, left_only=left_only, least=draw * LIGHT)


@helper
def descend(layer, example, importance, offset, tree):
    """The leaf, from 0, to which the nodes' predictions lead."""
    inner, node = tree.leaves - 1, int64(0)
    while node < inner:
        if node == tree.right_only:
            node = 2 * node + 2
        elif node == tree.left_only:
            node = 2 * node + 1
        else:
            side = predict_next(layer, example, UNLABELED, importance, submodel(layer, offset, node))
            node = 2 * node + 1 if side < _0 else 2 * node + 2
    return node - inner


@inlined
def _cost_at(node, a, cost_a, b, cost_b, cost):
    """The cost of a node that stands on the level of the window's ends a and b."""
    if node == a:
        return cost_a
    if node == b:
        return cost_b
    return cost if a < node < b else _0


@helper
def _learn_side(layer, example, importance, offset, tree, node, own, other):
    """Teach the parent of a node the cheaper of its children, which cost `own` and `other`; returns its own cost."""
    weight = abs(own - other)
    if weight < LIGHT:
        if not tree.least < weight:
            return own
        weight = LIGHT
    is_left = node % 2 == 1
    label = -_1 if is_left == (own < other) else _1
    at = submodel(layer, offset, (node - 1) // 2)
    learn_next(layer, example, label, weight * importance, at)
    side = predict_next(layer, example, UNLABELED, importance, at)
    sure, low, high = min(abs(side), _1), min(own, other), max(own, other)
    if (side < _0) != (label < _0):
        low, high = high, low
    return low * (_1 + sure) / _2 + high * (_1 - sure) / _2


@helper
def teach(layer, example, importance, offset, tree, first, last, cost):
    """Let the nodes above a window learn its cost.

    Args:
        layer, example, importance, offset: of the kernel.
        tree: TREE record.
        first, last: leaves, from 0.
        cost: of each of them, divided by the probability of the window.
    """
    a, b = int64(first) + tree.leaves - 1, int64(last) + tree.leaves - 1
    cost_a = cost_b = cost
    for _ in range(tree.depth):
        up_a, up_b = cost_a, cost_b
        parent_a, parent_b = (a - 1) // 2, (b - 1) // 2
        if parent_a != tree.right_only and parent_a != tree.left_only:
            other = _cost_at(a + 1 if a % 2 == 1 else a - 1, a, cost_a, b, cost_b, cost)
            if other != cost_a:
                up_a = _learn_side(layer, example, importance, offset, tree, a, cost_a, other)
        if parent_a != parent_b and parent_b != tree.right_only and parent_b != tree.left_only:
            other = _cost_at(b + 1 if b % 2 == 1 else b - 1, a, cost_a, b, cost_b, cost)
            if other != cost_b:
                up_b = _learn_side(layer, example, importance, offset, tree, b, cost_b, other)
        a, b, cost_a, cost_b = parent_a, parent_b, up_a, up_b
