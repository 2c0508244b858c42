"""The second stage: from delimiter to delimiter, for all lines in the usual form.

A line with anything unusual (control characters, a value that a bar follows, a namespace in several pieces, malformed
places) is left to `text_slow`.
"""

from numpy import float32, int64, uint32, uint64

from hutch.core.kernel.abi import UNLABELED, float32s_at, likely, uint32s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text.eight import ALL_EIGHT, ENDS, GOOD, STOPS, eight_plain, eight_valued, first_of
from hutch.core.text.hashing import ANONYMOUS_LETTER, anonymous_hash, hash_name, murmur3_32
from hutch.core.text.state import (
    MULTICLASS,
    SIMPLE,
    add_constant,
    add_namespace,
    call_piece,
    close_row,
    set_label,
    state_at,
)
from hutch.core.text.words import any_number, short_hash, short_number

BLANK, TAB, RETURN, FEED, COLON, BAR = 32, 9, 13, 10, 58, 124
DONE, NEEDS_ROOM, NEEDS_LINE, NEEDS_LABEL = range(4)
EIGHT = uint64(8)
FEW, PATIENCE, ALL = uint64(3), uint64(64), uint64(1 << 63)
"""If fewer of eight have the same form, this many are read one by one before eight are tried again."""
MANY_NAMESPACES = 16
"""More in one line are looked up by the slow parser's hash table instead of one by one."""


@inlined
def parse_eight(state, k, features, namespace_hash):
    """Read up to eight features from delimiter `k`, a blank, at once.

    Returns:
        Number of the last delimiter read, number of features then, how many have been read, whether none follow.
    """
    s = state_at(state)[0]
    positions, numbers, one = uint32s_at(s.positions, s.room), uint64(0 if s.hash_all else 255), uint64(1)
    text, mask, seed, places = uint64(s.text), uint64(s.mask), uint64(namespace_hash), s.positions + uint64(4) * k
    to_indices, to_values = s.indices + uint64(4) * features, s.values + uint64(4) * features
    valued = byte_at(s.text + int64(positions[k + one])) == COLON
    step = uint64(2 if valued else 1)
    if valued:
        found = eight_valued(text, places, seed, numbers, mask, to_indices, to_values)
    else:
        found = eight_plain(text, places, seed, numbers, mask, to_indices, to_values)
    if likely(found == ALL_EIGHT):  # guessed, so that the next eight need not wait for these
        return k + EIGHT * step, features + EIGHT, EIGHT, False
    end, count = first_of(found, ENDS) + one, first_of(~found, STOPS)
    ended = end <= count
    count = min(end, count)
    needed = (one << count) - one
    if not likely(found & needed == needed):
        count, ended = first_of(~found, GOOD), False
    k += count * step
    if not ended and positions[k + one] - positions[k] == one and byte_at(s.text + int64(positions[k + one])) == BAR:
        k, ended = k + one, True
    return k, features + count, count, ended


@inlined
def parse_features(state, k, features, namespace_hash, namespace_value):
    """Read the features from delimiter `k`, a blank, to the next delimiter that no feature or value ends with.

    Eight at once where they have the same form. Inlined into the loop over all lines, so that the loop's constants
    stay in their registers; a separate function would fetch them for each namespace.

    Returns:
        Number of the last delimiter read, number of features then, whether all of it was usual.
    """
    s = state_at(state)[0]
    text, room, mask, hash_all = s.text, s.room, uint64(s.mask), s.hash_all
    positions, indices, values = uint32s_at(s.positions, room), uint32s_at(s.indices, room), float32s_at(s.values, room)
    longest = uint64(0 if hash_all else 16)  # of names for `short_hash`
    one, nameless, plain = uint64(1), uint64(0), namespace_value == 1
    single = uint64(s.single) if plain else ALL  # features to be read one by one before eight are tried
    at = text + int64(positions[k])
    while True:
        if single == uint64(0):
            k, features, count, ended = parse_eight(state, k, features, namespace_hash)
            if ended:
                return k, features, True
            if count == EIGHT:
                continue
            single = one if count >= FEW else PATIENCE
            at = text + int64(positions[k])
        single -= one
        name = at + 1
        k += one
        at = text + int64(positions[k])
        value, counts, valued = namespace_value, namespace_value != 0, byte_at(at) == COLON
        index = uint64(namespace_hash) + nameless
        if uint64(at - name - 1) < longest:
            index = uint64(short_hash(name, at, namespace_hash))
        elif at != name:
            index = uint64(hash_name(name, at, namespace_hash, hash_all))
        elif valued:
            nameless += one
        else:
            counts = False  # nothing between two blanks
        if valued:
            start = at + 1
            k += one
            at = text + int64(positions[k])
            value, good = short_number(start, at)
            if not good:
                value, good = any_number(start, at)
                if not good:
                    return k, features, False
            if not plain:
                value *= namespace_value
            counts = value != 0 or s.zeros != 0
        indices[features] = uint32(index & mask)
        values[features] = value
        features += uint64(counts)
        byte = byte_at(at)
        if byte != BLANK and byte != TAB:
            s.single = int64(single) if plain else s.single
            return k, features, not valued or (byte != BAR and byte != COLON)


