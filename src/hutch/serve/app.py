"""The HTTP interface of models in service."""

from collections.abc import Awaitable, Callable, Mapping
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import DataError, HutchError, StoreError, did_you_mean
from hutch.core.net.limits import Limits
from hutch.core.net.web import Refused, read_body
from hutch.core.strict_json import dumps
from hutch.core.version import version
from hutch.serve.bodies import JSON, KINDS, NoMemory, check_id
from hutch.serve.choices import Contradiction
from hutch.serve.decisions import rank, reward
from hutch.serve.guard import LOOPBACK, Guard
from hutch.serve.labels import Labels
from hutch.serve.log import Log
from hutch.serve.metrics import Metrics
from hutch.serve.openapi import description, docs_page
from hutch.serve.served import Answered, Served

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp


def numbers(values: NDArray[np.float32], whole: bool) -> list[Any]:
    """Numbers for JSON: classes as integers, what is not finite as null."""
    if whole:
        return [int(value) if np.isfinite(value) else None for value in values]
    if np.isfinite(values).all():
        found: list[Any] = values.tolist()
        return found
    return [value if np.isfinite(value) else None for value in values.tolist()]


class Handlers:
    """Answers requests.

    Args:
        models: by name; the first answers those that name none.
        log: the write-ahead log.
        limits: of bodies.
    """

    def __init__(self, models: Mapping[str, Served], log: Log, limits: Limits | None = None) -> None:
        self.models, self.limits = models, limits or Limits()
        self.metrics = Metrics(models)
        self._first = next(iter(models.values()))
        self._labels = Labels(models, log)
        self.stopping = False

    def _model(self, request: "Request") -> Served:
        name = request.query_params.get("model")
        if name is None:
            return self._first
        if name not in self.models:
            raise Refused(404, f"model: there is no {name[:100]!r}; {did_you_mean(name[:100], self.models)}")
        return self.models[name]

    async def _body(self, request: "Request") -> tuple[str, bytes]:
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if given not in KINDS:
            raise Refused(415, f"content-type: got {given[:100]!r}, wanted one of {', '.join(KINDS)}")
        return KINDS[given], await read_body(request, self.limits)

    async def _json(self, request: "Request") -> bytes:
        kind, body = await self._body(request)
        if kind != JSON:
            raise Refused(415, "content-type: wanted application/json")
        return body

    async def predict(self, request: "Request") -> "Response":
        """POST /v1/predict."""
        served = self._model(request)
        return self._answer(request, served, await served.predict(*await self._body(request)))

    async def learn(self, request: "Request") -> "Response":
        """POST /v1/learn."""
        served, id = self._model(request), self._id(request.headers.get("idempotency-key", ""), "idempotency-key")
        return self._answer(request, served, await served.learn(*await self._body(request), id))

    @staticmethod
    def _id(given: str, what: str) -> str:
        try:
            return check_id(given, what)
        except DataError as error:
            raise Refused(400, str(error)) from None

    async def rank(self, request: "Request") -> "Response":
        """POST /v1/rank."""
        served, id = self._model(request), self._id(request.query_params.get("id", ""), "id")
        return reply(await rank(served, *await self._body(request), id))

    async def reward(self, request: "Request") -> "Response":
        """POST /v1/reward."""
        return reply(await reward(self._model(request), await self._json(request)))

    @staticmethod
    def _answer(request: "Request", served: Served, found: Answered) -> "Response":
        content: dict[str, Any] = {"model": served.name, "position": found.position}
        whole = served.chain.predicts.value == "class"
        content["predictions"] = numbers(found.predictions, whole)
        if found.actions is not None:
            ends = list(accumulate(found.actions, initial=0))
            content["predictions"] = [content["predictions"][a:b] for a, b in pairwise(ends)]
        if request.query_params.get("scores") == "true":
            if not served.chain.score_count:
                raise Refused(422, f"scores: the top layer of {served.name!r} has none")
            content["scores"] = [numbers(row, False) for row in found.scores]
        if found.repeated:
            content["repeated"] = True
        return reply(content)

    async def open_labels(self, request: "Request") -> "Response":
        """GET /v1/labels."""
        return reply(await self._labels.open(request.query_params.get("worker", "")))

    async def give_labels(self, request: "Request") -> "Response":
        """POST /v1/labels."""
        return reply(await self._labels.give(await self._json(request)))

    async def model(self, request: "Request") -> "Response":
        """GET /v1/model."""
        served = self._model(request)
        found = served.chain.statistics
        counters = {
            "examples": found.examples,
            "queries": found.queries,
            "progressive_loss": found.sum_loss / found.weighted_labeled if found.weighted_labeled else None,
        }
        return reply(
            {
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
        )

    async def health(self, request: "Request") -> "Response":
        """GET /healthz."""
        return reply({"status": "stopping"}, 503) if self.stopping else reply({"status": "ok"})

    async def figures(self, request: "Request") -> "Response":
        """GET /metrics."""
        from starlette.responses import Response

        return Response(self.metrics.text(), media_type=self.metrics.content_type)

    async def openapi(self, request: "Request") -> "Response":
        """GET /openapi.json."""
        return reply(description())

    async def docs(self, request: "Request") -> "Response":
        """GET /docs."""
        from starlette.responses import HTMLResponse

        policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
        return HTMLResponse(docs_page(), headers={"Content-Security-Policy": policy})


def reply(content: Any, status: int = 200) -> "Response":
    """JSON that is JSON: what is not finite is null, and named."""
    from starlette.responses import Response

    return Response(dumps(content), status, media_type="application/json")


def _guarded(handler: Callable[["Request"], Awaitable["Response"]]) -> Callable[["Request"], Awaitable["Response"]]:
    """The handler, its errors as answers."""
    from starlette.requests import ClientDisconnect

    async def handle(request: "Request") -> "Response":
        try:
            return await handler(request)
        except Refused as error:
            answer = reply({"error": str(error)}, error.status)
            if error.status in (408, 413):  # the rest of the body is not read
                answer.headers["Connection"] = "close"
            return answer
        except HutchError as error:
            status = {Contradiction: 409, NoMemory: 413, StoreError: 503}.get(type(error), 422)
            return reply({"error": str(error)}, status)
        except ClientDisconnect:
            return reply({"error": "the client has gone"}, 400)

    return handle


def create_app(handlers: Handlers, *, token: str = "", host: str = LOOPBACK[0]) -> "ASGIApp":
    """The interface as an application.

    Args:
        handlers: what answers.
        token: who asks must know it; empty for no token.
        host: the address it is bound to; on a loopback address it answers under no other name.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    h = handlers
    routes = [
        Route("/v1/predict", _guarded(h.predict), methods=["POST"]),
        Route("/v1/learn", _guarded(h.learn), methods=["POST"]),
        Route("/v1/rank", _guarded(h.rank), methods=["POST"]),
        Route("/v1/reward", _guarded(h.reward), methods=["POST"]),
        Route("/v1/labels", _guarded(h.open_labels), methods=["GET"]),
        Route("/v1/labels", _guarded(h.give_labels), methods=["POST"]),
        Route("/v1/model", _guarded(h.model)),
        Route("/healthz", _guarded(h.health)),
        Route("/metrics", _guarded(h.figures)),
        Route("/openapi.json", _guarded(h.openapi)),
        Route("/docs", _guarded(h.docs)),
    ]
    return Guard(
        Starlette(routes=routes),
        metrics=h.metrics,
        paths={route.path for route in routes},
        token=token,
        hosts=LOOPBACK if host in LOOPBACK else (),
    )
