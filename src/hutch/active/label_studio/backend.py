"""A machine-learning backend of Label Studio: it pre-labels, orders tasks by h_min and learns from annotations."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hutch.active.documents import line_of
from hutch.active.drawing import scores_of
from hutch.active.label_studio.exchange import Pulled, identity, take
from hutch.active.label_studio.question import Question, question_of
from hutch.active.loop import labels_of, learn, model_version, threshold_of
from hutch.core.errors import DataError, HutchError
from hutch.durable.entries import Round
from hutch.durable.records import REQUEST_FIELD, Request, label_said
from hutch.durable.store import Store
from hutch.durable.undo import retract
from hutch.net.application import JSON, Application, Asked, Route
from hutch.net.limits import Limits

if TYPE_CHECKING:
    from hutch.chain import Chain

LIMITS = Limits(body=64 << 20)
_WITH_ANNOTATION = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")


class Backend:
    """The operations that Label Studio expects of a backend.

    Args:
        chain: its top layer is `active`; it changes as it learns.
        model: path where it is saved.
        store: receives answers; the chain learns from it.
        names: the text that people read instead of a label.
        every: answers after which the chain learns. Each time the model gets a new version; Label Studio orders
            tasks by the scores of the newest one only.
    """

    def __init__(self, chain: "Chain", model: Path, store: Store, names: Mapping[str, str], every: int = 10) -> None:
        self.chain, self.model, self.store, self.names, self.every = chain, model, store, names, every
        self.version = model_version(model)
        store.allow_labels(labels_of(chain))
        self._question: Question | None = None
        self._new = 0
        self._lock = threading.RLock()

    def setup(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Read the question of a project; called when the backend is connected and whenever Label Studio checks it.

        Raises:
            DataError: the project does not ask for this chain's labels.
        """
        with self._lock:
            self._question = question_of(str(body.get("schema") or ""), self.store.labels_allowed, self.names)
            return {"model_version": self.version}

    def predict(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A pre-label and a score for each task.

        The score is h / (1 + h), h being the least importance of a label that would change the prediction: Label
        Studio's uncertainty sampling shows the lowest first.
        """
        with self._lock:
            if "label_config" in body:
                self.setup({"schema": body["label_config"]})
            question, tasks = self._asked(), [task for task in body.get("tasks") or [] if isinstance(task, dict)]
            lines = [self._line(task) for task in tasks]
            results = []
            if lines:
                scores, predictions = scores_of(self.chain, lines)
                for score, prediction in zip(scores.tolist(), predictions.tolist(), strict=True):
                    share = score / (1 + score) if score < float("inf") else 1.0
                    label = label_said(prediction, threshold_of(self.chain), labels_of(self.chain))
                    results.append(
                        {"model_version": self.version, "score": max(share, 0.0), "result": question.result_of(label)}
                    )
            return {"results": results, "model_version": self.version}

    def event(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take an annotation; events that come twice are counted once."""
        action, found = str(body.get("action")), Pulled()
        with self._lock:
            if action in _WITH_ANNOTATION and isinstance(body.get("annotation"), dict):
                annotation, task = body["annotation"], _object(body.get("task"))
                take(self.store, self._asked(), self._request(task, annotation, body), annotation, found)
                self._new += found.new + found.changed
            elif action == "ANNOTATIONS_DELETED":
                for annotation in body.get("annotations") or []:
                    if isinstance(annotation, dict):
                        retract(self.store, identity(annotation))
            if (action == "START_TRAINING" and self._new) or self._new >= self.every:
                self.learn()
            return {"new": found.new, "known": found.known, "changed": found.changed, "problems": found.problems}

    def learn(self) -> int:
        """Learn new answers, save the model under a new version, and return the number of examples."""
        with self._lock:
            learned, _ = learn(self.chain, self.store, self.model)
            self.version, self._new = model_version(self.model), 0
            return learned

    def _asked(self) -> Question:
        if self._question is None:
            raise DataError("the backend was not set up: connect it to a project first")
        return self._question

    def _line(self, task: Mapping[str, Any]) -> str:
        data = _object(task.get("data"))
        if REQUEST_FIELD in data and (line := self.store.line_of(str(data[REQUEST_FIELD]))):
            return line
        return line_of(
            {name: value for name, value in data.items() if name != REQUEST_FIELD}, self.chain.config.input.columns
        )

    def _request(self, task: Mapping[str, Any], annotation: Mapping[str, Any], body: Mapping[str, Any]) -> str:
        """The id of a task's request, which is created if the task was not pushed."""
        data = _object(task.get("data"))
        if REQUEST_FIELD in data:
            return str(data[REQUEST_FIELD])
        project = body.get("project")
        number = project.get("id") if isinstance(project, dict) else annotation.get("project")
        id = f"label-studio {number}/{task.get('id', annotation.get('task'))}"
        if self.store.line_of(id) is None:
            if not data:
                raise DataError(f"annotation {annotation.get('id')}: its task has no data")
            line = self._line(task)
            request = Request(id, line, float(self.chain.predict([line])[0]), 1.0, 1.0, self.version)
            self.store.ask(
                [request], Round(f"label studio {number}", 1, 1.0, threshold_of(self.chain)), documents={id: data}
            )
        return id


def _object(found: Any) -> dict[str, Any]:
    """The body, if it is an object; else an empty one."""
    return found if isinstance(found, dict) else {}


def create_app(backend: Backend, token: str) -> Application:
    """The backend as an application; without the token in the address everything is 404."""

    def health(asked: Asked) -> Any:
        return {"status": "UP", "model_class": "Hutch", "model_version": backend.version}

    def versions(asked: Asked) -> Any:
        return {"versions": [backend.version], "message": ""}

    def train(body: Mapping[str, Any]) -> dict[str, Any]:
        return {"learned": backend.learn(), "model_version": backend.version}

    def posted(path: str, handle: Callable[[Mapping[str, Any]], Any]) -> Route:
        return Route("POST", path, lambda asked: handle(asked.json("what Label Studio sends")), bodies={JSON: {}})

    routes = [Route("GET", "/", health), Route("GET", "/health", health), Route("GET", "/versions", versions)]
    routes += [posted("/setup", backend.setup), posted("/predict", backend.predict)]
    routes += [posted("/train", train), posted("/webhook", backend.event)]
    return Application(routes, {DataError: 422, HutchError: 503}, limits=LIMITS, secret=token)
