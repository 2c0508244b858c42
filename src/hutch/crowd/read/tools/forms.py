"""Google Forms, Microsoft Forms and Qualtrics: a row per person who answered, a column per task."""

from collections.abc import Sequence

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.known import HEADERS, key_of
from hutch.crowd.data.values import HEADING
from hutch.crowd.read.tools.tool import Places

_GOOGLE, _MICROSOFT = "Timestamp", ["ID", "Start time", "Completion time", "Email", "Name"]
_WHO = ("Email Address", "Username")
_ROLES = HEADERS["worker"] | HEADERS["task"] | HEADERS["label"]
_QUALTRICS, _IMPORT = ("ResponseId", "StartDate"), '{"ImportId"'


def places(fields: Sequence[str], columns: ColumnNames, sample: Sequence[Sequence[str]]) -> Places | None:
    """The columns of a form's answers, if the header is of one and the user names none; any other may be a task."""
    if columns.one_each or columns.label or columns.sets:
        return None
    heads = sample[:2] if any(cell.startswith(_IMPORT) for row in sample[:2] for cell in row) else []
    found = _tool_of(fields, [[row[place].strip() for row in sample[len(heads) :]] for place in range(len(fields))])
    if found is None:
        return None
    tool, worker, first = found
    left_out = {row[worker]: HEADING for row in heads}
    at = {"worker": worker} | ({"status": worker} if left_out else {})
    tasks = tuple(place for place in range(first, len(fields)) if place != worker)
    return Places(tool=tool, fields=tuple(fields), at=at, tasks=tasks, left_out=left_out)


def _tool_of(fields: Sequence[str], cells: Sequence[Sequence[str]]) -> tuple[str, int, int] | None:
    """The tool, the column of who answered, and the first that may be a task."""
    if [*fields[:5]] == _MICROSOFT:
        return "Microsoft Forms", next((place for place in (3, 4) if _distinct(cells[place])), 0), 5
    if all(name in fields for name in _QUALTRICS):
        return "Qualtrics", fields.index(_QUALTRICS[0]), 0
    plain = not any(key_of(name) in _ROLES for name in fields)  # else a form that is filled in for each label
    if plain and [*fields[:1]] == [_GOOGLE] and all(":" in cell for cell in cells[0]):
        named = [fields.index(name) for name in _WHO if name in fields]
        people = [place for place in (*named, 0) if _distinct(cells[place])]
        return ("Google Forms", people[0], 1) if people else None
    return None


def _distinct(cells: Sequence[str]) -> bool:
    return all(cells) and len({*cells}) == len(cells) > 0
