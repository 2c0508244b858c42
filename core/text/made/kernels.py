"""The parser's kernels that make features of names, and the one that puts them into the rows.

While a line is parsed, each made feature is an event: its row, its kind, the number of namespaces before it, its index
or its entry in the dictionaries, its value. Afterwards each kind becomes a namespace of its row, where its first
feature was made: before the namespace of the feature that it was made of, if that was the row's first of it.
"""

import numpy as np
from numpy import float32, int64, uint32, uint64

from hutch.core.kernel.abi import array_at, float32s_at, int64s_at, uint32s_at, view
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text.hashing import hash_name, murmur3_32
from hutch.core.text.made.options import AFFIX, AFFIX_FACTOR, DICTIONARY, LENGTH_FACTOR, SHAPE
from hutch.core.text.state import piece_kernel, state_at

_AFFIX_FACTOR, _LENGTH_FACTOR = np.uint64(AFFIX_FACTOR), np.uint64(LENGTH_FACTOR)

EVENTS: dict[str, type] = {
    "event_row": np.int64,
    "event_kind": np.int64,
    "event_at": np.int64,
    "event_index": np.int64,
    "event_value": np.float32,
}

MAKER = np.dtype(
    [(name, "i8") for name in ("events", "room", "affix_count", "shape_count", "dictionary_count", "entry_count")]
    + [
        ("affixes", "u8"),  # address of int64[affix_count, 3]: id of the namespace, whether a prefix, length
        ("shapes", "u8"),  # address of int64[shape_count]: ids of namespaces
        ("dictionaries", "u8"),  # address of int64[dictionary_count, 3]: id of the namespace, first and last entry
        ("entry_hash", "u8"),  # address of uint32[entry_count]: of the word, ascending within a dictionary
        ("entry_word", "u8"),  # address of int64[2 entry_count]: address and length of the word
        ("scratch", "u8"),  # address of uint8[longest name, and padding]
    ]
    + [(name, "u8") for name in EVENTS]
)
maker_at = view(MAKER)
_bytes_at = array_at(np.uint8)


@helper
def _make(state, maker, kind, index, value):
    """Append an event."""
    m, s = maker_at(maker)[0], state_at(state)[0]
    n = m.events
    int64s_at(m.event_row, m.room)[n] = s.examples
    int64s_at(m.event_kind, m.room)[n] = kind
    int64s_at(m.event_at, m.room)[n] = s.namespaces
    int64s_at(m.event_index, m.room)[n] = int64(index)
    float32s_at(m.event_value, m.room)[n] = value
    m.events = n + 1


@helper
def _shape(byte):
    """The byte that stands for all of its kind."""
    if 48 <= byte <= 57:
        return 48
    if 97 <= byte <= 122:
        return 97
    if 65 <= byte <= 90:
        return 65
    return 46 if byte == 46 else 35


@helper
def _is_word(maker, entry, name, stop):
    word = int64s_at(maker_at(maker)[0].entry_word, 2 * maker_at(maker)[0].entry_count)[2 * entry : 2 * entry + 2]
    if word[1] != stop - name:
        return False
    for k in range(stop - name):
        if byte_at(word[0] + k) != byte_at(name + k):
            return False
    return True


