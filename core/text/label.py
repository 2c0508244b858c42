"""The part of a line before its first bar: label, importance, base, tag."""

import numpy as np
from numpy import float32, int64, uint32, uint64

from hutch.core.kernel.abi import UNLABELED, uint32s_at
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text import problems as problems
from hutch.core.text.actions import next_word, read_actions, read_slot
from hutch.core.text.logged_number import read_logged_number
from hutch.core.text.numbers import has_digit, is_digit, is_misread, read_float
from hutch.core.text.state import (
    ACTION_COSTS,
    COST_SENSITIVE,
    LOGGED_CLASS,
    LOGGED_NUMBER,
    LOGGED_SLATE,
    LOGGED_SLOTS,
    MULTICLASS,
    MULTILABEL,
    NO_LABEL,
    NUMBERS_OF_LINES,
    SIMPLE,
    add_cost,
    add_tag,
    piece_kernel,
    report,
    set_label,
    state_at,
)

MAX_CLASS = 1 << 24
"""Up to here float32 holds every integer."""
MAX_COST_CLASS = (1 << 32) - 1
BLANK, TAB, QUOTE, COLON, PLUS, COMMA = 32, 9, 39, 58, 43, 44


@helper
def last_word(start, stop):
    """Bounds of the last word between blanks; an empty one at `start` without one."""
    while stop > start and byte_at(stop - 1) == BLANK:
        stop -= 1
    first = stop
    while first > start and byte_at(first - 1) != BLANK:
        first -= 1
    return first, stop


@helper
def read_number(state, start, stop, kind):
    """A word as a number, as in VW: its longest numeric beginning, else 0; reported unless all of it is a number."""
    value, used = read_float(start, stop)
    if value != value:
        value = float32(0)
        used = int64(0)
    if used != stop - start or (value == 0 and not has_digit(start, stop)):
        report(state, kind, start, stop)
    elif abs(value) == float32(np.inf):
        report(state, problems.INFINITE_NUMBER, start, stop)
    elif is_misread(start, stop):
        report(state, problems.MISREAD_NUMBER, start, stop)
    return value


@helper
def read_integer(start, stop, largest):
    """A word of digits, perhaps after a `+`, as an int64; -1 if it is not one or is above `largest`."""
    if start < stop and byte_at(start) == PLUS:
        start += 1
    if start == stop:
        return int64(-1)
    number = int64(0)
    for at in range(start, stop):
        if not is_digit(byte_at(at)):
            return int64(-1)
        number = number * 10 + byte_at(at) - 48
        if number > largest:
            return int64(-1)
    return number


@helper
def read_simple_label(state, start, end, multiclass):
    """`label [importance [base]]`, or `class [importance]`; too many words or infinity leave it unlabeled."""
    first, stop = next_word(start, end)
    second, second_stop = next_word(stop, end)
    third, third_stop = next_word(second_stop, end)
    beyond, _ = next_word(second_stop if multiclass else third_stop, end)
    if beyond < end:
        report(state, problems.TOO_MANY_LABEL_WORDS, first, end)
        return
    importance, base = float32(1), float32(0)
    if multiclass:
        number = read_integer(first, stop, MAX_CLASS)
        label = float32(number) if number >= 0 else UNLABELED
        if number < 0:
            report(state, problems.BAD_CLASS, first, stop)
    else:
        label = read_number(state, first, stop, problems.BAD_LABEL)
    if second < second_stop:
        importance = read_number(state, second, second_stop, problems.BAD_IMPORTANCE)
        if importance < 0:
            report(state, problems.NEGATIVE_IMPORTANCE, second, second_stop)
            importance = float32(0)
    if third < third_stop:
        base = read_number(state, third, third_stop, problems.BAD_BASE)
    if abs(label) < np.inf and importance < np.inf and abs(base) < np.inf:
        set_label(state, label, importance, base)


@helper
def read_costs(state, start, end):
    """`class[:cost] ...`; the row's label becomes the cheapest class if any cost is given."""
    cheapest = UNLABELED
    at, stop = next_word(start, end)
    while at < stop:
        colon = at
        while colon < stop and byte_at(colon) != COLON:
            colon += 1
        label = read_integer(at, colon, MAX_COST_CLASS)
        cost, good = UNLABELED, label >= 0
        if colon < stop:
            cost, used = read_float(colon + 1, stop)
            good = good and used > 0 and colon + 1 + used == stop and abs(cost) < np.inf
        if good:
            if colon < stop and is_misread(colon + 1, stop):
                report(state, problems.MISREAD_NUMBER, at, stop)
            add_cost(state, uint32(uint64(label)), cost)
            if cost < cheapest:
                cheapest = cost
                set_label(state, float32(label), float32(1), float32(0))
        else:
            report(state, problems.BAD_COST, at, stop)
        at, stop = next_word(stop, end)


