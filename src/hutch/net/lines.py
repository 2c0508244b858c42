"""Lines over TCP: each client's lines are answered in order, and clients take turns.

A connection has one piece of its lines under way at a time; nothing more is read from it until that is answered, so a
client that sends without end delays its own answers and not those of others.
"""

import asyncio
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, cast

from hutch.net.limits import Limits
from hutch.net.signals import Ready, stopped_by_signals

Answer = Callable[[bytes], bytes | Awaitable[bytes]]
"""Takes whole lines, each with its line feed; returns the bytes to send back, or what will give them."""

_ENDS = (b"\n\n", b"\n\r\n")
"""Of a block: an empty line."""
_HTTP = re.compile(rb"[A-Z]{3,10} \S* HTTP/")
_PIECE = 1 << 16
REFUSAL = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class LineServer:
    """Answers lines on a socket.

    Args:
        answer: makes the answer.
        token: a client must send `token TOKEN` as its first line, which is not answered; empty for no token.
        limits: of lines and connections.
        blocks: lines belong together up to an empty one, and are answered when it has come.

    Attributes:
        clients: the connections.
        answering: the answers that are awaited.
        stopping: no more lines are taken.
    """

    def __init__(self, answer: Answer, *, token: str = "", limits: Limits | None = None, blocks: bool = False) -> None:
        self.answer, self.token, self.limits = answer, token.encode(), limits or Limits()
        self.blocks = blocks
        self.clients: set[_Client] = set()
        self.answering: set[asyncio.Task[None]] = set()
        self.stopping = False

    async def start(self, listening: socket.socket) -> None:
        """Begin to serve."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Client(self, loop), sock=listening, backlog=512)

    async def stop(self) -> None:
        """Take no more lines, answer those under way, and close."""
        self.stopping = True
        self._server.close()
        if self.answering:
            await asyncio.wait(self.answering, timeout=self.limits.stop_seconds)
        for client in list(self.clients):
            client.close()


class _Client(asyncio.Protocol):
    """A connection: its lines are answered where they are read, without a task, unless the answer is to be awaited."""

    def __init__(self, server: LineServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server, self._loop = server, loop
        self._received = b""
        self._begun = self._ended = self._unread = self._awaits = False
        self._heard = loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if len(self._server.clients) >= self._server.limits.connections or self._server.stopping:
            self._transport.close()
            return
        self._server.clients.add(self)
        if found := transport.get_extra_info("socket"):  # a client that vanished is noticed
            found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._wait()

    def connection_lost(self, error: Exception | None) -> None:
        self._server.clients.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._heard = self._loop.time()
        self._go_on()

    def eof_received(self) -> bool:
        self._ended = True
        self._received += b"\n" if self._received and not self._received.endswith(b"\n") else b""
        self._go_on()
        return True  # the connection stays open for the answers

    def pause_writing(self) -> None:
        self._unread = True

    def resume_writing(self) -> None:
        self._unread = False
        self._go_on()

    def close(self, last_words: bytes = b"") -> None:
        """Close the connection once it has its answers."""
        if last_words:
            self._transport.write(last_words)
        self._transport.close()

    def _wait(self) -> None:
        limits, server = self._server.limits, self._server
        allowed = limits.silent_seconds if self._begun or not server.token else limits.header_seconds
        left = self._heard + allowed - self._loop.time()
        if left > 0 or self._awaits or self._unread:  # one that owes us nothing
            self._timer = self._loop.call_later(left if left > 0 else allowed, self._wait)
        elif not self._transport.is_closing():
            self.close(f"error: got no line in {allowed:g} s\n".encode())

    def _go_on(self) -> None:
        """Answer the lines that are there, piece after piece, as far as the client reads its answers."""
        try:
            while not (self._awaits or self._unread or self._server.stopping or self._transport.is_closing()):
                end = self._whole()
                if not end:
                    if len(self._received) > self._server.limits.line:
                        what = "a block of lines" if self._server.blocks else "a line"
                        self.close(f"error: got {what} beyond {self._server.limits.line} bytes\n".encode())
                    elif self._ended:
                        self.close()
                    else:
                        self._read(True)
                    return
                if not self._begun:
                    self._begin()
                    continue
                piece, self._received = self._received[:end], self._received[end:]
                found = self._server.answer(piece)
                if isinstance(found, bytes):
                    self._transport.write(found)
                else:
                    self._awaits = True
                    task = self._loop.create_task(self._await(found))
                    self._server.answering.add(task)
                    task.add_done_callback(self._server.answering.discard)
            self._read(False)
        except (ConnectionError, MemoryError, RuntimeError):  # uvloop: closed meanwhile
            self._transport.abort()

    def _whole(self) -> int:
        """The length of what is to be answered next; 0 while its end has not come."""
        in_blocks = self._server.blocks and self._begun
        if in_blocks and self._ended and len(self._received) <= _PIECE:
            return len(self._received)
        ends = _ENDS if in_blocks else (b"\n",)
        for find, stop in ((self._received.rfind, _PIECE), (self._received.find, len(self._received))):
            if whole := max(found + len(end) if (found := find(end, 0, stop)) >= 0 else 0 for end in ends):
                return whole
        return len(self._received) if in_blocks and self._ended else 0

    def _read(self, wanted: bool) -> None:
        if not self._ended and self._transport.is_reading() != wanted and not self._transport.is_closing():
            self._transport.resume_reading() if wanted else self._transport.pause_reading()

    def _begin(self) -> None:
        """Look at the first line."""
        self._begun, first = True, self._received.partition(b"\n")[0].rstrip(b"\r")
        if _HTTP.match(first):  # a web page must not train a model
            self.close(REFUSAL)
        elif self._server.token:
            if not secrets.compare_digest(first, b"token " + self._server.token):
                self.close(b"error: wanted the line 'token TOKEN' first\n")
            self._received = self._received.partition(b"\n")[2]

    async def _await(self, answer: Awaitable[bytes]) -> None:
        try:
            with suppress(ConnectionError, RuntimeError):  # uvloop: closed meanwhile
                self._transport.write(await answer)
        except MemoryError:
            self._transport.abort()
        finally:
            self._awaits = False
        self._heard = self._loop.time()
        self._go_on()


async def run_lines(answer: Answer, listening: socket.socket, ready: Ready, *, blocks: bool = False) -> None:
    """Serve lines until a signal stops the server; `ready` reports the address, other arguments as for `LineServer`."""
    stopping = asyncio.Event()
    with stopped_by_signals(stopping):
        server = LineServer(answer, blocks=blocks)
        await server.start(listening)
        ready()
        await stopping.wait()
        await server.stop()


def run_in_loop(server: Coroutine[Any, Any, None]) -> None:
    """Run a server to its end, in the faster loop if that is installed."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(server)
    else:
        uvloop.run(server)
