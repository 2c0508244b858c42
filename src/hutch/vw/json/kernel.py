"""Lines of JSON of a usual kind, read by a kernel; it leaves every other line to `hutch.vw.json.reader`.

Usual is a line of plain JSON in ASCII without escapes, whose namespaces hold nothing but numbers, words, texts and
truth values, with the label of a decision in `_label_cost`, `_label_probability`, `_label_Action` and `_labelIndex`,
that of an example in `_label` as a number or an object, and its tag in `_tag`. Whatever else a line
holds, and whatever is wrong with it, is for the reader in Python, which also names it: this one only ever gives up.
"""

import numpy as np
from numpy import float32, int64, uint32, uint64

from hutch.core.batch import SHARED_ROW
from hutch.core.kernel.abi import UNLABELED, float32s_at, int64s_at, uint32s_at
from hutch.core.kernel.cache import entry
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text.hashing import hash_name, murmur3_32
from hutch.core.text.numbers import read_plain_float
from hutch.vw.json.scan import (
    BAD,
    CLOSE,
    COLON,
    COMMA,
    END,
    LIST,
    MINUS,
    NEWLINE,
    OPEN,
    QUOTE,
    SMALL,
    UNDERSCORE,
    E,
    F,
    T,
    end_of_literal,
    end_of_scalar,
    end_of_string,
    end_of_value,
    int32s_at,
    is_digit_at,
    json_of,
    read_key,
    read_number,
    says,
    skip_blanks,
    uint8s_at,
)


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
        room[n] = UNDERSCORE if byte == 32 or byte == 124 or byte == COLON else byte
        n += 1
    return hash_name(int64(s.word), int64(s.word) + n, seed, s.hash_all == 1)


@helper
def _feature(s, start, stop, at, seed, number):
    """Read a feature whose name stands at `start` to `stop`, and whose value at `at`; where the value ends."""
    byte = byte_at(at)
    if byte == QUOTE:
        end = end_of_string(at + 1)
        if end >= 0:
            _put(s, _word(s, start, stop, at + 1, end, seed), float32(1), number)
        return end + 1 if end >= 0 else BAD
    if is_digit_at(at) or byte == MINUS:
        at = read_number(s, at, True)
        if at >= 0 and (s.number != 0 or s.zeros == 1):
            _put(s, hash_name(start, stop, seed, s.hash_all == 1), float32(s.number), number)
        return at
    if byte == T:
        _put(s, hash_name(start, stop, seed, s.hash_all == 1), float32(1), number)
    return end_of_literal(at)


@helper
def _text(s, at, seed, number):
    """Read a text whose words are features; where it ends."""
    end = end_of_string(at + 1) if byte_at(at) == QUOTE else BAD
    if end < 0:
        return BAD
    room = uint8s_at(s.word, uint64(end - at))
    at += 1
    while at < end:
        n = 0
        while at < end and byte_at(at) != 32:
            byte = byte_at(at)
            room[n] = UNDERSCORE if byte == 124 or byte == COLON else byte
            n, at = n + 1, at + 1
        if n > 0:
            _put(s, hash_name(int64(s.word), int64(s.word) + n, seed, s.hash_all == 1), float32(1), number)
        at += 1
    return end + 1


@helper
def _next(at, closing):
    """After a member, the start of the next one, and whether one follows; else the end of the closed object."""
    if at < 0:
        return BAD, False
    at = skip_blanks(at)
    if byte_at(at) == COMMA:
        return skip_blanks(at + 1), True
    return at + 1 if byte_at(at) == closing else BAD, False


_TEXT = tuple(b"_text")


@helper
def _is_text(start, stop):
    return stop - start == len(_TEXT) and says(start, _TEXT, True)


@helper
def _namespace(s, start, stop, at):
    """Read the namespace whose name stands at `start` to `stop`, and whose object begins at `at`; where it ends."""
    if stop == start or (stop == start + 1 and byte_at(start) == 32):
        return BAD
    identity = uint32(byte_at(start)) if s.by_letter == 1 else murmur3_32(start, stop, uint32(0))
    ids, number = uint32s_at(s.ids, uint64(s.id_count)), int64(0)
    while number < s.id_count and ids[number] != identity:
        number += 1
    if number == s.id_count:
        return BAD
    return _object(s, hash_name(start, stop, s.seed, s.hash_all == 1), number, at)


