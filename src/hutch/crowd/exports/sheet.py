"""Separated text with a header, as tools export it: which columns hold workers, tasks, labels and gold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hutch.core.errors import DataError, Problem, did_you_mean
from hutch.core.strict_json import loads
from hutch.crowd.exports.found import Columns


@dataclass(frozen=True)
class Sheet:
    """The columns to read.

    Attributes:
        tool: the name of the tool that wrote it, empty for a plain table.
        fields: the header.
        places: the column of each role: `worker`, `task`, `label`, and, if present, `gold` and `status`.
        value_of: the label that a cell holds, as `hutch.crowd.exports.found.label_of` takes it.
        left_out: the reason for leaving out rows of a status.
        workers: of a wide table: the column of each worker.
        choices: where each choice has a column of `true` and `false`: the names of these columns and the choices.
    """

    tool: str
    fields: tuple[str, ...]
    places: Mapping[str, int]
    value_of: Callable[[str], Any] = str
    left_out: Mapping[str, str] | None = None
    workers: tuple[int, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        tool: str,
        fields: Sequence[str],
        names: Mapping[str, str],
        value_of: Callable[[str], Any] = str,
        left_out: Mapping[str, str] | None = None,
        choices: Mapping[str, str] | None = None,
    ) -> "Sheet":
        """A sheet whose columns are given by name.

        Raises:
            Problem: a column does not exist.
        """
        places = {role: place_of(name, fields, role) for role, name in names.items() if name}
        return cls(tool, tuple(fields), places, value_of, left_out, choices=choices or {})

    def describe(self) -> str:
        """The source of each role, for people."""
        told = f"{self.tool}: " if self.tool else ""
        if self.workers:
            listed = ", ".join(self.fields[place] for place in self.workers[:8])
            more = f" and {len(self.workers) - 8} more" if len(self.workers) > 8 else ""
            return f"{told}task {self.fields[self.places['task']]!r}, one column per worker: {listed}{more}"
        roles = ("worker", "task", "label", "gold")
        found = [f"{role} {self.fields[self.places[role]]!r}" for role in roles if role in self.places]
        return told + ", ".join([*found, *([f"choices {' '.join(self.choices)}"] if self.choices else [])])


def cell(text: str) -> Any:
    """The value of a cell: several choices are written as JSON."""
    if text.startswith(("{", "[")):
        try:
            return loads(text, "cell")
        except DataError:
            return text
    return text


SheetFinder = Callable[[Sequence[str], Columns, Sequence[Sequence[str]]], Sheet | None]
"""From a header, the wanted columns and the first rows to a sheet; None if it is another tool's."""


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
