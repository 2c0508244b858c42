"""One line of VW text, the whole grammar, byte by byte: what the fast kernel hands over and what defines the result.

What is malformed is kept or dropped as VW does it, and reported. Offsets are into the whole text being parsed.
"""

import numpy as np
from numba import float32, int64, njit, uint32, uint64

from hutch.core import parse_problems as problems
from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE
from hutch.core.hashing import ANONYMOUS_LETTER, anonymous_hash, hash_name, murmur3_32
from hutch.core.text_columns import FEATURES, GROUP, LINE, NAMESPACES, SERIAL, close_row, report
from hutch.core.text_float import has_digit, read_float
from hutch.core.text_label import read_label

BLANK, TAB, RETURN, COLON, BAR = 32, 9, 13, 58, 124


@njit(inline="always")
def ends_feature(byte):  # type: ignore[no-untyped-def]
    """Whether a byte ends a feature: blank, tab, bar or carriage return."""
    return byte == BLANK or byte == TAB or byte == BAR or byte == RETURN


@njit
def read_name(text, at, stop):  # type: ignore[no-untyped-def]
    """End of the name that begins at `at`."""
    while at < stop and text[at] != COLON and not ends_feature(text[at]):
        at += 1
    return at


@njit
def string_value(text, at, stop):  # type: ignore[no-untyped-def]
    """Bounds of a value that is no number: the next word, bars and colons included; empty if only blanks follow."""
    first = at
    while first < stop and (text[first] == BLANK or text[first] == TAB or text[first] == RETURN):
        first += 1
    if first == stop:
        return at, at
    end = first
    while end < stop and text[end] != BLANK and text[end] != TAB and text[end] != RETURN:
        end += 1
    return first, end


@njit
def parse_feature(text, at, stop, namespace_hash, namespace_value, nameless, grammar, columns):  # type: ignore[no-untyped-def]
    """Append `name`, `name:number`, `name:word` or `:number`; returns its end and the next nameless number."""
    name = at
    name_stop = at = read_name(text, at, stop)
    value, word, word_stop = namespace_value, at, at
    if at < stop and text[at] == COLON:
        at += 1
        number, used = read_float(text, at, stop)
        if used == 0:
            value = float32(1)
            word, word_stop = string_value(text, at, stop)
            if word > at:
                report(columns, problems.BLANK_AFTER_COLON, name, word_stop)
            if word < word_stop:
                at = word_stop
        else:
            if number == 0 and not has_digit(text, at, at + used):
                report(columns, problems.VALUE_WITHOUT_DIGITS, name, at + used)
            value = number * namespace_value
            if value != value:
                report(columns, problems.NAN_FEATURE_VALUE, name, at + used)
                value = float32(0)
            elif abs(value) == float32(np.inf):
                report(columns, problems.INFINITE_NUMBER, name, at + used)
            at += used
    index = hash_name(text, name, name_stop, namespace_hash, grammar.hash_all)
    if word < word_stop:
        index = hash_name(text, word, word_stop, index, grammar.hash_all)
    elif name == name_stop:
        index = uint32(uint64(namespace_hash) + uint64(nameless))
        nameless += 1
    if value != 0:
        feature = columns.counters[FEATURES]
        columns.indices[feature] = index & grammar.mask
        columns.values[feature] = value
        columns.counters[FEATURES] = feature + 1
    return at, nameless


@njit
def parse_namespace(text, at, stop, grammar, columns):  # type: ignore[no-untyped-def]
    """Read what follows a bar up to the next one; returns where that is, or the end, and the namespace's id."""
    value, nameless, name = float32(1), int64(0), at
    if at < stop and text[at] == COLON:
        report(columns, problems.MISSING_NAMESPACE_NAME, at, stop)
        return stop, uint32(0)
    at = read_name(text, at, stop)
    if at == name:
        namespace_hash = anonymous_hash(grammar.seed)
        identity = uint32(ANONYMOUS_LETTER) if grammar.by_letter else uint32(0)
    else:
        namespace_hash = hash_name(text, name, at, grammar.seed, grammar.hash_all)
        identity = uint32(text[name]) if grammar.by_letter else murmur3_32(text, name, at, uint32(0))
    if at < stop and text[at] == COLON:
        at += 1
        value, used = read_float(text, at, stop)
        if value != value:
            report(columns, problems.NAN_NAMESPACE_VALUE, name, at + used)
            value = float32(1)
        elif used == 0 or (value == 0 and not has_digit(text, at, at + used)):
            report(columns, problems.BAD_NAMESPACE_VALUE, name, min(stop, at + 1))
        elif abs(value) == float32(np.inf):
            report(columns, problems.INFINITE_NUMBER, name, at + used)
        at += used
    while at < stop and (text[at] == BLANK or text[at] == TAB):
        at += 1
        if at < stop and not ends_feature(text[at]):
            at, nameless = parse_feature(text, at, stop, namespace_hash, value, nameless, grammar, columns)
    if at < stop and text[at] != BAR:
        kind = problems.CARRIAGE_RETURN if text[at] == RETURN else problems.BAD_FEATURE_VALUE
        report(columns, kind, at, stop)
        at = stop
    return at, identity


