"""The features a linear learner sees: those of the example, and the interactions of its namespaces, made in the kernel.

The values of the example itself are read in place if there are no others. Rows of the weight table, and otherwise
values too, are written once into a buffer that grows when it must, and every pass over the features reads that. An
interaction of features i and j has the index (FNV · i) xor j, one of three (FNV · ((FNV · i) xor j)) xor k, and so on;
its value is the product of theirs, from left to right.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import float32, int64, uint32, uint64
from numpy.typing import NDArray

from hutch.core.kernel.abi import (
    call,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    no_unroll,
    prefetch,
    record_of,
    shared_of,
    uint32s_at,
)
from hutch.core.kernel.decorators import helper, inlined, intrinsic, meaning
from hutch.core.kernel.lanes import broadcast, load, places, store
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, buffer_of, reserve
from hutch.core.learner.terms import MAX_ORDER, Terms, find_terms, term_at, terms_record_of

FEATURES = np.dtype(
    [
        ("terms", "u8"),  # address of a TERMS record, 0 without interactions
        ("left_out", "u8"),  # address of uint32[left_out_count]: namespaces used only in interactions
        ("left_out_count", "u8"),
        ("expand", "u8"),  # address of the kernel that gathers where the features are not simply the example's; else 0
        ("self", "u8"),  # address of this record
        ("rows", "u8"),  # address of uint32[length]: rows of the weight table of the features gathered last
        ("values", "u8"),  # address of float32[length]
        ("length", "u8"),  # of the features gathered last
        ("table", "u8"),  # BUFFER of COLUMNS arrays of `room`: twice rows uint32 and values float32, scratch float32
        ("room", "u8"),
        ("half", "u8"),  # 0 or 1: which rows and values of the two are those gathered last, where `expand` gathers
        ("ahead", "u8"),  # address of uint32[ahead_length]: rows that the next example is likely to need
        ("ahead_length", "u8"),
        ("guessed", "u8"),  # address of the indices of the example whose features stand in the other half; 0: of none
        ("guessed_length", "u8"),
        ("guessed_total", "u8"),  # with those left out
        ("walk", "u8"),  # address of int64[3, MAX_ORDER]: where the walk through a term stands
    ]
)
COLUMNS = 7
LANES = np.uint64(16)
"""The room is a multiple of this: products of features are made so many at once."""

features_of = record_of(FEATURES)

_FNV = np.uint64(16777619)
_MANY = np.uint64(8)
"""From so many features on, products with all of them are made LANES at a time."""


class Features:
    """The features that a learner makes of an example.

    Args:
        terms: the interactions, None for none.
        left_out: ids of namespaces that are used only in interactions.

    Attributes:
        record: the FEATURES record.
    """

    def __init__(self, terms: Terms | None, left_out: Sequence[int]) -> None:
        self._terms = terms
        self.record = Record(
            FEATURES,
            terms=terms.record if terms else 0,
            left_out=np.array(left_out, np.uint32),
            left_out_count=len(left_out),
            table=Buffer(),
            walk=np.zeros((3, MAX_ORDER), np.int64),
            expand=expand if terms or left_out else 0,
        )
        self.record["self"] = self.record

    def forget_guess(self) -> None:
        """Discard the features gathered for a coming example: it may never come, and another may lie at its address."""
        self.record["guessed"] = 0

    def gathered(self) -> tuple[NDArray[np.uint32], NDArray[np.float32], list[list[int]]]:
        """Rows and values of the features gathered last, and the terms: places of namespaces in the example."""
        record = self.record.array[0]
        size = 4 * int(record["length"])
        rows, values = (ctypes.string_at(int(record[name]), size) if size else b"" for name in ("rows", "values"))
        terms = self._terms.found() if self._terms else []
        return np.frombuffer(rows, np.uint32), np.frombuffer(values, np.float32), terms


@inlined
def rows_of(features, length):
    """Rows of the weight table of the features gathered last, uint32[length]."""
    return uint32s_at(features.rows, length)


@inlined
def values_of(features, length):
    """Values of the features gathered last, float32[length]."""
    return float32s_at(features.values, length)


@inlined
def scratch_at(features, k):
    """Address of scratch number k, 0 to 2, beside the features gathered last."""
    return buffer_of(features.table).address + uint64(4 * (4 + k)) * features.room


@inlined
def scratch_of(features, k):
    """Scratch number k, float32[room]."""
    return float32s_at(scratch_at(features, k), features.room)


@helper
def _make_room(features, length):
    """Reserve room for so many features; returns False if there is no memory."""
    length += LANES  # interactions are written so many at once
    if length > features.room:
        room = (uint64(2) * length + LANES) & ~(LANES - uint64(1))
        if reserve(features.table, uint64(4 * COLUMNS) * room) == uint64(0):
            return False
        features.room = room
    return True


@helper
def _repeats(term, k):
    """Whether part k of a term is the namespace of the part before it."""
    return k > 0 and term[1 + k] == term[k]


@helper
def _size_of(term, starts, permutations):
    """Number of features of a term: a namespace of n that stands in r adjacent places gives (n + r - 1 choose r)."""
    size, run = 1, 0
    for k in range(term[0]):
        run = run + 1 if _repeats(term, k) and not permutations else 0
        size = size * (starts[term[1 + k] + 1] - starts[term[1 + k]] + run) // (run + 1)
    return size


def _multiply_in_python(others: Any, made: Any, j: Any, n: Any, factors: Any, place: Any) -> None:
    (index, x), (rows, values), (hashed, product), (multiplier, offset, mask) = others, made, factors, place
    for k in range(int(LANES)):
        number = (int(hashed) ^ int(index[int(j) + k])) * int(multiplier) + int(offset)
        rows[int(n) + k] = number & int(mask)
        values[int(n) + k] = product * x[int(j) + k]


@meaning(_multiply_in_python)
@intrinsic
def _multiply(typing_context: Any, others: Any, made: Any, j: Any, n: Any, factors: Any, place: Any) -> Any:
    """Write the products of LANES features from the j-th on of `others` as rows and values from the n-th on of `made`.

    `factors` are the hash and the value that multiply them; only 32 bits of a hash are used.
    """
    from llvmlite import ir
    from numba import types

    from hutch.core.kernel.private import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def elements(k: int) -> list[Any]:
            found: list[Any] = cgutils.unpack_tuple(builder, arguments[k])
            return found

        count = int(LANES)
        (index, x), (rows, values) = (
            places(context, builder, signature.args[k], elements(k), arguments[k + 2]) for k in (0, 1)
        )
        start, product = (broadcast(builder, each, count) for each in elements(4))
        multiplier, offset, mask = (broadcast(builder, each, count) for each in elements(5))
        hashes = start ^ load(builder, index, ir.IntType(32), count)
        store(builder, (hashes * multiplier + offset) & mask, rows)
        store(builder, product * load(builder, x, ir.FloatType(), count), values)
        return context.get_dummy_value()

    return types.void(others, made, j, n, factors, place), generate


@inlined
def _products(made, n, others, first, size, hashed, product, place):
    """Rows and values of one feature's product with `size` others, from the first on; memory behind them may change."""
    factors = uint32(hashed), product
    if len(others[0]) >= _MANY:
        for j in range(uint64(0), uint64(size), LANES):
            _multiply(others, made, uint64(first) + j, uint64(n) + j, factors, place)
        return
    (indices, x), (rows, values), (multiplier, offset, mask) = others, made, place
    for j in range(uint64(size)):
        no_unroll()
        rows[uint64(n) + j] = ((factors[0] ^ indices[uint64(first) + j]) * multiplier + offset) & mask
        values[uint64(n) + j] = product * x[uint64(first) + j]


