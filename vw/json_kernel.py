"""Lines of JSON that are decisions of a usual kind, read by a kernel; it leaves every other line to `json_examples`.

Usual is a line of plain JSON in ASCII without escapes, whose namespaces hold nothing but numbers, words and truth
values, with the label in `_label_cost`, `_label_probability`, `_label_Action` and `_labelIndex`. Whatever else a line
holds, and whatever is wrong with it, is for the reader in Python, which also names it: this one only ever gives up.
Numbers are read as float32 in such a way that it is certain that the nearest double would be rounded to the same.
"""

import numpy as np
from numpy import float32, int64, uint32, uint64

from hutch.core.batch import SHARED_ROW
from hutch.core.kernel.abi import UNLABELED, array_at, float32s_at, int64s_at, record_of, uint32s_at
from hutch.core.kernel.cache import entry
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text.hashing import hash_name, murmur3_32

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
        ("padding", "u4"),
        ("word", "u8"),  # address of bytes, as many as a chunk has: room for a word
        ("indices", "u8"),  # out: of features
        ("values", "u8"),
        ("numbers", "u8"),  # of their namespaces
        ("ends", "u8"),  # int64[rows + 1]
        ("groups", "u8"),  # int64[rows]
        ("labeled", "u8"),  # int64[rows + 1]: where the choices of a row end
        ("actions", "u8"),  # of choices
        ("costs", "u8"),
        ("probabilities", "u8"),
        ("features", "i8"),  # how many there are
        ("rows", "i8"),
        ("choices", "i8"),
        ("decisions", "i8"),
        ("lines", "i8"),
        ("multi", "i8"),  # of the line: where the actions begin
        ("cost", "f8"),  # NaN: not given
        ("probability", "f8"),
        ("action", "i8"),
        ("place", "i8"),
        ("number", "f8"),  # read last
        ("whole", "u8"),  # whether it was written as an integer
    ]
)
json_of = record_of(JSON)
int32s_at, uint8s_at = array_at(np.int32), array_at(np.uint8)

_QUOTE, _BACKSLASH, _COMMA, _COLON, _MINUS, _PLUS, _DOT, _UNDERSCORE = (ord(c) for c in '"\\,:-+._')
_OPEN, _CLOSE, _LIST, _END, _NEWLINE = (ord(c) for c in "{}[]\n")
_T, _F, _N, _E, _SMALL = ord("t"), ord("f"), ord("n"), ord("e"), 32  # a letter with this bit is a small one
_BAD = int64(-1)
_DEEPEST, _MOST_DIGITS, _MOST_SCALE = 60, 18, 22  # powers of ten up to this are doubles
_EXACT = uint64(1 << 53)
_DOUBT = 5e-16  # more than both doubles, the nearest and the one computed, are off
_LARGEST = 3.4e38


@inlined
def _blank(at):
    """The first byte from `at` on that is no blank."""
    while byte_at(at) == 32 or byte_at(at) == 9 or byte_at(at) == 13:
        at += 1
    return at


@inlined
def _digit(at):
    return 48 <= byte_at(at) <= 57


@helper
def _string(at):
    """The closing quote of a string that begins at `at`."""
    while byte_at(at) != _QUOTE:
        if byte_at(at) < 32 or byte_at(at) > 126 or byte_at(at) == _BACKSLASH:
            return _BAD
        at += 1
    return at


@helper
def _says(at, text, strictly):
    """Whether these bytes stand there; unless `strictly`, capital letters of what stands there count as small ones."""
    for k in range(len(text)):
        byte = byte_at(at + k)
        if (byte | _SMALL if 65 <= byte <= 90 and not strictly else byte) != text[k]:
            return False
    return True


_TRUE, _FALSE, _NULL = (tuple(word) for word in (b"true", b"false", b"null"))


@helper
def _literal(at):
    """The end of `true`, `false` or `null`."""
    if byte_at(at) == _T and _says(at, _TRUE, True):
        return at + 4
    if byte_at(at) == _F and _says(at, _FALSE, True):
        return at + 5
    return at + 4 if byte_at(at) == _N and _says(at, _NULL, True) else _BAD


@helper
def _digits(at, mantissa):
    """Digits from `at` on appended to a mantissa; where they end, and how many of them count."""
    start = at
    while _digit(at):
        mantissa = mantissa * uint64(10) + uint64(byte_at(at) - 48)
        at += 1
    return at, mantissa, at - start