@inlined
def open_namespace(state, k, first):
    """Read what follows the bar at delimiter `k` up to the first blank.

    Args:
        state: address of the `STATE` record.
        k: number of the delimiter.
        first: number of the row's first namespace.

    Returns:
        Number of the last delimiter read, the namespace's id, hash and value, whether all of it was usual.
    """
    s = state_at(state)[0]
    positions, ids = uint32s_at(s.positions, s.room), uint32s_at(s.namespace_id, s.room)
    seed = uint32(s.seed)
    name = s.text + int64(positions[k]) + 1
    k += uint64(1)
    at = s.text + int64(positions[k])
    byte = byte_at(at)
    value, usual = float32(1), True
    if at == name:
        usual = byte != COLON
        namespace_hash = anonymous_hash(seed)
        identity = uint32(ANONYMOUS_LETTER) if s.by_letter else uint32(0)
    else:
        short = at - name <= 16 and not s.hash_all
        namespace_hash = short_hash(name, at, seed) if short else hash_name(name, at, seed, s.hash_all)
        identity = uint32(byte_at(name)) if s.by_letter else murmur3_32(name, at, uint32(0))
        if byte == COLON:
            k += uint64(1)
            stop = s.text + int64(positions[k])
            value, usual = any_number(at + 1, stop)
            usual = usual and byte_at(stop) != BAR and byte_at(stop) != COLON
    for j in range(first, s.namespaces):
        usual = usual and ids[j] != identity
    return k, identity, namespace_hash, value, usual and s.namespaces - first < MANY_NAMESPACES


@inlined
def parse_usual(state, k, features):
    """Append the namespaces of a line from the bar at delimiter `k` to its end.

    Returns:
        Number of the last delimiter read, number of features then, whether all of it was usual.
    """
    s = state_at(state)[0]
    text, positions = s.text, uint32s_at(s.positions, s.room)
    first = s.namespaces
    usual = True
    while usual:
        at = text + int64(positions[k])
        byte = byte_at(at)
        if byte == BAR:
            begin = features
            k, identity, namespace_hash, value, usual = open_namespace(state, k, first)
            byte = byte_at(text + int64(positions[k]))
            if usual and (byte == BLANK or byte == TAB):
                k, features, usual = parse_features(state, k, features, namespace_hash, value)
            if features > begin:
                add_namespace(state, identity, int64(begin))
        elif byte == RETURN and byte_at(at + 1) == FEED:
            k += uint64(1)
        else:
            return k, features, byte == FEED
    return k, features, False


@inlined
def usual_label(state, line, bar):
    """Read the label before the bar if there is none, or only a short number and a blank; returns whether it was so."""
    kind = state_at(state)[0].label_kind
    value, good = UNLABELED, bar == line
    if not good and byte_at(bar - 1) == BLANK and (kind == SIMPLE or (kind == MULTICLASS and bar - line == 2)):
        value, good = any_number(line, bar - 1)
    if good:
        set_label(state, value, float32(1), float32(0))
    return good


@helper
def parse_text(state, delimiters):
    """Parse a text, from the line on that begins after delimiter `cursor - 1`; the text must end with a line feed.

    Args:
        state: address of the `STATE` record.
        delimiters: how many `scan` has found.

    Returns:
        `DONE`, or what the line at the cursor needs to be parsed: `NEEDS_LINE`, `NEEDS_LABEL`.
    """
    s = state_at(state)[0]
    text, positions = s.text, uint32s_at(s.positions, s.room)
    k, end = uint64(s.cursor), uint64(delimiters)
    line = text if k == 0 else text + int64(positions[k - uint64(1)]) + 1
    while k < end:
        first, features, namespaces = k, uint64(s.features), s.namespaces
        usual = byte_at(line) != 0xEF  # perhaps a byte order mark
        bar = text + int64(positions[k])
        byte = byte_at(bar)
        while byte != BAR and byte != FEED:
            usual = usual and (byte == BLANK or byte == TAB or byte == COLON)
            k += uint64(1)
            bar = text + int64(positions[k])
            byte = byte_at(bar)
        if bar == line and byte == FEED:
            s.line += 1
            s.group += 1
        else:
            labeled = usual and usual_label(state, line, bar)
            if usual and not labeled and s.parse_label == 0:
                s.cursor = int64(first)
                return NEEDS_LABEL
            if usual:
                k, features, usual = parse_usual(state, k, features)
            if usual:
                s.features = int64(features)
                s.line += 1
                if not labeled:
                    call_piece(s.parse_label, state, line, bar)
                if s.constant:
                    add_constant(state)
                close_row(state)
            else:
                s.namespaces = namespaces
                if s.parse_line == 0:
                    s.cursor = int64(first)
                    return NEEDS_LINE
                while byte_at(text + int64(positions[k])) != FEED:
                    k += uint64(1)
                call_piece(s.parse_line, state, line, text + int64(positions[k]))
        line = text + int64(positions[k]) + 1
        k += uint64(1)
    return DONE
