"""The page on which people answer label requests: one file, no outside resource, served on this machine only.

Several people may use it at once; a request that someone looks at is leased, so no one else sees it for a while. An
answer is on disk before the page hears that it was accepted.
"""

import base64
import hashlib
import json
import re
import socket
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hutch.active.records import check_worker, make_answer
from hutch.active.store import Store
from hutch.core.errors import DataError, HutchError
from hutch.core.net import web
from hutch.core.net.limits import Limits

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as WebRequest
    from starlette.responses import Response

HOST = "127.0.0.1"
LIMITS = Limits(body=1 << 16)
LEASE_SECONDS = 300.0


@cache
def page() -> str:
    """The page's HTML."""
    return Path(__file__).with_name("page.html").read_text(encoding="utf-8")


@cache
def security_headers() -> dict[str, str]:
    """Headers that let the page run its own script and style, talk to its own server, and nothing else."""

    def hash_of(tag: str) -> str:
        found = re.search(f"<{tag}>(.*?)</{tag}>", page(), re.DOTALL)
        assert found is not None
        return "'sha256-" + base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode() + "'"

    policy = (
        f"default-src 'none'; script-src {hash_of('script')}; style-src {hash_of('style')}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }


def require_web() -> None:
    """Raise a `UsageError` that says how to install what the page needs, if it is missing."""
    web.require_web("the page")


def shown(line: str) -> str:
    """What a worker sees of a line: its features, without label and tag."""
    bar = line.find("|")
    return line[bar:] if bar >= 0 else line


class _Page:
    def __init__(self, store: Store, names: Mapping[str, str], lease_seconds: float) -> None:
        self.store, self.names, self.lease_seconds = store, names, lease_seconds

    def home(self, request: "WebRequest") -> "Response":
        from starlette.responses import HTMLResponse

        return HTMLResponse(page(), headers=security_headers())

    def next(self, request: "WebRequest") -> "Response":
        try:
            worker = check_worker(request.query_params.get("worker", ""))
        except DataError as error:
            return _json({"error": str(error)}, 400)
        try:
            asked, counts = self.store.lease(worker, self.lease_seconds), self.store.counts()
        except HutchError as error:
            return _json({"error": str(error)}, 503)
        labels = [{"value": label, "name": self.names.get(label, label)} for label in self.store.labels_allowed]
        item = {"id": asked.id, "text": shown(asked.line)} if asked else None
        progress = {"requests": counts.requests, "open": counts.open}
        return _json({"request": item, "labels": labels, "progress": progress})

    async def answer(self, request: "WebRequest") -> "Response":
        from starlette.concurrency import run_in_threadpool

        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return _json({"error": "got no JSON, wanted an answer"}, 415)
        try:
            found: Any = json.loads(await web.read_body(request, LIMITS))
            id, label = found["id"], found["label"]
            if not isinstance(id, str | int):
                raise TypeError
            answer = make_answer(str(id), check_worker(found["worker"]), label)
            accepted = await run_in_threadpool(self.store.answer, [answer])
        except web.Refused as error:
            return _json({"error": str(error)}, error.status)
        except (ValueError, TypeError, KeyError, RecursionError):
            return _json({"error": "got no answer, wanted an object with id, worker and label"}, 400)
        except DataError as error:
            return _json({"error": str(error).removeprefix("<answer>: ")}, 409)
        except HutchError as error:
            return _json({"error": str(error)}, 503)
        return _json({"new": accepted.new, "repeated": accepted.repeated})


def _json(content: dict[str, Any], status: int = 200) -> "Response":
    from starlette.responses import JSONResponse

    return JSONResponse(content, status, headers=security_headers())


def create_app(
    store: Store, token: str, *, names: Mapping[str, str] | None = None, lease_seconds: float = LEASE_SECONDS
) -> "Starlette":
    """The page as an application; without the token in the address everything is 404.

    Args:
        store: where the requests are.
        token: secret part of the address.
        names: what workers read instead of a label (`{"1": "spam"}`).
        lease_seconds: how long a request that someone looks at is kept from others.

    Raises:
        UsageError: Starlette is not installed.
    """
    require_web()
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.routing import Mount, Route

    handlers = _Page(store, names or {}, lease_seconds)
    routes = [Route("/", handlers.home), Route("/next", handlers.next)]
    routes.append(Route("/answer", handlers.answer, methods=["POST"]))
    # a foreign page must not reach this server under a name of its own that resolves to this machine
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    return Starlette(routes=[Mount(f"/{token}", routes=routes)], middleware=[hosts])


def listen(port: int) -> socket.socket:
    """A socket on the loopback interface.

    Raises:
        UsageError: the port is taken.
    """
    return web.listen(HOST, port)


def serve(app: "Starlette", listening: socket.socket) -> None:
    """Serve until interrupted."""
    web.run_app(app, listening, LIMITS)
