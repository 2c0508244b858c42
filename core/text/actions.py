"""Labels of decisions: `shared`, `action:cost:probability` of the one that was chosen, or `action:cost` of each."""

import re

import numpy as np
from numpy import float32, uint32
from numpy.typing import NDArray

from hutch.core.batch import SHARED_ROW, SLOT_ROW, Batch, ends_of_groups, shared_rows
from hutch.core.kernel.abi import UNLABELED
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text import problems
from hutch.core.text.hashing import hash_name
from hutch.core.text.numbers import has_digit, read_float
from hutch.core.text.problems import KEPT, Found
from hutch.core.text.state import add_action, report

BLANK, COLON = 32, 58
_SHARED, _LABEL = b"shared", b"label"
_CCB, _SLATES, _SLOT, _ACTION = b"ccb", b"slates", b"slot", b"action"


@helper
def next_word(at, stop):
    """Bounds of the next word between blanks; an empty one at `stop` without one."""
    while at < stop and byte_at(at) == BLANK:
        at += 1
    first = at
    while at < stop and byte_at(at) != BLANK:
        at += 1
    return first, at


@helper
def is_word(start, stop, word):
    """Whether a word is this one, perhaps between stars as VW's cost-sensitive examples write it."""
    while start < stop and byte_at(start) == 42 and byte_at(stop - 1) == 42:
        start, stop = start + 1, stop - 1
    if stop - start != len(word):
        return False
    for i in range(len(word)):
        if byte_at(start + i) != word[i]:
            return False
    return True


@helper
def next_part(at, stop):
    """Bounds of the next part of a word between colons; an empty part does not count."""
    while at < stop and byte_at(at) == COLON:
        at += 1
    first = at
    while at < stop and byte_at(at) != COLON:
        at += 1
    return first, at


@helper
def number_in(start, stop):
    """A part as a number, NaN if it is not one."""
    value, used = read_float(start, stop)
    good = used == stop - start and has_digit(start, stop) and abs(value) < np.inf
    return value if good else float32(np.nan)


@helper
def _read_action(state, start, stop, all_costs, several):
    """One word of a label; names of actions are hashed, numbers taken as they are."""
    first, name_end = next_part(start, stop)
    second, cost_end = next_part(name_end, stop)
    third, end = next_part(cost_end, stop)
    action = hash_name(first, name_end, uint32(0), 0)
    if all_costs and is_word(first, name_end, _LABEL):
        action = uint32(0)  # which is how VW reads `label:cost`
    cost, probability = UNLABELED, float32(0)
    if second < cost_end:
        cost = number_in(second, cost_end)
    if cost != cost or end != stop or (all_costs and third < end) or first == name_end:
        report(state, problems.BAD_ACTION, start, stop)
        cost = UNLABELED
    elif not all_costs and cost != UNLABELED:
        probability = number_in(third, end) if third < end else float32(0)
        if not float32(0) < probability <= float32(1) and not (several and third == end):
            report(state, problems.BAD_PROBABILITY, start, stop)
            probability = float32(0)
    add_action(state, action, cost, probability)


@helper
def read_actions(state, start, end, all_costs, of_classes):
    """`shared`, or words `action[:cost[:probability]]`; with `all_costs` `action[:cost]`."""
    at, stop = next_word(start, end)
    several = of_classes and next_word(stop, end)[0] < end
    if is_word(at, stop, _SHARED):
        add_action(state, uint32(0), UNLABELED, SHARED_ROW)
        if next_word(stop, end)[0] < end:
            add_action(state, uint32(0), float32(0), float32(0))  # which `find_problems` takes for a label
        return
    while at < stop:
        _read_action(state, at, stop, all_costs, several)
        at, stop = next_word(stop, end)


_COMMA = 44


@helper
def _next_of(at, stop, mark):
    """The end of the part that begins at a place and ends before a mark."""
    while at < stop and byte_at(at) != mark:
        at += 1
    return at


@helper
def _read_chosen(state, start, end, slate):
    """`action:cost:probability`, of a slate `action:probability`; others after a comma only explored."""
    stop = _next_of(start, end, _COMMA)
    name_end = _next_of(start, stop, COLON)
    cost_end = name_end if slate else _next_of(min(name_end + 1, stop), stop, COLON)
    cost = float32(0) if slate else number_in(min(name_end + 1, stop), cost_end)
    probability = number_in(min(cost_end + 1, stop), stop)
    if cost == cost and float32(0) < probability <= float32(1):
        add_action(state, hash_name(start, name_end, uint32(0), 0), cost, probability)
    else:
        report(state, problems.BAD_ACTION, start, end)