@njit
def parse_features(text, at, stop, grammar, columns):  # type: ignore[no-untyped-def]
    """Read all namespaces of a line from its first bar on, each in one piece, in the order of their first features."""
    count = columns.counters
    count[SERIAL] += 1
    bars = uint64(0)
    for i in range(at, stop):
        bars += uint64(text[i] == BAR)
    table = uint64(2)
    while table <= 2 * bars:
        table *= uint64(2)
    first_namespace, first_feature = count[NAMESPACES], count[FEATURES]
    pieces, scattered = 0, False
    while at < stop:
        begin = count[FEATURES]
        at, identity = parse_namespace(text, at + 1, stop, grammar, columns)
        if count[FEATURES] == begin:
            continue
        slot = find_namespace(columns, identity, first_namespace, table)
        scattered |= slot < count[NAMESPACES] - 1
        if slot == count[NAMESPACES]:
            columns.namespace_id[slot] = identity
            columns.namespace_ptr[slot] = begin
            count[NAMESPACES] += 1
        columns.piece_slot[pieces] = slot - first_namespace
        columns.piece_ptr[pieces] = begin
        pieces += 1
    columns.piece_ptr[pieces] = count[FEATURES]
    if scattered:
        gather_pieces(columns, pieces, first_namespace, first_feature)


@njit
def find_namespace(columns, identity, first, table):  # type: ignore[no-untyped-def]
    """Number of the row's namespace with this id, or the next free number."""
    line = columns.counters[SERIAL]
    at = (uint64(identity) * uint64(0x9E3779B1)) & (table - uint64(1))
    while columns.seen_serial[at] == line:
        if columns.namespace_id[columns.seen_slot[at]] == identity:
            return columns.seen_slot[at]
        at = (at + uint64(1)) & (table - uint64(1))
    columns.seen_serial[at] = line
    columns.seen_slot[at] = columns.counters[NAMESPACES]
    return columns.counters[NAMESPACES]


@njit
def gather_pieces(columns, pieces, first_namespace, first_feature):  # type: ignore[no-untyped-def]
    """Reorder the row's features so that each namespace is in one piece, keeping the order within it."""
    count = columns.counters
    begins = columns.namespace_ptr[first_namespace : count[NAMESPACES]]
    begins[:] = 0
    for piece in range(pieces):
        begins[columns.piece_slot[piece]] += columns.piece_ptr[piece + 1] - columns.piece_ptr[piece]
    total = first_feature
    for slot in range(len(begins)):
        size = begins[slot]
        begins[slot] = total
        total += size
    for feature in range(first_feature, total):
        columns.copied_indices[feature] = columns.indices[feature]
        columns.copied_values[feature] = columns.values[feature]
    for piece in range(pieces):
        to = begins[columns.piece_slot[piece]]
        for feature in range(columns.piece_ptr[piece], columns.piece_ptr[piece + 1]):
            columns.indices[to] = columns.copied_indices[feature]
            columns.values[to] = columns.copied_values[feature]
            to += 1
        begins[columns.piece_slot[piece]] = to
    for slot in range(len(begins) - 1, 0, -1):
        begins[slot] = begins[slot - 1]
    begins[0] = first_feature


@njit
def parse_line(text, start, stop, grammar, columns):  # type: ignore[no-untyped-def]
    """Append the example of the line `text[start:stop]`, its line feed excluded; an empty line ends the group.

    The byte at `stop` must be a line feed; a byte order mark and a last carriage return do not count.
    """
    if stop - start >= 3 and text[start] == 0xEF and text[start + 1] == 0xBB and text[start + 2] == 0xBF:
        start += 3
    if stop > start and text[stop - 1] == RETURN:
        stop -= 1
    if start == stop:
        columns.counters[GROUP] += 1
        return
    bar = start
    while bar < stop and text[bar] != BAR:
        bar += 1
    for at in range(start, stop):
        if text[at] == 0:
            report(columns, problems.NUL_BYTE, at, at + 1)
            break
    read_label(text, start, bar, columns, grammar.label)
    parse_features(text, bar, stop, grammar, columns)
    if grammar.constant:
        append_constant(grammar, columns)
    close_row(columns)


@njit
def append_constant(grammar, columns):  # type: ignore[no-untyped-def]
    """Append the constant feature in its own namespace."""
    feature, namespace = columns.counters[FEATURES], columns.counters[NAMESPACES]
    columns.indices[feature] = uint32(CONSTANT_INDEX) & grammar.mask
    columns.values[feature] = float32(1)
    columns.namespace_id[namespace] = uint32(CONSTANT_NAMESPACE)
    columns.namespace_ptr[namespace] = feature
    columns.counters[FEATURES] = feature + 1
    columns.counters[NAMESPACES] = namespace + 1


@njit
def parse_lines(text, start, stop, grammar, columns):  # type: ignore[no-untyped-def]
    """Parse all lines of `text[start:stop]`, which ends with a line feed."""
    while start < stop:
        end = start
        while text[end] != 10:
            end += 1
        columns.counters[LINE] += 1
        parse_line(text, start, end, grammar, columns)
        start = end + 1
