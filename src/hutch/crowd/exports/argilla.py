"""Argilla 2: the file of `dataset.records.to_json`, with `responses` by question; each has a value and a user."""

from typing import Any

from hutch.crowd.exports.found import NO_LABEL, SKIPPED, Found
from hutch.crowd.exports.json_export import JsonExport, first_record


def _records(value: Any) -> list[Any] | None:
    first = first_record(value)
    return list(value) if isinstance(first.get("responses"), dict) and "fields" in first else None


def _read(records: list[tuple[str, Any]], found: Found) -> None:
    wanted = found.question(name for _, record in records for name, given in _responses(record).items() if given)
    for place, record in records:
        task = record.get("id") or record.get("_server_id") or place.split()[-1]
        if found.columns.task:
            task = {**(record.get("metadata") or {}), **record["fields"]}.get(found.columns.task, task)
        given = _responses(record).get(wanted) or []
        if not given:
            found.problems.add(NO_LABEL, place)
        for response in given:
            if not isinstance(response, dict):
                continue
            if response.get("status", "submitted") != "submitted":  # discarded, or a draft
                found.problems.add(SKIPPED, place)
            else:
                found.add(response.get("user_id"), task, response.get("value"), place)


def _responses(record: dict[str, Any]) -> dict[str, list[Any]]:
    found = record.get("responses")
    return {k: v for k, v in found.items() if isinstance(v, list)} if isinstance(found, dict) else {}


EXPORT = JsonExport("Argilla", _records, _read)
