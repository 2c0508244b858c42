"""Inspect: logs as JSON, or `.eval` archives; each scorer of a sample is a judge."""

from typing import Any

from hutch.crowd.exports.found import NO_LABEL, Found
from hutch.crowd.exports.json_export import JsonExport

FAILED = "of a sample that failed"
"""Why a sample without scores has none."""


def _records(value: Any) -> list[Any] | None:
    if isinstance(value, dict) and "eval" in value and isinstance(value.get("samples"), list):
        return list(value["samples"])
    return None


def _read(records: list[tuple[str, Any]], found: Found) -> None:
    epochs = any(sample.get("epoch", 1) != 1 for _, sample in records)
    values = [(place, sample, _values(sample)) for place, sample in records]
    names = (
        name
        for _, _, each in values
        for scorer, value in each
        for name in (scorer, *(value if isinstance(value, dict) else ()))
    )
    wanted = found.chosen(names) if found.columns.label else set()
    for place, sample, each in values:
        task = f"{sample.get('id')} epoch {sample.get('epoch')}" if epochs else sample.get("id")
        found.about = {"id": sample.get("id"), "epoch": sample.get("epoch")} | (sample.get("metadata") or {})
        if not each:
            found.problems.add(FAILED if sample.get("error") else NO_LABEL, place)
        for scorer, value in each:
            if not isinstance(value, dict):
                if not wanted or scorer in wanted:
                    found.add(scorer, task, value, place)
                continue
            if not wanted.intersection(value):
                found.problems.add(
                    f"with several values (--columns label=NAME takes one of: {', '.join(value)})", place
                )
            for key in value:
                if key in wanted:
                    found.add(scorer if len(wanted) == 1 else f"{scorer}: {key}", task, value[key], place)


def _values(sample: dict[str, Any]) -> list[tuple[str, Any]]:
    """Scorers and the values that they gave."""
    scores = (sample.get("scores") or {}).items()
    return [(scorer, score.get("value") if isinstance(score, dict) else score) for scorer, score in scores]


EXPORT = JsonExport("Inspect", _records, _read)
