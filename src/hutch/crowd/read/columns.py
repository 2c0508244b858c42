"""Which column of a table holds what: named by the user, known by its name, or told by its values.

A role that the user names is taken as it is. Names that tools and people use are known. The rest is decided by the
values: columns that share their values are those of raters; values that never come again are ids; a column that
separates one worker's repeated answers to a task is the question. Where two readings are possible, both are named.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from shlex import quote
from typing import Any

from hutch.core.errors import Problem, UsageError, counted, did_you_mean
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.known import BESIDE, holds_pairs, key_of, places_of, usual_of
from hutch.crowd.data.values import MISSING
from hutch.crowd.read import evidence
from hutch.crowd.read.evidence import ENOUGH, FREE, REPEATED, Reading
from hutch.crowd.read.form import Table
from hutch.crowd.read.people import check_people
from hutch.crowd.read.tools.table import SHEETS
from hutch.crowd.read.tools.tool import Places, cell, place_of

TRIPLE = ("worker", "task", "label")
"""The roles of a row, in the order in which they stand when no header names them."""
TICKED, NOT_TICKED = frozenset(("true", "1", "yes", "x", "t")), frozenset(("", "false", "0", "no", "f"))
"""Cells of a column of one choice, in lower case."""
_CHOICE = re.compile(r"(.+?)(?:\.|:+|/|->|__)([^.:/]+)")
"""A question and a choice, as the name of a column."""
_LIKELY, _SURE = 0.5, 0.1
"""Odds below which a first row is a header if none of its values comes again, and in any case."""
_SURPRISE = 5.0
"""So many repetitions of a key expected by chance, and none seen, show that it is one."""


def decide(table: Table, asked: ColumnNames, name: str, classes: Collection[str] = ()) -> Places:
    """Where a table holds what.

    Args:
        table: its first row and a sample of the others.
        asked: what the user says.
        name: of the source, for the commands in messages.
        classes: known beforehand: a cell with such a name is not a missing value.

    Raises:
        Problem: a column does not exist, none has a role, or several readings are possible.
        UsageError: a role that labels do not have.
    """
    if asked.weight:
        raise UsageError("--columns: got a weight, which votes on pairs have: needs --pairs")
    for find in SHEETS if table.records is None else ():
        if found := find(table.first, asked, table.sample):
            if asked.question or asked.time:
                asked.only(found.tool, [*TRIPLE, "gold"])
            return found
    found = _Matcher(table, asked, name).places()
    if found.choices:
        return replace(found, value_of=cell)
    return replace(found, value_of=partial(value_of_cell, missing=MISSING - set(classes), sets=asked.sets))


def value_of_cell(text: str, missing: Collection[str], sets: bool) -> Any:
    """The value of a cell of a table without a tool; a set of labels is JSON or has `|` between them."""
    if text.strip() in missing:
        return None
    if not sets:
        return text
    return text.split("|") if "|" in text else cell(text)


def is_header(table: Table, roles: Sequence[str]) -> bool | None:
    """Whether the first row of a table is its header; None if nothing tells."""
    if table.records is not None or sum(bool(places_of(table.first, role)) for role in roles) > 1:
        return True
    columns = evidence.columns_of(len(table.first), table.sample)
    odds = evidence.row_odds(table.first, columns)
    again = any(cell.strip() in column.counts for cell, column in zip(table.first, columns, strict=True))
    return True if odds < (_SURE if again else _LIKELY) else False if again or not table.sample else None


class _Matcher:
    """Finds the columns of one table."""

    def __init__(self, table: Table, asked: ColumnNames, name: str) -> None:
        self._table, self._asked, self._name, self._line = table, asked, name, table.line
        self._first, self._width = table.first, len(table.first)
        self._header = self._is_header()
        self._fields = table.first if self._header else [str(number) for number in range(1, self._width + 1)]
        rows = table.sample if self._header else (table.first, *table.sample)
        self._columns = evidence.columns_of(self._width, rows)
        self._rows = len(rows)
        self._at: Reading = {
            role: place_of(column, self._fields, role) for role, column in asked.one_each.items()
        }  # fmt: skip
        for column in asked.unsure:
            if self._header and column in self._fields:
                self._at["unsure"] = place_of(column, self._fields, "unsure")
        self._labels = self._asked_labels()
        for role, place in self._at.items():
            others = [each for each, other in self._at.items() if other == place and each != role]
            if others or (place in self._labels and role != "gold"):
                also = others[0] if others else "label"
                raise Problem(f"column {self._fields[place]!r} is named for {role} and {also}, wanted one role", 1, 1)

    def places(self) -> Places:
        """Where the table holds what."""
        if not self._header and not self._at and not self._labels:
            return self._without_header()
        if not self._at and not self._labels and holds_pairs(self._fields):
            got = f"got {counted(self._width, 'field')} ({', '.join(self._fields)})"
            raise Problem(f"{got}: votes on pairs need --pairs", self._line, 1)
        if len(self._labels) > 1:
            return self._of_several_labels()
        worker = "worker" in self._at or bool(self._known("worker"))
        label = bool(self._labels) or bool(self._known("label"))
        if worker or label or self._asked.sets:
            return self._long(self._long_reading())
        return self._by_values()

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
        if not self._header:
            return []
        taken = [place for other, place in self._at.items() if other != role]
        found = [place for place in places_of(self._fields, role) if place not in taken]
        if role == "task":
            found = [place for place in found if place not in self._usual("question")]
        return [p for p in found if p not in self._known("gold")] or [] if role == "label" else found

    def _usual(self, role: str) -> list[int]:
        return [place for place in usual_of(self._fields, role) if place not in self._at.values()] * self._header

    def _free(self, taken: Iterable[int] = (), beside: Collection[str] = BESIDE) -> list[int]:
        """Columns that may have any role, unless their names are those of others beside the labels."""
        not_free = {*taken, *self._at.values(), *self._known("gold"), *self._known("kind"), *self._known("price")}
        others = {place for place, field in enumerate(self._fields) if key_of(field) in beside and self._header}
        extra = {place for place, field in enumerate(self._fields) if field in self._asked.extra}
        return [place for place in range(self._width) if place not in not_free | others | extra]

    def _gold(self, at: Reading) -> Reading:
        """A column of true labels, if one is there."""
        found = [place for place in self._known("gold") if place not in at.values()]
        return at if "gold" in at or not found else {**at, "gold": found[0]}

    def _made(self, **more: Any) -> Places:
        return Places(fields=tuple(self._first) if self._header else (), **more)

    # Rows of labels: worker, task, label.

    def _without_header(self) -> Places:
        """Rows that no header names: worker, task, label.

        Raises:
            Problem: there are more or fewer cells, or the values say something else.
        """
        rows = {role: place for place, role in enumerate(TRIPLE)}
        wide = {"label": tuple(range(self._width))}
        if self._width != len(TRIPLE):
            several = f"hutch crowd {quote(self._name)} --columns {_columns(wide, self._fields)}"
            hint = (
                f"; if each column is a worker's: {several}"
                if evidence.groups_alike(self._columns, wide["label"])
                else ""
            )
            raise Problem(wrong_width(self._width, TRIPLE) + hint, self._line, 1)
        ids = self._columns[0].unique and self._columns[1].few and evidence.groups_alike(self._columns, (1, 2))
        alike = evidence.groups_alike(self._columns, range(3)) == [[0, 1, 2]]
        if ids or (alike and self._rows >= ENOUGH and evidence.repeated(self._columns, (0, 1)) > REPEATED):
            self._refuse(
                [rows, {"task": 0, "label": (1, 2)} if ids else wide], "rows of labels, or one column a worker?"
            )
        doubt = ""
        if is_header(self._table, TRIPLE) is None:
            first = ", ".join(self._first)
            doubt = f"the first row, {first}, is taken as a label; if it is a header, name its columns with --columns"
        return self._made(at=rows, doubt=doubt)

    def _long_reading(self) -> Reading:
        """The columns of worker, task and label, by name, else by values.

        Raises:
            Problem: one is missing, or there are several ways to read the table.
        """
        at = dict(self._at)
        if self._labels:
            at["label"] = self._labels[0]
        self._guessed = False
        for role in TRIPLE:
            names = [place for place in self._known(role) if place not in at.values()]
            if role not in at and names:
                if self._fields.count(self._fields[names[0]]) > 1 or self._twice(names[0]):
                    raise Problem(
                        f"column {self._fields[names[0]]!r} appears twice, wanted one {role} column", self._line, 1
                    )
                at[role] = names[0]
        question = self._question_or_task(at.values())
        if question is not None and "task" not in at and {"worker", "label"} <= at.keys():
            if "question" in at or self._rows < ENOUGH or not self._again(at["worker"], question):
                at["task"] = question
            else:
                at["question"] = question
        missing = [role for role in TRIPLE if role not in at]
        self._guessed = bool(missing)
        if missing:
            at = self._completed(at, missing)
        return at

    def _twice(self, place: int) -> bool:
        keys = [key_of(field) for field in self._fields]
        return keys.count(keys[place]) > 1

    def _again(self, *key: int) -> bool:
        return evidence.repeated(self._columns, key) >= REPEATED

    def _question_or_task(self, taken: Iterable[int]) -> int | None:
        """The column that is called a question: each may be a task, or be asked about several tasks."""
        names = places_of(self._fields, "task") if self._header else []
        return next((p for p in names if p in self._usual("question") and p not in {*taken, *self._at.values()}), None)

    def _completed(self, at: Reading, missing: list[str]) -> Reading:
        """The roles that no name tells, by the names that such columns often have, and by values."""
        free = self._free(at.values())
        usual = {}
        for role in missing:
            names = [p for p in self._usual(role) if p in free and (role != "task" or not self._columns[p].unique)]
            if len(names) == 1:
                usual[role] = names[0]
        if len(usual) == len(missing):
            return {**at, **usual}
        readings = self._ways({**at, **usual}, free)
        if len(readings) == 1:
            return readings[0]
        boxes = self._boxes(free) if missing == ["label"] or "label" not in {*at, *usual} else []
        if boxes and {"worker", "task"} <= {**at, **usual}.keys():
            return {**at, **usual, "label": boxes[0]}
        if readings:
            ways: list[dict[str, Any]] = list(readings[:3])
            places = tuple(dict.fromkeys(each["label"] for each in readings))
            if len(places) > 1 and not any("question" in each for each in readings):
                ways.append(
                    {**{role: place for role, place in readings[0].items() if role != "label"}, "label": places}
                )
            self._refuse(ways, f"which columns are {', '.join(role for role in missing if role not in usual)}?")
        ids = [place for place in self._usual("task") if place in free]
        rest = [place for place in free if place not in usual.values()]
        left = [role for role in missing if role not in usual]
        if len(rest) == 1 < self._rows and left in (["task"], ["label"]):
            found = {**at, **usual, left[0]: rest[0]}
            if evidence.repeated(self._columns, [found[role] for role in ("worker", "task")]) < REPEATED:
                return found
        question = self._question_or_task([*at.values(), *usual.values()])
        ids += [] if question is None else [question]
        if "task" in missing and ids:
            usual["task"] = ids[0]
        found = {**at, **usual}
        anonymous = self._table.records is not None or self._asked.anonymous
        if "worker" not in found and anonymous and {"task", "label"} <= found.keys():
            return found
        for role in TRIPLE:
            if role not in found:
                if self._width == len(TRIPLE) and sum(bool(places_of(self._fields, each)) for each in TRIPLE) < 2:
                    way = "name its columns (--columns worker=...,task=...,label=...), or put a header above the rows"
                    got = ", ".join(self._first)
                    raise Problem(f"got {got}: a row or a header? no column is the {role}; {way}", self._line, 1)
                only_column(self._fields, role, self._line)
        return found

    def _long(self, at: Reading) -> Places:
        """Rows of answers, each maybe to one of several questions."""
        boxes = self._boxes([at["label"], *self._free(at.values())])
        if at["label"] in boxes and not self._labels and "worker" in at:
            return self._choices(at, boxes)
        at = self._gold(at)
        doubt = ""
        if "question" not in at and "worker" in at and not self._asked.sets:
            at, doubt = self._with_question(at, at["label"], [at["worker"], at["task"]])
        return self._made(at=at, doubt=doubt, guessed=self._guessed)

    def _with_question(self, at: Reading, label: int, key: list[int]) -> tuple[Reading, str]:
        """A reading with the column that separates repeated answers to a task, if it is one of questions.

        Raises:
            Problem: it may be either.
        """
        named = [p for p, field in enumerate(self._fields) if p in self._usual("question") and p not in at.values()]
        if self._rows < ENOUGH and not named:
            return at, ""
        again = evidence.repeated(self._columns, key)
        if again < REPEATED:
            return at, ""
        free = [p for p in self._free(at.values()) if 1 < len(self._columns[p].counts) <= evidence.FEW]
        free = [p for p in free if evidence.repeated(self._columns, [*key, p]) <= max(FREE, again / 10)]
        free = [p for p in free if not self._columns[p].unique and p not in self._labels]
        given = all(role in self._at for role in ("worker", "task")) and bool(self._labels)
        for place in sorted(free, key=lambda p: (p not in named, p)):
            asks = True if place in named else evidence.asks(self._columns, label, key, place)
            if asks is None and not given:
                plain = {role: p for role, p in at.items() if role != "gold"}
                self._refuse(
                    [{**plain, "question": place}, plain], f"is {self._fields[place]!r} what was asked, or again?"
                )
            if asks and given:
                way = f"--columns question={self._fields[place]} gives each of its questions a result"
                return at, f"{self._fields[place]!r} separates repeated answers: {way}"
            if asks:
                return {**at, "question": place}, ""
        return at, ""

    # Several columns of labels: one per worker, per question, or per choice.

    def _of_several_labels(self) -> Places:
        """Columns of labels that the user named."""
        people = [p for p in self._known("worker") if p not in self._labels]
        question = [p for p in places_of(self._fields, "task") if p in self._usual("question")] * self._header
        tasks = [p for p in (self._known("task") or self._usual("task") or question) if p not in self._labels]
        at = dict(self._at)
        if "task" not in at and tasks:
            at["task"] = tasks[0]
        again = "task" in at and evidence.repeated(self._columns, [at["task"]]) > REPEATED
        if "worker" not in at and people and again:
            at["worker"] = people[0]
        if "worker" not in at:
            return self._wide(at, self._labels)
        if "task" not in at:
            readings = [{"task": place} for place in self._free([*at.values(), *self._labels])]
            readings = [
                each for each in readings
                if 1 < len(self._columns[each["task"]].counts) < self._rows
                and evidence.repeated(self._columns, [at["worker"], each["task"]]) <= FREE
            ]  # fmt: skip
            if len(readings) != 1:
                only_column(self._fields, "task", self._line)
            at |= readings[0]
        if set(self._boxes(self._labels)) == set(self._labels):
            return self._choices(at, self._labels)
        if self._asked.sets:
            raise UsageError("--multi-label: got several columns of labels, wanted one, or a column for each choice")
        return self._made(at=at, questions=tuple(self._labels))

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

    def _by_values(self) -> Places:
        """A table in which no name tells who answered what.

        Raises:
            Problem: nothing does, or there are several ways to read it.
        """
        at = dict(self._at)
        task = self._task_by_name(())
        groups = evidence.groups_alike(self._columns, [p for p in self._free(beside=()) if p != task])
        fixed = {role: names[0] for role in ("worker", "label") if len(names := self._usual(role)) == 1}
        plain = self._readings(at, fixed, self._free())
        labels = {reading["label"] for reading in plain}
        if len(groups) == 1 and len(labels) > 1 and labels <= {*groups[0]}:  # a rater's column is as good as another's
            plain = []
        sure = [e for e in plain if evidence.expected(self._columns, [e[r] for r in ("worker", "task")]) >= _SURPRISE]
        if plain and (sure or not groups):
            if len(plain) == 1:
                self._guessed = True
                return self._long(plain[0])
            self._refuse(plain[:3], "which columns are worker, task and label?")
        if len(groups) > 1:
            self._refuse([{"label": tuple(group)} for group in groups], "which columns are the workers'?")
        if groups:
            check_people([self._fields[p] for p in groups[0]], self._fields)
            if plain:
                ways: list[dict[str, Any]] = [plain[0], {**at, "label": tuple(groups[0])}]
                self._refuse(ways, "rows of labels, or one column a worker?")
            return self._wide(at, groups[0])
        for role in TRIPLE:
            only_column(self._fields, role, self._line)
        raise AssertionError("a header without known names has no column of a known name")

    def _readings(self, at: Reading, fixed: Reading, free: list[int]) -> list[Reading]:
        """Ways to read rows of labels, with the names that are usual if they fit."""
        tasks = [p for p in [*self._known("task"), *self._usual("task")] if not self._columns[p].unique and p in free]
        named = {**fixed, **({"task": tasks[0]} if tasks else {})}
        return self._ways({**at, **named}, free) or self._ways(at, free)

    def _ways(self, known: Reading, free: Sequence[int]) -> list[Reading]:
        """Ways to read rows of labels; a column that is called a question is one, or the task, and nothing else."""
        question = self._question_or_task(known.values())
        asking = self._asking(known.values())
        rest = [p for p in free if p not in {*known.values(), *asking.values(), question}]
        if question is not None and "task" not in known:
            found = evidence.long_readings(self._columns, {**known, "task": question}, rest)
            if found := [reading for reading in found if "question" not in reading]:
                return found
        return evidence.long_readings(self._columns, {**known, **asking}, rest) or (
            evidence.long_readings(self._columns, known, rest) if asking else []
        )

    def _asking(self, taken: Iterable[int]) -> Reading:
        """The only column with the usual name of a question, if its values are few."""
        found = [p for p in self._usual("question") if p not in {*taken} and self._columns[p].few]
        return {"question": found[0]} if len(found) == 1 and "question" not in self._at else {}

    def _task_by_name(self, workers: Sequence[int]) -> int | None:
        """The column of the tasks of a wide table: named, of a known name, or an index without one."""
        if "task" in self._at:
            return self._at["task"]
        known = [p for p in [*self._known("task"), *self._usual("task")] if p not in workers]
        question = self._question_or_task(workers)
        known += [] if known or question is None or self._again(question) else [question]
        index = [p for p, field in enumerate(self._fields) if not field and self._columns[p].distinct]
        return next(iter([*known, *index]), None)

    def _task(self, workers: Sequence[int]) -> int | None:
        """The column of the tasks of a wide table, by its name, or by values that never come again."""
        named = self._task_by_name(workers)
        if named is not None:
            return named
        values = set[str]().union(*(self._columns[p].counts for p in workers))
        by_values = [
            p for p in self._free(workers)
            if self._columns[p].unique
            or (workers and self._columns[p].distinct and not self._columns[p].within(values))
        ]  # fmt: skip
        return next(iter(by_values), None)

    def _wide(self, at: Reading, workers: Sequence[int]) -> Places:
        """A column per worker, a row per task, or per question and task."""
        task = self._task(workers)
        counting = [p for p in workers if self._columns[p].counts_up and p not in self._labels]
        if task is None and counting:
            others = tuple(p for p in workers if p != counting[0])
            ways: list[dict[str, Any]] = [{"task": counting[0], "label": others}, {"label": tuple(workers)}]
            self._refuse(ways, f"is {self._fields[counting[0]]!r} a worker, or the ids?")
        if "question" not in at and not self._asked.sets:
            grid = self._grid(workers, task)
            task, at = grid.get("task", task), {**at, **grid}
        at = self._gold({**at, **({} if task is None else {"task": task})})
        if task is not None and "question" not in at and not self._asked.sets:
            at = self._with_question_of_rows(at, task, workers)
        if "gold" in at and at["gold"] in workers:
            at = {role: place for role, place in at.items() if role != "gold"}
        return self._made(at=at, workers=tuple(workers), tool="wide table")

    def _grid(self, workers: Sequence[int], task: int | None) -> Reading:
        """Columns of tasks and questions of which each pair has one row; none if another column holds ids.

        Raises:
            Problem: there are several.
        """
        free = [p for p in self._free(workers) if len(self._columns[p].counts) > 1]
        free += [p for p, name in enumerate(self._fields) if not name and p not in free]
        named = [p for p in free if p in self._usual("question")]
        if task is not None and not (named and not self._columns[task].few):
            return {}
        tasks = [self._at["task"]] if "task" in self._at else [p for p in free if p not in named]
        grids = [
            {"task": each, "question": place}
            for each in tasks
            for place in self._separating(each, named or free, bool(named))
            if len(self._columns[each].counts) * len(self._columns[place].counts) == self._rows
        ]
        told = [grid for grid in grids if self._classes_differ(grid["question"], workers)]
        grids = told if len(told) == 1 else grids
        if len(grids) == 1 and not (told or named) and self._alike_in_number(**grids[0]):
            grids.append({"task": grids[0]["question"], "question": grids[0]["task"]})
        if len(grids) > 1:
            base = {"label": tuple(workers)}
            self._refuse([{**grid, **base} for grid in grids], "which columns are the task and the question?")
        return grids[0] if grids else {}

    def _classes_differ(self, place: int, workers: Sequence[int]) -> bool:
        """Whether rows with different values in a column have different labels, all of them."""
        classes: dict[str, set[str]] = {}
        for row, value in enumerate(self._columns[place].cells):
            classes.setdefault(value, set()).update(self._columns[p].cells[row] for p in workers)
        return all(not (one & other) - {""} for one, other in combinations(classes.values(), 2))

    def _alike_in_number(self, task: int, question: int) -> bool:
        """Whether there are hardly more tasks than questions."""
        return len(self._columns[task].counts) < 2 * len(self._columns[question].counts)

    def _separating(self, task: int, among: Iterable[int], named: bool = False) -> list[int]:
        """Columns of few values that tell the rows of a task apart; unless named so, not more of them than tasks."""
        most = self._rows if named else len(self._columns[task].counts)
        few = [p for p in among if p != task and self._columns[p].few and len(self._columns[p].counts) <= most]
        return [p for p in few if evidence.repeated(self._columns, [task, p]) <= FREE]

    def _with_question_of_rows(self, at: Reading, task: int, workers: Sequence[int]) -> Reading:
        """A reading of a wide table with the column of the question, if a task has several rows.

        Raises:
            Problem: the columns may also be those of questions, and the rows those of workers.
        """
        if evidence.repeated(self._columns, [task]) < REPEATED:
            return at
        by = self._separating(task, self._free([*at.values(), *workers]))
        for place in sorted(by, key=lambda p: p not in self._usual("question")):
            within = sum(evidence.agreement(self._columns, p, [task]) for p in workers) / len(workers)
            across = evidence.agreement_across(self._columns, workers)
            asks = across > within + evidence.CLEAR or place in self._usual("question")
            if asks or evidence.asks(self._columns, workers[0], [task], place):
                return {**at, "question": place}
            base = {"task": task, "label": tuple(workers)}
            ways = [{**base, "question": place}, {"worker": place, **base}]
            self._refuse(ways, f"most tasks have several rows: is {self._fields[place]!r} the question or the worker?")
        return at

    def _refuse(self, readings: Sequence[dict[str, Any]], question: str) -> None:
        """Ask which reading is meant.

        Raises:
            Problem: always.
        """
        lines = [f"hutch crowd {quote(self._name)} --columns {_columns(each, self._fields)}" for each in readings]
        text = f"got {', '.join(self._first)}: {question} Name the columns, as one of"
        raise Problem("\n  ".join([text, *lines]), self._line, 1)


def _columns(at: dict[str, Any], fields: Sequence[str]) -> str:
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