@helper
def _entry(maker, first, last, name, stop):
    """The entry of a name among those from `first` to `last` (exclusive); -1 if there is none."""
    m = maker_at(maker)[0]
    hashes, wanted = uint32s_at(m.entry_hash, m.entry_count), murmur3_32(name, stop, uint32(0))
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if hashes[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    while low < last and hashes[low] == wanted:
        if _is_word(maker, low, name, stop):
            return low
        low += 1
    return -1


@piece_kernel
def make_features(state, name, stop):
    """Make features of the name of the feature that was appended last; the name is empty if it has none."""
    s = state_at(state)[0]
    maker, space, seed = uint64(s.maker), s.space, uint32(s.space_hash)
    m, value = maker_at(maker)[0], float32s_at(s.values, s.room)[s.features - 1]
    affixes = int64s_at(m.affixes, 3 * m.affix_count)
    for k in range(m.affix_count if name < stop else 0):
        if affixes[3 * k] != space:
            continue
        prefix, length = affixes[3 * k + 1], affixes[3 * k + 2]
        begin, end = name, stop
        if stop - name > length:
            begin, end = (name, name + length) if prefix else (stop - length, stop)
        factor = _AFFIX_FACTOR + uint64(2 * length + prefix) * _LENGTH_FACTOR
        _make(state, maker, AFFIX, uint64(hash_name(begin, end, seed, s.hash_all)) * factor & uint64(s.mask), value)
    shapes = int64s_at(m.shapes, m.shape_count)
    for k in range(m.shape_count):
        if shapes[k] == space:
            shape = _bytes_at(m.scratch, stop - name)
            for i in range(stop - name):
                shape[i] = _shape(byte_at(name + i))
            start = int64(m.scratch)
            index = hash_name(start, start + stop - name, seed, 0)
            _make(state, maker, SHAPE, uint64(index) & uint64(s.mask), value)
    dictionaries = int64s_at(m.dictionaries, 3 * m.dictionary_count)
    for k in range(m.dictionary_count if name < stop else 0):
        if dictionaries[3 * k] == space:
            entry = _entry(maker, dictionaries[3 * k + 1], dictionaries[3 * k + 2], name, stop)
            if entry >= 0:
                _make(state, maker, DICTIONARY, uint64(entry), float32(1))


@helper
def _size(kind, index, entry_ptr):
    return entry_ptr[index + 1] - entry_ptr[index] if kind == DICTIONARY else 1


@compiled
def count_made(rows, kinds, indices, entry_ptr, features, namespaces):
    """Number of made features and namespaces per row.

    Args:
        rows, kinds, indices: of the events, in order.
        entry_ptr: int64 (entries + 1), offsets into the features of the dictionaries.
        features, namespaces: int64 (rows), which are filled.
    """
    seen, row = 0, -1
    for k in range(len(rows)):
        if rows[k] != row:
            seen, row = 0, rows[k]
        features[row] += _size(kinds[k], indices[k], entry_ptr)
        if not seen >> kinds[k] & 1:
            namespaces[row] += 1
            seen |= 1 << kinds[k]


@helper
def _copy_made(kind, events, first, last, entries, made, to):
    """Copy the features of one kind that the events `first` to `last` made; returns the place behind them."""
    kinds, indices, values = events
    entry_ptr, entry_indices, entry_values = entries
    new_indices, new_values = made
    for k in range(first, last):
        if kinds[k] != kind:
            continue
        if kind != DICTIONARY:
            new_indices[to], new_values[to] = uint32(indices[k]), values[k]
            to += 1
            continue
        for i in range(entry_ptr[indices[k]], entry_ptr[indices[k] + 1]):
            new_indices[to], new_values[to] = entry_indices[i], entry_values[i]
            to += 1
    return to


@compiled
def join_made(rows, places, events, entries, ids, old_rows, old_spaces, old, new_rows, new_spaces, new):
    """Copy rows, and put the made features into them.

    Args:
        rows, places: of the events, in order.
        events: their kinds, indices and values.
        entries: of the dictionaries: offsets, indices and values.
        ids: of the namespaces of the three kinds.
        old_rows, new_rows: `row_ptr` and `row_namespaces` of the batch, and of the result.
        old_spaces, new_spaces: their `namespace_ptr` and `namespace_id`.
        old, new: their indices and values.
    """
    k, (starts, namespaces), (begins, names), (indices, values) = 0, old_rows, old_spaces, old
    for row in range(len(starts) - 1):
        first, last, seen = k, k, 0
        while last < len(rows) and rows[last] == row:
            last += 1
        to, space = new_rows[0][row], new_rows[1][row]
        for j in range(namespaces[row], namespaces[row + 1] + 1):
            while k < last and places[k] <= j:
                kind = events[0][k]
                if not seen >> kind & 1:
                    seen |= 1 << kind
                    new_spaces[1][space], new_spaces[0][space] = ids[kind], to
                    to, space = _copy_made(kind, events, first, last, entries, new, to), space + 1
                k += 1
            if j < namespaces[row + 1]:
                new_spaces[1][space], new_spaces[0][space] = names[j], to
                space += 1
                for i in range(begins[j], begins[j + 1]):
                    new[0][to], new[1][to] = indices[i], values[i]
                    to += 1
    new_spaces[0][new_rows[1][len(starts) - 1]] = new_rows[0][len(starts) - 1]
