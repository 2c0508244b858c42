"""Labels as codes of worker, task and label: from the rows of a table, or from the records of a tool."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import Problem
from hutch.core.strict_json import dumps
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.codes import coded, recoded, used_names
from hutch.crowd.data.labels import Labels
from hutch.crowd.data.names import Names
from hutch.crowd.data.unsure import Unsure
from hutch.crowd.data.values import NO_LABEL, NO_LABELS, SET_SIGN, TWO_TRUTHS, UNSURE, Problems, label_of, name_of
from hutch.crowd.read.evidence import missing
from hutch.crowd.read.form import Export, Table
from hutch.crowd.read.matching import NOT_TICKED, TRIPLE
from hutch.crowd.read.rows import Rows, read_rows
from hutch.crowd.read.source import Source
from hutch.crowd.read.tools.tool import Places, place_of

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Triples:
    """Labels of a source, or of a piece of it.

    Attributes:
        codes: int32 (labels, 3): worker, task, label.
        names: by code.
        truths: true class of some tasks, by question and task.
        problems: labels left out, with reasons.
        extras: codes (labels, columns) and names of the requested further columns; None without any.
        questions: int32 (labels) and names; None if all labels answer one question.
        where: the place of a label in messages.
        spot: the line and the column where a name of a further column appears first.
        rows: of a table, from which the labels come.
        words: in cells that are taken as empty.
        unsure: int32 (answers, 3): worker, task and question that a worker does not know an answer to; -1 for a name
            that no label has.
    """

    codes: Codes
    names: list[Sequence[str]]
    truths: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    extras: tuple[Codes, list[Sequence[str]]] | None = None
    questions: tuple[Codes, list[str]] | None = None
    where: Callable[[int], str] = str
    spot: Callable[[int, int], tuple[int, int]] = lambda column, code: (1, 1)
    rows: int = 0
    words: tuple[str, ...] = ()
    unsure: Codes = field(default_factory=lambda: np.zeros((0, 3), np.int32))

    @classmethod
    def none(cls) -> "Triples":
        """No labels."""
        return cls(*coded((), 3))

    @property
    def gold(self) -> dict[str, str]:
        """True class of some tasks of the only question."""
        return {task: label for (_, task), label in self.truths.items()}

    def apart(self) -> dict[str, "Triples"]:
        """The labels of each question."""
        if self.questions is None:
            return {"": self}
        of, found = self.questions[0], {}
        for number, question in enumerate(self.questions[1]):
            keep = np.flatnonzero(of == number)
            codes, names = used_names(self.codes[keep], self.names)
            truths = {key: label for key, label in self.truths.items() if key[0] in (question, "")}
            extras = self.extras and (self.extras[0][keep], self.extras[1])
            unsure = self.unsure[self.unsure[:, 2] == number]
            for role in (0, 1):
                place = {name: code for code, name in enumerate(names[role])}
                new = np.array([place.get(name, -1) for name in self.names[role]], np.int32)
                unsure = np.column_stack([unsure[:, :role], new[unsure[:, role]], unsure[:, role + 1 :]])
            found[question] = replace(
                self, codes=codes, names=names, truths=truths, extras=extras, questions=None, unsure=unsure,
                where=partial(self._where_among, keep),
            )  # fmt: skip
        return {question: part for question, part in found.items() if len(part.codes)}

    def unsure_in(self, labels: Labels) -> Unsure:
        """The answers without knowledge, by the codes of labels that were made from these triples."""
        known = self.unsure[self.unsure[:, :2].min(axis=1, initial=0) >= 0][:, :2]
        answers = np.unique(known, axis=0, return_counts=True)[0]  # without counts it imports masked arrays
        workers = recoded(answers[:, 0], self.names[0], labels.worker_names) if len(answers) else answers[:, 0]
        items, wide = answers[:, 1], np.int64(len(labels.worker_names))
        new = ~np.isin(items * wide + workers, labels.label_items * wide + labels.workers)
        return Unsure(workers[new], items[new])

    def _where_among(self, kept: NDArray[np.int64], label: int) -> str:
        return self.where(int(kept[label]))


def of_export(export: Export, asked: ColumnNames) -> Triples:
    """The labels of a tool's export.

    Raises:
        Problem: a place in it is wrong, or a role is named that it cannot take.
    """
    tool = export.tool
    asked.only(tool.name, tool.roles)
    rows: list[tuple[str, str, str]] = []
    extras: list[tuple[str, ...]] = []
    questions: list[tuple[str]] = []
    places: list[str] = []
    truths: dict[tuple[str, str], str] = {}
    unsure: list[tuple[str, str, str]] = []
    problems = Problems()
    given = [row for worker, records in export.parts for row in tool.rows(records, asked, worker)]
    named = [row.reason or label_of(row.label, asked.sets) for row in given]
    asked = asked.keeping(
        each for row, label in zip(given, named, strict=True) if row.truth for each in label.split(SET_SIGN)
    )
    for row, label in zip(given, named, strict=True):
        if row.reason or label in NO_LABELS:
            problems.add(label, row.place)
        elif word := asked.unsure_in(label):
            problems.add_unsure(word, row.place)
            if not row.truth:
                unsure.append((name_of(row.worker), name_of(row.task), row.question))
        elif wrong := asked.check_class(label):
            raise Problem(f"{row.place}: {wrong}")
        elif row.truth:
            if truths.setdefault((row.question, name_of(row.task)), label) != label:
                problems.add(TWO_TRUTHS, row.place)
        else:
            rows.append((name_of(row.worker), name_of(row.task), label))
            extras.append(tuple(name_of(row.about.get(name)) for name in asked.extra))
            questions.append((row.question,))
            places.append(row.place)
    asks, (names, *_) = coded(questions, 1)
    several = (asks[:, 0], list(names)) if len(names) > 1 else None
    codes, known = coded(rows, 3)
    return Triples(
        codes, known, truths if several else {("", task): label for (_, task), label in truths.items()}, problems,
        coded(extras, len(asked.extra)) if asked.extra else None, several, places.__getitem__,
        unsure=_coded_as(unsure, known[0], known[1], names),
    )  # fmt: skip


def _coded_as(rows: Sequence[Sequence[str]], *names: Sequence[str]) -> Codes:
    """Rows as codes of names; -1 for any other name."""
    places = [{name: code for code, name in enumerate(known)} for known in names]
    codes = [[place.get(name, -1) for place, name in zip(places, row, strict=True)] for row in rows]
    return np.array(codes, np.int32).reshape(-1, len(names))


def of_table(
    source: Source, table: Table, places: Places, asked: ColumnNames, begins: bool = True, before: int | None = None
) -> Triples:
    """The labels of a table, or of a piece of one.

    Args:
        source: the text.
        table: its form.
        places: of its columns.
        asked: what the user says.
        begins: the table begins in this source, and not in an earlier piece of it.
        before: rows in earlier pieces; None: the source is the whole table.

    Raises:
        Problem: a place in it is wrong.
    """
    return _TableReader(source, table, places, asked, begins, before).read()


class _TableReader:
    """Reads one table, or one piece of it."""

    def __init__(
        self, source: Source, table: Table, places: Places, asked: ColumnNames, begins: bool, before: int | None
    ) -> None:
        self._places, self._asked, self._before, self._table = places, asked, before, table
        self._columns = places.workers or places.tasks or places.questions
        columns = {
            **places.at,
            **{f"label {number}": place for number, place in enumerate(self._columns)},
            **{f"choice {c}": place_of(name, places.fields, "choice") for c, name in enumerate(places.choices)},
            **{f"extra {k}": place_of(name, table.first, "items") for k, name in enumerate(asked.extra)},
        }
        if not columns:
            raise Problem("got no column of labels", table.line, 1)
        self._roles = tuple(columns)
        optional = set(self._roles) - {"task"}
        rows = read_rows(source, table, bool(places.fields), [*columns.values()], self._roles, optional, begins)
        self._rows = self._in_order(rows) if before is None and "time" in columns else rows
        self._problems = Problems()
        if "gold" in self._roles:
            values = (self._value(text) for text in self._names("gold"))
            self._asked = asked.keeping(each for value in values for each in value.split(SET_SIGN))

    def read(self) -> Triples:
        """The labels."""
        rows, several = self._rows, max(len(self._columns), 1)
        codes, labels = self._labels()
        keep = self._spread(self._kept())
        values = [self._value(text) for text in labels]
        words = [self._unsure_word(*each) for each in zip(labels, values, strict=True)]
        doubtful = np.zeros(len(codes), np.bool_)
        for code, value in enumerate(values):
            if value in NO_LABELS or words[code]:
                those = codes == code
                if labels[code] or not self._columns:  # in a wide table not all workers label all tasks
                    place = rows.where(int(np.argmax(those)) // several) if those.any() else ""
                    add = self._problems.add_unsure if words[code] else self._problems.add
                    add(words[code] or value, place, int(np.sum(those & keep)))
                if words[code]:
                    doubtful |= those & keep
                keep &= ~those
            elif wrong := self._asked.check_class(value):
                those = (codes == code) & keep
                if those.any():
                    self._refuse(wrong, labels[code], int(np.argmax(those)) // several)
        triples, questions = self._triples(codes), self._questions()
        asks = questions[0] if questions else np.zeros(len(triples), np.int32)
        unsure = np.column_stack([triples[doubtful, :2], asks[doubtful]])
        further = [place for place, role in enumerate(self._roles) if role.startswith("extra ")]
        extras = self._spread(rows.codes[:, further]) if further else None
        kept = None
        if not keep.all():
            kept = np.flatnonzero(keep)
            triples, extras = triples[kept], None if extras is None else extras[kept]
            questions = questions and (questions[0][kept], questions[1])
        used = np.flatnonzero(np.bincount(triples[:, 2])).tolist()
        distinct = list(dict.fromkeys(values[code] for code in used))
        if distinct != labels:
            place_in = {label: code for code, label in enumerate(distinct)}
            new = np.array([place_in.get(value, -1) for value in values], np.int32)
            triples = np.array(triples)
            triples[:, 2] = new[triples[:, 2]] if used else 0
        found = Triples(
            triples, [self._worker_names(), self._task_names(), distinct], self._truths(), self._problems,
            None if extras is None else (extras, [rows.names[place] for place in further]), questions,
            rows=len(rows.codes),
            words=tuple(text for text, value in zip(labels, values, strict=True) if value == NO_LABEL and text.strip()),
            unsure=unsure,
        )  # fmt: skip
        if self._before is None and not further:  # where labels stand, which takes the whole text, is of no interest
            return found
        return replace(
            found, where=lambda label: rows.where(int(label if kept is None else kept[label]) // several),
            spot=lambda column, code: rows.place(further[column], code),
        )  # fmt: skip

    def _spread(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        """An array of rows as one of labels."""
        return of_rows if not self._columns else np.repeat(of_rows, len(self._columns), axis=0)

    def _triples(self, labels: Codes) -> Codes:
        """The codes of worker, task and label."""
        if not self._places.choices and self._roles == TRIPLE:
            return self._rows.codes
        return np.stack([self._workers(), self._tasks_of_labels(), labels], axis=1)

    def _value(self, text: str) -> str:
        return label_of(self._places.value_of(text), self._asked.sets)

    def _refuse(self, wrong: str, text: str, row: int) -> None:
        """Refuse a label of a row, with its place.

        Raises:
            Problem: always.
        """
        for role, name in enumerate(self._roles):
            if name.startswith("label") and text in self._rows.names[role] and self._table.records is None:
                raise Problem(wrong, *self._rows.place(role, list(self._rows.names[role]).index(text)))
        raise Problem(f"{self._rows.where(row)}: {wrong}")

    def _unsure_word(self, text: str, value: str) -> str:
        """The text, or the label that it is, if it says that the worker does not know; else empty."""
        if text.strip() in self._asked.unsure:
            return text.strip()
        return "" if value in NO_LABELS else self._asked.unsure_in(value)

    def _codes(self, role: str) -> Codes:
        return self._rows.codes[:, self._roles.index(role)]

    def _names(self, role: str) -> Sequence[str]:
        return self._rows.names[self._roles.index(role)]

    def _workers(self) -> Codes:
        count, several = len(self._rows.codes), max(len(self._columns), 1)
        if self._places.workers:
            return np.tile(np.arange(several, dtype=np.int32), count)
        return (
            np.repeat(self._codes("worker"), several)
            if "worker" in self._roles
            else np.zeros(count * several, np.int32)
        )

    def _worker_names(self) -> Sequence[str]:
        if self._places.workers:
            return [self._places.name(place) for place in self._places.workers]
        return self._names("worker") if "worker" in self._roles else [""]

    def _tasks(self) -> Codes:
        return self._codes("task") if "task" in self._roles else np.arange(len(self._rows.codes), dtype=np.int32)

    def _tasks_of_labels(self) -> Codes:
        if self._places.tasks:
            return np.tile(np.arange(len(self._columns), dtype=np.int32), len(self._rows.codes))
        return self._spread(self._tasks())

    def _task_names(self) -> Sequence[str]:
        if self._places.tasks:
            return Names.of(self._places.name(place) for place in self._places.tasks)
        if "task" in self._roles:
            return self._names("task")
        return Names.of(str((self._before or 0) + number) for number in range(1, len(self._rows.codes) + 1))

    def _questions(self) -> tuple[Codes, list[str]] | None:
        """The question of each label."""
        count, several = len(self._rows.codes), max(len(self._columns), 1)
        if self._places.questions:
            names = [self._places.name(place) for place in self._places.questions]
            return np.tile(np.arange(several, dtype=np.int32), count), names
        if "question" in self._roles:
            return self._spread(self._codes("question")), list(self._names("question"))
        return None

    def _labels(self) -> tuple[Codes, list[str]]:
        """Codes of all labels, row by row, and their names as written in the text."""
        if self._places.choices:
            return self._chosen()
        if not self._columns:
            return self._codes("label"), list(self._names("label"))
        first, count = self._roles.index("label 0"), len(self._columns)
        answers = self._rows.names[first : first + count]
        labels = list(dict.fromkeys(name for names in answers for name in names))
        given = [recoded(self._rows.codes[:, first + k], answers[k], labels) for k in range(count)]
        return np.stack(given, axis=1).reshape(-1), labels

    def _chosen(self) -> tuple[Codes, list[str]]:
        """As of `_labels`, where each choice has a column; a label is the JSON list of the choices ticked."""
        columns = [self._roles.index(f"choice {place}") for place in range(len(self._places.choices))]
        yes = [
            np.array([not missing(name) and name.strip().lower() not in NOT_TICKED for name in self._rows.names[c]]
                     or [False])
            for c in columns
        ]  # fmt: skip
        ticked = np.stack([each[self._rows.codes[:, c]] for each, c in zip(yes, columns, strict=True)], axis=1)
        sets, codes = np.unique(ticked, axis=0, return_inverse=True)
        names = np.array(list(self._places.choices.values()))
        return codes.reshape(-1).astype(np.int32), [dumps(names[chosen].tolist()) for chosen in sets]

    def _kept(self) -> NDArray[np.bool_]:
        """The rows that no status and no tick leaves out."""
        kept = np.ones(len(self._rows.codes), np.bool_)
        for role, reason_of in (("status", self._places.left_out.get), ("unsure", _unsure)):
            for code, name in enumerate(self._names(role)) if role in self._roles else ():
                if reason := reason_of(name):
                    those = self._codes(role) == code
                    kept &= ~those
                    self._problems.add(reason, self._rows.first(self._roles.index(role), code), int(those.sum()))
        return kept

    def _truths(self) -> dict[tuple[str, str], str]:
        found: dict[tuple[str, str], str] = {}
        if "gold" not in self._roles:
            return found
        role, tasks, names = self._roles.index("gold"), self._tasks(), self._task_names()
        asks = self._codes("question") if "question" in self._roles else np.zeros(len(tasks), np.int32)
        questions = self._names("question") if "question" in self._roles else [""]
        for ask, task, code in np.unique(np.stack([asks, tasks, self._codes("gold")], axis=1), axis=0).tolist():
            text = self._rows.names[role][code]
            label = self._value(text)
            if label == NO_LABEL or self._unsure_word(text, label):
                continue
            if label in NO_LABELS:
                self._problems.add(label, self._rows.first(role, code))
            elif wrong := self._asked.check_class(label):
                raise Problem(f"gold: {wrong}", *self._rows.place(role, code))
            elif found.setdefault((questions[ask], names[task]), label) != label:
                self._problems.add(TWO_TRUTHS, self._rows.first(role, code))
        return found

    def _in_order(self, rows: Rows) -> Rows:
        """The rows in the order of their times.

        Raises:
            Problem: a time is neither a number nor a date.
        """
        role = self._roles.index("time")
        values = np.empty(len(rows.names[role]))
        for code, text in enumerate(rows.names[role]):
            values[code] = _time(text)
            if np.isnan(values[code]):
                wanted = "wanted a number, or a date such as 2026-01-31T12:00:00"
                raise Problem(f"time: got {text!r}, {wanted}", *rows.place(role, code))
        order = np.argsort(values[rows.codes[:, role]], kind="stable") if len(rows.codes) else np.zeros(0, np.int64)
        codes, names = used_names(rows.codes[order], rows.names)
        return Rows(
            codes, names, lambda role, code: rows.place(role, list(rows.names[role]).index(names[role][code])),
            lambda row: rows.where(int(order[row])),
        )  # fmt: skip


def _unsure(name: str) -> str:
    """Why a row is left out whose column of doubt holds this."""
    return "" if missing(name) or name.strip().lower() in NOT_TICKED else UNSURE


def _time(text: str) -> float:
    """A time as a number; NaN if it is none."""
    for read in (float, lambda given: datetime.fromisoformat(given).timestamp()):
        try:
            return read(text.strip())
        except (ValueError, OverflowError):
            continue
    return np.nan


def described(places: Places, triples: Triples, extra: Sequence[str] = ()) -> str:
    """How a table was read, in one line."""
    at, told = places.at, f"{places.tool}: " if places.tool not in ("", "wide table") else ""
    roles = [role for role in (*TRIPLE, "gold", "time") if role in at]
    if not places.fields and not places.workers:
        return f"{told}rows without a header: " + ", ".join(f"{role} in column {at[role] + 1}" for role in roles)
    parts = [f"{role} {places.name(at[role])!r}" for role in roles]
    if places.workers:
        task = at.get("task", 0)
        named = repr(places.name(task)) if places.name(task) else str(task + 1)
        ids = f"ids in column {named}" if "task" in at else "no ids"
        items = len(set(triples.codes[:, 1].tolist())) if len(triples.codes) else 0
        listed = _listed([places.name(place).removeprefix("column ") for place in places.workers])
        parts = [f"{len(places.workers)} raters in columns {listed}, {items} items in rows; {ids}"]
        parts += [f"gold {places.name(at['gold'])!r}"] if "gold" in at else []
    if places.tasks:
        people = repr(places.name(at["worker"])) if "worker" in at else "of nobody"
        listed = _listed([places.name(place) for place in places.tasks])
        parts = [f"a row per worker {people}, {len(places.tasks)} tasks in columns {listed}"]
    if places.choices:
        parts.append(f"choices {' '.join(places.choices)}")
    if places.questions:
        parts.append(
            f"{len(places.questions)} questions in columns {_listed([places.name(p) for p in places.questions])}"
        )
    if "question" in at and triples.questions:
        parts.append(f"{len(triples.questions[1])} questions in column {places.name(at['question'])!r}")
    used = {*places.workers, *places.tasks, *at.values()}
    other = [field for place, field in enumerate(places.fields) if place not in used and field not in extra]
    if other and (places.workers or places.tasks or places.guessed):
        parts[-1] += f"; not read: {_listed(other)}"
    return told + ", ".join(parts)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
