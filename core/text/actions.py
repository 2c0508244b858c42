"""Labels of decisions: `shared`, `action:cost:probability` of the one that was chosen, or `action:cost` of each."""

import re

import numpy as np
from numpy import float32, uint32
from numpy.typing import NDArray

from hutch.core.batch import SHARED_ROW, Batch, ends_of_groups, shared_rows
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


@helper
def next_word(at, stop):
    """Bounds of the next word between blanks; an empty one at `stop` if there is none."""
    while at < stop and byte_at(at) == BLANK:
        at += 1
    first = at
    while at < stop and byte_at(at) != BLANK:
        at += 1
    return first, at


@helper
def _is_word(start, stop, word):
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
def _next_part(at, stop):
    """Bounds of the next part of a word between colons; an empty part does not count."""
    while at < stop and byte_at(at) == COLON:
        at += 1
    first = at
    while at < stop and byte_at(at) != COLON:
        at += 1
    return first, at


@helper
def _read_number(start, stop):
    """A part as a number, NaN if it is not one."""
    value, used = read_float(start, stop)
    good = used == stop - start and has_digit(start, stop) and abs(value) < np.inf
    return value if good else float32(np.nan)


@helper
def _read_action(state, start, stop, all_costs, several):
    """One word of a label: names of actions are hashed, numbers taken as they are; one of `several` needs no probability."""
    first, name_end = _next_part(start, stop)
    second, cost_end = _next_part(name_end, stop)
    third, end = _next_part(cost_end, stop)
    action = hash_name(first, name_end, uint32(0), 0)
    if all_costs and _is_word(first, name_end, _LABEL):
        action = uint32(0)  # which is how VW reads `label:cost`
    cost, probability = UNLABELED, float32(0)
    if second < cost_end:
        cost = _read_number(second, cost_end)
    if cost != cost or end != stop or (all_costs and third < end) or first == name_end:
        report(state, problems.BAD_ACTION, start, stop)
        cost = UNLABELED
    elif not all_costs and cost != UNLABELED:
        probability = _read_number(third, end) if third < end else float32(0)
        if not float32(0) < probability <= float32(1) and not (several and third == end):
            report(state, problems.BAD_PROBABILITY, start, stop)
            probability = float32(0)
    add_action(state, action, cost, probability)


@helper
def read_actions(state, start, end, all_costs, of_classes):
    """`shared`, or words `action[:cost[:probability]]`; with `all_costs` `action[:cost]`."""
    at, stop = next_word(start, end)
    several = of_classes and next_word(stop, end)[0] < end
    if _is_word(at, stop, _SHARED):
        add_action(state, uint32(0), UNLABELED, SHARED_ROW)
        if next_word(stop, end)[0] < end:
            add_action(state, uint32(0), float32(0), float32(0))  # which `find_problems` takes for a label
        return
    while at < stop:
        _read_action(state, at, stop, all_costs, several)
        at, stop = next_word(stop, end)


def find_problems(
    batch: Batch, text: NDArray[np.uint8], all_costs: bool, constant: bool, empty_actions: bool
) -> Found | None:
    """What is wrong with decisions as a whole, whose labels are then taken away; None if nothing is.

    Args:
        batch: what came of the text.
        text: whole lines.
        all_costs: labels are costs of all actions, not of one.
        constant: each line has the constant feature.
        empty_actions: actions without features are learned; they are only told of.
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
    places = _places(whole)
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


def _places(text: bytes) -> list[tuple[int, int, int]]:
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
