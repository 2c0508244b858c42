"""The JSON export of Label Studio, with every annotation of a task, as worker-task-label triples."""

import json
from collections.abc import Iterator
from typing import Any

from hutch.core.errors import DataError, at


def triples(data: bytes, name: str) -> Iterator[tuple[str, str, str]]:
    """The (worker, task, label) of each choice or rating in an export.

    Cancelled annotations and results of other kinds (regions, texts) are skipped.

    Args:
        data: the export.
        name: what errors call it.

    Raises:
        DataError: it is no such export, asks several questions at once, or an annotation has several choices.
    """
    try:
        tasks = json.loads(data)
    except json.JSONDecodeError as error:
        raise DataError(at(name, error.lineno, error.colno, f"not JSON: {error.msg}")) from None
    except UnicodeDecodeError:
        raise DataError(at(name, None, None, "not JSON: got bytes that are not UTF-8")) from None
    if not isinstance(tasks, list):
        raise DataError(at(name, 1, 1, f"got a JSON {type(tasks).__name__}, wanted a list of tasks"))
    question = None
    for number, task in enumerate(tasks, 1):
        where = f"task {number}"
        annotations = _get(task, "annotations", "completions")
        if not isinstance(annotations, list):
            raise DataError(at(name, None, None, f"{where}: no annotations; wanted Label Studio's JSON export"))
        for annotation in annotations:
            if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
                continue
            worker = _worker(annotation.get("completed_by"))
            for result in annotation.get("result") or []:
                label = _label(result, name, where)
                if label is None:
                    continue
                asked = result.get("from_name")
                question = asked if question is None else question
                if asked != question:
                    text = f"{where}: got answers to {question!r} and {asked!r}, wanted one question"
                    raise DataError(at(name, None, None, text))
                yield worker, str(_get(task, "id", default=number)), label


def _get(record: Any, *keys: str, default: Any = None) -> Any:
    if not isinstance(record, dict):
        return default
    return next((record[key] for key in keys if key in record), default)


def _worker(value: Any) -> str:
    """Exports name a worker by number or by a record with an e-mail address; unknown is the anonymous worker."""
    if isinstance(value, dict):
        value = _get(value, "email", "id", "username")
    return "" if value is None else str(value)


def _label(result: Any, name: str, where: str) -> str | None:
    kind, value = _get(result, "type"), _get(result, "value")
    if kind == "rating":
        return str(_get(value, "rating"))
    if kind != "choices":
        return None
    choices = _get(value, "choices", default=[])
    if len(choices) != 1:
        text = f"{where}: got {len(choices)} choices in one annotation, wanted 1"
        raise DataError(at(name, None, None, text))
    return str(choices[0])
