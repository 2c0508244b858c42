"""Plain records: JSON objects with a worker, a task and a label under names that are known or given."""

from typing import Any

from hutch.crowd.exports.found import Found, name_of
from hutch.crowd.exports.headers import roles_in
from hutch.crowd.exports.json_export import JsonExport, first_record


def _records(value: Any) -> list[Any] | None:
    first = first_record([value] if isinstance(value, dict) else value)
    flat = first and not any(isinstance(each, dict | list) for each in first.values())
    return (list(value) if isinstance(value, list) else [value]) if flat else None


def _read(records: list[tuple[str, Any]], found: Found) -> None:
    fields = list(dict.fromkeys(key for _, record in records for key in record))
    names = roles_in(fields, found.columns)
    for place, record in records:
        task, worker = record.get(names["task"]), record.get(names.get("worker", ""), "")
        found.about = record
        found.add(worker, task, record.get(names["label"]), place)
        if "gold" in names and name_of(record.get(names["gold"])):
            found.add_gold(task, record[names["gold"]], place)


EXPORT = JsonExport("records", _records, _read)
