"""Argilla 2: the file of `dataset.records.to_json`, with `responses` by question; each has a value and a user."""

from collections.abc import Iterator
from typing import Any

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL, SKIPPED
from hutch.crowd.read.tools.tool import Row, Tool, first_record


def _records(value: Any) -> list[Any] | None:
    first = first_record(value)
    return list(value) if isinstance(first.get("responses"), dict) and "fields" in first else None


def _rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    wanted = columns.one_question(name for _, record in records for name, given in _responses(record).items() if given)
    for place, record in records:
        task = record.get("id") or record.get("_server_id") or place.split()[-1]
        if columns.task:
            task = {**(record.get("metadata") or {}), **record["fields"]}.get(columns.task, task)
        given = _responses(record).get(wanted) or []
        if not given:
            yield Row(place, reason=NO_LABEL)
        for response in given:
            if not isinstance(response, dict):
                continue
            if response.get("status", "submitted") != "submitted":  # discarded, or a draft
                yield Row(place, reason=SKIPPED)
            else:
                yield Row(place, response.get("user_id"), task, response.get("value"))


def _responses(record: dict[str, Any]) -> dict[str, list[Any]]:
    found = record.get("responses")
    return {k: v for k, v in found.items() if isinstance(v, list)} if isinstance(found, dict) else {}


TOOL = Tool("Argilla", _records, _rows, ("task", "label"))
