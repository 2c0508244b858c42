"""Labels in separated text: a plain table, a wide one, or a tool's export, recognised by the header."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.cells import first_rows
from hutch.core.errors import Problem
from hutch.core.strict_json import dumps
from hutch.crowd.data.rows import Layout, Rows, first_line, only_column, read_rows, recoded, wrong_width
from hutch.crowd.exports.found import MISSING, NO_LABEL, NO_LABELS, ROLES, TWO_TRUTHS, Columns, Problems, label_of
from hutch.crowd.exports.headers import places_of
from hutch.crowd.exports.sheet import Sheet, cell, place_of
from hutch.crowd.exports.tools import SHEETS

TRIPLE = ("worker", "task", "label")
"""The roles of a row, in the order in which they stand when no header names them."""
_SAMPLE_BYTES = 1 << 20
_SAMPLE_ROWS = 2000


@dataclass(frozen=True)
class Piece:
    """Labels of a piece of a text.

    Attributes:
        codes: int32 (labels, 3): worker, task, label.
        names: by code.
        gold: true class of some tasks.
        problems: labels left out, with reasons.
        extras: codes (labels, columns) and names of the requested further columns; None without any.
    """

    codes: NDArray[np.int32]
    names: list[Sequence[str]]
    gold: dict[str, str] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    extras: tuple[NDArray[np.int32], list[Sequence[str]]] | None = None


@dataclass(frozen=True)
class SheetReader:
    """Reads the rows of a text whose first line is known.

    Attributes:
        sheet: which columns are read.
        layout: of the rows.
        roles: of the layout's columns.
        start, line: where the rows begin in the text with the first line, and the number of the line there.
        sets: as of `hutch.crowd.exports.found.Columns`.
    """

    sheet: Sheet
    layout: Layout
    roles: tuple[str, ...]
    start: int
    line: int
    sets: bool = False

    def read(self, data: bytes, start: int, line: int) -> Piece:
        """The labels of a text from a byte on a line.

        Raises:
            Problem: a place in it is wrong.
        """
        optional = set(self.roles) - {"task"}
        rows = read_rows(data, start, line, self.layout, self.roles, optional)
        problems = Problems()
        kept = self._kept(rows, problems)
        gold = self._gold(rows, problems)
        codes, labels = self._triples(rows)
        if self.sheet.workers:
            kept = np.repeat(kept, len(self.sheet.workers))
        values = [label_of(self.sheet.value_of(text), self.sets) for text in labels]
        for code, value in enumerate(values):
            if value in NO_LABELS:
                those = codes[:, 2] == code
                if labels[code] or not self.sheet.workers:  # in a wide table not all workers label all tasks
                    place = rows.line(int(np.argmax(those)) // max(len(self.sheet.workers), 1))
                    problems.add(value, f"line {place}", int(np.sum(those & kept)))
                kept &= ~those
        further = [place for place, role in enumerate(self.roles) if role.startswith("extra ")]
        extras = np.repeat(rows.codes[:, further], len(self.sheet.workers) or 1, axis=0)
        if not kept.all():
            codes, extras = codes[kept], extras[kept]
        used = np.flatnonzero(np.bincount(codes[:, 2])).tolist()
        distinct = list(dict.fromkeys(values[code] for code in used))
        if distinct != labels:
            place_in = {label: code for code, label in enumerate(distinct)}
            codes = np.array(codes)
            codes[:, 2] = np.array([place_in.get(value, -1) for value in values], np.int32)[codes[:, 2]] if used else 0
        names = [rows.names[place] for place in further]
        return Piece(codes, [*self._names(rows), distinct], gold, problems, (extras, names) if further else None)

    def _names(self, rows: Rows) -> list[Sequence[str]]:
        task = rows.names[self.roles.index("task")]
        if self.sheet.workers:
            return [[self.sheet.fields[place] for place in self.sheet.workers], task]
        return [rows.names[self.roles.index("worker")], task]

    def _triples(self, rows: Rows) -> tuple[NDArray[np.int32], list[str]]:
        """Codes (labels, 3), and the names of the labels as written in the text."""
        if self.sheet.choices:
            return self._chosen(rows)
        if not self.sheet.workers:
            columns = [self.roles.index(role) for role in TRIPLE]
            codes = rows.codes if columns == list(range(rows.codes.shape[1])) else rows.codes[:, columns]
            return codes, list(rows.names[self.roles.index("label")])
        count, workers = len(rows.codes), len(self.sheet.workers)
        first = self.roles.index("label 0")
        answers = rows.names[first : first + workers]
        labels = list(dict.fromkeys(name for names in answers for name in names))
        given = [recoded(rows.codes[:, first + w], answers[w], labels) for w in range(workers)]
        codes = np.empty((count * workers, 3), np.int32)
        codes[:, 0] = np.tile(np.arange(workers, dtype=np.int32), count)
        codes[:, 1] = np.repeat(rows.codes[:, self.roles.index("task")], workers)
        codes[:, 2] = np.stack(given, axis=1).reshape(-1) if count else 0
        return codes, labels

    def _chosen(self, rows: Rows) -> tuple[NDArray[np.int32], list[str]]:
        """As of `_triples`, where each choice has a column; a label is the JSON list of the choices ticked."""
        columns = [self.roles.index(f"choice {place}") for place in range(len(self.sheet.choices))]
        yes = [np.array([name.strip().lower() == "true" for name in rows.names[c]] or [False]) for c in columns]
        ticked = np.stack([each[rows.codes[:, c]] for each, c in zip(yes, columns, strict=True)], axis=1)
        sets, codes = np.unique(ticked, axis=0, return_inverse=True)
        people_and_tasks = rows.codes[:, [self.roles.index(role) for role in ("worker", "task")]]
        names = np.array(list(self.sheet.choices.values()))
        labels = [dumps(names[chosen].tolist()) for chosen in sets]
        return np.insert(people_and_tasks, 2, codes.reshape(-1), axis=1), labels

    def _kept(self, rows: Rows, problems: Problems) -> NDArray[np.bool_]:
        kept = np.ones(len(rows.codes), np.bool_)
        if "status" in self.roles:
            role = self.roles.index("status")
            for code, name in enumerate(rows.names[role]):
                if reason := (self.sheet.left_out or {}).get(name):
                    those = rows.codes[:, role] == code
                    kept &= ~those
                    problems.add(reason, f"line {rows.place(role, code)[0]}", int(those.sum()))
        return kept

    def _gold(self, rows: Rows, problems: Problems) -> dict[str, str]:
        found: dict[str, str] = {}
        if "gold" not in self.roles:
            return found
        role, task = self.roles.index("gold"), self.roles.index("task")
        pairs = np.unique(rows.codes[:, [task, role]], axis=0)
        for item, code in pairs.tolist():
            label = label_of(self.sheet.value_of(rows.names[role][code]), self.sets)
            if label == NO_LABEL:
                continue
            place = f"line {rows.place(role, code)[0]}"
            if label in NO_LABELS:
                problems.add(label, place)
            elif found.setdefault(rows.names[task][item], label) != label:
                problems.add(TWO_TRUTHS, place)
        return found


def sheet_reader(data: bytes, columns: Columns, classes: Sequence[str] = ()) -> SheetReader | None:
    """The reader for a text, from its first line; None for a blank text.

    Args:
        data: the text, or its beginning.
        columns: the requested ones.
        classes: known beforehand: a cell with such a name is not a missing value.

    Raises:
        Problem: the first line is neither a row nor a header with all roles.
    """
    first = first_line(data, 3)
    if first is None:
        return None
    sample = first_rows(data[first.rows : first.rows + _SAMPLE_BYTES], first.separator, _SAMPLE_ROWS)
    sample = sample[:-1] if len(data) - first.rows >= _SAMPLE_BYTES else sample  # the last may be cut off
    for find in SHEETS:
        sheet = find(first.fields, columns, sample)
        if sheet:
            break
    else:
        sheet = _plain(first.fields, columns, first.line, sample)
    if sheet.tool in ("", "wide table"):  # a tool's cells are choices of workers
        sheet = replace(sheet, value_of=partial(value_of_cell, missing=MISSING - set(classes), sets=columns.sets))
    is_header = bool(sheet.fields)
    boxes = {f"choice {c}": place_of(name, first.fields, "choice") for c, name in enumerate(sheet.choices)}
    places: Mapping[str, int] = {
        **sheet.places,
        **{f"label {w}": place for w, place in enumerate(sheet.workers)},
        **boxes,
        **{f"extra {k}": place_of(name, first.fields, "items") for k, name in enumerate(columns.extra)},
    }
    header = tuple(first.fields[place] for place in places.values()) if is_header else ()
    layout = Layout(first.separator, np.array(list(places.values()), np.int64), len(first.fields), header)
    start, line = (first.rows, first.rows_line) if is_header else (first.start, first.line)
    return SheetReader(sheet, layout, tuple(places), start, line, columns.sets)


def value_of_cell(text: str, missing: Collection[str], sets: bool) -> Any:
    """The value of a cell of a table without a tool; a set of labels is JSON or has `|` between them."""
    if text.strip() in missing:
        return None
    if not sets:
        return text
    return text.split("|") if "|" in text else cell(text)


def _plain(fields: list[str], columns: Columns, line: int, sample: Sequence[Sequence[str]]) -> Sheet:
    """The columns of a plain table; without a header the sheet has no fields."""
    given = {"worker": columns.worker, "task": columns.task, "label": (*columns.label, "")[0], "gold": columns.gold}
    if not any(given.values()) and sum(bool(places_of(fields, role)) for role in TRIPLE) < 2:
        if len(fields) != len(TRIPLE):
            raise Problem(wrong_width(len(fields), TRIPLE), line, 1)
        for place in places_of(fields, "label"):
            if all(fields[place] not in row[place : place + 1] for row in sample):
                way = "name its columns (--columns worker=...,task=...,label=...), or put a header above the rows"
                raise Problem(f"got {', '.join(fields)}: a row or a header? {way}", line, 1)
        return Sheet("", (), {role: place for place, role in enumerate(TRIPLE)})
    places = {role: place_of(given[role], fields, role) for role in ROLES if given[role]}
    for role in TRIPLE:
        if role not in places:
            places[role] = only_column(fields, role, line)
    gold = [place for place in places_of(fields, "gold") if place not in places.values()]
    if gold and "gold" not in places:
        places["gold"] = gold[0]
    return Sheet("", tuple(fields), {role: places[role] for role in ROLES if role in places})