@helper
def _object(s, seed, number, at):
    """Read the features of a namespace, whose object begins at `at`; where it ends."""
    at = skip_blanks(at + 1)
    more = byte_at(at) != CLOSE
    if not more:
        return at + 1
    while more:
        end, value = read_key(at)
        if value < 0:
            return BAD
        if byte_at(at + 1) != UNDERSCORE:
            end = _feature(s, at + 1, end, value, seed, number)
        else:
            end = _text(s, value, seed, number) if _is_text(at + 1, end) else BAD
        at, more = _next(end, CLOSE)
    return at


_COST, _PROBABILITY, _ACTION, _PLACE, _LABEL = (
    tuple(word) for word in (b"_label_cost", b"_label_probability", b"_label_action", b"_labelindex", b"_label")
)


@helper
def _label(s, start, stop, at):
    """Read a part of the label; where its value ends."""
    size = stop - start
    if not says(start, _LABEL, True) or not (is_digit_at(at) or byte_at(at) == MINUS):
        return BAD
    at = read_number(s, at, True)
    if at < 0:
        return BAD
    whole = s.whole == uint64(1) and 0 <= s.number < 4e9
    if size == len(_COST) and says(start, _COST, False):
        s.cost = s.number
    elif size == len(_PROBABILITY) and says(start, _PROBABILITY, False) and 0 < s.number <= 1:
        s.probability = s.number
    elif size == len(_ACTION) and whole and says(start, _ACTION, False):
        s.action = int64(s.number)
    elif size == len(_PLACE) and whole and says(start, _PLACE, False):
        s.place = int64(s.number)
    else:
        return BAD
    return at


_WHOLE = float(1 << 24)  # whole numbers below it are float32
_LONGEST = 15  # bytes of a number in a label


@helper
def _number_label(s, at):
    """Read a label that is a number; where it ends.

    Only what is written as Python would write the number: the reader there takes it from such a text, as VW's are read.
    """
    end = read_number(s, at, True)
    size = abs(s.number)
    if end < 0 or end - at > _LONGEST or (size == 0 and byte_at(at) == MINUS):
        return BAD
    if s.whole == uint64(1):
        s.label = s.number
        return end if size < _WHOLE and (s.single == 1 or s.number >= 0) else BAD
    plain, used = read_plain_float(at, end)
    written = byte_at(end - 1) != 48 and size >= 1e-4
    for k in range(at, end):
        written = written and byte_at(k) | SMALL != E
    s.label = np.float64(plain)
    return end if written and used == end - at and s.single == 1 else BAD


_VALUE, _WEIGHT, _INITIAL = (tuple(word) for word in (b"label", b"weight", b"initial"))


@helper
def _object_label(s, at):
    """Read a label that is an object; where it ends."""
    at = skip_blanks(at + 1)
    more = byte_at(at) != CLOSE
    if not more:
        return at + 1
    while more:
        start, (stop, value) = at + 1, read_key(at)
        if value < 0 or not (is_digit_at(value) or byte_at(value) == MINUS):
            return BAD
        size, end = stop - start, read_number(s, value, True)
        if size == len(_VALUE) and says(start, _VALUE, False):
            if s.single == 2 and (s.whole == uint64(0) or not 0 <= s.number < _WHOLE):
                return BAD
            s.label = s.number
        elif size == len(_WEIGHT) and s.number >= 0 and says(start, _WEIGHT, False):
            s.importance = s.number
        elif size == len(_INITIAL) and says(start, _INITIAL, False):
            s.base = s.number
        else:
            return BAD
        at, more = _next(end, CLOSE)
    return at


_TAG = tuple(b"_tag")


@helper
def _single_special(s, start, stop, at):
    """Read the label or the tag of a single example; where its value ends."""
    if stop - start == len(_TAG) and says(start, _TAG, True):
        end = end_of_string(at + 1) if byte_at(at) == QUOTE else BAD
        s.tag, s.tag_length = at + 1, end - at - 1
        return end + 1 if end >= 0 else BAD
    if stop - start != len(_LABEL) or not says(start, _LABEL, True):
        return BAD
    s.label, s.importance, s.base = np.float64(UNLABELED), 1.0, 0.0
    if byte_at(at) == OPEN:
        return _object_label(s, at)
    return _number_label(s, at) if is_digit_at(at) or byte_at(at) == MINUS else BAD


