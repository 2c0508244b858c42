"""Toloka: the TSV of responses, with `INPUT:`, `OUTPUT:`, `GOLDEN:` and `ASSIGNMENT:` columns."""

from collections.abc import Sequence

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import REJECTED, SKIPPED
from hutch.crowd.read.tools.tool import Places, cell, only_one

_WORKER, _TASK, _STATUS = "ASSIGNMENT:worker_id", "ASSIGNMENT:task_id", "ASSIGNMENT:status"
_LEFT_OUT = {"REJECTED": REJECTED, "SKIPPED": SKIPPED, "EXPIRED": SKIPPED}


def places(fields: Sequence[str], columns: ColumnNames, sample: Sequence[Sequence[str]]) -> Places | None:
    """The columns of an export, if the header is of one."""
    if _WORKER not in fields:
        return None
    outputs, inputs = ([name for name in fields if name.startswith(start)] for start in ("OUTPUT:", "INPUT:"))
    label = columns.label[0] if columns.label else only_one(outputs, "OUTPUT:", "label")
    task = columns.task or (_TASK if _TASK in fields else only_one(inputs, "INPUT:", "task"))
    golden = label.replace("OUTPUT:", "GOLDEN:", 1)
    gold = columns.gold or (golden if golden in fields and golden != label else "")
    names = {"worker": columns.worker or _WORKER, "task": task, "label": label, "gold": gold}
    names |= {"status": _STATUS if _STATUS in fields else ""}
    return Places.of("Toloka", fields, names, value_of=cell, left_out=_LEFT_OUT)