@helper
def _number(s, at, wanted):
    """The end of a number, which goes to `s.number` if it is wanted."""
    negative, whole, scale = byte_at(at) == _MINUS, True, int64(0)
    at += int64(negative)
    zero = byte_at(at) == 48
    at, mantissa, count = _digits(at, uint64(0))
    if count == 0 or (zero and count > 1):
        return _BAD
    if byte_at(at) == _DOT:
        at, mantissa, places = _digits(at + 1, mantissa)
        if places == 0:
            return _BAD
        whole, scale, count = False, -places, count + places - int64(zero)
    if byte_at(at) | _SMALL == _E:
        down = byte_at(at + 1) == _MINUS
        at, exponent, places = _digits(at + 1 + int64(down or byte_at(at + 1) == _PLUS), uint64(0))
        if places == 0 or places > 3:
            return _BAD
        whole, power_of_ten = False, int64(exponent)
        scale += -power_of_ten if down else power_of_ten
    if not wanted:
        return at
    if count > _MOST_DIGITS:
        return _BAD
    value, size, power = np.float64(mantissa), abs(scale), 1.0
    if mantissa != uint64(0):
        if size > _MOST_SCALE:
            return _BAD
        for _ in range(size):
            power *= 10.0
        value = value / power if scale < 0 else value * power
        if mantissa > _EXACT and (float32(value * (1 - _DOUBT)) != float32(value * (1 + _DOUBT)) or value == 1.0):
            return _BAD
        if value > _LARGEST:
            return _BAD
    s.number, s.whole = -value if negative else value, uint64(whole)
    return at


@helper
def _scalar(s, at):
    """The end of a string, a number or a literal."""
    if byte_at(at) == _QUOTE:
        stop = _string(at + 1)
        return stop + 1 if stop >= 0 else _BAD
    return _number(s, at, False) if _digit(at) or byte_at(at) == _MINUS else _literal(at)


@helper
def _key(at):
    """Of a key that begins at `at` with its quote: where it ends, and where its value begins."""
    stop = _string(at + 1) if byte_at(at) == _QUOTE else _BAD
    if stop < 0:
        return _BAD, _BAD
    colon = _blank(stop + 1)
    return stop, _blank(colon + 1) if byte_at(colon) == _COLON else _BAD


@helper
def _skip(s, at):
    """The end of a value of any kind."""
    depth, kinds = 0, uint64(0)  # a bit for each object or list that is open, the innermost lowest: 1 for objects
    while at >= 0:
        opened = byte_at(at)
        if opened == _OPEN or opened == _LIST:
            if depth == _DEEPEST:
                return _BAD
            depth, kinds = depth + 1, kinds << uint64(1) | uint64(opened == _OPEN)
            at = _blank(at + 1)
            if byte_at(at) != (_CLOSE if opened == _OPEN else _END):
                at = _key(at)[1] if opened == _OPEN else at
                continue
        else:
            at = _scalar(s, at)
        while at >= 0:
            if depth > 0:
                at = _blank(at)
            if depth == 0 or byte_at(at) == _COMMA:
                break
            if byte_at(at) != (_CLOSE if kinds & uint64(1) else _END):
                return _BAD
            depth, kinds, at = depth - 1, kinds >> uint64(1), at + 1
        if depth == 0:
            return at
        if at >= 0:
            at = _blank(at + 1)
            at = _key(at)[1] if kinds & uint64(1) else at
    return _BAD


@inlined
def _put(s, index, value, number):
    n, room = s.features, uint64(s.features + 1)
    uint32s_at(s.indices, room)[n], float32s_at(s.values, room)[n] = index & s.mask, value
    int32s_at(s.numbers, room)[n] = number
    s.features += 1


@helper
def _word(s, start, stop, word, end, seed):
    """The index of a feature whose value is a word; blanks, bars and colons in it count as underscores."""
    room, n = uint8s_at(s.word, uint64(stop - start + end - word)), 0
    if s.chained == 0:
        for at in range(start, stop):
            room[n] = byte_at(at)
            n += 1
    else:
        seed = hash_name(start, stop, seed, s.hash_all == 1)
    for at in range(word, end):
        byte = byte_at(at)
        room[n] = _UNDERSCORE if byte == 32 or byte == 124 or byte == _COLON else byte
        n += 1
    return hash_name(int64(s.word), int64(s.word) + n, seed, s.hash_all == 1)