_MULTI = tuple(b"_multi")


@helper
def _member(s, start, stop, at, top, named):
    """Read a member of an example in the turn of its namespaces, or of its features without one; where it ends.

    Returns that, and whether the other turn has anything to read there.
    """
    opened, special = byte_at(at) == OPEN, stop > start and byte_at(start) == UNDERSCORE
    if special and _is_text(start, stop):
        return (end_of_scalar(s, at), True) if named else (_text(s, at, s.anonymous_hash, s.anonymous), False)
    if special and not named:
        return end_of_value(s, at), False
    if special:
        if not top:
            return BAD, False
        if s.single != 0:
            return _single_special(s, start, stop, at), False
        if stop - start != len(_MULTI) or not says(start, _MULTI, True):
            return BAD if s.log == 1 else _label(s, start, stop, at), False
        if s.multi != 0:
            return BAD, False
        s.multi = at
        return end_of_value(s, at), False
    if opened:
        return _namespace(s, start, stop, at) if named else end_of_value(s, at), False
    if byte_at(at) == LIST:
        return BAD, False
    if named:
        return end_of_scalar(s, at), True
    return _feature(s, start, stop, at, s.anonymous_hash, s.anonymous), False


@helper
def _example(s, start, top):
    """Read the example whose object begins at `start`; where it ends. Features without a namespace come last."""
    end, again, first = BAD, True, True
    while again:
        at, more, again = skip_blanks(start + 1), True, False
        if byte_at(start) != OPEN:
            return BAD
        if byte_at(at) == CLOSE:
            return at + 1
        while more:
            stop, value = read_key(at)
            if value < 0:
                return BAD
            at, other = _member(s, at + 1, stop, value, top, first)
            again |= other
            at, more = _next(at, CLOSE)
        if at < 0:
            return BAD
        end, first = at, False
    return end


@helper
def _end_row(s):
    """End a row; the group is the decision's number."""
    n, room = s.rows, uint64(s.rows + 2)
    int64s_at(s.groups, room)[n] = s.decisions
    float32s_at(s.labels, room)[n], float32s_at(s.importances, room)[n] = float32(s.label), float32(s.importance)
    float32s_at(s.bases, room)[n] = float32(s.base)
    tags = uint8s_at(s.tags, uint64(s.tagged + s.tag_length))
    for k in range(s.tag_length):
        tags[s.tagged + k] = byte_at(s.tag + k)
    s.tagged += s.tag_length
    s.rows += 1
    int64s_at(s.ends, room)[n + 1], int64s_at(s.labeled, room)[n + 1] = s.features, s.choices
    int64s_at(s.tag_ends, room)[n + 1] = s.tagged


@helper
def _choose(s, action, cost, probability):
    n, room = s.choices, uint64(s.choices + 1)
    uint32s_at(s.actions, room)[n] = action
    float32s_at(s.costs, room)[n], float32s_at(s.probabilities, room)[n] = cost, probability
    s.choices += 1


_BAD = tuple(b"_definitely_bad")


@helper
def _observation(s, at):
    """Read what was observed after a decision, whose object begins at `at`; where it ends."""
    at = skip_blanks(at + 1)
    more = byte_at(at) != CLOSE
    if not more:
        return at + 1
    while more:
        start, (stop, value) = at + 1, read_key(at)
        if value < 0 or byte_at(value) == LIST or (byte_at(start) == UNDERSCORE and stop - start != len(_BAD)):
            return BAD
        if byte_at(start) == UNDERSCORE:
            if not says(start, _BAD, False) or (byte_at(value) != T and byte_at(value) != F):
                return BAD
            end = end_of_literal(value)
            if byte_at(value) == T:
                _put(s, uint32(0), float32(1), s.bad)
        elif byte_at(value) == OPEN:
            end = _object(s, hash_name(start, stop, s.seed, s.hash_all == 1), s.feedback, value)
        else:
            end = _feature(s, start, stop, value, s.anonymous_hash, s.feedback)
        at, more = _next(end, CLOSE)
    return at


