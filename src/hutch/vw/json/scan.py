"""JSON as bytes at addresses: the ends of its values, and numbers as float32.

Anything unusual (escapes, bytes beyond ASCII, numbers of doubtful rounding) ends at `BAD` and is left to the reader in
Python. Numbers are read so that the nearest double certainly rounds to the same float32.
"""

import numpy as np
from numpy import float32, int64, uint64

from hutch.core.kernel.abi import array_at, record_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text.decimals import POWERS

JSON = np.dtype(
    [
        ("seed", "u4"),  # as in ParserOptions
        ("hash_all", "u4"),
        ("by_letter", "u4"),
        ("mask", "u4"),
        ("log", "u4"),  # 1: lines are those of logs
        ("chained", "u4"),  # 1: a word's hash begins with that of its key
        ("ids", "u8"),  # address of uint32[id_count]: of namespaces, by number
        ("id_count", "i8"),
        ("anonymous", "i8"),  # number of the namespace without a name
        ("anonymous_hash", "u4"),
        ("single", "u4"),  # 0: lines are decisions; else examples whose labels are numbers: 1 of any kind, 2 classes
        ("word", "u8"),  # address of bytes, as many as a chunk has: room for a word
        ("indices", "u8"),  # out: of features
        ("values", "u8"),
        ("numbers", "u8"),  # of their namespaces
        ("ends", "u8"),  # int64[rows + 1]
        ("groups", "u8"),  # int64[rows]
        ("labels", "u8"),  # float32[rows]
        ("importances", "u8"),  # float32[rows]
        ("bases", "u8"),  # float32[rows]
        ("tags", "u8"),  # bytes
        ("tag_ends", "u8"),  # int64[rows + 1]
        ("labeled", "u8"),  # int64[rows + 1]: ends of the choices of rows
        ("actions", "u8"),  # of choices
        ("costs", "u8"),
        ("probabilities", "u8"),
        ("features", "i8"),  # number of features
        ("rows", "i8"),
        ("choices", "i8"),
        ("decisions", "i8"),
        ("lines", "i8"),
        ("tagged", "i8"),  # bytes of all tags
        ("multi", "i8"),  # of the line: where the actions begin
        ("cost", "f8"),  # NaN: not given
        ("probability", "f8"),
        ("action", "i8"),
        ("place", "i8"),
        ("label", "f8"),
        ("importance", "f8"),
        ("base", "f8"),
        ("tag", "i8"),  # address
        ("tag_length", "i8"),
        ("feedback", "i8"),  # number of the namespace of what was observed after a decision; -1: skipped
        ("bad", "i8"),  # of the one that says that the outcome was definitely bad
        ("zeros", "u8"),  # 1: features of value 0 are kept
        ("number", "f8"),  # read last
        ("whole", "u8"),  # whether it was written as an integer
    ]
)
json_of = record_of(JSON)
int32s_at, uint8s_at = array_at(np.int32), array_at(np.uint8)

QUOTE, _BACKSLASH, COMMA, COLON, MINUS, _PLUS, DOT, UNDERSCORE = (ord(c) for c in '"\\,:-+._')
OPEN, CLOSE, LIST, END, NEWLINE = (ord(c) for c in "{}[]\n")
T, F, _N, E, SMALL = ord("t"), ord("f"), ord("n"), ord("e"), 32  # a letter with this bit is a small one
BAD = int64(-1)
_DEEPEST, _MOST_DIGITS, _MOST_SCALE = 60, 18, 22  # powers of ten up to this are doubles
_EXACT = uint64(1 << 53)
_DOUBT = 5e-16  # more than both doubles, the nearest and the one computed, are off
_LARGEST = 3.4e38


@inlined
def skip_blanks(at):
    """The first byte from `at` on that is not a blank."""
    while byte_at(at) == 32 or byte_at(at) == 9 or byte_at(at) == 13:
        at += 1
    return at


@inlined
def is_digit_at(at):
    """Whether there is a digit."""
    return 48 <= byte_at(at) <= 57


@helper
def end_of_string(at):
    """The closing quote of a string that begins at `at`."""
    while byte_at(at) != QUOTE:
        if byte_at(at) < 32 or byte_at(at) > 126 or byte_at(at) == _BACKSLASH:
            return BAD
        at += 1
    return at


