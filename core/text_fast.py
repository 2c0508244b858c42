"""The second stage: from delimiter to delimiter, for all lines that are written as usual.

Numbers and names of up to eight bytes are one word, taken apart without a loop. A line with anything unusual (control
characters, a value that a bar follows, a namespace in several pieces, malformed places) is left to `text_slow`.
"""

from numba import float32, int64, njit, uint32, uint64

from hutch.core.abi import UNLABELED, float32s_at, uint32s_at
from hutch.core.hashing import (
    ANONYMOUS_LETTER,
    anonymous_hash,
    hash_name,
    murmur3_32,
    murmur_finish,
    murmur_mix,
    murmur_scramble,
)
from hutch.core.raw_bytes import byte_at, half_at, trailing_zeros, word_at
from hutch.core.text_float import LOWEST_POWER, POWERS, has_digit, is_digit, read_float
from hutch.core.text_label import read_label
from hutch.core.text_slow import add_constant, parse_line
from hutch.core.text_state import MULTICLASS, SIMPLE, add_namespace, close_row, set_label, state_at

BLANK, TAB, RETURN, FEED, COLON, BAR, MINUS = 32, 9, 13, 10, 58, 124, 45
EXACT = (1 << 24) - 64
"""VW's sums of digits are exact below this."""
MANY_NAMESPACES = 16
"""More in one line are looked up by the slow parser's hash table instead of one by one."""

HUGE = float32(1e18)
"""Numbers beyond this are left to the slow parser, so that no product overflows unseen."""

_ZEROS = uint64(0x3030303030303030)
_DOTS = uint64(0x1E1E1E1E1E1E1E1E)  # dots once zeros are xored away
_ONES = uint64(0x0101010101010101)
_HIGH_BITS = uint64(0x8080808080808080)
_SIXES = uint64(0x0606060606060606)
_HIGH_HALVES = uint64(0xF0F0F0F0F0F0F0F0)


@njit(inline="always")
def are_digits(word):  # type: ignore[no-untyped-def]
    """Whether all 8 bytes are at most 9."""
    return ((word + _SIXES) | word) & _HIGH_HALVES == 0


@njit(inline="always")
def digits_value(word):  # type: ignore[no-untyped-def]
    """The number that 8 bytes of at most 9 spell, the lowest byte first."""
    word = (word * uint64(10) + (word >> uint64(8))) & uint64(0x00FF00FF00FF00FF)
    word = (word * uint64(100) + (word >> uint64(16))) & uint64(0x0000FFFF0000FFFF)
    return (word * uint64(10000) + (word >> uint64(32))) & uint64(0xFFFFFFFF)


@njit(inline="always")
def last_bytes(stop, length):  # type: ignore[no-untyped-def]
    """The last 1 to 8 bytes before `stop` with zeros xored away, filled up with 0 from below."""
    return (word_at(stop - 8) ^ _ZEROS) & (~uint64(0) << uint64(64 - 8 * length))


@njit(inline="always")
def without_dot(word, dots):  # type: ignore[no-untyped-def]
    """Close the gap of the dot at the lowest bit of `dots`; returns the number of bytes above it, and the word."""
    below = (dots & (~dots + uint64(1))) - uint64(1)  # all bits below the dot byte's highest
    word = (word & ~((below << uint64(1)) | uint64(1))) | ((word & (below >> uint64(7))) << uint64(8))
    return (63 - trailing_zeros(dots)) >> 3, word


@njit(inline="always")
def short_number(start, stop):  # type: ignore[no-untyped-def]
    """A number of up to 8 bytes after its sign, as VW reads it; returns (float32, whether it is one)."""
    negative = byte_at(start) == MINUS
    length = stop - start - negative
    if length < 1 or length > 8:
        return float32(0), False
    word = last_bytes(stop, length)
    decimals = int64(0)
    difference = word ^ _DOTS
    dots = (difference - _ONES) & ~difference & _HIGH_BITS
    if dots != 0:
        if length == 1:
            return float32(0), False
        decimals, word = without_dot(word, dots)
    number = digits_value(word)
    value = float32(int64(number)) * POWERS[-decimals - LOWEST_POWER]
    return (-value if negative else value), are_digits(word) and number < EXACT


@njit
def medium_number(start, stop):  # type: ignore[no-untyped-def]
    """`short_number` for 9 to 16 bytes after the sign."""
    negative = byte_at(start) == MINUS
    length = stop - start - negative
    if length < 9 or length > 16:
        return float32(0), False
    high, low = word_at(stop - 8) ^ _ZEROS, last_bytes(stop - 8, length - 8)
    decimals = int64(0)
    difference = high ^ _DOTS
    dots = (difference - _ONES) & ~difference & _HIGH_BITS
    if dots != 0:
        decimals, high = without_dot(high, dots)
        high |= low >> uint64(56)
        low <<= uint64(8)
    else:
        difference = low ^ _DOTS
        dots = (difference - _ONES) & ~difference & _HIGH_BITS
        if dots != 0:
            decimals, low = without_dot(low, dots)
            decimals += 8
    number = digits_value(low) * uint64(100_000_000) + digits_value(high)
    value = float32(int64(number)) * POWERS[-decimals - LOWEST_POWER]
    return (-value if negative else value), are_digits(low) and are_digits(high) and number < EXACT


@njit
def any_number(start, stop):  # type: ignore[no-untyped-def]
    """A longer number; returns (float32, whether all of `start` to `stop` is one and below `HUGE`)."""
    value, good = medium_number(start, stop)
    if good:
        return value, True
    value, used = read_float(start, stop)
    return value, used == stop - start and abs(value) < HUGE and (value != 0 or has_digit(start, stop))


