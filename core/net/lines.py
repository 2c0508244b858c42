"""Lines over TCP: what clients send is answered in order, and clients take turns.

A connection has one piece of its lines under way at a time; while that is answered nothing more is read from it, so a
client that sends without end waits for its own answers and not others for theirs.
"""

import asyncio
import re
import secrets
import socket
from collections.abc import Awaitable, Callable
from typing import cast

from hutch.core.net.limits import Limits
from hutch.core.net.signals import Ready, stopped_by_signals

Answer = Callable[[bytes], Awaitable[bytes]]
"""Gets whole lines, each with its line feed; gives what is sent back."""

_HTTP = re.compile(rb"[A-Z]{3,10} \S* HTTP/")
_PIECE = 1 << 16
REFUSAL = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class LineServer:
    """Answers lines on a socket.

    Args:
        answer: makes the answer.
        token: a client must send `token TOKEN` as its first line, which is not answered; empty for no token.
        limits: of lines and connections.
    """

    def __init__(self, answer: Answer, *, token: str = "", limits: Limits | None = None) -> None:
        self.answer, self.token, self.limits = answer, token.encode(), limits or Limits()
        self.connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, listening: socket.socket) -> None:
        """Begin to serve."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), sock=listening, backlog=512)

    async def stop(self) -> None:
        """Take no more lines, answer those under way, and close."""
        assert self._server is not None
        self._server.close()
        under_way = [one.task for one in self.connections if one.task is not None]
        if under_way:
            await asyncio.wait(under_way, timeout=self.limits.stop_seconds)
        for one in list(self.connections):
            one.close()


class _Connection(asyncio.Protocol):
    def __init__(self, server: LineServer) -> None:
        self._server = server
        self._received = bytearray()
        self._trusted = not server.token
        self._begun = self._ended = False
        self._writable = asyncio.Event()
        self._writable.set()
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by name
        if len(self._server.connections) >= self._server.limits.connections:
            self._transport.close()
            return
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._go_on()

    def eof_received(self) -> bool:
        self._ended = True
        if self._received and not self._received.endswith(b"\n"):
            self._received += b"\n"
        self._go_on()
        return self.task is not None  # stay until the last answer is sent

    def _go_on(self) -> None:
        """Answer the next piece unless one is under way."""
        if self.task is not None or self._transport.is_closing() or not self._may_go_on():
            return
        end = self._received.rfind(b"\n", 0, _PIECE) + 1 or self._received.find(b"\n") + 1
        if not end:
            if len(self._received) > self._server.limits.line:
                self.close(f"error: got a line beyond {self._server.limits.line} bytes\n".encode())
            elif self._ended:
                self.close()
            return
        piece = bytes(self._received[:end])
        del self._received[:end]
        self._transport.pause_reading()
        self.task = asyncio.get_running_loop().create_task(self._answer(piece))

    def _may_go_on(self) -> bool:
        """Look at the first line: a web page must not teach a model, nor who does not know the token."""
        if self._begun and self._trusted:
            return True
        end = self._received.find(b"\n")
        if end < 0:
            if len(self._received) > self._server.limits.line:
                self.close()
            return not self._ended or bool(self._received)
        first = bytes(self._received[:end]).rstrip(b"\r")
        if not self._begun and _HTTP.match(first):
            self.close(REFUSAL)
            return False
        self._begun = True
        if not self._trusted:
            if not secrets.compare_digest(first, b"token " + self._server.token):
                self.close(b"error: wanted the line 'token TOKEN' first\n")
                return False
            self._trusted = True
            del self._received[: end + 1]
        return True

    async def _answer(self, piece: bytes) -> None:
        try:
            answer = await self._server.answer(piece)
            if not self._transport.is_closing():
                self._transport.write(answer)
                await self._writable.wait()
        except BaseException:
            self._transport.abort()
            raise
        finally:
            self.task = None
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self._go_on()

    def close(self, last: bytes = b"") -> None:
        """Send what is left, and close."""
        if not self._transport.is_closing():
            self._transport.write(last)
            self._transport.close()


async def run_lines(
    answer: Answer, listening: socket.socket, ready: Ready, *, token: str = "", limits: Limits | None = None
) -> None:
    """Serve lines until a signal tells to stop; `ready` says where, the other arguments are those of `LineServer`."""
    stopping = asyncio.Event()
    with stopped_by_signals(stopping):
        server = LineServer(answer, token=token, limits=limits)
        await server.start(listening)
        ready()
        await stopping.wait()
        await server.stop()
