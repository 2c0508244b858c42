"""Two systems of transitions that build a dependency tree, what each transition costs, and the tree so far.

Words count from 1. A word waits in the buffer, from `next` on; SHIFT puts it on the stack. `ARC_HYBRID`: LEFT gives
the top of the stack the next word as its head, RIGHT the word below it, and both take it off. `ARC_EAGER`: RIGHT gives
the next word the top of the stack as its head and puts it there, LEFT is as above, and REDUCE takes off a word that has
a head. The cost of a transition is the number of right arcs that are out of reach after it.

Sources: M. Kuhlmann, C. Gómez-Rodríguez and G. Satta, "Dynamic programming algorithms for transition-based dependency
parsers", ACL 2011; Y. Goldberg and J. Nivre, "Training deterministic parsers with non-deterministic oracles", TACL 1,
2013; VW 9.11.9, `--search_task dep_parser`.
"""

import numpy as np
from numpy import uint32, uint64

from hutch.core.kernel.abi import float32s_at, record_of, uint32s_at
from hutch.core.kernel.decorators import helper, inlined

SHIFT, RIGHT, LEFT, REDUCE = range(1, 5)
ARC_HYBRID, ARC_EAGER = 1, 2
NOBODY = 9999999
"""Head and label of a word that has none yet (VW's number)."""

COLUMNS = 11
(RIGHT_HEADS, RIGHT_LABELS, HEADS, LABELS, STACK, LEFT_COUNTS, RIGHT_COUNTS) = range(7)
LEFTMOST, SECOND_LEFTMOST, RIGHTMOST, SECOND_RIGHTMOST = range(7, COLUMNS)
"""Numbers of each word: of the labels, of the tree so far, and its dependents on both sides."""

PARSE = np.dtype(
    [
        ("room", "u8"),  # BUFFER of uint32[COLUMNS, words + 2]
        ("table", "u8"),  # address of these
        ("costs", "u8"),  # address of float32[5]: of each transition
        ("spaces", "u8"),  # address of uint32[14]: ids of the namespaces that are made
        ("products", "u8"),  # BUFFER of features with products
        ("product_space", "u8"),  # id of theirs
        ("words", "u8"),
        ("end", "u8"),  # the word with which the buffer counts as empty
        ("next", "u8"),
        ("depth", "u8"),  # of the stack
        ("valid", "u8"),  # bits of the transitions that there are
        ("system", "u8"),
        ("root", "u8"),  # label of the root
        ("labels", "u8"),  # that there are, from 1 on
        ("one_model", "u8"),
        ("as_vw", "u8"),
        ("packed", "u8"),  # 1: a label is one number
    ]
)
parse_of = record_of(PARSE)


@inlined
def column(p, k):
    """Column k of the table, uint32[words + 2]."""
    length = p.words + uint64(2)
    return uint32s_at(p.table + uint64(4) * uint64(k) * length, length)


@inlined
def top_of(p):
    """The top of the stack, 0 of an empty one."""
    return uint64(column(p, STACK)[p.depth - uint64(1)]) if p.depth > uint64(0) else uint64(0)


@inlined
def is_valid(p, transition):
    """Whether there is a transition here."""
    return (p.valid >> uint64(transition)) & uint64(1) == uint64(1)


@helper
def begin_tree(p):
    """Begin with an empty tree."""
    for k in range(HEADS, COLUMNS):
        numbers = column(p, k)
        for i in range(len(numbers)):
            numbers[i] = uint32(NOBODY) if k < STACK else uint32(0)
    outside = p.root == uint64(0) and p.system == uint64(ARC_HYBRID)
    column(p, STACK)[0] = uint32(0) if outside else uint32(1)
    p.depth, p.next = uint64(1), uint64(1) if outside else uint64(2)


@helper
def is_done(p):
    """Whether the tree is complete."""
    return p.next >= p.end and p.depth <= uint64(1 if p.system == uint64(ARC_HYBRID) else 0)


@helper
def find_valid(p):
    """Find the transitions that there are."""
    n, top, found = p.words, top_of(p), 0
    if p.system == uint64(ARC_HYBRID):
        found |= (1 << SHIFT) if p.next <= n else 0
        found |= (1 << RIGHT) if p.depth >= uint64(2) else 0
        found |= (1 << LEFT) if p.depth >= uint64(1) and top != uint64(0) and p.next <= n else 0
    else:
        inside, free = p.next < p.end, uint64(column(p, HEADS)[top]) == uint64(NOBODY)
        taken = p.next <= n and uint64(column(p, HEADS)[p.next]) != uint64(NOBODY)
        found |= (1 << SHIFT) if inside else 0
        found |= (1 << RIGHT) if inside and p.depth > uint64(0) and not taken else 0
        found |= (1 << LEFT) if p.depth > uint64(0) and free else 0
        found |= (1 << REDUCE) if p.depth > uint64(0) and not free else 0
    p.valid = uint64(found)


