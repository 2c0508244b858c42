"""The features of a step of a parse: words of the stack and of the buffer, some of their dependents, and products.

Vowpal Wabbit's numbers: each of thirteen words has its features, without their values, in a namespace of its own; a
fourteenth holds the distance and the dependents of the top of the stack; products are of two or three of these.
"""

import numpy as np
from numpy import uint32, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, kernel, uint32s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.memory import append
from hutch.reductions.search.history import lines_of
from hutch.reductions.search.made import make_room
from hutch.reductions.search.record import search_of
from hutch.reductions.search.transitions import (
    LABELS,
    LEFT_COUNTS,
    LEFTMOST,
    RIGHT_COUNTS,
    STACK,
    column,
    parse_of,
    top_of,
)

LETTERS = "dBCDEFGHIJKLMN"
"""The namespaces, Vowpal Wabbit's: the shape of the tree; the top three of the stack, and the next three words; the two
leftmost and the two rightmost dependents of the top; the two leftmost of the next word, and that of the second word on
the stack."""
_PAIRS = "BC BE BB CC DD EE FF GG EF BH BJ EL dB dC dD dE dF dG dd"
_TRIPLES = "EFG BEF BCE BCD BEL ELM BHI BCC BEJ BEH BJK BEN"
_TERMS = [[LETTERS.index(letter) for letter in term] for term in f"{_PAIRS} {_TRIPLES}".split()]
_TERM_COUNT = len(_TERMS)
_FIRST, _SECOND = tuple(term[0] for term in _TERMS), tuple(term[1] for term in _TERMS)
_THIRD = tuple(term[2] if len(term) == 3 else -1 for term in _TERMS)
_WORDS, _SHAPES = len(LETTERS) - 1, 10
_APART, _NO_WORD, _PRIME = uint64(344429), uint64(438129041), uint64(16777619)
_NO_LABEL, _MOST = 15, uint64(5)
_1 = np.float32(1)


@helper
def _word_at(p, k):
    """The word of namespace k + 1; 0 if there is none."""
    stack, n, top = column(p, STACK), p.words, top_of(p)
    if k < 3:
        return uint64(stack[p.depth - uint64(k) - uint64(1)]) if p.depth > uint64(k) else uint64(0)
    if k < 6:
        word = p.next + uint64(k - 3)
        return word if word <= n else uint64(0)
    if k < 10:
        return uint64(column(p, LEFTMOST + k - 6)[top]) if top != uint64(0) else uint64(0)
    if k < 12:
        return uint64(column(p, LEFTMOST + k - 10)[p.next]) if p.next <= n else uint64(0)
    second = uint64(stack[p.depth - uint64(2)]) if p.depth > uint64(1) else uint64(0)
    return uint64(column(p, LEFTMOST)[second]) if second != uint64(0) else uint64(0)


@helper
def _shape(p, j):
    """Number j of the shape of the tree: distance, counts of dependents, labels of some."""
    top, at, n, empty = top_of(p), p.next, p.words, p.depth == uint64(0)
    if j == 0:
        return uint64(0) if empty else (uint64(1) if at > n else uint64(2) + min(_MOST, at - top))
    if j < 3:
        count = uint64(column(p, LEFT_COUNTS if j == 1 else RIGHT_COUNTS)[top])
        return uint64(1) if empty else uint64(1) + min(_MOST, count)
    if j == 3:
        return uint64(1) if at > n else uint64(1) + min(_MOST, uint64(column(p, LEFT_COUNTS)[at]))
    word = uint64(0)
    if j < 8:
        word = uint64(0) if empty else uint64(column(p, LEFTMOST + j - 4)[top])
    elif at <= n:
        word = uint64(column(p, LEFTMOST + j - 8)[at])
    return uint64(column(p, LABELS)[word]) if word != uint64(0) else uint64(_NO_LABEL)


@inlined
def _spaces_of(line):
    """The namespaces of a line: how many, where the features of each begin, and their ids."""
    count = line.namespace_count
    return count, int64s_at(line.namespaces, count + uint64(1)), uint32s_at(line.namespace_ids, count)


