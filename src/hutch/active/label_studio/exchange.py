"""Moves requests to a project and answers back, idempotently, even after an interruption."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hutch.active.label_studio.client import Client
from hutch.active.label_studio.question import Question
from hutch.core.errors import DataError, at
from hutch.durable.records import REQUEST_FIELD, Request, label_said, make_answer
from hutch.durable.store import Store
from hutch.durable.undo import find_answer, retract

BATCH = 200
"""Tasks of one call."""


@dataclass
class Pulled:
    """The outcome of reading annotations.

    Attributes:
        new: answers that were added.
        known: already recorded.
        changed: replaced an earlier answer of the same annotation.
        problems: invalid annotations, each with the reason.
    """

    new: int = 0
    known: int = 0
    changed: int = 0
    problems: list[str] = field(default_factory=list)


def push(store: Store, client: Client, project: int, question: Question) -> tuple[int, int]:
    """Make a task of each open request that the project does not have.

    The score of a task's prediction is 1 - the probability with which its label was asked for: the lowest comes first.

    Returns:
        Tasks that were added, and requests that were there already.
    """
    there = {str(task.get("data", {}).get(REQUEST_FIELD)) for task in client.tasks(project)}
    requests = list(store.open_requests())
    missing = [request for request in requests if request.id not in there]
    for start in range(0, len(missing), BATCH):
        client.add_tasks(project, [task_of(store, request, question) for request in missing[start : start + BATCH]])
    if missing:
        client.use_version(project, missing[-1].model)
    return len(missing), len(requests) - len(missing)


def task_of(store: Store, request: Request, question: Question) -> dict[str, Any]:
    """A request as a task with its prediction."""
    document = store.document(request.id) or {"text": request.line[request.line.find("|") :]}
    shown = {name: value if isinstance(value, str) else str(value) for name, value in document.items()}
    threshold = next((each.threshold for _, each in store.rounds() if each.threshold is not None), None)
    result = question.result_of(label_said(request.prediction, threshold, store.labels_allowed))
    prediction = {"model_version": request.model, "score": 1 - request.probability, "result": result}
    return {"data": {**shown, REQUEST_FIELD: request.id}, "predictions": [prediction]}


def pull(store: Store, client: Client, project: int, question: Question) -> Pulled:
    """Take the annotations of a project as answers."""
    found = Pulled()
    for task in client.annotated(project):
        request = task.get("data", {}).get(REQUEST_FIELD)
        for annotation in task.get("annotations") or []:
            if request is None:
                found.problems.append(f"task {task.get('id')}: is not a request of this store")
            else:
                take(store, question, str(request), annotation, found)
    return found


def take(store: Store, question: Question, request: str, annotation: Mapping[str, Any], found: Pulled) -> None:
    """Take an annotation as the answer to a request.

    Annotations have their own ids: duplicate events, and pulls after events, change nothing.
    """
    place = f"annotation {annotation.get('id')}"
    try:
        if annotation.get("ground_truth") and not annotation.get("result"):
            raise DataError("got no result")
        worker = worker_of(annotation.get("completed_by"))
        answer = make_answer(
            request, worker, question.label_of(annotation), id=identity(annotation), place=(place, None, None)
        )
        before = find_answer(store, answer.id)
        changed = before is not None and before.label != answer.label
        if changed:
            retract(store, answer.id)
        accepted = store.answer([answer])
    except DataError as error:
        text = str(error)
        found.problems.append(text if text.startswith(place) else at(place, None, None, text))
        return
    found.changed += changed
    found.new += accepted.new and not changed
    found.known += accepted.repeated


def identity(annotation: Mapping[str, Any]) -> str:
    """The id of the answer that an annotation is."""
    return f"label-studio {annotation.get('unique_id') or annotation.get('id')}"


def worker_of(completed_by: Any) -> str:
    """The name of a worker: exports have a number or a record, events a number."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("id") or completed_by.get("email")
    return f"user {completed_by}" if completed_by is not None else "unknown user"
