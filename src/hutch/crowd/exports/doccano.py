"""doccano: JSON lines of text classification, or the archive with a file per user; others name users."""

from typing import Any

from hutch.crowd.exports.found import NO_LABEL, Found, name_of
from hutch.crowd.exports.json_export import JsonExport, first_record

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


def _read(records: list[tuple[str, Any]], found: Found) -> None:
    for place, example in records:
        task = example.get(
            found.columns.task or ("id" if "id" in example else "doc_id"), example.get("text", example.get("filename"))
        )
        if isinstance(example.get("annotations"), list):
            for mark in example["annotations"]:
                if isinstance(mark, dict):
                    found.add(mark.get("user", found.worker), task, mark.get("label"), place)
            if not example["annotations"]:
                found.problems.add(NO_LABEL, place)
            continue
        keys = found.columns.label or _LABELS
        value = next((example[key] for key in keys if key in example), None)
        named = (found.columns.worker,) if found.columns.worker else _USERS
        worker = next((name_of(example[key]) for key in named if example.get(key) is not None), found.worker)
        found.add(worker, task, value or None, place)  # a document without labels has an empty list


EXPORT = JsonExport("doccano", _records, _read)
