"""The runs of judges, from logs of evaluations, and people's labels of the same items."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import DataError, UsageError, counted, did_you_mean, reading
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.codes import known_first, recoded
from hutch.crowd.data.degrees import all_numbers
from hutch.crowd.data.labels import Labels, almost_alike, class_order, from_codes, probably_misspelt
from hutch.crowd.data.spelling import DECIMAL_COMMA, told_alike, with_decimal_comma
from hutch.crowd.mixed.model import matches
from hutch.crowd.read.kinds import reference_workers
from hutch.crowd.read.labels import Read, check_unsure, read_all, read_gold
from hutch.crowd.read.source import called
from hutch.crowd.read.triples import Triples
from hutch.estimate.clusters import Places
from hutch.estimate.files import check_same
from hutch.estimate.means import Array

MOST_SLICES, PARTS = 8, 4
"""Different numbers of a column up to which each is a slice; into how many slices more numbers are cut."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options for reading logs.

    Attributes:
        reference: names or globs of the workers who are people.
        columns: of the logs; `extra` is set from the names below.
        order: the column whose two values give the order in which two answers were shown; the second one is swapped.
        swapped: suffix of the names of judges who saw the answers swapped; it is removed.
        answers: the labels for the answer that is usually shown first, and for the other; empty: found.
        by_place: labels name the place of an answer, so that those of swapped runs are turned back.
        cluster: the column of the unit to which several items belong; empty: each item is its own.
        slices: the columns by which items are grouped.
        versions: judges of each log are separate, `NAME@LOG`; else the same name is the same judge.
        scores: labels are numbers on a scale; None: if they are three numbers or more.
    """

    reference: Sequence[str] = ()
    columns: ColumnNames = field(default_factory=ColumnNames)
    order: str = ""
    swapped: str = ""
    answers: Sequence[str] = ()
    by_place: bool = False
    cluster: str = ""
    slices: Sequence[str] = ()
    versions: bool = False
    scores: bool | None = None


@dataclass(frozen=True)
class Runs:
    """All runs of all judges.

    Attributes:
        judges, items, classes: names; classes as of `class_order`.
        judge, item, label: int32, codes of each run (runs).
        swapped: bool, the two answers were shown in the other order (runs).
        truth: P(class) of each item by people (items, classes), or the mean score (items, 1); NaN without labels.
        people: their labels of the same items; None without people.
        cluster: of each item (items).
        slices: by column, the slice of each item, -1 for none (items), and the names of slices.
        values: of the classes if they are scores (classes); else None.
        answers: classes for the answer usually shown first, and for the other; None without swapped runs.
        notices: for users.
        forms: how each source was read, in one line.
    """

    judges: list[str]
    items: list[str]
    classes: list[str]
    judge: NDArray[np.int32]
    item: NDArray[np.int32]
    label: NDArray[np.int32]
    swapped: NDArray[np.bool_]
    truth: Array
    people: Labels | None
    cluster: Places
    slices: dict[str, tuple[Places, list[str]]]
    values: Array | None
    answers: tuple[int, int] | None
    notices: list[str]
    forms: tuple[str, ...] = ()

    @property
    def known(self) -> NDArray[np.bool_]:
        """Items with labels by people or gold (items)."""
        return ~np.isnan(self.truth[:, 0])


def read_runs(
    logs: Sequence[str | Path],
    people: str | Path | None = None,
    gold: str | Path | None = None,
    how: Reading | None = None,
) -> Runs:
    """Read logs of evaluations, or other files of labels.

    Args:
        logs: files in any form that `read_labels` reads, or frames.
        people: labels of people, likewise.
        gold: true classes, or true scores, item TAB label; they go before people.
        how: the logs are read.

    Raises:
        DataError: a file cannot be read, a place in it is wrong, or items or classes of people and judges do not meet.
        UsageError: options that do not fit the logs.
    """
    found = read_questions(logs, people, gold, how)
    if len(found) > 1:
        raise UsageError(f"got answers to several questions ({', '.join(found)}), wanted one")
    return next(iter(found.values()))


def read_questions(
    logs: Sequence[str | Path],
    people: str | Path | None = None,
    gold: str | Path | None = None,
    how: Reading | None = None,
) -> dict[str, Runs]:
    """The runs for each question of the logs, by its name; one question has none. All else as of `read_runs`."""
    how = how or Reading()
    extra = tuple(dict.fromkeys(name for name in (how.order, how.cluster, *how.slices) if name))
    truth = read_gold(gold) if gold is not None else {}
    asked = replace(how.columns, extra=extra, anonymous=True).keeping([*truth.values(), *how.answers])
    plain = ColumnNames(known=asked.known, unsure=asked.unsure, anonymous=True)
    sources: list[tuple[Any, Read]] = [(path, read_all(path, (), asked)) for path in logs]
    sources += [(people, read_all(people, (), plain))] if people is not None else []
    with reading(called(sources[0][0])):
        check_unsure(asked.unsure, [read for _, read in sources])
    apart = [read.triples.apart() for _, read in sources]
    questions = known_first((), (question for found in apart for question in found if question))
    if questions and gold is not None:
        raise UsageError(f"--gold: cannot be combined with several questions ({', '.join(questions)})")
    for (path, _), found in zip(sources, apart, strict=True):
        if questions and "" in found:
            raise DataError(
                f"{called(path)}: got no column of questions, but other files have answers to {', '.join(questions)}"
            )
    runs = {}
    for question in questions or [""]:
        pieces = [found.get(question, Triples.none()) for found in apart]
        runs[question] = _read(sources, pieces, len(logs), truth, how, extra)
    return runs


def _read(
    sources: list[tuple[Any, Read]],
    pieces: list[Triples],
    logs: int,
    truth: dict[str, str],
    how: Reading,
    extra: tuple[str, ...],
) -> Runs:
    """The runs for one question, from its part of each source; the first `logs` are those of judges."""
    notices: list[str] = []
    parts: list[tuple[list[Sequence[str]], NDArray[np.int32], bool]] = []
    truths, patterns = dict[str, str](), tuple(how.reference)
    for number, ((path, read), piece) in enumerate(zip(sources, pieces, strict=True)):
        own = number == logs
        notices += [*(f"{called(path)}: {notice}" for notice in read.notices), *piece.problems.lines(called(path))]
        patterns += () if own or how.reference else reference_workers(path, how.columns)
        truths = piece.gold | truths
        mark = f"@{Path(called(path)).stem}" if how.versions and not own else ""
        none = np.zeros((len(piece.codes), len(extra)), np.int32), [[""]] * len(extra)
        further, values = piece.extras if piece.extras and not own else none
        nameless = "" if own else Path(called(path)).stem  # a log without a column of judges has one, named after it
        known = [[(name or nameless) + (mark if name else "") for name in piece.names[0]], *piece.names[1:], *values]
        if again := {name for part, _, _ in parts for name in part[0]} & {*known[0]} if not own else ():
            notices.append(
                f"{called(path)}: {min(again)!r} is in other logs, too: taken as repeated runs; --versions if not"
            )
        parts.append((known, np.hstack([piece.codes, further]), own))
    truths |= {item: label for item, label in truth.items() if label not in how.columns.unsure}
    width = 3 + len(extra)
    names = [known_first((), (name for part, _, _ in parts for name in part[k])) for k in range(width)]
    codes = np.concatenate(
        [np.stack([recoded(rows[:, k], part[k], names[k]) for k in range(width)], axis=1) for part, rows, _ in parts]
    )
    person = np.repeat([own for _, _, own in parts], [len(rows) for _, rows, _ in parts])
    for pattern in patterns if how.reference else ():
        if not matches(names[0], (pattern,)).any():
            raise UsageError(f"--reference: no worker is {pattern!r}; {did_you_mean(pattern, names[0])}")
    person |= matches(names[0], patterns)[codes[:, 0]] if patterns else False
    if person.all():
        raise UsageError("judges: got no labels of judges" if not len(codes) else "judges: all labels are people's")
    for column, role in enumerate(extra, 3):
        if names[column] in ([], [""]):
            raise UsageError(f"no row or sample of the logs has {role!r}, which an option names")
    forms = tuple(f"{called(path)}: {read.form}" for path, read in sources if read.form)
    return replace(_runs(codes, names, person, truths, how, extra, notices), forms=forms)


def _runs(
    codes: NDArray[np.int32],
    names: list[list[str]],
    person: NDArray[np.bool_],
    truths: dict[str, str],
    how: Reading,
    extra: tuple[str, ...],
    notices: list[str],
) -> Runs:
    """Combine the labels read; codes (labels, worker item label and further columns), names by column."""
    classes = class_order([*names[2], *truths.values()])
    label = recoded(codes[:, 2], names[2], classes)
    told, own = codes[~person], label[~person]
    _check_meet(codes, names, person, truths)
    notices += told_alike(names[0], names[1])
    if (comma := with_decimal_comma(classes)) is not None:
        notices.append(f"the class {comma!r} {DECIMAL_COMMA}")
    for group in almost_alike(classes)[:3]:
        notices.append(f"the classes {' and '.join(map(repr, group))} differ only in how they are written")
    scores = how.scores if how.scores is not None else len(classes) > 2 and all_numbers(classes)
    if scores and not all_numbers(classes):
        word = next(name for name in classes if not all_numbers([name]))
        raise UsageError(f"--scores: got the label {word!r}, wanted numbers")
    if not scores:  # a score may well stand once
        counts = np.bincount(label[label >= 0], minlength=len(classes)).tolist()
        for once, near in probably_misspelt(classes, counts)[:3]:
            notices.append(f"the class {once!r} stands once; {f'is it {near!r}?' if near else 'is it a mistake?'}")
    if scores and how.scores is None:
        notices.append(f"labels are numbers, {classes[0]} to {classes[-1]}: taken as scores; --no-scores if as names")
    values = np.array([float(name) for name in classes]) if scores else None
    judges, judge, swapped = _orders(told, names, how, extra)
    answers = _answers(how.answers, classes, truths, label[person]) if swapped.any() and not scores else None
    if how.by_place and answers:
        turned = np.arange(len(classes), dtype=np.int32)
        turned[list(answers)] = answers[::-1]
        own = np.where(swapped, turned[own], own)
    people = from_codes(
        np.column_stack([codes[person, :2], label[person]]), names[0], names[1], classes, classes
    ) if person.any() else None  # fmt: skip
    truth = _truth(names[1], classes, truths, people, values)
    slices = {}
    for name in how.slices:
        column = 3 + extra.index(name)
        slices[name] = _slices(name, names[column], _of_items(name, column, told, names), notices)
    cluster = np.arange(len(names[1]))
    if how.cluster:
        of = _of_items(how.cluster, 3 + extra.index(how.cluster), told, names)
        cluster = np.where(of >= 0, len(cluster) + of, cluster)
    return Runs(
        judges, names[1], classes, judge, told[:, 1], own, swapped, truth, people, cluster, slices, values, answers,
        notices,
    )  # fmt: skip


def _slices(column: str, values: list[str], of_item: NDArray[np.int64], notices: list[str]) -> tuple[Places, list[str]]:
    """The slice of each item, -1 for none, and the names of the slices: values, or quarters of many numbers.

    Args:
        column: its name.
        values: of the column.
        of_item: the code of each item's value (items); -1 for none.
        notices: to add to.
    """
    kinds = [kind for kind in class_order(values) if kind]
    if len(kinds) <= MOST_SLICES or not all_numbers(kinds):
        place = {kind: k for k, kind in enumerate(kinds)}
        return np.array([*(place.get(kind, -1) for kind in values), -1])[of_item], kinds
    number = np.array([*(float(kind) if kind else np.nan for kind in values), np.nan])[of_item]
    known = np.isfinite(number)
    part = np.searchsorted(np.quantile(number[known], np.arange(1, PARTS) / PARTS), number, side="left")
    used = np.unique(part[known])
    found = np.where(known, np.searchsorted(used, part), -1)
    ends = [(number[found == k].min(), number[found == k].max()) for k in range(len(used))]
    notices.append(f"{column}: {len(kinds)} different numbers, cut into {len(used)} slices of about equal size")
    return found, [f"{low:g} to {high:g}" if high > low else f"{low:g}" for low, high in ends]


def _check_meet(
    codes: NDArray[np.int32], names: list[list[str]], person: NDArray[np.bool_], truths: dict[str, str]
) -> None:
    """Refuse people, or gold, whose items or classes are not those of the judges."""
    for column, kind, known in ((1, "item", truths), (2, "class", truths.values())):
        told, said = ([names[column][code] for code in np.unique(codes[which, column])] for which in (~person, person))
        if kind == "item" or not all_numbers(told):
            check_same(kind, [*said, *known], told)


def _orders(
    told: NDArray[np.int32], names: list[list[str]], how: Reading, extra: tuple[str, ...]
) -> tuple[list[str], NDArray[np.int32], NDArray[np.bool_]]:
    """Judges by name, the judge of each run, and whether the answers were swapped."""
    swapped = np.zeros(len(told), np.bool_)
    plain = list(names[0])
    if how.swapped:
        marked = np.array([name.endswith(how.swapped) for name in plain])
        swapped |= marked[told[:, 0]]
        plain = [name.removesuffix(how.swapped) for name in plain]
        if not swapped.any():
            raise UsageError(f"--swapped: the name of no judge ends with {how.swapped!r}, such as {plain[0]!r}")
    if how.order:
        column = 3 + extra.index(how.order)
        kinds = class_order(names[column][code] for code in np.unique(told[:, column]))
        if len(kinds) != 2:
            raise UsageError(f"--order: {how.order!r} has {counted(len(kinds), 'value')}, wanted two orders")
        swapped |= told[:, column] == names[column].index(kinds[1])
    judges = sorted({plain[code] for code in np.unique(told[:, 0])})
    return judges, recoded(told[:, 0], [name if name in judges else judges[0] for name in plain], judges), swapped


def _answers(
    given: Sequence[str], classes: list[str], truths: dict[str, str], said: NDArray[np.int32]
) -> tuple[int, int]:
    """The classes of the two answers."""
    for name in given:
        if name not in classes:
            raise UsageError(f"--answers: no label is {name!r}; {did_you_mean(name, classes)}")
    used = given or (classes if len(classes) == 2 else class_order([*truths.values(), *(classes[k] for k in said)]))
    if len(used) != 2:
        raise UsageError(f"--answers: which two labels name the answers? got {', '.join(classes[:8])}, wanted A,B")
    return classes.index(used[0]), classes.index(used[1])


def _truth(
    items: list[str], classes: list[str], truths: dict[str, str], people: Labels | None, values: Array | None
) -> Array:
    """Gold, or else people's votes; see `Runs`."""
    truth = np.full((len(items), len(classes)), np.nan)
    if people:
        answered = np.diff(people.item_ptr) > 0
        truth[answered] = people.vote_share()[answered]
    place, code = {name: k for k, name in enumerate(items)}, {name: k for k, name in enumerate(classes)}
    for name in place.keys() & truths.keys():
        truth[place[name]] = np.eye(len(classes))[code[truths[name]]]
    return truth if values is None else truth @ values[:, None]


def _of_items(role: str, column: int, told: NDArray[np.int32], names: list[list[str]]) -> Places:
    """The code of each item's value in a column, which must be one; -1 for none."""
    pairs = np.unique(told[:, [1, column]], axis=0)
    pairs = pairs[np.array([name != "" for name in names[column]])[pairs[:, 1]]]
    again = np.flatnonzero(np.diff(pairs[:, 0]) == 0)
    if len(again):
        item, (one, two) = names[1][pairs[again[0], 0]], (names[column][code] for code in pairs[again[0] :][:2, 1])
        raise DataError(f"item {item!r}: got {role} {one!r} and {two!r}, wanted one")
    found = np.full(len(names[1]), -1)
    found[pairs[:, 0]] = pairs[:, 1]
    return found