@helper
def _feature(s, start, stop, at, seed, number):
    """Read a feature whose name stands at `start` to `stop`, and whose value at `at`; where the value ends."""
    byte = byte_at(at)
    if byte == _QUOTE:
        end = _string(at + 1)
        if end >= 0:
            _put(s, _word(s, start, stop, at + 1, end, seed), float32(1), number)
        return end + 1 if end >= 0 else _BAD
    if _digit(at) or byte == _MINUS:
        at = _number(s, at, True)
        if at >= 0 and s.number != 0:
            _put(s, hash_name(start, stop, seed, s.hash_all == 1), float32(s.number), number)
        return at
    if byte == _T:
        _put(s, hash_name(start, stop, seed, s.hash_all == 1), float32(1), number)
    return _literal(at)


@helper
def _next(at, closing):
    """After a member: where the next one begins, and whether there is one; else the end of what is closed there."""
    if at < 0:
        return _BAD, False
    at = _blank(at)
    if byte_at(at) == _COMMA:
        return _blank(at + 1), True
    return at + 1 if byte_at(at) == closing else _BAD, False


@helper
def _namespace(s, start, stop, at):
    """Read the namespace whose name stands at `start` to `stop`, and whose object begins at `at`; where it ends."""
    if stop == start or (stop == start + 1 and byte_at(start) == 32):
        return _BAD
    identity = uint32(byte_at(start)) if s.by_letter == 1 else murmur3_32(start, stop, uint32(0))
    ids, number = uint32s_at(s.ids, uint64(s.id_count)), int64(0)
    while number < s.id_count and ids[number] != identity:
        number += 1
    if number == s.id_count:
        return _BAD
    seed = hash_name(start, stop, s.seed, s.hash_all == 1)
    at = _blank(at + 1)
    more = byte_at(at) != _CLOSE
    if not more:
        return at + 1
    while more:
        end, value = _key(at)
        if value < 0 or byte_at(at + 1) == _UNDERSCORE:
            return _BAD
        at, more = _next(_feature(s, at + 1, end, value, seed, number), _CLOSE)
    return at


_COST, _PROBABILITY, _ACTION, _PLACE, _LABEL = (
    tuple(word) for word in (b"_label_cost", b"_label_probability", b"_label_action", b"_labelindex", b"_label")
)


@helper
def _label(s, start, stop, at):
    """Read a part of the label; where its value ends."""
    size = stop - start
    if not _says(start, _LABEL, True) or not (_digit(at) or byte_at(at) == _MINUS):
        return _BAD
    at = _number(s, at, True)
    if at < 0:
        return _BAD
    whole = s.whole == uint64(1) and 0 <= s.number < 4e9
    if size == len(_COST) and _says(start, _COST, False):
        s.cost = s.number
    elif size == len(_PROBABILITY) and _says(start, _PROBABILITY, False) and 0 < s.number <= 1:
        s.probability = s.number
    elif size == len(_ACTION) and whole and _says(start, _ACTION, False):
        s.action = int64(s.number)
    elif size == len(_PLACE) and whole and _says(start, _PLACE, False):
        s.place = int64(s.number)
    else:
        return _BAD
    return at


_MULTI = tuple(b"_multi")


@helper
def _member(s, start, stop, at, top, named):
    """Read a member of an example in the turn of its namespaces, or of its features without one; where it ends.

    Returns that, and whether the other turn has something to read there.
    """
    opened, special = byte_at(at) == _OPEN, stop > start and byte_at(start) == _UNDERSCORE
    if special and not named:
        return _skip(s, at), False
    if special:
        if not top:
            return _BAD, False
        if stop - start != len(_MULTI) or not _says(start, _MULTI, True):
            return _label(s, start, stop, at), False
        if s.multi != 0:
            return _BAD, False
        s.multi = at
        return _skip(s, at), False
    if opened:
        return _namespace(s, start, stop, at) if named else _skip(s, at), False
    if byte_at(at) == _LIST:
        return _BAD, False
    if named:
        return _scalar(s, at), True
    return _feature(s, start, stop, at, s.anonymous_hash, s.anonymous), False


@helper
def _example(s, start, top):
    """Read the example whose object begins at `start`; where it ends. Features without a namespace come last."""
    end, again, first = _BAD, True, True
    while again:
        at, more, again = _blank(start + 1), True, False
        if byte_at(start) != _OPEN:
            return _BAD
        if byte_at(at) == _CLOSE:
            return at + 1
        while more:
            stop, value = _key(at)
            if value < 0:
                return _BAD
            at, other = _member(s, at + 1, stop, value, top, first)
            again |= other
            at, more = _next(at, _CLOSE)
        if at < 0:
            return _BAD
        end, first = at, False
    return end


