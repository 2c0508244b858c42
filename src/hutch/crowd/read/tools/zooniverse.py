"""Zooniverse: the CSV of classifications, whose column `annotations` holds the answers to the tasks of a workflow.

A subject is a task here, and a task of the workflow is a question.
"""

from collections.abc import Iterator
from typing import Any

from hutch.core.errors import DataError
from hutch.core.strict_json import loads
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL, NO_NAME
from hutch.crowd.read.tools.tool import Record, Row, Tool, first_record

_OWN = {"classification_id", "annotations", "subject_ids"}


def _records(value: Any) -> list[Any] | None:
    return list(value) if first_record(value).keys() >= _OWN else None


def _rows(records: list[tuple[str, Record]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    answers = [(place, record, _answers(record["annotations"])) for place, record in records]
    several = len({record.get("workflow_id") for _, record in records}) > 1
    names = (_question(record, each, several) for _, record, given in answers for each in given)
    wanted = columns.chosen(names)
    for place, record, given in answers:
        who = record.get(columns.worker or "user_name") or record.get("user_id")
        if not given:
            yield Row(place, reason=NO_LABEL)
        for each in given:
            question = _question(record, each, several)
            if question in wanted:
                label = _label(each.get("value"))
                reason = NO_NAME if label is NO_NAME else ""
                yield Row(place, who, record.get(columns.task or "subject_ids"), label, reason, False, question)


def _answers(text: Any) -> list[Record]:
    try:
        found = loads(str(text), "annotations")
    except DataError:
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _question(record: Record, answer: Record, several: bool) -> str:
    """A task of a workflow; other workflows may use its name for something else."""
    task = str(answer.get("task", ""))
    return f"{record.get('workflow_id')} {task}" if several else task


def _label(value: Any) -> Any:
    """The answer to a question, the choices of a survey; `NO_NAME` for marks."""
    if isinstance(value, list):
        choices = [each.get("choice") if isinstance(each, dict) else each for each in value]
        return NO_NAME if value and None in choices else choices
    return value


TOOL = Tool("Zooniverse", _records, _rows, ("worker", "task", "label"))
