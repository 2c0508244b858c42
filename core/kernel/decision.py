"""Decisions: examples of several actions with separate features, as layers see them.

A layer that decides has the same signature as every other. Data beyond one example are in the DECISION record
that EXAMPLE.decision points to: `show_action` makes the example one of the actions, and the layers below, which are
independent of decisions, learn or predict it. A layer that predicts leaves the actions in `ranked`, the best
first, and their scores or probabilities in `values`, in the same order.
"""

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import array_at, example_of, float32s_at, record_of, uint32s_at
from hutch.core.kernel.decorators import helper, inlined

ACTION = np.dtype(
    [
        ("indices", "u8"),  # as in EXAMPLE
        ("values", "u8"),
        ("length", "u8"),
        ("namespaces", "u8"),
        ("namespace_ids", "u8"),
        ("namespace_count", "u8"),
        ("own", "u8"),  # of these, those before the shared ones
    ]
)

ACTION_BYTES = np.uint64(ACTION.itemsize)

DECISION = np.dtype(
    [
        ("row", "u8"),  # of its first line, in the batch
        ("actions", "u8"),  # address of ACTION[count]
        ("count", "u8"),
        ("in_line", "u8"),  # 1 if the features and namespaces of each action lie right behind those of the one before
        ("classes", "u8"),  # address of uint32[count]: the number of each action in the label
        ("importance", "u8"),  # address of float32[count]
        ("costs", "u8"),  # in: address of float32[count]; UNLABELED where a cost-sensitive layer is not to learn
        ("weights", "u8"),  # in: address of float32[count]: importances to learn with in place of those above; 0: none
        ("chosen", "i8"),  # the action whose cost and probability are known, -1 if none
        ("cost", "f4"),
        ("probability", "f4"),  # with which the chosen action was chosen
        ("only_learns", "u8"),  # in: 1 if `learn` need not predict; ranked and values then stay as they are
        ("ranked", "u8"),  # out: address of uint32[count], the best action first
        ("values", "u8"),  # out: address of float32[count]: score or probability of each entry of `ranked`
        ("raw", "u8"),  # out: address of float32[count]: raw score of each action, where `has_raw`; 0: no room for them
        ("slots", "u8"),  # in: address of ACTION[slot_count]: content of the lines of slots
        ("slot_count", "u8"),
        ("slot_ends", "u8"),  # address of int64[slot_count + 1]: where in the labels below those of each slot begin
        ("action_ends", "u8"),  # the same of each action, int64[count + 1]
        ("label_actions", "u8"),  # address of uint32[label_count]; the first one of a slot only marks it as one
        ("label_costs", "u8"),  # address of float32[label_count]; UNLABELED: an action that may be chosen
        ("label_probabilities", "u8"),  # address of float32[label_count]
        ("label_count", "u8"),
        ("width", "u8"),  # of slots `ranked` and `values` have slot_count rows of so many entries
        ("slate_cost", "f4"),  # of all slots together; UNLABELED if it is not known
        ("has_raw", "u8"),  # out: 1 if the actions have separate raw scores, in place of EXAMPLE.raw
    ]
)

decision_at = record_of(DECISION)
actions_at = array_at(ACTION)


@inlined
def decision_of(example):
    """The DECISION record of an example."""
    return decision_at(example_of(example).decision)


@inlined
def show_action(example, decision, k, ahead):
    """Make the example show action k; `ahead`: the next one is likely to be shown after it."""
    e, k = example_of(example), uint64(k)
    actions = actions_at(decision.actions, decision.count)
    a = actions[k]
    e.indices, e.values, e.length = a.indices, a.values, a.length
    e.namespaces, e.namespace_ids, e.namespace_count = a.namespaces, a.namespace_ids, a.namespace_count
    e.next_length, e.behind = uint64(0), uint64(0)
    if ahead and decision.in_line == uint64(1) and k + uint64(1) < decision.count:
        e.next_length = e.behind = actions[k + uint64(1)].length
        e.next_namespace_count = actions[k + uint64(1)].namespace_count


@inlined
def ranked_of(decision):
    """`ranked`, uint32[count]."""
    return uint32s_at(decision.ranked, decision.count)


@inlined
def values_of(decision):
    """`values`, float32[count]."""
    return float32s_at(decision.values, decision.count)


@inlined
def _is_before(ranked, values, i, j):
    """Whether entry i belongs before entry j."""
    return values[i] < values[j] or (values[i] == values[j] and ranked[i] < ranked[j])


@inlined
def _swap(ranked, values, i, j):
    ranked[i], ranked[j] = ranked[j], ranked[i]
    values[i], values[j] = values[j], values[i]


@helper
def _sift(ranked, values, top, end):
    """Let the entry at `top` sink in a heap that ends before `end` and has its last entry in order at the top."""
    while 2 * top + 1 < end:
        child = 2 * top + 1
        if child + 1 < end and _is_before(ranked, values, child, child + 1):
            child += 1
        if not _is_before(ranked, values, top, child):
            return
        _swap(ranked, values, top, child)
        top = child


@helper
def sort_actions(ranked, values, count):
    """Sort actions in place by ascending value, equal ones by number."""
    if count <= 32:
        for k in range(1, count):
            j = k
            while j > 0 and _is_before(ranked, values, j, j - 1):
                _swap(ranked, values, j, j - 1)
                j -= 1
        return
    for top in range(count // 2 - 1, -1, -1):
        _sift(ranked, values, top, count)
    for end in range(count - 1, 0, -1):
        _swap(ranked, values, 0, end)
        _sift(ranked, values, 0, end)


@inlined
def place_of(decision, action):
    """Where an action stands in `ranked`; -1 if nowhere."""
    ranked = ranked_of(decision)
    for k in range(int64(decision.count)):
        if int64(ranked[k]) == int64(action):
            return k
    return int64(-1)
