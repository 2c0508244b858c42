"""What every request passes first: who asks, and from where."""

import secrets
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from hutch.serve.metrics import Metrics

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Guard:
    """Refuses requests that nobody should answer, counts all.

    On a loopback address without a token the browser of whoever sits at the machine is the danger: a foreign page may
    send requests there. So requests under foreign names of this machine, and from pages of other origins, are refused.

    Args:
        app: answers what passes.
        metrics: where requests are counted.
        paths: what the server has.
        token: who asks must know it; empty for no token.
        hosts: names under which it may be asked; empty for any.
    """

    def __init__(
        self, app: "ASGIApp", *, metrics: Metrics, paths: Collection[str], token: str, hosts: Collection[str]
    ) -> None:
        self._app, self._metrics, self._paths = app, metrics, frozenset(paths)
        self._token, self._hosts = token.encode(), frozenset(hosts)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        begun, status = time.perf_counter(), 500

        async def note(message: "Message") -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            headers = dict(scope["headers"])
            refusal = self._refusal(scope["path"], headers)
            if refusal is not None:
                await refuse(note, *refusal)
                return
            await self._app(scope, receive, note)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.count(path, status, time.perf_counter() - begun)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = headers.get(b"host", b"").decode("latin-1")
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if self._hosts and name.lower() not in self._hosts:
            return 400, f"host: got {name[:100]!r}, wanted one of {', '.join(sorted(self._hosts))}"
        origin = headers.get(b"origin")
        if (origin is not None and origin.decode("latin-1").partition("//")[2] != host) or headers.get(
            b"sec-fetch-site", b"none"
        ) not in (b"none", b"same-origin"):
            return 403, "got a request of a page of another origin"
        if self._token and path != "/healthz":
            given = headers.get(b"authorization", b"")
            if not secrets.compare_digest(given, b"Bearer " + self._token):
                return 401, "wanted the header 'Authorization: Bearer TOKEN'"
        return None


async def refuse(send: "Send", status: int, text: str) -> None:
    """Answer with an error and close the connection, for the rest of the request may be on its way."""
    from starlette.responses import JSONResponse

    extra: dict[str, Any] = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    response = JSONResponse({"error": text}, status, headers={"Connection": "close", **extra})

    async def nothing() -> "Message":
        return {"type": "http.disconnect"}

    await response({"type": "http"}, nothing, send)
