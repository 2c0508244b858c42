"""What is known of the columns of a table before its values decide: what the user names, and names that are known."""

import re
from collections.abc import Collection, Iterable, Sequence
from shlex import quote
from typing import Any

from hutch.core.errors import Problem, counted, did_you_mean
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.known import BESIDE, HEADERS, USUAL, key_of, places_of, usual_of
from hutch.crowd.read import evidence
from hutch.crowd.read.evidence import REPEATED, Reading
from hutch.crowd.read.form import Table
from hutch.crowd.read.tools.tool import Places, place_of

TRIPLE = ("worker", "task", "label")
"""The roles of a row, in the order in which they stand when no header names them."""
TICKED, NOT_TICKED = frozenset(("true", "1", "yes", "x", "t")), frozenset(("", "false", "0", "no", "f"))
"""Cells of a column of one choice, in lower case."""
_CHOICE = re.compile(r"(.+?)(?:\.|:+|/|->|__)([^.:/]+)")
"""A question and a choice, as the name of a column."""
_LIKELY, _SURE = 0.5, 0.1
"""Odds below which a first row is a header if none of its values comes again, and in any case."""


def is_header(table: Table, roles: Sequence[str]) -> bool | None:
    """Whether the first row of a table is its header; None if nothing tells."""
    known = sum(bool(places_of(table.first, role)) for role in roles)
    usual = sum(bool(places_of(table.first, role) or usual_of(table.first, role)) for role in roles)
    if table.records is not None or known > 1 or (usual > 1 and not table.sample):
        return True
    columns = evidence.columns_of(len(table.first), table.sample)
    odds = evidence.row_odds(table.first, columns)
    again = any(cell.strip() in column.counts for cell, column in zip(table.first, columns, strict=True))
    return True if odds < (_SURE if again else _LIKELY) else False if again or not table.sample else None


