"""Inspect: logs as JSON, or `.eval` archives; each scorer of a sample is a judge."""

from collections.abc import Iterator
from typing import Any

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL
from hutch.crowd.read.tools.tool import Row, Tool

FAILED = "of a sample that failed"
"""Why a sample without scores has none."""


def _records(value: Any) -> list[Any] | None:
    if isinstance(value, dict) and "eval" in value and isinstance(value.get("samples"), list):
        return list(value["samples"])
    return None


def _rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    epochs = any(sample.get("epoch", 1) != 1 for _, sample in records)
    values = [(place, sample, _values(sample)) for place, sample in records]
    names = (
        name
        for _, _, each in values
        for scorer, value in each
        for name in (scorer, *(value if isinstance(value, dict) else ()))
    )
    wanted = columns.chosen(names) if columns.label else set()
    for place, sample, each in values:
        task = f"{sample.get('id')} epoch {sample.get('epoch')}" if epochs else sample.get("id")
        about = {"id": sample.get("id"), "epoch": sample.get("epoch")} | (sample.get("metadata") or {})
        if not each:
            yield Row(place, reason=FAILED if sample.get("error") else NO_LABEL)
        for scorer, value in each:
            if not isinstance(value, dict):
                if not wanted or scorer in wanted:
                    yield Row(place, scorer, task, value, about=about)
                continue
            if not wanted.intersection(value):
                yield Row(place, reason=f"with several values (--columns label=NAME takes one of: {', '.join(value)})")
            for key in value:
                if key in wanted:
                    who = scorer if len(wanted) == 1 else f"{scorer}: {key}"
                    yield Row(place, who, task, value[key], about=about)


def _values(sample: dict[str, Any]) -> list[tuple[str, Any]]:
    """Scorers and the values that they gave."""
    scores = (sample.get("scores") or {}).items()
    return [(scorer, score.get("value") if isinstance(score, dict) else score) for scorer, score in scores]


TOOL = Tool("Inspect", _records, _rows)