@inlined
def fetch_rest(features, shared):
    """Prefetch all rows that the next example probably needs and that have not been fetched."""
    rows, size = uint32s_at(features.ahead, features.ahead_length), shared.stride * uint64(4)
    for i in range(features.ahead_length):
        prefetch(shared.weights + uint64(rows[i]) * size)
    features.ahead_length = uint64(0)


@inlined
def _apart(features, e, start, count):
    """Some features of the example; many are copied to where LANES of them can be read at once from any on."""
    indices, x = uint32s_at(e.indices + uint64(4) * start, count), float32s_at(e.values + uint64(4) * start, count)
    if count < _MANY:
        return indices, x
    address, room = scratch_at(features, 0), features.room
    their_indices, their_x = uint32s_at(address, count), float32s_at(address + uint64(4) * room, count)
    for i in range(count):
        their_indices[i], their_x[i] = indices[i], x[i]
    return their_indices, their_x


@inlined
def _pair(indices, x, term, starts, permutations, made, n, others, place):
    """The term of two namespaces, whose second one is given as `others`."""
    same = _repeats(term, 1) and not permutations
    start, size = starts[term[1]] - starts[0], starts[term[2] + 1] - starts[term[2]]
    for i in range(start, starts[term[1] + 1] - starts[0]):
        first = i - start if same else 0
        _products(made, n, others, first, size - first, _FNV * uint64(indices[i]), x[i], place)
        n += size - first
    return n