@helper
def _price_hybrid(p, costs):
    heads, stack, size, at = column(p, RIGHT_HEADS), column(p, STACK), p.depth, p.next
    n, top = p.words, top_of(p)
    if at <= n:
        for i in range(uint64(1), size):
            word = uint64(stack[i - uint64(1)])
            costs[SHIFT] += 1 if uint64(heads[word]) == at or uint64(heads[at]) == word else 0
        costs[LEFT] += 1 if size > uint64(0) and uint64(heads[at]) == top else 0
    costs[SHIFT] += 1 if size > uint64(0) and uint64(heads[top]) == at else 0
    for i in range(at, n + uint64(1)):
        own = uint64(heads[i]) == top
        costs[RIGHT] += 1 if own else 0
        costs[LEFT] += 1 if i > at and (own or uint64(heads[top]) == i) else 0
    if size >= uint64(2) and heads[top] == stack[size - uint64(2)]:
        costs[LEFT] += 1
    costs[RIGHT] += 1 if uint64(heads[top]) >= at else 0


@helper
def _price_eager(p, costs):
    heads, found, stack = column(p, RIGHT_HEADS), column(p, HEADS), column(p, STACK)
    n, at, top = p.words, p.next, top_of(p)
    for i in range(p.depth):
        word = uint64(stack[i])
        if uint64(heads[word]) == at and uint64(found[word]) == uint64(NOBODY):
            costs[SHIFT] += 1
            costs[RIGHT] += 1
        if at <= n and uint64(heads[at]) == word:
            costs[SHIFT] += 1 if word != uint64(0) else 0
            costs[RIGHT] += 1 if word != top else 0
    for i in range(at, n + uint64(2)):
        if i <= n and uint64(heads[i]) == top:
            costs[REDUCE] += 1
            costs[LEFT] += 1
        costs[LEFT] += 1 if i != at and uint64(heads[top]) == i else 0
    if at <= n and (uint64(heads[at]) > at or (heads[at] == 0 and p.depth > uint64(0) and stack[0] != 0)):
        costs[RIGHT] += 1


@helper
def price_transitions(p):
    """Find what each transition costs; returns these, float32[5]."""
    costs = float32s_at(p.costs, uint64(5))
    for k in range(5):
        costs[k] = np.float32(0)
    if p.system == uint64(ARC_HYBRID):
        _price_hybrid(p, costs)
    else:
        _price_eager(p, costs)
    return costs


@helper
def right_transitions(p, costs):
    """Bits of the transitions that are right here."""
    heads, top = column(p, RIGHT_HEADS), top_of(p)
    if p.system == uint64(ARC_HYBRID):
        if is_valid(p, SHIFT) and (p.depth == uint64(0) or uint64(heads[p.next]) == top):
            return uint64(1 << SHIFT)
        if is_valid(p, LEFT) and uint64(heads[top]) == p.next:
            return uint64(1 << LEFT)
    found, least = uint64(0), costs[SHIFT]
    if p.as_vw == uint64(0) and not is_valid(p, SHIFT):  # VW compares with it even so
        least = np.float32(np.inf)
    for k in range(SHIFT, REDUCE + 1):
        if is_valid(p, k) and costs[k] <= least:
            found = (found if costs[k] == least else uint64(0)) | (uint64(1) << uint64(k))
            least = costs[k]
    return found


@helper
def _add_arc(p, head, word, label, left):
    """Give a word its head; returns what is lost by that."""
    first = LEFTMOST if left else RIGHTMOST
    column(p, HEADS)[word], column(p, LABELS)[word] = uint32(head), uint32(label)
    column(p, first + 1)[head] = column(p, first)[head]
    column(p, first)[head] = uint32(word)
    column(p, LEFT_COUNTS if left else RIGHT_COUNTS)[head] += uint32(1)
    if uint64(column(p, RIGHT_HEADS)[word]) != head:
        return np.float32(2)
    return np.float32(0) if uint64(column(p, RIGHT_LABELS)[word]) == label else np.float32(1)


@helper
def move(p, transition, label):
    """Make a transition; returns what is lost by it: 2 of a wrong head, 1 of a wrong label, below 0 without an arc."""
    stack, top = column(p, STACK), top_of(p)
    if transition == SHIFT:
        stack[p.depth] = uint32(p.next)
        p.depth, p.next = p.depth + uint64(1), p.next + uint64(1)
        return np.float32(-1)
    if transition == RIGHT and p.system == uint64(ARC_EAGER):
        lost = _add_arc(p, top, p.next, label, False)
        stack[p.depth] = uint32(p.next)
        p.depth, p.next = p.depth + uint64(1), p.next + uint64(1)
        return lost
    p.depth -= uint64(1)
    if transition == REDUCE:
        return np.float32(-1)
    if transition == RIGHT:
        return _add_arc(p, uint64(stack[p.depth - uint64(1)]), top, label, False)
    return _add_arc(p, p.next if p.next <= p.words else uint64(0), top, label, True)
