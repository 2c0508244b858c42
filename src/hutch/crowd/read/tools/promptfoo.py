"""promptfoo: JSON or JSON lines of `promptfoo eval --output`; each assertion is a judge, people are `human`."""

from collections.abc import Iterator
from typing import Any

from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL, short
from hutch.crowd.read.tools.tool import Row, Tool, first_record

_HUMAN = "human"  # the kind of assertion that a person's verdict is


def _records(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        value = value.get("results")
        value = value.get("results") if isinstance(value, dict) else value
    if isinstance(value, list) and "gradingResult" in first_record(value):
        return list(value)
    return None


def _components(result: dict[str, Any]) -> list[dict[str, Any]]:
    graded = result.get("gradingResult") or {}
    return [each for each in graded.get("componentResults") or [] if isinstance(each, dict)]


def _rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    judges = (_judge(each.get("assertion")) for _, result in records for each in _components(result))
    wanted = columns.chosen(judges)
    for place, result in records:
        task = f"{result.get('testIdx', place.split()[-1])}:{result.get('promptIdx', 0)}"
        components = _components(result)
        case = result.get("testCase") or {}
        about = {**(result.get("vars") or {}), **(case.get("metadata") or {})}
        if not components:
            yield Row(place, reason=NO_LABEL)
        for component in components:
            judge = _judge(component.get("assertion"))
            if judge in wanted or judge == _HUMAN:
                passed = component.get("pass")
                verdict = None if passed is None else "pass" if passed else "fail"
                label = component.get("score") if columns.scores else verdict
                yield Row(place, judge, task, label, about=about)


def _judge(assertion: Any) -> str:
    """The name of the judge: the metric, or the kind of the assertion and the value it checks for."""
    if not isinstance(assertion, dict):
        return ""
    if assertion.get("metric"):
        return str(assertion["metric"])
    value = assertion.get("value")
    kind = str(assertion.get("type", ""))
    return f"{kind}: {short(value)}" if value not in (None, "") and kind != _HUMAN else kind


TOOL = Tool("promptfoo", _records, _rows)