@helper
def _interact(features, e, term, starts, permutations, rows, values, n, place):
    """Write the features of one term behind the n existing ones; returns their new number."""
    order, first = term[0], starts[0]
    indices, x = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    last = starts[term[order]] - first
    others = _apart(features, e, uint64(last), uint64(starts[term[order] + 1] - first - last))
    if order == 2:
        return _pair(indices, x, term, starts, permutations, (rows, values), n, others, place)
    at = int64s_at(features.walk, MAX_ORDER)
    hashes = int64s_at(features.walk + uint64(8 * MAX_ORDER), MAX_ORDER)
    products = float32s_at(features.walk + uint64(16 * MAX_ORDER), MAX_ORDER)
    k = 0
    at[0] = starts[term[1]] - first
    while True:
        end = starts[term[1 + k] + 1] - first
        if k == order - 1:
            size = end - at[k]
            if size > 0:
                _products((rows, values), n, others, at[k] - last, size, hashes[k - 1], products[k - 1], place)
                n += size
            at[k] = end
        if at[k] == end:
            if k == 0:
                return n
            k -= 1
            at[k] += 1
            continue
        i = at[k]
        hashes[k] = np.int64(_FNV * (uint64(indices[i]) if k == 0 else uint64(hashes[k - 1]) ^ uint64(indices[i])))
        products[k] = x[i] if k == 0 else products[k - 1] * x[i]
        k += 1
        at[k] = i if _repeats(term, k) and not permutations else starts[term[1 + k]] - first


@helper
def is_left_out(features, name):
    listed = False
    for k in range(int64(features.left_out_count)):
        listed |= uint32s_at(features.left_out, features.left_out_count)[k] == name
    return listed


@inlined
def _write_some(rows, values, n, indices, x, start, stop, place):
    """Write some features of the example itself behind the n existing ones; returns their new number."""
    multiplier, offset, mask = place
    for i in range(stop - start):
        rows[n + i] = (indices[start + i] * multiplier + offset) & mask
        values[n + i] = x[start + i]
    return n + stop - start


@helper
def _write(features, e, place, rows, values):
    """Write rows and values of the features of an example, with the terms found last; returns their number."""
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, x, n = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length), 0
    count = int64(e.namespace_count)
    if features.left_out_count == uint64(0) and count > 0:
        n = _write_some(rows, values, n, indices, x, 0, starts[count] - starts[0], place)
    else:
        for j in range(count):
            if not is_left_out(features, ids[j]):
                start, stop = starts[j] - starts[0], starts[j + 1] - starts[0]
                n = _write_some(rows, values, n, indices, x, start, stop, place)
    if features.terms != uint64(0):
        record = terms_record_of(features.terms)
        found, permutations = reserve(record.found, uint64(0)), record.permutations == 1
        for t in range(int64(record.term_count)):
            n = _interact(features, e, term_at(found, t), starts, permutations, rows, values, n, place)
    return n


@helper
def _total(features, e):
    """Number of features of an example, those left out included, with the terms found last."""
    total = int64(e.length)
    if features.terms != uint64(0):
        starts, record = int64s_at(e.namespaces, e.namespace_count + uint64(1)), terms_record_of(features.terms)
        for t in range(int64(record.term_count)):
            total += _size_of(term_at(reserve(record.found, uint64(0)), t), starts, record.permutations == 1)
    return total


@inlined
def _half(features, half):
    """Address of the rows of a half of the table; its values follow behind `room` rows."""
    return reserve(features.table, uint64(0)) + uint64(8) * half * features.room


@helper
def _guess(features, e, place):
    """Gather the features of the next example in the other half, if it has the same namespaces as this one."""
    features.ahead_length, features.guessed = uint64(0), uint64(0)
    same, ids = e.next_length > uint64(0) and e.next_namespace_count == e.namespace_count, e.namespace_count
    for j in range(ids):
        same = same and uint32s_at(e.namespace_ids, ids)[j] == uint32s_at(e.namespace_ids, ids + ids)[ids + j]
    if not same:
        return
    length, namespaces, indices, values = e.length, e.namespaces, e.indices, e.values
    e.length, e.namespaces = e.next_length, namespaces + uint64(8) * e.namespace_count
    e.indices, e.values = indices + uint64(4) * length, values + uint64(4) * length
    total, room = uint64(_total(features, e)), features.room
    if total + LANES <= room:
        address = _half(features, uint64(1) - features.half)
        written = uint64(
            _write(features, e, place, uint32s_at(address, room), float32s_at(address + uint64(4) * room, room))
        )
        features.ahead, features.ahead_length = address, written
        features.guessed, features.guessed_length, features.guessed_total = e.indices, written, total
    e.length, e.namespaces, e.indices, e.values = length, namespaces, indices, values


