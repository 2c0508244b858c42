"""The HTTP interface of models in service."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.reduction import Predictions
from hutch.core.errors import DataError, HutchError, StoreError, did_you_mean
from hutch.core.run.output import class_names_of
from hutch.core.version import version
from hutch.durable.choices import Contradiction
from hutch.durable.log import Log
from hutch.durable.records import check_name
from hutch.net.application import LOOPBACK, Application, Asked, Dialect, Field, Refused, Reply, Route
from hutch.net.limits import Limits
from hutch.net.openapi import describe
from hutch.serve.answers import Answered
from hutch.serve.bodies import NoMemory
from hutch.serve.decisions import rank, reward
from hutch.serve.labels import Labels
from hutch.serve.metrics import Metrics
from hutch.serve.schemas import ANSWERS, DECISION, EXAMPLES, PREDICTIONS, RANKED, REWARDS, SCHEMAS, TEXT
from hutch.serve.served import Served

_MODEL = Field("model", "name of the model; left out, the first")
_SCORES = Field("scores", "also return the scores of all classes", "boolean")
_INTERVAL = Field(
    "interval", "also return the ends of an interval that holds the label so often, such as 0.9", "number"
)
_KEY = Field(
    "Idempotency-Key",
    "under which this request will be sent again if no answer comes; it is learned once",
    where="header",
)
_WORKER = Field("worker", "who will answer: one request, which others do not see for a while")
_DECISION_ID = Field("id", "under which the reward will come; the same id gets the same answer. Left out, one is made")
_STATUSES: dict[type[HutchError], int] = {Contradiction: 409, NoMemory: 413, StoreError: 503, HutchError: 422}


def numbers(values: NDArray[np.floating[Any]], whole: bool) -> list[Any]:
    """Numbers for JSON: classes as integers, NaN and infinity as null."""
    if whole:
        return [int(value) if np.isfinite(value) else None for value in values]
    if np.isfinite(values).all():
        found: list[Any] = values.tolist()
        return found
    return [value if np.isfinite(value) else None for value in values.tolist()]


def classes_or_numbers(served: Served, values: NDArray[np.float32]) -> list[Any]:
    """Predictions for JSON: names of classes where the chain's data has names, as `hutch predict` writes them."""
    whole, names = served.chain.predicts is Predictions.CLASS, served.chain.config.input.columns.classes
    if whole and names and np.isfinite(values).all():
        return class_names_of(values, list(map(str, names)))
    return numbers(values, whole)


@dataclass(frozen=True, slots=True)
class Interface:
    """Requests that clients of another service send.

    Attributes:
        routes: of the models by name.
        dialect: of their addresses.
    """

    routes: Callable[[Mapping[str, Served]], list[Route]]
    dialect: Dialect