@helper
def _copy_line(line, offset, indices, n):
    """Write the features of a line, each `offset` farther, from place n on; returns the place behind them."""
    count, starts, ids = _spaces_of(line)
    theirs = uint32s_at(line.indices, line.length)
    for m in range(count):
        if ids[m] != CONSTANT_NAMESPACE:
            for f in range(uint64(starts[m] - starts[0]), uint64(starts[m + uint64(1)] - starts[0])):
                indices[n] = uint32(uint64(theirs[f]) + offset)
                n += uint64(1)
    return n


@helper
def _size_of(line):
    """How many features that writes."""
    count, starts, ids = _spaces_of(line)
    found = uint64(0)
    for m in range(count):
        if ids[m] != CONSTANT_NAMESPACE:
            found += uint64(starts[m + uint64(1)] - starts[m])
    return found


@kernel
def make_features(layer, example, label, importance, offset):
    """Make the features of a step."""
    s, e = search_of(layer), example_of(example)
    p, lines, total = parse_of(s.own), lines_of(s, e), uint64(_SHAPES)
    for k in range(_WORDS):
        word = _word_at(p, k)
        total += _size_of(lines[word - uint64(1)]) if word > uint64(0) else uint64(1)
    made = make_room(s.making, uint64(_WORDS + 1), total)
    if made.length != total:
        return _1
    indices, values = uint32s_at(made.indices, total), float32s_at(made.values, total)
    starts, ids = int64s_at(made.namespaces, _WORDS + 2), uint32s_at(made.namespace_ids, _WORDS + 1)
    place, n = uint64(100) * _APART, uint64(0)
    for j in range(_SHAPES):
        place += uint64(j * 1023)
        indices[n] = uint32(_shape(p, j) + place)
        n += uint64(1)
    starts[0] = 0
    for k in range(_WORDS):
        word, place = _word_at(p, k), uint64(k) * _APART
        starts[k + 1] = n
        if word > uint64(0):
            n = _copy_line(lines[word - uint64(1)], place, indices, n)
        else:
            indices[n] = uint32(_NO_WORD + place)
            n += uint64(1)
    starts[_WORDS + 1] = n
    spaces = uint32s_at(p.spaces, _WORDS + 1)
    for k in range(_WORDS + 1):
        ids[k] = spaces[k]
    for f in range(total):
        values[f] = _1
    return _1


@helper
def _count_products(starts):
    """How many products there are."""
    total = uint64(0)
    for t in range(_TERM_COUNT):
        a, b, c = _FIRST[t], _SECOND[t], _THIRD[t]
        first, second = uint64(starts[a + 1] - starts[a]), uint64(starts[b + 1] - starts[b])
        if c < 0:
            total += first * (first + uint64(1)) // uint64(2) if a == b else first * second
        elif b == c:
            total += first * (second * (second + uint64(1)) // uint64(2))
        else:
            total += first * second * uint64(starts[c + 1] - starts[c])
    return total


@kernel
def add_products(layer, example, label, importance, offset):
    """Add the products to the features shown."""
    s, e = search_of(layer), example_of(example)
    p = parse_of(s.own)
    starts, old = int64s_at(e.namespaces, _WORDS + 2), uint32s_at(e.indices, e.length)
    total = _count_products(starts)
    indices, values = append(p.products, e, uint32(p.product_space), total)
    if uint64(len(indices)) != total:
        return _1
    n = 0
    for t in range(_TERM_COUNT):
        a, b, c = _FIRST[t], _SECOND[t], _THIRD[t]
        for i in range(starts[a], starts[a + 1]):
            half = uint64(old[i]) * _PRIME
            for j in range(i if a == b else starts[b], starts[b + 1]):
                if c < 0:
                    indices[n] = uint32(uint64(old[j]) ^ half)
                    n += 1
                else:
                    whole = uint64(uint32(half ^ uint64(old[j]))) * _PRIME
                    for k in range(j if b == c else starts[c], starts[c + 1]):
                        indices[n] = uint32(uint64(old[k]) ^ whole)
                        n += 1
    for f in range(n):
        values[f] = _1
    return _1
