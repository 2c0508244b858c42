"""What the reader of a tool's export gives: rows of labels, or the places of the columns in a table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hutch.core.errors import DataError, Problem, did_you_mean
from hutch.core.strict_json import loads
from hutch.crowd.data.asked import ColumnNames

Record = dict[str, Any]


class Row(NamedTuple):
    """A label in an export, or the reason why there is none.

    Attributes:
        place: in messages.
        worker, task, label: their values.
        reason: why the row has no label; empty if it has one.
        truth: the label is the true one of the task, and nobody's.
        question: what was asked, if several things were.
        about: data of the sample, for further columns.
    """

    place: str
    worker: Any = None
    task: Any = None
    label: Any = None
    reason: str = ""
    truth: bool = False
    question: str = ""
    about: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Tool:
    """The export format of one tool.

    Attributes:
        name: of the tool in messages.
        records: the records of a parsed file, or None if another tool wrote it. JSON lines are given as the list of
            their values, tables as the list of their rows by the names of the columns.
        rows: from records, each with its place, the requested columns, and the one worker of the file (empty: not
            known) to labels.
        roles: those of `--columns` that it takes.
    """

    name: str
    records: Callable[[Any], list[Any] | None]
    rows: Callable[[list[tuple[str, Record]], ColumnNames, str], Iterator[Row]]
    roles: tuple[str, ...] = ("label",)


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where a table holds what.

    Attributes:
        tool: the name of the tool that wrote it, empty for any other table.
        fields: the header; empty: the first row is one of labels.
        at: the column of each role: `worker`, `task`, `label`, and, if present, `gold`, `status`, `question`, `time`,
            `unsure`. Without a task each row is one.
        workers: of a wide table: the column of each worker.
        tasks: of a form, a row per worker: the column of each task.
        questions: the column of the labels of each question.
        value_of: the label that a cell holds, as `hutch.crowd.data.values.label_of` takes it.
        left_out: the reason for leaving out rows of a status.
        choices: where each choice has a column of `true` and `false`: the names of these columns and the choices.
        doubt: what a user should know about the way it is read.
        guessed: no name told some of the roles.
    """

    tool: str = ""
    fields: tuple[str, ...] = ()
    at: Mapping[str, int] = field(default_factory=dict)
    workers: tuple[int, ...] = ()
    tasks: tuple[int, ...] = ()
    questions: tuple[int, ...] = ()
    value_of: Callable[[str], Any] = str
    left_out: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    doubt: str = ""
    guessed: bool = False

    @classmethod
    def of(cls, tool: str, fields: Sequence[str], names: Mapping[str, str], **more: Any) -> "Places":
        """Places of columns that are given by name; an empty name is none.

        Raises:
            Problem: a column does not exist.
        """
        at = {role: place_of(name, fields, role) for role, name in names.items() if name}
        return cls(tool=tool, fields=tuple(fields), at=at, **more)

    def name(self, place: int) -> str:
        """The name of a column, or its number."""
        return self.fields[place] if self.fields else f"column {place + 1}"


PlacesFinder = Callable[[Sequence[str], ColumnNames, Sequence[Sequence[str]]], Places | None]
"""From a header, the wanted columns and the first rows to the places of a tool; None if it is another tool's."""


def first_record(value: Any) -> Record:
    """The first record of a list of objects; empty for anything else."""
    first = value[0] if isinstance(value, list) and value else None
    return first if isinstance(first, dict) else {}


def cell(text: str) -> Any:
    """The value of a cell: several choices are written as JSON."""
    if text.startswith(("{", "[")):
        try:
            return loads(text, "cell")
        except DataError:
            return text
    return text


def only_one(found: Sequence[str], start: str, role: str) -> str:
    """The only column whose name begins with `start`; Problem if there are none or several."""
    if len(found) != 1:
        got = f"got {' and '.join(map(repr, found[:4]))}" if found else f"got no {start} column"
        raise Problem(f"{got}, wanted one {role}: --columns {role}={found[0] if found else 'NAME'}", 1, 1)
    return found[0]


def place_of(name: str, fields: Sequence[str], role: str) -> int:
    """The position of a column.

    Raises:
        Problem: no column has this name, or two have.
    """
    if (count := list(fields).count(name)) != 1:
        missing = f"no column {name!r} for the {role}; {did_you_mean(name, fields)}"
        raise Problem(f"column {name!r} appears twice, wanted one {role}" if count else missing, 1, 1)
    return list(fields).index(name)
