"""One line of VW text, the whole grammar, byte by byte: for lines that the fast kernel does not handle.

Malformed places are kept or dropped as in VW, and reported. Places are addresses.
"""

import numpy as np
from numpy import float32, int64, uint32, uint64

from hutch.core.kernel.abi import float32s_at, int64s_at, uint32s_at
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text import problems as problems
from hutch.core.text.hashing import ANONYMOUS_LETTER, anonymous_hash, hash_name, murmur3_32
from hutch.core.text.numbers import has_digit, is_misread, read_float
from hutch.core.text.state import (
    add_constant,
    add_feature,
    add_namespace,
    call_piece,
    close_row,
    piece_kernel,
    report,
    state_at,
)

BLANK, TAB, RETURN, COLON, BAR = 32, 9, 13, 58, 124


@helper
def ends_feature(byte):
    """Whether a byte ends a feature: blank, tab, bar or carriage return."""
    return byte == BLANK or byte == TAB or byte == BAR or byte == RETURN


@helper
def read_name(at, stop):
    """End of the name that begins at `at`."""
    while at < stop and byte_at(at) != COLON and not ends_feature(byte_at(at)):
        at += 1
    return at


@helper
def string_value(at, stop):
    """Bounds of a value that is not a number: the next word, bars and colons included; empty if only blanks follow."""
    first = at
    while first < stop and (byte_at(first) == BLANK or byte_at(first) == TAB or byte_at(first) == RETURN):
        first += 1
    if first == stop:
        return at, at
    end = first
    while end < stop and byte_at(end) != BLANK and byte_at(end) != TAB and byte_at(end) != RETURN:
        end += 1
    return first, end


@helper
def parse_feature(state, at, stop, namespace_hash, namespace_value, nameless):
    """Append `name`, `name:number`, `name:word` or `:number`; returns its end and the next nameless number."""
    s = state_at(state)[0]
    hash_all = s.hash_all
    name, name_stop = at, read_name(at, stop)
    at = name_stop
    value, word, word_stop = namespace_value, at, at
    if at < stop and byte_at(at) == COLON:
        at += 1
        number, used = read_float(at, stop)
        if s.words != 0 and (number != number or (at + used < stop and not ends_feature(byte_at(at + used)))):
            used = 0
        if used == 0:
            value = float32(1)
            word, word_stop = string_value(at, stop)
            if word > at:
                report(state, problems.BLANK_AFTER_COLON, name, word_stop)
            if word < word_stop:
                at = word_stop
        else:
            if number == 0 and not has_digit(at, at + used):
                report(state, problems.VALUE_WITHOUT_DIGITS, name, at + used)
            value = number * namespace_value
            if value != value:
                report(state, problems.NAN_FEATURE_VALUE, name, at + used)
                value = float32(0)
            elif abs(value) == float32(np.inf):
                report(state, problems.INFINITE_NUMBER, name, at + used)
            elif is_misread(at, at + used):
                report(state, problems.MISREAD_NUMBER, name, at + used)
            at += used
    index = hash_name(name, name_stop, namespace_hash, hash_all)
    if word < word_stop:
        index = hash_name(word, word_stop, index, hash_all)
    elif name == name_stop:
        index = uint32(uint64(namespace_hash) + uint64(nameless))
        nameless += 1
    if value != 0 or s.zeros != 0:
        add_feature(state, index, value)
        if s.make != 0 and value != 0:
            call_piece(s.make, state, name, name_stop)
    return at, nameless


@helper
def parse_namespace(state, at, stop):
    """Read a namespace after a bar; returns the place of the next bar or of the end, and the namespace's id."""
    s = state_at(state)[0]
    value, nameless, name = float32(1), int64(0), at
    if at < stop and byte_at(at) == COLON:
        report(state, problems.MISSING_NAMESPACE_NAME, at, stop)
        return stop, uint32(0)
    at = read_name(at, stop)
    if at == name:
        namespace_hash = anonymous_hash(uint32(s.seed))
        identity = uint32(ANONYMOUS_LETTER) if s.by_letter else uint32(0)
    else:
        namespace_hash = hash_name(name, at, uint32(s.seed), s.hash_all)
        identity = uint32(byte_at(name)) if s.by_letter else murmur3_32(name, at, uint32(0))
        renamed = int64s_at(s.renamed, 2 * s.renamed_count)
        for k in range(s.renamed_count):
            if renamed[2 * k] == identity:
                identity = uint32(renamed[2 * k + 1])
                break
    s.space, s.space_hash = int64(identity), int64(namespace_hash)
    if at < stop and byte_at(at) == COLON:
        at += 1
        value, used = read_float(at, stop)
        if value != value:
            report(state, problems.NAN_NAMESPACE_VALUE, name, at + used)
            value = float32(1)
        elif used == 0 or (value == 0 and not has_digit(at, at + used)):
            report(state, problems.BAD_NAMESPACE_VALUE, name, min(stop, at + 1))
            if at + used < stop and not ends_feature(byte_at(at + used)):
                return stop, identity
        elif abs(value) == float32(np.inf):
            report(state, problems.INFINITE_NUMBER, name, at + used)
        elif is_misread(at, at + used):
            report(state, problems.MISREAD_NUMBER, name, at + used)
        at += used
    while at < stop and (byte_at(at) == BLANK or byte_at(at) == TAB):
        at += 1
        if at < stop and not ends_feature(byte_at(at)):
            at, nameless = parse_feature(state, at, stop, namespace_hash, value, nameless)
    if at < stop and byte_at(at) != BAR:
        kind = problems.CARRIAGE_RETURN if byte_at(at) == RETURN else problems.BAD_FEATURE_VALUE
        report(state, kind, at, stop)
        at = stop
    return at, identity


