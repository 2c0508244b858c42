"""doccano: JSON lines of text classification, or the archive with a file per user; others name users."""

from collections.abc import Iterator
from typing import Any

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL, name_of
from hutch.crowd.read.tools.tool import Row, Tool, first_record

_LABELS = ("label", "labels", "cats")
_USERS = ("user", "username", "annotator")


def _records(value: Any) -> list[Any] | None:
    if isinstance(value, dict):  # a file of one line
        value = [value]
    first = first_record(value)
    marks = first.get("annotations")
    of_users = isinstance(marks, list) and (not marks or (isinstance(marks[0], dict) and "label" in marks[0]))
    is_text = any(key in first for key in ("text", "data", "filename"))
    return list(value) if is_text and (of_users or any(isinstance(first.get(key), list) for key in _LABELS)) else None


def _rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    for place, example in records:
        task = example.get(
            columns.task or ("id" if "id" in example else "doc_id"), example.get("text", example.get("filename"))
        )
        if isinstance(example.get("annotations"), list):
            for mark in example["annotations"]:
                if isinstance(mark, dict):
                    yield Row(place, mark.get("user", worker), task, mark.get("label"))
            if not example["annotations"]:
                yield Row(place, reason=NO_LABEL)
            continue
        keys = columns.label or _LABELS
        value = next((example[key] for key in keys if key in example), None)
        named = (columns.worker,) if columns.worker else _USERS
        who = next((name_of(example[key]) for key in named if example.get(key) is not None), worker)
        yield Row(place, who, task, value or None)  # a document without labels has an empty list


TOOL = Tool("doccano", _records, _rows, ("worker", "task", "label"))
