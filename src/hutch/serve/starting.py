"""A server that starts: its port is open, and it says how far it is, while models are loaded in a thread."""

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from hutch.core.errors import HutchError
from hutch.net.application import Application, Asked, Reply, Route
from hutch.net.limits import Limits
from hutch.net.signals import stopped_by_signals
from hutch.net.web import run

Loaded = TypeVar("Loaded")
_PATIENCE = 0.3
"""Seconds after which it is worth while to tell others what takes so long."""
SAVE_EVERY = 60.0
"""Seconds of replay between saves, so that a server that is killed while it starts gets further each time."""


class Stopped(HutchError):
    """A signal stopped the server while it started."""

    exit_code = 0


@dataclass(slots=True)
class Starting:
    """How far a start is.

    Attributes:
        done, total: entries of the log that are learned again, and how many there are.
        is_stopped: a signal came; the start ends where it is.
    """

    done: int = 0
    total: int = 0
    is_stopped: bool = False
    _saved: float = 0.0

    def begin(self, total: int) -> None:
        """Begin to replay so many entries."""
        self.total += total
        self._saved = self._saved or time.monotonic()

    def step(self, save: Callable[[], object]) -> None:
        """One more entry is learned.

        Args:
            save: makes what is learned so far durable.

        Raises:
            Stopped: a signal came; what was learned so far is saved.
        """
        self.done += 1
        if self.is_stopped:
            save()
            raise Stopped(f"stopped while starting: {self}; what was learned so far is saved")
        if time.monotonic() - self._saved > SAVE_EVERY:
            save()
            self._saved = time.monotonic()

    def __str__(self) -> str:
        return f"replayed {self.done:,} of {self.total:,} entries"


async def loaded(load: Callable[[Starting], Loaded], listening: socket.socket, limits: Limits, token: str) -> Loaded:
    """Load in a thread; meanwhile `/healthz` answers 200, and everything else 503 with how far it is.

    Args:
        load: loads, and reports its steps.
        listening: of HTTP; it stays open.
        limits: on requests.
        token: that clients must send.

    Raises:
        Stopped: a signal came.
        HutchError: raised by `load`.
    """
    starting, stopping = Starting(), asyncio.Event()
    with stopped_by_signals(stopping):
        task = asyncio.create_task(asyncio.to_thread(load, starting))
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait({task, stopped}, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        waiting = None
        if not task.done() and not stopping.is_set():
            ended = asyncio.Event()
            app = WaitingRoom(starting, limits, token)
            waiting = asyncio.create_task(run(app, listening.dup(), lambda: None, limits, ended))
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            starting.is_stopped = waiting.done()  # by a signal
            ended.set()
        starting.is_stopped |= stopping.is_set()
        try:
            return await task
        finally:
            stopped.cancel()
            if waiting is not None:
                await waiting


class WaitingRoom(Application):
    """The interface of a server that starts: alive, and not ready for anything.

    Args:
        starting: how far it is.
        limits, token: see `Application`.
    """

    def __init__(self, starting: Starting, limits: Limits, token: str) -> None:
        async def busy(asked: Asked) -> Reply:
            return Reply({"status": "not ready", "problems": [f"starting: {starting}"]}, status=503)

        async def health(asked: Asked) -> dict[str, str]:
            return {"status": "ok"}

        self._busy = Route("GET", "/readyz", busy)
        routes = [Route("GET", "/healthz", health), self._busy]
        super().__init__(routes, {}, limits=limits, token=token, public=("/healthz", "/readyz"))

    def route_of(self, scope: Mapping[str, Any], path: str) -> Route:
        return super().route_of(scope, path) if path == "/healthz" else self._busy