@helper
def parse_features(state, at, stop):
    """Read all namespaces of a line from its first bar on, each in one piece, in the order of their first features."""
    s = state_at(state)[0]
    piece_slot, piece_ptr = int64s_at(s.piece_slot, s.room), int64s_at(s.piece_ptr, s.room)
    s.serial += 1
    bars = 0
    for i in range(at, stop):
        bars += byte_at(i) == BAR
    bars, table = min(bars, (stop - at) // 3 + 1), 2  # those with features
    while table <= 2 * bars:
        table *= 2
    first_namespace, first_feature = s.namespaces, s.features
    pieces, scattered = 0, False
    while at < stop:
        begin = s.features
        at, identity = parse_namespace(state, at + 1, stop)
        if s.features == begin:
            continue
        slot = find_namespace(state, identity, table)
        scattered |= slot < s.namespaces - 1
        if slot == s.namespaces:
            add_namespace(state, identity, begin)
        piece_slot[pieces] = slot - first_namespace
        piece_ptr[pieces] = begin
        pieces += 1
    piece_ptr[pieces] = s.features
    if scattered:
        gather_pieces(state, pieces, first_namespace, first_feature)


@helper
def find_namespace(state, identity, table):
    """Number of the row's namespace with this id, or the next free number; `table` is a power of two."""
    s = state_at(state)[0]
    slots, serials = int64s_at(s.seen_slot, table), int64s_at(s.seen_serial, table)
    ids = uint32s_at(s.namespace_id, s.room)
    at = int64(((uint64(identity) * uint64(0x9E3779B1)) >> uint64(8)) & uint64(table - 1))
    while serials[at] == s.serial:
        if ids[slots[at]] == identity:
            return slots[at]
        at = (at + 1) & (table - 1)
    serials[at] = s.serial
    slots[at] = s.namespaces
    return slots[at]


@helper
def gather_pieces(state, pieces, first_namespace, first_feature):
    """Reorder the row's features so that each namespace is in one piece, keeping the order within it."""
    s = state_at(state)[0]
    piece_slot, piece_ptr = int64s_at(s.piece_slot, s.room), int64s_at(s.piece_ptr, s.room)
    indices, values = uint32s_at(s.indices, s.room), float32s_at(s.values, s.room)
    copied_indices, copied_values = uint32s_at(s.copied_indices, s.room), float32s_at(s.copied_values, s.room)
    begins = int64s_at(s.namespace_ptr, s.room)[first_namespace : s.namespaces]
    begins[:] = 0
    for piece in range(pieces):
        begins[piece_slot[piece]] += piece_ptr[piece + 1] - piece_ptr[piece]
    total = first_feature
    for slot in range(len(begins)):
        size = begins[slot]
        begins[slot] = total
        total += size
    for feature in range(first_feature, total):
        copied_indices[feature] = indices[feature]
        copied_values[feature] = values[feature]
    for piece in range(pieces):
        to = begins[piece_slot[piece]]
        for feature in range(piece_ptr[piece], piece_ptr[piece + 1]):
            indices[to] = copied_indices[feature]
            values[to] = copied_values[feature]
            to += 1
        begins[piece_slot[piece]] = to
    for slot in range(len(begins) - 1, 0, -1):
        begins[slot] = begins[slot - 1]
    begins[0] = first_feature


@piece_kernel
def parse_line(state, start, stop):
    """Append the example of the line at `start` to `stop`, its line feed excluded; an empty line ends the group.

    The byte at `stop` must be a line feed; a byte order mark and a last carriage return do not count.
    """
    s = state_at(state)[0]
    s.line += 1
    if stop - start >= 3 and byte_at(start) == 0xEF and byte_at(start + 1) == 0xBB and byte_at(start + 2) == 0xBF:
        start += 3
    if stop > start and byte_at(stop - 1) == RETURN:
        stop -= 1
    if start == stop:
        s.group += 1
        return
    bar = start
    while bar < stop and byte_at(bar) != BAR:
        bar += 1
    for at in range(start, stop):
        if byte_at(at) == 0:
            report(state, problems.NUL_BYTE, at, at + 1)
            break
    call_piece(s.parse_label, state, start, bar)
    parse_features(state, bar, stop)
    if s.constant:
        add_constant(state)
    close_row(state)
