"""Inspect: logs as JSON, or `.eval` archives; each scorer of a sample is a judge."""

from typing import Any

from hutch.crowd.exports.found import NO_LABEL, Found
from hutch.crowd.exports.json_export import JsonExport


def _records(value: Any) -> list[Any] | None:
    if isinstance(value, dict) and "eval" in value and isinstance(value.get("samples"), list):
        return list(value["samples"])
    return None


def _read(records: list[tuple[str, Any]], found: Found) -> None:
    epochs = any(sample.get("epoch", 1) != 1 for _, sample in records)
    wanted = found.columns.label[0] if found.columns.label else ""
    for place, sample in records:
        task = f"{sample.get('id')} epoch {sample.get('epoch')}" if epochs else sample.get("id")
        scores = sample.get("scores") or {}
        if not scores:
            found.problems.add(NO_LABEL, place)
        for scorer, score in scores.items():
            value = score.get("value") if isinstance(score, dict) else score
            if isinstance(value, dict) and wanted:
                value = value.get(wanted)
            found.add(scorer, task, value, place)


EXPORT = JsonExport("Inspect", _records, _read)
