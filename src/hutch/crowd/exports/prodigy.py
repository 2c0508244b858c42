"""Prodigy: JSON lines of `prodigy db-out`, of choices and of single labels that were accepted or rejected.

As in its review, examples of choices are the same task if their input is, and single labels if the task is.
"""

from typing import Any

from hutch.crowd.exports.found import NO_LABEL, SKIPPED, Found
from hutch.crowd.exports.json_export import JsonExport, first_record

_WORKERS = ("_annotator_id", "_session_id")


def _records(value: Any) -> list[Any] | None:
    first = first_record(value)
    return list(value) if "answer" in first and ("_task_hash" in first or "_input_hash" in first) else None


def _read(records: list[tuple[str, Any]], found: Found) -> None:
    for place, example in records:
        if example.get("answer") == "ignore":
            found.problems.add(SKIPPED, place)
            continue
        of_choice = "options" in example or "accept" in example
        hashes = ("_input_hash", "_task_hash") if of_choice else ("_task_hash", "_input_hash")
        task = example.get(found.columns.task or next((key for key in hashes if key in example), ""))
        workers = (found.columns.worker,) if found.columns.worker else _WORKERS
        worker = next((example[key] for key in workers if example.get(key) is not None), found.worker)
        if found.columns.label:
            value = example.get(found.columns.label[0])
        elif of_choice:
            value = example.get("accept") if example.get("answer") == "accept" else None
        else:
            value = example.get("answer")
        if task is None:
            found.problems.add(NO_LABEL, place)
        else:
            found.add(worker, task, value, place)


EXPORT = JsonExport("Prodigy", _records, _read)