class Handlers:
    """Answers requests.

    Args:
        models: by name; the first one answers requests without a model's name.
        log: the write-ahead log.
        limits: of bodies.
        interfaces: further requests.
    """

    def __init__(
        self,
        models: Mapping[str, Served],
        log: Log,
        limits: Limits | None = None,
        interfaces: Sequence[Interface] = (),
    ) -> None:
        self.models, self.limits, self.interfaces = models, limits or Limits(), interfaces
        self.metrics = Metrics(models, log)
        self._first = next(iter(models.values()))
        self._labels, self._log = Labels(models, log), log
        self.stopping = False
        learn = "Learn examples with labels; the predictions were made before. It is on disk before the answer."
        draw = "Draw an action of a decision; what was drawn and its probability are on disk before the answer."
        tell = "Tell what decisions have cost; each is learned once, with the probability of its draw."
        give = "Answer label requests; answers that came before are not counted again."
        ask = "Label requests that want an answer."
        model, errors = (_MODEL,), (404, 409)
        self.routes = [
            Route("POST", "/v1/predict", self.predict, "Predict without learning.", (_MODEL, _SCORES, _INTERVAL),
                  EXAMPLES, PREDICTIONS, (404,)),
            Route("POST", "/v1/learn", self.learn, learn, (_MODEL, _SCORES, _KEY), EXAMPLES, PREDICTIONS, errors),
            Route("POST", "/v1/rank", self.rank, draw, (_MODEL, _DECISION_ID), DECISION, RANKED, errors),
            Route("POST", "/v1/reward", self.reward, tell, model, REWARDS, errors=(404,)),
            Route("GET", "/v1/labels", self.open_labels, ask, (_WORKER,), errors=(422,)),
            Route("POST", "/v1/labels", self.give_labels, give, (), ANSWERS),
            Route("GET", "/v1/model", self.model, "What the model is and has seen.", model, errors=(404,)),
            Route("GET", "/healthz", self.health, "Whether the server answers; wants no token.", errors=(503,)),
            Route("GET", "/readyz", self.ready, "Whether kernels are compiled, the log is writable and all models can "
                  "learn; wants no token.", errors=(503,)),
            Route("GET", "/metrics", self.figures, "Figures in Prometheus' format.", gives=TEXT),
            Route("GET", "/openapi.json", self.openapi),
            *(route for interface in interfaces for route in interface.routes(models)),
        ]  # fmt: skip

    def _model(self, asked: Asked) -> Served:
        name = asked.query.get("model")
        if name is None:
            return self._first
        if name not in self.models:
            raise Refused(404, f"model: there is no {name[:100]!r}; {did_you_mean(name[:100], self.models)}")
        return self.models[name]

    @staticmethod
    def _id(given: str, what: str) -> str:
        try:
            return check_name(given, what)
        except DataError as error:
            raise Refused(400, str(error)) from None

    async def predict(self, asked: Asked) -> Any:
        """POST /v1/predict."""
        given = asked.query.get("interval")
        try:
            level = None if given is None else float(given)
        except ValueError:
            raise Refused(422, f"interval: got {given!r:.100}, wanted a number between 0 and 1, such as 0.9") from None
        return await self._answer(asked, lambda served: served.predict(asked.kind, asked.body, level))

    async def learn(self, asked: Asked) -> Any:
        """POST /v1/learn."""
        id = self._id(asked.headers.get("idempotency-key", ""), "idempotency-key")
        return await self._answer(asked, lambda served: served.learn(asked.kind, asked.body, id))

    async def _answer(self, asked: Asked, run: Callable[[Served], Awaitable[Answered]]) -> Any:
        """Predictions; the request is checked before anything runs."""
        served, wanted = self._model(asked), asked.query.get("scores") == "true"
        if wanted and not served.chain.score_count:
            raise Refused(422, f"scores: the top layer of {served.name!r} has none")
        found = await run(served)
        content: dict[str, Any] = {"model": served.name, "position": found.position}
        content["predictions"] = classes_or_numbers(served, found.predictions)
        if found.actions is not None:
            ends = list(accumulate(found.actions, initial=0))
            content["predictions"] = [content["predictions"][a:b] for a, b in pairwise(ends)]
        if wanted:
            content["scores"] = [numbers(row, False) for row in found.scores]
        if found.intervals is not None:
            content["intervals"] = [numbers(ends, False) for ends in found.intervals]
        if found.repeated:
            content["repeated"] = True
        return content

    async def rank(self, asked: Asked) -> Any:
        """POST /v1/rank."""
        return await rank(self._model(asked), asked.kind, asked.body, self._id(asked.query.get("id", ""), "id"))

    async def reward(self, asked: Asked) -> Any:
        """POST /v1/reward."""
        return await reward(self._model(asked), asked.body)

    async def open_labels(self, asked: Asked) -> Any:
        """GET /v1/labels."""
        return await self._labels.open(asked.query.get("worker", ""))

    async def give_labels(self, asked: Asked) -> Any:
        """POST /v1/labels."""
        return await self._labels.give(asked.body)

    async def model(self, asked: Asked) -> Any:
        """GET /v1/model."""
        served = self._model(asked)
        found = served.chain.statistics
        counters = {
            "examples": found.examples,
            "queries": found.queries,
            "progressive_loss": found.sum_loss / found.weighted_labeled if found.weighted_labeled else None,
        }
        return {
            "model": served.name,
            "models": list(self.models),
            "version": version(),
            "position": served.position,
            "saved": served.saved,
            "labels": served.chain.takes.value,
            "predictions": served.chain.predicts.value,
            "counters": counters,
            "chain": served.chain.config.to_dict(),
        }

    async def health(self, asked: Asked) -> Any:
        """GET /healthz."""
        return Reply({"status": "stopping"}, status=503) if self.stopping else {"status": "ok"}

    async def ready(self, asked: Asked) -> Any:
        """GET /readyz."""
        problems = ["the server stops"] if self.stopping else []
        for name, served in self.models.items():
            problems += [f"{name}: compiling"] * (not served.is_warm) + [served.failure] * bool(served.failure)
        if not problems:
            await self._log.check_writable()
        return Reply({"status": "not ready", "problems": problems}, status=503) if problems else {"status": "ready"}

    async def figures(self, asked: Asked) -> Any:
        """GET /metrics."""
        return Reply(self.metrics.text(), self.metrics.content_type)

    async def openapi(self, asked: Asked) -> Any:
        """GET /openapi.json."""
        return describe(self.routes, "Hutch", "Models that learn while they serve.", SCHEMAS)


def create_app(handlers: Handlers, *, token: str = "", host: str = LOOPBACK[0]) -> Application:
    """The interface as an application.

    Args:
        handlers: answer the requests.
        token: that clients must send; empty for none.
        host: the address it is bound to; on a loopback address it answers under no other name.
    """
    return Application(
        handlers.routes,
        _STATUSES,
        limits=handlers.limits,
        token=token,
        public=("/healthz", "/readyz"),
        hosts=LOOPBACK if host in LOOPBACK else (),
        count=handlers.metrics.count,
        dialects=[interface.dialect for interface in handlers.interfaces],
    )