@njit(inline="always")
def short_hash(start, stop, seed, hash_all):  # type: ignore[no-untyped-def]
    """`hash_name` for a name without control characters, quick up to 16 bytes."""
    length = stop - start
    if length > 16 or hash_all:
        return hash_name(start, stop, seed, hash_all)
    if not is_digit(byte_at(start)):
        return murmur_short(start, length, seed)
    if length <= 8:
        word = last_bytes(stop, length)
        if are_digits(word):
            return uint32(digits_value(word) + uint64(seed))
    elif are_digits(word_at(start) ^ _ZEROS) and are_digits(word_at(stop - 8) ^ _ZEROS):
        return hash_name(start, stop, seed, hash_all)
    return murmur3_32(start, stop, seed)


@njit(inline="always")
def murmur_short(start, length, seed):  # type: ignore[no-untyped-def]
    """`murmur3_32` up to 16 bytes without a loop, for words change their length in a way that cannot be predicted."""
    h = uint64(seed)
    for i in range(3):
        mixed = murmur_mix(h, half_at(start + 4 * i))
        h = mixed if length >= 4 * i + 4 else h
    if length == 16:
        h = murmur_mix(h, half_at(start + 12))
    tail = half_at(start + (length & ~3)) & ((uint64(1) << uint64(8 * (length & 3))) - uint64(1))
    return murmur_finish(h ^ murmur_scramble(tail), length)


@njit
def parse_features(state, k, features, namespace_hash, namespace_value):  # type: ignore[no-untyped-def]
    """Read the features from delimiter `k`, a blank, to the next delimiter that no feature or value ends with.

    A function of its own so that its loop has the registers for itself.

    Returns:
        Number of the last delimiter read, number of features then, whether all of it was usual.
    """
    s = state_at(state)[0]
    text, room, mask, hash_all = s.text, s.room, uint64(s.mask), s.hash_all
    positions, indices, values = uint32s_at(s.positions, room), uint32s_at(s.indices, room), float32s_at(s.values, room)
    one, two, nameless = uint64(1), uint64(2), uint64(0)
    at = text + int64(positions[k])
    while True:
        name = at + 1
        at = text + int64(positions[k + one])
        if byte_at(at) == COLON:
            colon = at
            at = text + int64(positions[k + two])
            number, good = short_number(colon + 1, at)
            if not good:
                number, good = any_number(colon + 1, at)
                if not good:
                    return k, features, False
            value = number * namespace_value
            if colon == name:
                index = uint64(namespace_hash) + nameless
                nameless += one
            else:
                index = uint64(short_hash(name, colon, namespace_hash, hash_all))
            k += two
            indices[features] = uint32(index & mask)
            values[features] = value
            features += uint64(value != 0)
            byte = byte_at(at)
            if byte != BLANK and byte != TAB:
                return k, features, byte != BAR and byte != COLON
        else:
            k += one
            if at != name:
                indices[features] = uint32(uint64(short_hash(name, at, namespace_hash, hash_all)) & mask)
                values[features] = namespace_value
                features += uint64(namespace_value != 0)
            byte = byte_at(at)
            if byte != BLANK and byte != TAB:
                return k, features, True


@njit
def open_namespace(state, k, first):  # type: ignore[no-untyped-def]
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
        namespace_hash = short_hash(name, at, seed, s.hash_all)
        identity = uint32(byte_at(name)) if s.by_letter else murmur3_32(name, at, uint32(0))
        if byte == COLON:
            k += uint64(1)
            stop = s.text + int64(positions[k])
            value, usual = any_number(at + 1, stop)
            usual = usual and byte_at(stop) != BAR and byte_at(stop) != COLON
    for j in range(first, s.namespaces):
        usual = usual and ids[j] != identity
    return k, identity, namespace_hash, value, usual and s.namespaces - first < MANY_NAMESPACES


@njit
def parse_usual(state, k, features):  # type: ignore[no-untyped-def]
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


@njit
def parse_text(state, delimiters):  # type: ignore[no-untyped-def]
    """Parse a text whose delimiters `scan` has found; it must end with a line feed."""
    s = state_at(state)[0]
    text, positions = s.text, uint32s_at(s.positions, s.room)
    k, line, end = uint64(0), text, uint64(delimiters)
    while k < end:
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
            features, namespaces = uint64(s.features), s.namespaces
            if usual:
                k, features, usual = parse_usual(state, k, features)
            if usual:
                s.features = int64(features)
                s.line += 1
                label_bar(state, line, bar)
                if s.constant:
                    add_constant(state)
                close_row(state)
            else:
                s.namespaces = namespaces
                while byte_at(text + int64(positions[k])) != FEED:
                    k += uint64(1)
                parse_line(state, line, text + int64(positions[k]))
        line = text + int64(positions[k]) + 1
        k += uint64(1)


@njit
def label_bar(state, line, bar):  # type: ignore[no-untyped-def]
    """Read the label before the bar: at once if there is none or only a short number and a blank."""
    kind = state_at(state)[0].label_kind
    if bar == line:
        set_label(state, UNLABELED, float32(1), float32(0))
        return
    if byte_at(bar - 1) == BLANK and (kind == SIMPLE or (kind == MULTICLASS and bar - line == 2)):
        value, good = short_number(line, bar - 1)
        if good:
            set_label(state, value, float32(1), float32(0))
            return
    read_label(state, line, bar)
