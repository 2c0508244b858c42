"""Runs an application under uvicorn, with limits on how long clients may take and a graceful stop."""

import asyncio
import contextlib
import re
import socket
from typing import Any

from hutch.core.errors import UsageError
from hutch.net.application import Application
from hutch.net.limits import Limits
from hutch.net.signals import Ready, stopped_by_signals


def require_web(what: str) -> None:
    """Check that the packages of a server are installed.

    Args:
        what: the feature that needs them, for the message.

    Raises:
        UsageError: one is missing; the message tells how to install it.
    """
    try:
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(f"{what} needs {error.name}: pip install 'hutch[web]'") from None


def listen(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        UsageError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise UsageError(f"{host}, port {port}: {error.strerror}; port 0 takes any free one") from None


_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


_UPGRADE = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)
"""An offer to speak HTTP/2, as Java's client makes: nobody must take it, and httptools would lose the body."""


def _with_header_timeout(limits: Limits) -> Any:
    """uvicorn's protocol, which ends connections whose headers do not end in time or space, or that do not read."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class HeaderTimeout(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        _timer: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None
        _answered: Any = None
        _headers = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            if self.cycle is None or self.cycle.response_complete:
                head, end, body = data.partition(b"\r\n\r\n")
                data = _UPGRADE.sub(b"", head) + end + body
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._wait()
                self._headers += len(data)
                if self._headers > limits.headers and not self.transport.is_closing():
                    self.transport.write(_TOO_LONG)
                    self.transport.close()
            else:
                self._headers = 0
                self._stop_waiting()
                if len(getattr(self, "pipeline", ())) > limits.waiting:  # sent, and none of the answers read
                    self._end()

        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            self._answered = cycle  # `self.cycle` is that of the newest request
            super()._start_asgi_task(cycle, app)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._unread = self.loop.call_later(limits.unread_seconds, self._end)

        def resume_writing(self) -> None:
            self._stop_unread()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            self._stop_unread()
            super().connection_lost(exc)

        def _stop_unread(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

        def _wait(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(limits.header_seconds, self._end)

        def _stop_waiting(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _end(self) -> None:
            self._timer = None
            for cycle in (self.cycle, self._answered):
                if cycle is not None:
                    cycle.disconnected = True  # else its answer would be an error of the application
            self.transport.abort()

    return HeaderTimeout


async def run(
    app: Application, listening: socket.socket, ready: Ready, limits: Limits, stopping: asyncio.Event
) -> None:
    """Serve until `stopping` is set or a signal stops it; requests under way are answered first."""
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="error",  # a hostile client could fill the disk with warnings
        access_log=False,
        lifespan="off",
        http=_with_header_timeout(limits),
        ws="none",
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=int(limits.stop_seconds),
        h11_max_incomplete_event_size=1 << 16,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]

    async def watch() -> None:
        await stopping.wait()
        server.should_exit = True

    with stopped_by_signals(stopping):
        watching = asyncio.create_task(watch())
        try:
            ready()
            await server.serve(sockets=[listening])
        finally:
            stopping.set()
            await watching


def run_app(app: Application, listening: socket.socket, ready: Ready, limits: Limits | None = None) -> None:
    """Serve one application until interrupted; `ready` reports the address."""

    async def main() -> None:
        await run(app, listening, ready, limits or Limits(), asyncio.Event())

    asyncio.run(main())
