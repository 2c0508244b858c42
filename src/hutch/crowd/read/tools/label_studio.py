"""Label Studio: the JSON export with all annotations of a task, the minimal JSON, CSV and TSV.

In the JSON export an annotation that is marked as ground truth is the task's gold label, and not a label of its
author. The other exports are one record per annotation. A choice below others is named by its path, `Animal/Dog`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hutch.core.errors import Problem
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import NO_LABEL, NO_NAME, SEVERAL, SKIPPED
from hutch.crowd.read.tools.tool import Places, Row, Tool, cell, first_record

_OF_ANNOTATION = ("annotator", "annotation_id")
_KNOWN = {"id", "created_at", "updated_at", "lead_time", "agreement", "history", *_OF_ANNOTATION}
_USUAL = ("choice", "choices", "label", "sentiment", "class", "rating", "answer")
_KINDS = {"choices": "choices", "taxonomy": "taxonomy", "rating": "rating", "number": "number",
          "pairwise": "selected"}  # fmt: skip


def _records(value: Any) -> list[Any] | None:
    first = first_record(value)
    if any(isinstance(first.get(key), list) for key in ("annotations", "completions")):
        return None if _is_list_of_users(first) else list(value)
    return None


def _is_list_of_users(first: Mapping[str, Any]) -> bool:
    """Old files of doccano have annotations, too: of a user and a label."""
    marks = first.get("annotations") or [{}]
    return isinstance(marks, list) and isinstance(marks[0], dict) and "user" in marks[0] and "result" not in marks[0]


def _rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    answers = []
    for place, task in records:
        name = task.get("id", place.split()[-1])
        where = f"task {name}"
        annotations = task.get("annotations", task.get("completions"))
        if not isinstance(annotations, list):
            raise Problem(f"{where}: no annotations; wanted Label Studio's JSON export")
        for annotation in annotations:
            if not isinstance(annotation, dict):
                continue
            if annotation.get("was_cancelled"):
                yield Row(where, reason=SKIPPED)
                continue
            results = annotation.get("result") or []
            given = [answer for result in results if (answer := _answer(result))]
            who, truth = _worker(annotation.get("completed_by")), bool(annotation.get("ground_truth"))
            answers.append((who, name, truth, NO_NAME if results and not given else NO_LABEL, given))
    wanted = columns.one_question(question for *_, given in answers for question, _ in given)
    for who, name, truth, why, given in answers:
        values = [value for question, value in given if question == wanted]
        if columns.sets and not values:  # boxes without a tick have no result
            values = [[]]
        if not values or any(value != values[0] for value in values):  # of none or several regions or items
            yield Row(f"task {name}", reason=SEVERAL if values else why)
        else:
            yield Row(f"task {name}", who, name, values[0], truth=truth)


def _answer(result: Any) -> tuple[str, Any] | None:
    """The question and the answer of one result; None for regions, texts and relations."""
    if not isinstance(result, dict) or result.get("type") not in _KINDS or not isinstance(result.get("value"), dict):
        return None
    value = result["value"].get(_KINDS[result["type"]])
    if isinstance(value, list):
        value = ["/".join(map(str, each)) if isinstance(each, list) else each for each in value]
    return str(result.get("from_name", "")), value


def _worker(value: Any) -> Any:
    """Exports name a worker by number or by a record with an e-mail address; unknown is the anonymous worker."""
    if isinstance(value, dict):
        return next((value[key] for key in ("email", "id", "username") if value.get(key) is not None), None)
    return value


TOOL = Tool("Label Studio", _records, _rows)


def pairwise_records(tasks: list[Any]) -> list[dict[str, Any]]:
    """The votes of tasks with `Pairwise`: the task's data, `annotator` and, as `winner`, the side that was selected."""
    found = []
    for task in tasks:
        for annotation in task.get("annotations", task.get("completions")) or []:
            if not annotation.get("was_cancelled"):
                results = [each for each in annotation.get("result") or [] if each.get("type") == "pairwise"]
                side = results[0]["value"].get("selected") if results else None
                worker = _worker(annotation.get("completed_by"))
                found.append({**(task.get("data") or {}), "annotator": worker, "winner": side})
    return found


def _minimal_records(value: Any) -> list[Any] | None:
    return list(value) if all(key in first_record(value) for key in _OF_ANNOTATION) else None


def _minimal_rows(records: list[tuple[str, Any]], columns: ColumnNames, worker: str) -> Iterator[Row]:
    rows = [record for _, record in records]
    fields = list(dict.fromkeys(key for row in rows for key in row))
    label = answers_column(fields, rows, columns)
    who, task = columns.worker or "annotator", columns.task or "id"
    for place, row in records:
        yield Row(place, _worker(row.get(who)), row.get(task), row.get(label))


MINIMAL = Tool("Label Studio", _minimal_records, _minimal_rows, ("worker", "task", "label"))


def places(fields: Sequence[str], columns: ColumnNames, sample: Sequence[Sequence[str]]) -> Places | None:
    """The columns of a CSV or TSV export, if the header is of one."""
    if not all(name in fields for name in _OF_ANNOTATION):
        return None
    rows = [dict(zip(fields, row, strict=False)) for row in sample]
    label = answers_column(list(fields), rows, columns)
    names = {"worker": columns.worker or "annotator", "task": columns.task or "id", "label": label}
    return Places.of("Label Studio", fields, names | {"gold": columns.gold}, value_of=cell)


def answers_column(fields: list[str], rows: Sequence[Mapping[str, Any]], columns: ColumnNames) -> str:
    """The column of the answers: data is the same in all annotations of a task, answers are not.

    Raises:
        Problem: no single column qualifies.
    """
    if columns.label:
        return columns.label[0]
    names = [name for name in fields if name not in _KNOWN and not name.startswith("_data_")]
    if len(names) == 1:
        return names[0]
    varying = [name for name in names if _varies(name, rows)]
    usual = [name for name in varying or names if name.lower() in _USUAL]
    for found in (varying, usual):
        if len(found) == 1:
            return found[0]
    listed = ", ".join(names) or "none"
    raise Problem(f"cannot tell which column holds the answers, got {listed}: --columns label=NAME")


def _varies(name: str, rows: Iterable[Mapping[str, Any]]) -> bool:
    seen: dict[str, str] = {}
    return any(seen.setdefault(str(row.get("id")), str(row.get(name))) != str(row.get(name)) for row in rows)
