"""The part of a line before its first bar: label, importance, base, tag."""

import numpy as np
from numba import float32, int64, njit, uint8, uint32, uint64

from hutch.core import parse_problems as problems
from hutch.core.abi import UNLABELED
from hutch.core.text_columns import (
    COST_SENSITIVE,
    COSTS,
    EXAMPLES,
    MULTICLASS,
    SIMPLE,
    TAG_BYTES,
    report,
)
from hutch.core.text_float import has_digit, is_digit, read_float

MAX_CLASS = 1 << 24
"""Up to here float32 holds every integer."""
MAX_COST_CLASS = (1 << 32) - 1
BLANK, TAB, BAR, QUOTE, COLON, PLUS = 32, 9, 124, 39, 58, 43


@njit
def next_word(text, at, stop):  # type: ignore[no-untyped-def]
    """Bounds of the next word between blanks; an empty one at `stop` if there is none."""
    while at < stop and text[at] == BLANK:
        at += 1
    first = at
    while at < stop and text[at] != BLANK:
        at += 1
    return first, at


@njit
def read_number(text, start, stop, columns, kind):  # type: ignore[no-untyped-def]
    """A word as a number, as VW takes it: what it begins with, else 0; reported unless all of it is a number."""
    value, used = read_float(text, start, stop)
    if value != value:
        value = float32(0)
        used = int64(0)
    if used != stop - start or (value == 0 and not has_digit(text, start, stop)):
        report(columns, kind, start, stop)
    elif abs(value) == float32(np.inf):
        report(columns, problems.INFINITE_NUMBER, start, stop)
    return value


@njit
def read_integer(text, start, stop, largest):  # type: ignore[no-untyped-def]
    """A word of digits, perhaps after a `+`, as an int64; -1 if it is none or above `largest`."""
    if start < stop and text[start] == PLUS:
        start += 1
    if start == stop:
        return int64(-1)
    number = int64(0)
    for at in range(start, stop):
        if not is_digit(text[at]):
            return int64(-1)
        number = number * 10 + int64(text[at] - uint8(48))
        if number > largest:
            return int64(-1)
    return number


@njit
def read_importance(text, start, stop, columns):  # type: ignore[no-untyped-def]
    """The importance; a negative one becomes 0, so that the example is only predicted."""
    value = read_number(text, start, stop, columns, problems.BAD_IMPORTANCE)
    if value < 0:
        report(columns, problems.NEGATIVE_IMPORTANCE, start, stop)
        return float32(0)
    return value


@njit
def read_simple_label(text, start, stop, columns, multiclass):  # type: ignore[no-untyped-def]
    """`label [importance [base]]`, or `class [importance]`; too many words leave the example unlabeled."""
    row = columns.counters[EXAMPLES]
    end = stop
    first, stop = next_word(text, start, end)
    second, second_stop = next_word(text, stop, end)
    third, third_stop = next_word(text, second_stop, end)
    last = second_stop if multiclass else third_stop
    beyond, _ = next_word(text, last, end)
    if beyond < end:
        report(columns, problems.TOO_MANY_LABEL_WORDS, first, end)
        return
    if multiclass:
        label = read_integer(text, first, stop, MAX_CLASS)
        if label < 0:
            report(columns, problems.BAD_CLASS, first, stop)
            return
        columns.labels[row] = float32(label)
    else:
        columns.labels[row] = read_number(text, first, stop, columns, problems.BAD_LABEL)
    if second < second_stop:
        columns.importance[row] = read_importance(text, second, second_stop, columns)
    if third < third_stop:
        columns.base[row] = read_number(text, third, third_stop, columns, problems.BAD_BASE)


@njit
def read_costs(text, start, stop, columns):  # type: ignore[no-untyped-def]
    """`class[:cost] ...`; the row's label becomes the cheapest class if any cost is given."""
    row = columns.counters[EXAMPLES]
    cheapest = UNLABELED
    at, word_stop = next_word(text, start, stop)
    while at < word_stop:
        colon = at
        while colon < word_stop and text[colon] != COLON:
            colon += 1
        label = read_integer(text, at, colon, MAX_COST_CLASS)
        cost, used = UNLABELED, int64(0)
        if colon < word_stop:
            cost, used = read_float(text, colon + 1, word_stop)
            colon += 1
        if label < 0 or colon + used != word_stop or text[word_stop - 1] == COLON or not abs(cost) < np.inf:
            report(columns, problems.BAD_COST, at, word_stop)
        else:
            columns.cost_classes[columns.counters[COSTS]] = uint32(uint64(label))
            columns.costs[columns.counters[COSTS]] = cost
            columns.counters[COSTS] += 1
            if cost < cheapest:
                cheapest = cost
                columns.labels[row] = float32(label)
        at, word_stop = next_word(text, word_stop, stop)


@njit
def read_label(text, start, stop, columns, kind):  # type: ignore[no-untyped-def]
    """Read `text[start:stop]`, all before the bar or the line's end, into the row being written.

    What stands before the first tab is skipped. The last word is the tag if it touches the end or begins with `'`.
    """
    row = columns.counters[EXAMPLES]
    columns.labels[row] = UNLABELED
    columns.importance[row] = float32(1)
    columns.base[row] = float32(0)
    for at in range(start, stop):
        if text[at] == TAB:
            start = at + 1
            break
    last = stop
    while last > start and text[last - 1] == BLANK:
        last -= 1
    first = last
    while first > start and text[first - 1] != BLANK:
        first -= 1
    if first < last and (last == stop or text[first] == QUOTE):
        begin = first + 1 if text[first] == QUOTE else first
        for at in range(begin, last):
            columns.tags[columns.counters[TAG_BYTES]] = text[at]
            columns.counters[TAG_BYTES] += 1
        tag, last = first, first
        while last > start and text[last - 1] == BLANK:
            last -= 1
        if last == start and begin == tag and is_digit(text[stop - 1]) and kind <= MULTICLASS:
            _, used = read_float(text, tag, stop)
            if used == stop - tag:
                report(columns, problems.NUMBER_AS_TAG, tag, stop)
    if last == start:
        return
    if kind == SIMPLE or kind == MULTICLASS:
        read_simple_label(text, start, last, columns, kind == MULTICLASS)
    elif kind == COST_SENSITIVE:
        read_costs(text, start, last, columns)