@helper
def _end_row(s):
    """End a row; the group is the decision's number."""
    room = uint64(s.rows + 2)
    int64s_at(s.groups, room)[s.rows] = s.decisions
    s.rows += 1
    int64s_at(s.ends, room)[s.rows], int64s_at(s.labeled, room)[s.rows] = s.features, s.choices


@helper
def _choose(s, action, cost, probability):
    n, room = s.choices, uint64(s.choices + 1)
    uint32s_at(s.actions, room)[n] = action
    float32s_at(s.costs, room)[n], float32s_at(s.probabilities, room)[n] = cost, probability
    s.choices += 1


_A, _C, _DROPPED, _LEARNS = (tuple(word) for word in (b"a", b"c", b"pdrop", b"_skiplearn"))


@helper
def _open_log(s, at):
    """Read what a line of a log says beside the features; where they begin, and where the line's object ends."""
    found, chosen, more = _BAD, False, True
    at = _blank(at + 1)
    while more:
        start, (stop, value) = at + 1, _key(at)
        if value < 0:
            return _BAD, _BAD
        size, byte = stop - start, byte_at(start)
        end = _BAD
        if size == len(_C) and byte == ord("c"):
            if found >= 0:
                return _BAD, _BAD
            found = value
            end = _skip(s, value)
        elif size == len(_A) and byte == ord("a"):
            chosen = byte_at(value) == _LIST and byte_at(_blank(value + 1)) != _END
            end = _skip(s, value) if chosen else _BAD
        elif size == len(_DROPPED) and _says(start, _DROPPED, False):
            end = _number(s, value, True)
            end = end if s.number == 0 else _BAD
        elif size == len(_LEARNS) and _says(start, _LEARNS, False):
            end = _literal(value) if byte_at(value) == _F else _BAD
        elif size >= len(_LABEL) and _says(start, _LABEL, False):
            end = _label(s, start, stop, value)
        else:
            end = _skip(s, value)
        at, more = _next(end, _CLOSE)
    return found if chosen else _BAD, at


@helper
def _line(s, at):
    """Read the line at `at`; the line feed behind it."""
    s.multi, s.cost, s.probability, s.action, s.place = 0, np.nan, 0.0, 0, -1
    end, start = _BAD, at
    if s.log == 1:
        start, end = _open_log(s, at)
        if start < 0 or end < 0:
            return _BAD
    stop = _example(s, start, True)
    end = end if s.log == 1 else stop
    if stop < 0 or end < 0 or s.multi == 0 or byte_at(_blank(end)) != _NEWLINE:
        return _BAD
    s.decisions += 1
    _choose(s, uint32(0), UNLABELED, SHARED_ROW)
    _end_row(s)
    at, more, count = _blank(s.multi + 1), True, 0
    if byte_at(s.multi) != _LIST or byte_at(at) == _END:
        return _BAD
    while more:
        features = s.features
        at = _example(s, at, False) if byte_at(at) == _OPEN else _BAD
        if at < 0 or s.features == features:
            return _BAD
        if count == s.place and s.cost == s.cost:
            if s.probability <= 0:
                return _BAD
            _choose(s, uint32(s.action), float32(s.cost), float32(s.probability))
        _end_row(s)
        count += 1
        at, more = _next(at, _END)
    if s.cost == s.cost and not 0 <= s.place < count:
        return _BAD
    return _blank(end) if at >= 0 else _BAD


@entry("int64(uint64, int64, int64)")
def read_lines(state, at, stop):
    """Read lines until there is one that is not usual.

    Args:
        state: address of a JSON record; its arrays have room for what so many bytes can hold.
        at: address of the first line.
        stop: where the lines end, with a line feed before it.

    Returns:
        Where the line begins that is not usual, else `stop`.
    """
    s = json_of(state)
    while at < stop:
        features, rows, choices, decisions = s.features, s.rows, s.choices, s.decisions
        if s.log == 1 and byte_at(at) != _OPEN:
            end = at
            while byte_at(end) != _NEWLINE:
                end += 1
        else:
            end = _line(s, at)
        if end < 0:
            s.features, s.rows, s.choices, s.decisions = features, rows, choices, decisions
            return at
        s.lines += 1
        at = end + 1
    return at
