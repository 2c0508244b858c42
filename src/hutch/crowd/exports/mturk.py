"""Amazon Mechanical Turk: the CSV of a batch's results, with `HITId`, `WorkerId` and `Answer.` columns."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hutch.core.errors import DataError, Problem
from hutch.core.strict_json import loads
from hutch.crowd.exports.found import REJECTED, Columns
from hutch.crowd.exports.sheet import Sheet

_STATUS, _ANSWERS = "AssignmentStatus", "Answer.taskAnswers"


def sheet(fields: Sequence[str], columns: Columns, sample: Sequence[Sequence[str]]) -> Sheet | None:
    """The columns of an export, if the header is of one."""
    if not {"HITId", "WorkerId"} <= set(fields):
        return None
    answers = [name for name in fields if name.startswith("Answer.")]
    label = columns.label[0] if columns.label else ""
    value_of: Callable[[str], Any] = str
    if _ANSWERS in fields and label not in fields:
        question, label = label, _ANSWERS
        value_of = partial(_answer, question=question)
    elif not label:
        label = _one(answers)
    names = {"worker": columns.worker or "WorkerId", "task": columns.task or "HITId", "label": label}
    names |= {"gold": columns.gold} if columns.gold else {}
    names |= {"status": _STATUS} if _STATUS in fields else {}
    return Sheet.of("Mechanical Turk", fields, names, value_of, {"Rejected": REJECTED})


def _one(answers: list[str]) -> str:
    if len(answers) != 1:
        got = f"got {' and '.join(map(repr, answers[:4]))}" if answers else "got no Answer. column"
        hint = f"--columns label={answers[0] if answers else 'NAME'}"
        raise Problem(f"{got}, wanted one label: {hint}", 1, 1)
    return answers[0]


def _answer(text: str, question: str) -> Any:
    """The answer that crowd HTML elements leave as JSON: `[{"animal": {"label": "cat"}}]` or `{"cat": true, ...}`.

    Raises:
        Problem: there are several questions and none is named.
    """
    if not text.strip():
        return None
    try:
        found = loads(text, "cell")
    except DataError:
        return text
    found = found[0] if isinstance(found, list) and len(found) == 1 else found
    if not isinstance(found, dict):
        return found
    if question:
        found = found.get(question)
    elif len(found) > 1:
        names = " and ".join(map(repr, list(found)[:4]))
        raise Problem(f"got answers to {names}, wanted one: --columns label={next(iter(found))}")
    else:
        found = next(iter(found.values()), None)
    if isinstance(found, dict):
        if set(found) <= {"label", "labels"}:
            return next(iter(found.values()), None)
        return [name for name, ticked in found.items() if ticked is True]
    return found
