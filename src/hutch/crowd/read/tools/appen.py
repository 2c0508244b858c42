"""Appen, formerly CrowdFlower and Figure Eight: the CSV of the full report, with `_unit_id`, `_worker_id`, `_tainted`.

The gold of a question is in the column of its name and `_gold`.
"""

from collections.abc import Sequence

from hutch.core.errors import Problem
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import TAINTED
from hutch.crowd.read.tools.tool import Places, cell

_WORKER, _TASK, _STATUS = "_worker_id", "_unit_id", "_tainted"


def places(fields: Sequence[str], columns: ColumnNames, sample: Sequence[Sequence[str]]) -> Places | None:
    """The columns of a report, if the header is of one.

    Raises:
        Problem: it has several questions and none is named.
    """
    if not {_WORKER, _TASK} <= set(fields):
        return None
    questions = [name for name in fields if f"{name}_gold" in fields]
    if not columns.label and len(questions) != 1:
        got = (
            f"got answers to {', '.join(map(repr, questions))}" if questions else "got no column with its _gold beside"
        )
        raise Problem(f"{got}, wanted one question: --columns label={questions[0] if questions else 'NAME'}", 1, 1)
    label = columns.label[0] if columns.label else questions[0]
    gold = columns.gold or (f"{label}_gold" if f"{label}_gold" in fields else "")
    names = {"worker": columns.worker or _WORKER, "task": columns.task or _TASK, "label": label, "gold": gold}
    names |= {"status": _STATUS if _STATUS in fields else ""}
    left_out = dict.fromkeys(("TRUE", "True", "true"), TAINTED)
    return Places.of("Appen", fields, names, value_of=cell, left_out=left_out)