class Matching:
    """The columns of one table, and those that are named.

    Args:
        table: its first row and a sample of the others.
        asked: what the user says.
        name: of the source, for the commands in messages.
    """

    def __init__(self, table: Table, asked: ColumnNames, name: str) -> None:
        self._table, self._asked, self._line = table, asked, table.line
        self._name = name.replace("<stdin>", "-")
        self._first, self._width = table.first, len(table.first)
        self._header = self._is_header()
        self._fields = table.first if self._header else [str(number) for number in range(1, self._width + 1)]
        self._keys = [key_of(field) for field in self._fields]
        names = self._fields if self._header else []
        self._named = {role: places_of(names, role) for role in HEADERS}
        self._often = {role: usual_of(names, role) for role in USUAL}
        rows = table.sample if self._header else (table.first, *table.sample)
        self._columns = evidence.columns_of(self._width, rows)
        self._rows = len(rows)
        self._at: Reading = {role: place_of(name, self._fields, role) for role, name in asked.one_each.items()}
        for column in asked.unsure:
            if self._header and column in self._fields:
                self._at["unsure"] = place_of(column, self._fields, "unsure")
        self._labels = self._asked_labels()
        self._guessed = False
        for role, place in self._at.items():
            others = [each for each, other in self._at.items() if other == place and each != role]
            if others or (place in self._labels and role != "gold"):
                also = others[0] if others else "label"
                raise Problem(f"column {self._fields[place]!r} is named for {role} and {also}, wanted one role", 1, 1)

    def _is_header(self) -> bool:
        """Whether the first row is a header.

        Raises:
            Problem: it may be either.
        """
        named = [*self._asked.one_each.values(), *self._asked.label]
        if named and self._table.records is None:
            numbers = all(name.isdigit() and 0 < int(name) <= self._width for name in named)
            return not numbers or any(name in self._first for name in named)
        if any(name in self._first for name in self._asked.extra):
            return True
        found = is_header(self._table, TRIPLE)
        if found is None and self._width == len(TRIPLE):
            if any(key_of(cell) in ("label", "class", "answer") for cell in self._first):
                way = "name its columns (--columns worker=...,task=...,label=...), or put a header above the rows"
                raise Problem(f"got {', '.join(self._first)}: a row or a header? {way}", self._line, 1)
        return bool(found)

    def _asked_labels(self) -> list[int]:
        named = self._asked.matching(self._fields) if self._asked.label else []
        return [place_of(name, self._fields, "label") for name in named or self._asked.label]

    def _known(self, role: str) -> list[int]:
        """Columns with a name that is known for a role, and that no other role has."""
        taken = [place for other, place in self._at.items() if other != role]
        found = [place for place in self._named[role] if place not in taken]
        if role == "task":
            found = [place for place in found if place not in self._usual("question")]
        return [place for place in found if role != "label" or place not in self._known("gold")]

    def _usual(self, role: str) -> list[int]:
        """Columns with a name that such columns often have, if they have no role yet."""
        return [place for place in self._often[role] if place not in self._at.values()]

    def _each_usual(self) -> bool:
        """Whether worker, task and label have a name each that such columns often have, and no others do."""
        places = [self._known(role) or self._usual(role) for role in TRIPLE]
        return all(len(found) == 1 for found in places) and not self._shares(places[0][0])

    def _free(self, taken: Iterable[int] = (), beside: Collection[str] = BESIDE) -> list[int]:
        """Columns that may have any role, unless their names are those of others beside the labels."""
        not_free = {*taken, *self._at.values(), *self._known("gold"), *self._known("kind"), *self._known("price")}
        others = {place for place, key in enumerate(self._keys) if key in beside and self._header}
        extra = {place for place, field in enumerate(self._fields) if field in self._asked.extra}
        return [place for place in range(self._width) if place not in not_free | others | extra]

    def _shares(self, place: int) -> bool:
        """Whether a column has the values of another one, as those of raters have."""
        groups = evidence.groups_alike(self._columns, self._free(beside=()))
        return any(place in group for group in groups)

    def _gold(self, at: Reading) -> Reading:
        """A column of true labels, if one is there."""
        found = [place for place in self._known("gold") if place not in at.values()]
        return at if "gold" in at or not found else {**at, "gold": found[0]}

    def _made(self, **more: Any) -> Places:
        return Places(fields=tuple(self._first) if self._header else (), **more)

    def _twice(self, place: int) -> bool:
        return self._keys.count(self._keys[place]) > 1

    def _again(self, *key: int) -> bool:
        return evidence.repeated(self._columns, key) >= REPEATED

    def _question_or_task(self, taken: Iterable[int]) -> int | None:
        """The column that is called a question: each may be a task, or be asked about several tasks."""
        found = [place for place in self._named["task"] if place in self._usual("question")]
        return next((place for place in found if place not in {*taken, *self._at.values()}), None)

    def _asking(self, taken: Iterable[int]) -> Reading:
        """The only column with the usual name of a question, if its values are few."""
        found = [p for p in self._usual("question") if p not in {*taken} and self._columns[p].few]
        return {"question": found[0]} if len(found) == 1 and "question" not in self._at else {}

    def _boxes(self, among: Iterable[int]) -> list[int]:
        """The columns of one question with a column for each choice, ticked or not; empty if there are none."""
        groups: dict[str, list[int]] = {}
        for place in among:
            named = _CHOICE.fullmatch(self._fields[place])
            values = {value.lower() for value in self._columns[place].counts}
            if named and values <= TICKED | NOT_TICKED | {named[2].lower()}:
                groups.setdefault(named[1], []).append(place)
        found = [group for group in groups.values() if len(group) > 1 and any(self._columns[p].given for p in group)]
        return found[0] if len(found) == 1 else []

    def _choices(self, at: Reading, boxes: Sequence[int]) -> Places:
        named = {self._fields[place]: _CHOICE.fullmatch(self._fields[place]) for place in boxes}
        choices = {field: found[2] for field, found in named.items() if found}
        return self._made(at={role: place for role, place in at.items() if role != "label"}, choices=choices)

    def _refuse(self, readings: Sequence[dict[str, Any]], question: str) -> None:
        """Ask which reading is meant.

        Raises:
            Problem: always.
        """
        lines = [f"hutch crowd {quote(self._name)} --columns {columns_text(each, self._fields)}" for each in readings]
        text = f"got {', '.join(self._first)}: {question} Name the columns, as one of"
        raise Problem("\n  ".join([text, *lines]), self._line, 1)


def columns_text(at: dict[str, Any], fields: Sequence[str]) -> str:
    """A reading as the argument of `--columns`."""
    order = ("worker", "task", "label", "question", "gold", "time")
    pairs = [(role, place) for role in order if role in at for place in _each(at[role])]
    return quote(",".join(f"{role}={fields[place]}" for role, place in pairs))


def _each(place: int | tuple[int, ...]) -> tuple[int, ...]:
    return place if isinstance(place, tuple) else (place,)


def wrong_width(got: int, roles: Sequence[str]) -> str:
    """Message about a first line that is neither a row nor a header."""
    hint = "; votes on pairs need --pairs" if (got, len(roles)) == (4, 3) else ""
    return f"got {counted(got, 'field')}, wanted {len(roles)} ({', '.join(roles)}) or a header that names them{hint}"


def only_column(fields: Sequence[str], role: str, line: int) -> int:
    """The only column whose name is known for a role.

    Raises:
        Problem: no column matches, or two have the same name.
    """
    keys = [key_of(field) for field in fields]
    found = places_of(fields, role)
    if not found:
        hint = did_you_mean(role, keys)
        raise Problem(f"the header names no {role} column, got {', '.join(fields)}; {hint}", line, 1)
    if keys.count(keys[found[0]]) > 1:
        raise Problem(f"column {fields[found[0]]!r} appears twice, wanted one {role} column", line, 1)
    return found[0]
