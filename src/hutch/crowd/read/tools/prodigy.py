"""Prodigy: JSON lines of `prodigy db-out`, of choices and of single labels that were accepted or rejected.

As in its review, examples of choices are the same task if their input is, and single labels if the task is.
"""

from collections.abc import Iterator
from typing import Any

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL, SKIPPED, SPANS
from hutch.crowd.read.tools.tool import Record, Row, Tool, first_record

_WORKERS = ("_annotator_id", "_session_id")


def _records(value: Any) -> list[Any] | None:
    first = first_record(value)
    return list(value) if "answer" in first and ("_task_hash" in first or "_input_hash" in first) else None


def _rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    for place, example in records:
        if example.get("answer") == "ignore":
            yield Row(place, reason=SKIPPED)
            continue
        if not columns.label and _of_spans(example):
            yield Row(place, reason=SPANS)
            continue
        of_choice = "options" in example or "accept" in example
        hashes = ("_input_hash", "_task_hash") if of_choice else ("_task_hash", "_input_hash")
        task = example.get(columns.task or next((key for key in hashes if key in example), ""))
        workers = (columns.worker,) if columns.worker else _WORKERS
        who = next((example[key] for key in workers if example.get(key) is not None), worker)
        value: Any
        if columns.label:
            value = example.get(columns.label[0])
        elif of_choice:
            value = example.get("accept") if example.get("answer") == "accept" else None
        else:
            value = example.get("answer")
        yield Row(place, reason=NO_LABEL) if task is None else Row(place, who, task, value)


def _of_spans(example: Record) -> bool:
    """Whether people marked spans or boxes: then `answer` says that they finished, not what they found."""
    if "options" in example or "accept" in example:
        return False
    view = str(example.get("_view_id", ""))
    marked = any(key in example for key in ("spans", "relations")) and "label" not in example and view != "ner"
    return view.endswith("_manual") or view == "relations" or marked


TOOL = Tool("Prodigy", _records, _rows, ("worker", "task", "label"))
