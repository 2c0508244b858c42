"""Amazon Mechanical Turk: the CSV of a batch's results, with `HITId`, `WorkerId` and `Answer.` columns."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hutch.core.errors import DataError, Problem
from hutch.core.strict_json import loads
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import REJECTED
from hutch.crowd.read.tools.tool import Places, cell, only_one

_STATUS, _ANSWERS = "AssignmentStatus", "Answer.taskAnswers"


def places(fields: Sequence[str], columns: ColumnNames, sample: Sequence[Sequence[str]]) -> Places | None:
    """The columns of an export, if the header is of one."""
    if not {"HITId", "WorkerId"} <= set(fields):
        return None
    answers = [name for name in fields if name.startswith("Answer.")]
    label, choices = columns.label[0] if columns.label else "", _choices(fields, answers, sample)
    value_of: Callable[[str], Any] = cell
    if _ANSWERS in fields and label not in fields:
        question, label = label, _ANSWERS
        value_of = partial(_answer, question=question)
    elif label not in fields and (not label or label in choices):
        single = [name for name in answers if not any(name in found for found in choices.values())]
        label = label or only_one([*single, *choices], "Answer.", "label")
    boxes = {} if label in fields else choices.get(label, {})
    names = {"worker": columns.worker or "WorkerId", "task": columns.task or "HITId", "label": "" if boxes else label}
    names |= {"gold": columns.gold, "status": _STATUS if _STATUS in fields else ""}
    left_out = {"Rejected": REJECTED}
    return Places.of("Mechanical Turk", fields, names, value_of=value_of, left_out=left_out, choices=boxes)


def _choices(fields: Sequence[str], answers: list[str], sample: Sequence[Sequence[str]]) -> dict[str, dict[str, str]]:
    """By question, the columns of its choices and their names: `Answer.animal.cat`, or `Answer.cat.on` of a box."""
    found: dict[str, dict[str, str]] = {}
    ticked = set()
    for name in answers:
        question, dot, choice = name.removeprefix("Answer.").removesuffix(".on").rpartition(".")
        values = {row[place].strip().lower() for row in sample for place in [fields.index(name)] if place < len(row)}
        if values <= {"true", "false", ""} and (dot or values != {""}):
            found.setdefault(question, {})[name] = choice
            ticked |= {question} if values != {""} else set()
    return {question: names for question, names in found.items() if question in ticked and len(names) > 1}


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