@helper
def _words(state, start, stop):
    """Begin a row without a label and take its tag; bounds of the words before it.

    Text before the first tab is skipped. The last word is the tag if it touches the end or begins with `'`.
    """
    set_label(state, UNLABELED, float32(1), float32(0))
    for at in range(start, stop):
        if byte_at(at) == TAB:
            start = at + 1
            break
    first, last = last_word(start, stop)
    if first < last and (last == stop or byte_at(first) == QUOTE):
        quoted = byte_at(first) == QUOTE
        add_tag(state, first + 1 if quoted else first, last)
        tag = first
        first, last = last_word(start, tag)
        if first == last and not quoted and state_at(state)[0].label_kind <= MULTICLASS and is_digit(byte_at(stop - 1)):
            _, used = read_float(tag, stop)
            if used == stop - tag:
                report(state, problems.NUMBER_AS_TAG, tag, stop)
    return start, start if first == last else last


@piece_kernel
def _parse_single(state, start, stop):
    start, stop = _words(state, start, stop)
    kind = state_at(state)[0].label_kind
    if start < stop and kind != NO_LABEL:
        read_simple_label(state, start, stop, kind == MULTICLASS)


@piece_kernel
def _parse_costs(state, start, stop):
    start, stop = _words(state, start, stop)
    if start < stop:
        read_costs(state, start, stop)


@helper
def _add_label(state, first, label):
    """Append a class to the row's label, whose classes ascend from number `first` on; returns whether it is new."""
    s = state_at(state)[0]
    at, classes = s.costs, uint32s_at(s.cost_classes, s.room)
    while at > first and classes[at - 1] > label:
        at -= 1
    if at > first and classes[at - 1] == label:
        return False
    add_cost(state, label, float32(0))
    for k in range(s.costs - 1, at, -1):
        classes[k] = classes[k - 1]
    classes[at] = label
    return True


@piece_kernel
def _parse_labels(state, start, stop):
    start, stop = _words(state, start, stop)
    s = state_at(state)[0]
    first, (at, end) = s.costs, next_word(start, stop)
    if next_word(end, stop)[0] < stop:
        report(state, problems.BAD_LABELS, at, stop)
        return
    while at < end:
        comma = at
        while comma < end and byte_at(comma) != COMMA:
            comma += 1
        label = read_integer(at, comma, MAX_CLASS)
        if label < 0:
            report(state, problems.BAD_LABELS, at, max(comma, at + 1))
            s.costs = first
            return
        if s.label_kind == NUMBERS_OF_LINES:
            add_cost(state, uint32(uint64(label)), float32(0))
        elif not _add_label(state, first, uint32(uint64(label))):
            report(state, problems.REPEATED_LABEL, at, comma)
        at = comma + 1
        if at == end:  # a comma ends the list
            report(state, problems.BAD_LABELS, comma, end)
            s.costs = first
            return
    if s.costs > first:
        set_label(state, float32(uint32s_at(s.cost_classes, s.room)[first]), float32(1), float32(0))


@piece_kernel
def _parse_slot(state, start, stop):
    start, stop = _words(state, start, stop)
    if start < stop:
        read_slot(state, start, stop, state_at(state)[0].label_kind == LOGGED_SLATE)


@piece_kernel
def _parse_actions(state, start, stop):
    start, stop = _words(state, start, stop)
    kind = state_at(state)[0].label_kind
    if start < stop:
        read_actions(state, start, stop, kind == ACTION_COSTS, kind == LOGGED_CLASS)


@piece_kernel
def _parse_logged_number(state, start, stop):
    start, stop = _words(state, start, stop)
    if start < stop:
        read_logged_number(state, start, stop)


def label_parser(kind: int) -> AddressKernel:
    """The kernel that reads the bytes before the bar or the line's end into the row being written: one for some kinds
    of labels, since a run needs one kind, and compiling the others takes seconds."""
    if kind in (SIMPLE, MULTICLASS, NO_LABEL):
        return _parse_single
    if kind in (COST_SENSITIVE, MULTILABEL, NUMBERS_OF_LINES):
        return _parse_costs if kind == COST_SENSITIVE else _parse_labels
    if kind == LOGGED_NUMBER:
        return _parse_logged_number
    return _parse_slot if kind in (LOGGED_SLOTS, LOGGED_SLATE) else _parse_actions