@helper
def _observations(s, at):
    """Read the list of what was observed after a decision; where it ends."""
    if byte_at(at) != LIST:
        return BAD
    at = skip_blanks(at + 1)
    more = byte_at(at) != END
    if not more:
        return at + 1
    while more:
        at = _observation(s, at) if byte_at(at) == OPEN else BAD
        at, more = _next(at, END)
    return at


_A, _C, _DROPPED, _LEARNS = (tuple(word) for word in (b"a", b"c", b"pdrop", b"_skiplearn"))


@helper
def _open_log(s, at):
    """Read the fields of a log line, the shared features among them; where its object ends."""
    found, chosen, more = False, False, True
    at = skip_blanks(at + 1)
    while more:
        start, (stop, value) = at + 1, read_key(at)
        if value < 0:
            return BAD
        size, byte = stop - start, byte_at(start)
        if size == len(_C) and byte == ord("c"):
            end = BAD if found else _example(s, value, True)
            found = True
        elif size == 1 and byte == ord("o") and s.feedback >= 0:
            end = _observations(s, value)
        elif size == len(_A) and byte == ord("a"):
            chosen = byte_at(value) == LIST and byte_at(skip_blanks(value + 1)) != END
            end = end_of_value(s, value) if chosen else BAD
        elif size == len(_DROPPED) and says(start, _DROPPED, False):
            end = read_number(s, value, True)
            end = end if s.number == 0 else BAD
        elif size == len(_LEARNS) and says(start, _LEARNS, False):
            end = end_of_literal(value) if byte_at(value) == F else BAD
        elif size >= len(_LABEL) and says(start, _LABEL, False):
            end = _label(s, start, stop, value)
        else:
            end = end_of_value(s, value)
        at, more = _next(end, CLOSE)
    return at if found and chosen else BAD


@helper
def _line(s, at):
    """Read the line at `at`; the line feed behind it."""
    s.multi, s.cost, s.probability, s.action, s.place = 0, np.nan, 0.0, 0, -1
    s.label, s.importance, s.base, s.tag, s.tag_length = np.float64(UNLABELED), 1.0, 0.0, 0, 0
    end = _open_log(s, at) if s.log == 1 else _example(s, at, True)
    if end < 0 or byte_at(skip_blanks(end)) != NEWLINE or (s.single == 0 and s.multi == 0):
        return BAD
    s.decisions += 1
    if s.single != 0:
        _end_row(s)
        return skip_blanks(end)
    _choose(s, uint32(0), UNLABELED, SHARED_ROW)
    _end_row(s)
    at, more, count = skip_blanks(s.multi + 1), True, 0
    if byte_at(s.multi) != LIST or byte_at(at) == END:
        return BAD
    while more:
        features = s.features
        at = _example(s, at, False) if byte_at(at) == OPEN else BAD
        if at < 0 or s.features == features:
            return BAD
        if count == s.place and s.cost == s.cost:
            if s.probability <= 0:
                return BAD
            _choose(s, uint32(s.action), float32(s.cost), float32(s.probability))
        _end_row(s)
        count += 1
        at, more = _next(at, END)
    if s.cost == s.cost and not 0 <= s.place < count:
        return BAD
    return skip_blanks(end) if at >= 0 else BAD


@entry("int64(uint64, int64, int64)")
def read_lines(state, at, stop):
    """Read lines up to one that is not usual.

    Args:
        state: address of a JSON record; its arrays have room for the content of so many bytes.
        at: address of the first line.
        stop: the end of the lines, with a line feed before it.

    Returns:
        The start of the line that is not usual, else `stop`.
    """
    s = json_of(state)
    while at < stop:
        features, rows, choices, decisions = s.features, s.rows, s.choices, s.decisions
        if s.log == 1 and byte_at(at) != OPEN:
            end = at
            while byte_at(end) != NEWLINE:
                end += 1
        else:
            end = _line(s, at)
        if end < 0:
            s.features, s.rows, s.choices, s.decisions = features, rows, choices, decisions
            return at
        s.lines += 1
        at = end + 1
    return at