@helper
def read_slot(state, start, end, slate):
    """VW's words of slots: `ccb shared`, `ccb action` and `ccb slot 1:0.5:0.25 0,1,3`, the chosen action with its cost
    and the allowed ones; of a slate `slates shared 0.5`, `slates action 1` and `slates slot 0:0.25`."""
    at, stop = next_word(start, end)
    if not is_word(at, stop, _SLATES if slate else _CCB):
        report(state, problems.BAD_SLOT, start, end)
        return
    kind, kind_end = next_word(stop, end)
    at, stop = next_word(kind_end, end)
    is_slot = is_word(kind, kind_end, _SLOT)
    if is_word(kind, kind_end, _SHARED):
        cost = number_in(at, stop) if slate and at < stop else UNLABELED
        add_action(state, uint32(0), cost, SHARED_ROW)
    elif is_slot:
        add_action(state, uint32(0), UNLABELED, SLOT_ROW)
    elif is_word(kind, kind_end, _ACTION):
        if slate and at < stop:
            add_action(state, hash_name(at, stop, uint32(0), 0), UNLABELED, float32(0))
    else:
        report(state, problems.BAD_SLOT, start, end)
    while is_slot and at < stop:
        if _next_of(at, stop, COLON) < stop:
            _read_chosen(state, at, stop, slate)
        else:
            while at < stop:
                comma = _next_of(at, stop, _COMMA)
                if at < comma:
                    add_action(state, hash_name(at, comma, uint32(0), 0), UNLABELED, float32(0))
                at = comma + 1
        at, stop = next_word(stop, end)


def find_slot_problems(batch: Batch, text: NDArray[np.uint8]) -> Found:
    """Decisions that are not a shared line, actions, and at most as many slots; none of them gets a prediction."""
    bad: list[int] = []
    kinds = np.zeros(len(batch), np.int64)
    given = np.flatnonzero(np.diff(batch.cost_ptr))
    first = batch.probabilities[batch.cost_ptr[given]]
    kinds[given] = np.where(first == SHARED_ROW, -1, first == SLOT_ROW)
    start = 0
    for stop in ends_of_groups(batch).tolist() if len(batch) else []:
        found, slots = kinds[start:stop].tolist(), int((kinds[start:stop] == 1).sum())
        actions = stop - start - slots - 1
        if not 0 < slots <= actions or found != [-1, *[0] * actions, *[1] * slots]:
            bad.append(start)
        start = stop
    return _found({problems.BAD_SLOT: np.array(bad, np.int64)} if bad else {}, places_of(bytes(text)) if bad else [])


def find_problems(
    batch: Batch, text: NDArray[np.uint8], all_costs: bool, constant: bool, empty_actions: bool
) -> Found | None:
    """Problems of decisions as a whole, whose labels are then removed; None without any.

    Args:
        batch: parsed from the text.
        text: whole lines.
        all_costs: labels are costs of all actions, not of one.
        constant: each line has the constant feature.
        empty_actions: actions without features are learned, and only reported.
    """
    if not len(batch):
        return None
    ends, shared = ends_of_groups(batch), shared_rows(batch)
    starts = np.concatenate([[0], ends[:-1]])
    given = np.concatenate([[0], np.cumsum((batch.costs != UNLABELED) & (batch.probabilities != SHARED_ROW))])
    labels = np.diff(given[batch.cost_ptr])  # of each row
    in_decision = given[batch.cost_ptr[ends]] - given[batch.cost_ptr[starts]]
    actions = ends - starts - shared[starts]
    found = {problems.SHARED_LABEL: np.flatnonzero(shared & (labels > 0))}
    empty = np.flatnonzero(~shared & (np.diff(batch.row_ptr) <= constant))
    shared[starts] = False
    found[problems.SHARED_ALONE] = starts[actions == 0]
    found[problems.SHARED_NOT_FIRST] = np.flatnonzero(shared)
    if all_costs:
        found[problems.SEVERAL_LABELS] = np.flatnonzero(labels > 1)
        found[problems.SOME_COSTS] = starts[(in_decision > 0) & (in_decision < actions)]
    else:
        before = given[batch.cost_ptr[:-1]] - np.repeat(given[batch.cost_ptr[starts]], ends - starts)
        found[problems.SEVERAL_LABELS] = np.flatnonzero((labels > 0) & (before + labels > 1))
    if not len(empty) and not any(map(len, found.values())):
        return None
    whole = bytes(text)
    places = places_of(whole)
    empty = np.array([row for row in empty.tolist() if not _FEATURE.search(whole, *places[row][1:])], np.int64)
    found[problems.KEPT_EMPTY_ACTION if empty_actions else problems.EMPTY_ACTION] = empty
    for kind in (problems.SHARED_LABEL, problems.SHARED_NOT_FIRST, problems.EMPTY_ACTION):
        _unlabel(batch, np.searchsorted(ends, found.get(kind, empty[:0]), "right"), ends - starts)
    return _found(found, places) if any(map(len, found.values())) else None


_FEATURE = re.compile(rb"\|[^ \t|]*[ \t]+[^ \t\r|]")
"""A word behind the name of a namespace. A feature whose value is 0 is dropped, but its action is not without any."""


def _unlabel(batch: Batch, decisions: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
    """Take the labels of decisions away."""
    if len(decisions):
        hit = np.zeros(len(sizes), bool)
        hit[decisions] = True
        batch.costs[np.repeat(np.repeat(hit, sizes), np.diff(batch.cost_ptr))] = UNLABELED


def places_of(text: bytes) -> list[tuple[int, int, int]]:
    """Of each row the number of its line, counted from 1, and where it begins and ends."""
    places, at = [], 0
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r"):
            places.append((number, at, at + len(line)))
        at += len(line) + 1
    return places


def _found(rows_by_kind: dict[int, NDArray[np.int64]], places: list[tuple[int, int, int]]) -> Found:
    """Problems of whole lines, with their places in the text."""
    found = Found()
    for kind, rows in rows_by_kind.items():
        found.counts[kind] = len(rows)
        for k, row in enumerate(rows[:KEPT].tolist()):
            found.places[kind, k] = places[row]
    return found
