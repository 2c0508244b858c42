"""Google Forms, Microsoft Forms and Qualtrics: a row per person who answered, a column per task."""

from collections.abc import Sequence

from hutch.core.errors import Problem
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import HEADING
from hutch.crowd.read.evidence import Column, columns_of, groups_alike
from hutch.crowd.read.tools.tool import Places

_GOOGLE, _MICROSOFT = "Timestamp", ["ID", "Start time", "Completion time", "Email", "Name"]
_WHO = ("Email Address", "Username")
_QUALTRICS, _IMPORT = ("ResponseId", "StartDate"), '{"ImportId"'


def places(fields: Sequence[str], columns: ColumnNames, sample: Sequence[Sequence[str]]) -> Places | None:
    """The columns of a form's answers, if the header is of one and names no column of anybody else.

    Raises:
        Problem: its answers are of several kinds, and no column is named.
    """
    if columns.one_each or columns.label or columns.sets:
        return None
    heads = [row for row in sample[:2] if any(cell.startswith(_IMPORT) for cell in row)] and sample[:2]
    rows = sample[len(heads) :]
    values = columns_of(len(fields), rows)
    found = _tool_of(fields, values)
    if found is None:
        return None
    tool, worker, first = found
    groups = groups_alike(values, [place for place in range(first, len(fields)) if place != worker])
    if not groups:
        return None
    if len(groups) > 1:
        ways = (f"--columns 'worker={fields[worker]},label={fields[g[0]]},label={fields[g[1]]}'" for g in groups)
        raise Problem(
            f"{tool}: got answers of several kinds, wanted the columns of one: {', or '.join(ways)}, ...", 1, 1
        )
    left_out = {row[worker]: HEADING for row in heads}
    at = {"worker": worker} | ({"status": worker} if left_out else {})
    return Places(tool=tool, fields=tuple(fields), at=at, tasks=tuple(groups[0]), left_out=left_out)


def _tool_of(fields: Sequence[str], values: Sequence[Column]) -> tuple[str, int, int] | None:
    """The tool, the column of who answered, and the first that may be a task."""
    if [*fields[:5]] == _MICROSOFT:
        who = next(place for place in (3, 4, 0) if place == 0 or values[place].distinct)
        return "Microsoft Forms", who, 5
    if all(name in fields for name in _QUALTRICS):
        return "Qualtrics", fields.index(_QUALTRICS[0]), 0
    if fields and fields[0] == _GOOGLE and all(":" in cell for cell in values[0].counts):
        named = [fields.index(name) for name in _WHO if name in fields]
        people = [place for place in (*named, 0) if values[place].distinct]
        return ("Google Forms", people[0], 1) if people else None
    return None
