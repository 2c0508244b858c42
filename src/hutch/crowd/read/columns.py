"""Which column of a table holds what: named by the user, known by its name, or told by its values.

A role that the user names is taken as it is. Names that tools and people use are known. The rest is decided by the
values: columns that share their values are those of raters; values that never come again are ids; a column that
separates one worker's repeated answers to a task is the question. Where two readings are possible, both are named.
"""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import Any

from hutch.core.errors import Problem, UsageError, counted
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.sides import holds_pairs
from hutch.crowd.data.values import MISSING
from hutch.crowd.read import evidence
from hutch.crowd.read.evidence import ENOUGH, FREE, REPEATED
from hutch.crowd.read.form import Table
from hutch.crowd.read.long import LongTables
from hutch.crowd.read.matching import TRIPLE, columns_text, is_header, only_column, wrong_width
from hutch.crowd.read.people import check_people
from hutch.crowd.read.tools.table import SHEETS
from hutch.crowd.read.tools.tool import Places, cell
from hutch.crowd.read.wide import WideTables

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
            if not found.tasks:
                return found
            found = _tasks_of_form(found, table)
            break
    else:
        found = _Matcher(table, asked, name).places()
    if found.choices:
        return replace(found, value_of=cell)
    return replace(found, value_of=partial(value_of_cell, missing=MISSING - set(classes), sets=asked.sets))


def _tasks_of_form(found: Places, table: Table) -> Places:
    """A form with the columns that share their values as tasks.

    Raises:
        Problem: there is none, or answers of several kinds.
    """
    rows = [row for row in table.sample if row[found.at["worker"]] not in found.left_out]
    groups = evidence.groups_alike(evidence.columns_of(len(found.fields), rows), found.tasks)
    if len(groups) == 1:
        return replace(found, tasks=tuple(groups[0]))
    worker, several = found.name(found.at["worker"]), groups or [[*found.tasks[:2]]]
    ways = (
        f"--columns {quote(','.join([f'worker={worker}', *(f'label={found.name(p)}' for p in g)]))}" for g in several
    )
    kinds = "several kinds" if groups else "no kind in common"
    got = f"{found.tool}: got answers of {kinds}, wanted the columns of one"
    raise Problem(f"{got}: {' or '.join(ways)}", table.line, 1)


def value_of_cell(text: str, missing: Collection[str], sets: bool) -> Any:
    """The value of a cell of a table without a tool; a set of labels is JSON or has `|` between them."""
    if text.strip() in missing:
        return None
    if not sets:
        return text
    return text.split("|") if "|" in text else cell(text)


class _Matcher(LongTables, WideTables):
    """Finds the columns of one table."""

    def places(self) -> Places:
        """Where the table holds what."""
        if not self._header and not self._at and not self._labels:
            return self._without_header()
        if not self._at and not self._labels and holds_pairs(self._fields):
            got = f"got {counted(self._width, 'field')} ({', '.join(self._fields)})"
            raise Problem(f"{got}: votes on pairs need --pairs, in Python hutch.preferences", self._line, 1)
        if len(self._labels) > 1:
            return self._of_several_labels()
        named = bool(self._known("task") or self._usual("task")) and bool(self._usual("label"))
        worker = "worker" in self._at or any(named or not self._shares(place) for place in self._known("worker"))
        label = bool(self._labels) or bool(self._known("label"))
        if worker and not label and not named and (form := self._form_of_people()):
            return form
        if worker or label or self._each_usual():
            return self._long(self._long_reading())
        return self._by_values()

    def _form_of_people(self) -> Places | None:
        """A table whose rows are those of workers, each once, with a column per task; None if it is none."""
        people = [p for p in self._known("worker") if self._columns[p].distinct]
        groups = evidence.groups_alike(self._columns, [p for p in self._free(people, beside=()) if p not in people])
        return self._form(people[0], groups[0]) if len(people) == 1 and len(groups) == 1 else None

    def _without_header(self) -> Places:
        """Rows that no header names: worker, task, label.

        Raises:
            Problem: there are more or fewer cells, or the values say something else.
        """
        rows = {role: place for place, role in enumerate(TRIPLE)}
        wide = {"label": tuple(range(self._width))}
        if self._width != len(TRIPLE):
            self._refuse_title()
            several = f"hutch crowd {quote(self._name)} --columns {columns_text(wide, self._fields)}"
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

    def _refuse_title(self) -> None:
        """Refuse a row above the header, such as a title or the name of a group of columns.

        Raises:
            Problem: the first row has empty cells, and the next one has cells that never come again.
        """
        rows = [row for row in self._table.sample if any(cell.strip() for cell in row)]
        if not rows or all(cell.strip() for cell in self._first) or not all(cell.strip() for cell in rows[0]):
            return
        if not any(cell in (row[place] for row in rows[1:]) for place, cell in enumerate(rows[0])):
            title = ", ".join(filter(str.strip, self._first)) or "without words"
            got, header = f"got a row above the header ({title})", ", ".join(rows[0])
            raise Problem(f"{got}, wanted the header first: {header}; delete the rows above it", self._line, 1)

    def _of_several_labels(self) -> Places:
        """Columns of labels that the user named."""
        people = [p for p in self._known("worker") if p not in self._labels]
        question = [p for p in self._named["task"] if p in self._usual("question")]
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
            if not readings and self._columns[at["worker"]].distinct:
                return self._form(at["worker"], self._labels)
            if len(readings) != 1:
                only_column(self._fields, "task", self._line)
            at |= readings[0]
        if set(self._boxes(self._labels)) == set(self._labels):
            return self._choices(at, self._labels)
        if self._asked.sets:
            raise UsageError("--multi-label: got several columns of labels, wanted one, or a column for each choice")
        return self._made(at=at, questions=tuple(self._labels))

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
            more: list[dict[str, Any]] = [{**at, "label": tuple(group)} for group in groups[:1]]
            self._refuse([*plain[: 3 - len(more)], *more], "which columns are worker, task and label?")
        if len(groups) > 1:
            self._refuse([{"label": tuple(group)} for group in groups], "which columns are the workers'?")
        if groups and (task is not None or self._rows > 2):
            check_people([self._fields[p] for p in groups[0]], self._fields)
            if plain:
                ways: list[dict[str, Any]] = [plain[0], {**at, "label": tuple(groups[0])}]
                self._refuse(ways, "rows of labels, or one column a worker?")
            return self._wide(at, groups[0])
        if self._width < len(TRIPLE) and self._table.records is None:
            raise Problem(wrong_width(self._width, TRIPLE), self._line, 1)
        wanted = "worker=NAME,task=NAME,label=NAME, or, with a column per worker, task=NAME,label=NAME,label=NAME"
        got = f"the header names no worker column, got {', '.join(self._fields)}"
        raise Problem(f"{got}; name the columns: --columns {wanted}", self._line, 1)
