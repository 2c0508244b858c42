"""DeepEval: the JSON of a test run; each metric with its model is a judge, whether it passed is the label."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL
from hutch.crowd.read.tools.tool import Row, Tool


def _get(record: dict[str, Any], camel: str, snake: str) -> Any:
    """Files have names like those of the API, or like those of the Python package."""
    return record.get(camel, record.get(snake))


def _records(value: Any) -> list[Any] | None:
    if not isinstance(value, dict):
        return None
    value = value.get("testRunData", value)
    cases = [
        _get(value, "testCases", "test_cases"),
        _get(value, "conversationalTestCases", "conversational_test_cases"),
    ]
    lists = [each for each in cases if isinstance(each, list)]
    return [case for each in lists for case in each] if lists else None


def _metrics(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in _get(case, "metricsData", "metrics_data") or [] if isinstance(each, dict)]


def _rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    seen: Counter[str] = Counter()
    wanted = columns.chosen(str(metric.get("name", "")) for _, case in records for metric in _metrics(case))
    for place, case in records:
        name = str(case.get("name") or case.get("input") or place)
        seen[name] += 1
        task = name if seen[name] == 1 else f"{name} #{seen[name]}"
        metrics, about = _metrics(case), _get(case, "additionalMetadata", "additional_metadata") or {}
        if not metrics:
            yield Row(place, reason=NO_LABEL)
        for metric in metrics:
            if str(metric.get("name", "")) not in wanted:
                continue
            model = _get(metric, "evaluationModel", "evaluation_model")
            judge = f"{metric.get('name', '')} ({model})" if model else metric.get("name")
            passed = None if metric.get("error") else metric.get("success")
            verdict = None if passed is None else "pass" if passed else "fail"
            label = metric.get("score") if columns.scores and verdict else verdict
            yield Row(place, judge, task, label, about=about)


TOOL = Tool("DeepEval", _records, _rows)
