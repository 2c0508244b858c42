"""lm-evaluation-harness: `--log_samples`; each metric is a judge, or the model is one, against the target."""

from collections.abc import Iterator
from typing import Any

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL
from hutch.crowd.read.tools.tool import Row, Tool, first_record

ANSWER = "filtered_resps"
"""The field of the model's own answers: as `--columns label=` names it, the model is the judge, and the target gold."""


def _records(value: Any) -> list[Any] | None:
    value = [value] if isinstance(value, dict) else value  # a log of one line
    first = first_record(value)
    return list(value) if "doc_id" in first and ANSWER in first else None


def _rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    answers = ANSWER in columns.label
    wanted = set() if answers else columns.chosen(name for _, sample in records for name in sample.get("metrics") or ())
    filters = {sample.get("filter") for _, sample in records}
    for place, sample in records:
        task, kind = sample.get("doc_id"), str(sample.get("filter") or "none") if len(filters) > 1 else ""
        doc = sample.get("doc")
        about = {"doc_id": task} | (doc if isinstance(doc, dict) else {})
        if answers:
            given = sample.get(ANSWER)
            said = given[0] if isinstance(given, list) and given else given
            yield Row(place, kind or "model", task, said, about=about)
            yield Row(place, task=task, label=sample.get("target"), truth=True)
            continue
        if not any(name in sample for name in wanted):
            yield Row(place, reason=NO_LABEL)
        for name in sample.get("metrics") or ():
            if name in wanted and name in sample:
                yield Row(place, f"{name} ({kind})" if kind else name, task, sample[name], about=about)


TOOL = Tool("lm-eval", _records, _rows)
