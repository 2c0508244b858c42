"""Toloka: the TSV of responses, with `INPUT:`, `OUTPUT:`, `GOLDEN:` and `ASSIGNMENT:` columns."""

from collections.abc import Sequence

from hutch.core.errors import Problem
from hutch.crowd.exports.found import REJECTED, SKIPPED, Columns
from hutch.crowd.exports.sheet import Sheet, cell

_WORKER, _TASK, _STATUS = "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id", "ASSIGNMENT:status"
_LEFT_OUT = {"REJECTED": REJECTED, "SKIPPED": SKIPPED, "EXPIRED": SKIPPED}


def sheet(fields: Sequence[str], columns: Columns, sample: Sequence[Sequence[str]]) -> Sheet | None:
    """The columns of an export, if the header is of one."""
    if _WORKER not in fields:
        return None
    label = columns.label[0] if columns.label else _one(fields, "OUTPUT:", "label")
    inputs = [name for name in fields if name.startswith("INPUT:")]
    task = columns.task or (_TASK if _TASK in fields else _one(inputs, "INPUT:", "task"))
    gold = columns.gold or label.replace("OUTPUT:", "GOLDEN:", 1)
    names = {"worker": columns.worker or _WORKER, "task": task, "label": label}
    names |= {"gold": gold} if columns.gold or (gold in fields and gold != label) else {}
    names |= {"status": _STATUS} if _STATUS in fields else {}
    return Sheet.of("Toloka", fields, names, cell, _LEFT_OUT)


def _one(fields: Sequence[str], start: str, role: str) -> str:
    found = [name for name in fields if name.startswith(start)]
    if len(found) != 1:
        got = f"got {' and '.join(map(repr, found[:4]))}" if found else f"got no {start} column"
        raise Problem(f"{got}, wanted one {role}: --columns {role}={found[0] if found else 'NAME'}", 1, 1)
    return found[0]
