"""promptfoo: JSON or JSON lines of `promptfoo eval --output`; each assertion is a judge, people are `human`."""

from typing import Any

from hutch.crowd.exports.found import NO_LABEL, Found, short
from hutch.crowd.exports.json_export import JsonExport, first_record


def _records(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        value = value.get("results")
        value = value.get("results") if isinstance(value, dict) else value
    if isinstance(value, list) and "gradingResult" in first_record(value):
        return list(value)
    return None


def _read(records: list[tuple[str, Any]], found: Found) -> None:
    for place, result in records:
        task = f"{result.get('testIdx', place.split()[-1])}:{result.get('promptIdx', 0)}"
        graded = result.get("gradingResult") or {}
        components = [each for each in graded.get("componentResults") or [] if isinstance(each, dict)]
        if not components:
            found.problems.add(NO_LABEL, place)
        for component in components:
            found.add(_judge(component.get("assertion")), task, _verdict(component.get("pass")), place)


def _judge(assertion: Any) -> str:
    """The name of who judged: the metric, or the kind of the assertion and what it looks for."""
    if not isinstance(assertion, dict):
        return ""
    if assertion.get("metric"):
        return str(assertion["metric"])
    value = assertion.get("value")
    kind = str(assertion.get("type", ""))
    return f"{kind}: {short(value)}" if value not in (None, "") and kind != "human" else kind


def _verdict(passed: Any) -> str | None:
    return None if passed is None else "pass" if passed else "fail"


EXPORT = JsonExport("promptfoo", _records, _read)
