"""lm-evaluation-harness: `--log_samples`; each metric is a judge, or the model is one, against the target."""

from typing import Any

from hutch.crowd.exports.found import NO_LABEL, Found
from hutch.crowd.exports.json_export import JsonExport, first_record

ANSWER = "filtered_resps"
"""The field of the model's own answers: as `--columns label=` names it, the model is the judge, and the target gold."""


def _records(value: Any) -> list[Any] | None:
    value = [value] if isinstance(value, dict) else value  # a log of one line
    first = first_record(value)
    return list(value) if "doc_id" in first and ANSWER in first else None


def _read(records: list[tuple[str, Any]], found: Found) -> None:
    answers = ANSWER in found.columns.label
    wanted = set() if answers else found.chosen(name for _, sample in records for name in sample.get("metrics") or ())
    filters = {sample.get("filter") for _, sample in records}
    for place, sample in records:
        task, kind = sample.get("doc_id"), str(sample.get("filter") or "none") if len(filters) > 1 else ""
        doc = sample.get("doc")
        found.about = {"doc_id": task} | (doc if isinstance(doc, dict) else {})
        if answers:
            given = sample.get(ANSWER)
            found.add(kind or "model", task, given[0] if isinstance(given, list) and given else given, place)
            found.add_gold(task, sample.get("target"), place)
            continue
        if not any(name in sample for name in wanted):
            found.problems.add(NO_LABEL, place)
        for name in sample.get("metrics") or ():
            if name in wanted and name in sample:
                found.add(f"{name} ({kind})" if kind else name, task, sample[name], place)


EXPORT = JsonExport("lm-eval", _records, _read)