@helper
def says(at, text, strictly):
    """Whether these bytes are at `at`; unless `strictly`, capital letters there count as small ones."""
    for k in range(len(text)):
        byte = byte_at(at + k)
        if (byte | SMALL if 65 <= byte <= 90 and not strictly else byte) != text[k]:
            return False
    return True


_TRUE, _FALSE, _NULL = (tuple(word) for word in (b"true", b"false", b"null"))


@helper
def end_of_literal(at):
    """The end of `true`, `false` or `null`."""
    if byte_at(at) == T and says(at, _TRUE, True):
        return at + 4
    if byte_at(at) == F and says(at, _FALSE, True):
        return at + 5
    return at + 4 if byte_at(at) == _N and says(at, _NULL, True) else BAD


@helper
def _digits(at, mantissa):
    """Append digits from `at` on to a mantissa; returns it, the end of the digits, and how many of them count."""
    start = at
    while is_digit_at(at):
        mantissa = mantissa * uint64(10) + uint64(byte_at(at) - 48)
        at += 1
    return at, mantissa, at - start


@helper
def read_number(s, at, wanted):
    """The end of a number, which goes to `s.number` if it is wanted."""
    negative, whole, scale = byte_at(at) == MINUS, True, int64(0)
    at += int64(negative)
    zero = byte_at(at) == 48
    at, mantissa, count = _digits(at, uint64(0))
    if count == 0 or (zero and count > 1):
        return BAD
    if byte_at(at) == DOT:
        at, mantissa, places = _digits(at + 1, mantissa)
        if places == 0:
            return BAD
        whole, scale, count = False, -places, count + places - int64(zero)
    if byte_at(at) | SMALL == E:
        down = byte_at(at + 1) == MINUS
        at, exponent, places = _digits(at + 1 + int64(down or byte_at(at + 1) == _PLUS), uint64(0))
        if places == 0 or places > 3:
            return BAD
        whole, power_of_ten = False, int64(exponent)
        scale += -power_of_ten if down else power_of_ten
    if not wanted:
        return at
    if count > _MOST_DIGITS:
        return BAD
    value = np.float64(mantissa)
    if mantissa != uint64(0):
        if abs(scale) > _MOST_SCALE:
            return BAD
        value = value / POWERS[-scale] if scale < 0 else value * POWERS[scale]
        if mantissa > _EXACT and (float32(value * (1 - _DOUBT)) != float32(value * (1 + _DOUBT)) or value == 1.0):
            return BAD
        if value > _LARGEST:
            return BAD
    s.number, s.whole = -value if negative else value, uint64(whole)
    return at


@helper
def end_of_scalar(s, at):
    """The end of a string, a number or a literal."""
    if byte_at(at) == QUOTE:
        stop = end_of_string(at + 1)
        return stop + 1 if stop >= 0 else BAD
    return read_number(s, at, False) if is_digit_at(at) or byte_at(at) == MINUS else end_of_literal(at)


@helper
def read_key(at):
    """Of a key that begins at `at` with its quote: where it ends, and where its value begins."""
    stop = end_of_string(at + 1) if byte_at(at) == QUOTE else BAD
    if stop < 0:
        return BAD, BAD
    colon = skip_blanks(stop + 1)
    return stop, skip_blanks(colon + 1) if byte_at(colon) == COLON else BAD


@helper
def end_of_value(s, at):
    """The end of a value of any kind."""
    depth, kinds = 0, uint64(0)  # a bit for each object or list that is open, the innermost lowest: 1 for objects
    while at >= 0:
        opened = byte_at(at)
        if opened == OPEN or opened == LIST:
            if depth == _DEEPEST:
                return BAD
            depth, kinds = depth + 1, kinds << uint64(1) | uint64(opened == OPEN)
            at = skip_blanks(at + 1)
            if byte_at(at) != (CLOSE if opened == OPEN else END):
                at = read_key(at)[1] if opened == OPEN else at
                continue
        else:
            at = end_of_scalar(s, at)
        while at >= 0:
            if depth > 0:
                at = skip_blanks(at)
            if depth == 0 or byte_at(at) == COMMA:
                break
            if byte_at(at) != (CLOSE if kinds & uint64(1) else END):
                return BAD
            depth, kinds, at = depth - 1, kinds >> uint64(1), at + 1
        if depth == 0:
            return at
        if at >= 0:
            at = skip_blanks(at + 1)
            at = read_key(at)[1] if kinds & uint64(1) else at
    return BAD
