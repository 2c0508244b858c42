"""Potato: JSON lines of an annotator's answers, by scheme under `label_annotations`; a scheme is a question."""

from collections.abc import Iterator
from typing import Any

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL, SPANS
from hutch.crowd.read.tools.tool import Record, Row, Tool, first_record

_WORKERS = ("user_id", "user", "username", "annotator")


def _records(value: Any) -> list[Any] | None:
    value = [value] if isinstance(value, dict) else value
    return list(value) if isinstance(first_record(value).get("label_annotations"), dict) else None


def _rows(records: list[tuple[str, Record]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    wanted = columns.chosen(name for _, record in records for name in record.get("label_annotations") or {})
    named = (columns.worker,) if columns.worker else _WORKERS
    for place, record in records:
        who = next((record[key] for key in named if record.get(key) is not None), worker)
        task = record.get(columns.task or "id", record.get("instance_id"))
        given = {name: each for name, each in (record.get("label_annotations") or {}).items() if name in wanted}
        if not given:
            yield Row(place, reason=SPANS if record.get("span_annotations") else NO_LABEL)
        for name, answer in given.items():
            yield Row(place, who, task, _label(answer), question=name)


def _label(answer: Any) -> Any:
    """The choices ticked, or the one value of a scale."""
    if not isinstance(answer, dict):
        return answer
    ticked = {name: value for name, value in answer.items() if value not in (None, "", False, "false")}
    if all(value in (True, "true", name) for name, value in ticked.items()):
        return list(ticked)
    return next(iter(ticked.values())) if len(ticked) == 1 else list(ticked.values())


TOOL = Tool("Potato", _records, _rows, ("worker", "task", "label"))