@kernel
def expand(features, example, label, importance, offset):
    """Write rows and values of the features into the record at address `features`: interactions, nothing left out.

    Features gathered during the turn of the previous example are used as is. A kernel called by address, so that it
    is compiled only for chains that need it.
    """
    features, e = features_of(features), example_of(example)
    shared = shared_of(e.shared)
    place = uint32(shared.multiplier), uint32(offset), uint32(shared.mask)
    if features.guessed == e.indices and e.indices != uint64(0):
        features.half = uint64(1) - features.half
        e.features, features.length = features.guessed_total, features.guessed_length
        features.rows = _half(features, features.half)
        features.values = features.rows + uint64(4) * features.room
    else:
        if features.terms != uint64(0):
            find_terms(features.terms, uint32s_at(e.namespace_ids, e.namespace_count), int64(e.namespace_count))
        e.features, features.length = uint64(_total(features, e)), uint64(0)
        if not _make_room(features, e.features):
            return float32(0)  # out of memory: better no features than a crash
        features.rows = _half(features, features.half)
        features.values = features.rows + uint64(4) * features.room
        rows, values = rows_of(features, features.room), values_of(features, features.room)
        features.length = uint64(_write(features, e, place, rows, values))
        features.ahead, features.ahead_length = features.rows, features.length
        fetch_rest(features, shared)
    _guess(features, e, place)
    return float32(0)


@helper
def gather(features, example, offset):
    """Find rows and values of all features of an example; returns their number.

    The reported number of features includes namespaces that are left out, as in VW.

    Args:
        features: FEATURES record.
        example: address of the EXAMPLE.
        offset: of the sub-model, in rows.
    """
    if features.expand != uint64(0):
        call(features.expand, features.self, example, float32(0), float32(0), offset)
        return int64(features.length)
    e = example_of(example)
    shared = shared_of(e.shared)
    e.features, features.length = e.length, uint64(0)
    if not _make_room(features, e.length):
        return 0  # out of memory: better no features than a crash
    features.values, features.length = e.values, e.length
    features.ahead, features.ahead_length = e.indices + uint64(4) * e.length, e.next_length
    features.rows = buffer_of(features.table).address
    rows, indices = rows_of(features, e.length), uint32s_at(e.indices, e.length)
    multiplier, first, mask = uint32(shared.multiplier), uint32(offset), uint32(shared.mask)
    for i in range(e.length):
        rows[i] = (indices[i] * multiplier + first) & mask
    return int64(e.length)


@helper
def _sum_of_squares(x, start, stop):
    total = np.float32(0)
    for i in range(start, stop):
        total += x[i] * x[i]
    return total


@helper
def _run_of_squares(x, start, stop, run, sums):
    """Sum of squares of all products of `run` features in order, repetition allowed."""
    for k in range(run):
        sums[k] = np.float32(0)
    for i in range(start, stop):
        square = x[i] * x[i]
        sums[0] += square
        for k in range(1, run):
            sums[k] += sums[k - 1] * square
    return sums[run - 1]


@helper
def squared_length(features, example):
    """Sum of the squares of all features, in VW's order: a sum for each namespace, then a product for each term."""
    e = example_of(example)
    x = float32s_at(e.values, e.length)
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    total, interactions = np.float32(0), np.float32(0)
    for j in range(int64(e.namespace_count)):
        total += _sum_of_squares(x, starts[j] - starts[0], starts[j + 1] - starts[0])
    if features.terms == uint64(0):
        return total
    record = terms_record_of(features.terms)
    sums = float32s_at(features.walk, MAX_ORDER)
    for t in range(int64(record.term_count)):
        term = term_at(reserve(record.found, uint64(0)), t)
        product, k = np.float32(1), 0
        while k < term[0]:
            start, stop, run = starts[term[1 + k]] - starts[0], starts[term[1 + k] + 1] - starts[0], 1
            while record.permutations == 0 and k + run < term[0] and _repeats(term, k + run):
                run += 1
            product *= _run_of_squares(x, start, stop, run, sums)
            k += run
        interactions += product
    return total + interactions
