"""Lines over TCP: each client's lines are answered in order, and clients take turns.

A connection has one piece of its lines under way at a time; nothing more is read from it until that is answered, so a
client that sends without end delays its own answers and not those of others.
"""

import asyncio
import re
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from hutch.net.limits import Limits
from hutch.net.signals import Ready, stopped_by_signals

Answer = Callable[[bytes], Awaitable[bytes]]
"""Takes whole lines, each with its line feed; returns the bytes to send back."""

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
        self._answer, self._token, self._limits = answer, token.encode(), limits or Limits()
        self._clients: set[asyncio.StreamWriter] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def start(self, listening: socket.socket) -> None:
        """Begin to serve."""
        self._server = await asyncio.start_server(self._serve, sock=listening, backlog=512)

    async def stop(self) -> None:
        """Take no more lines, answer those under way, and close."""
        self._stopping = True
        self._server.close()
        if self._answering:
            await asyncio.wait(self._answering, timeout=self._limits.stop_seconds)
        for client in list(self._clients):
            client.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) < self._limits.connections:
            self._clients.add(writer)
            if found := writer.get_extra_info("socket"):  # a client that vanished is noticed
                found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            with suppress(ConnectionError, MemoryError, RuntimeError):  # uvloop: closed meanwhile
                writer.write(await self._talk(reader, writer))
            self._clients.discard(writer)
        writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """Answer line after line; returns the last words."""
        received, begun, task = b"", False, asyncio.current_task()
        assert task is not None
        while not self._stopping:
            end = received.rfind(b"\n") + 1
            if not end:
                if len(received) > self._limits.line:
                    return f"error: got a line beyond {self._limits.line} bytes\n".encode()
                waits = self._limits.silent_seconds if begun or not self._token else self._limits.header_seconds
                try:
                    async with asyncio.timeout(waits):
                        more = await reader.read(_PIECE) or (received and b"\n")
                except TimeoutError:
                    return f"error: got no line in {waits:g} s\n".encode()
                if not more:
                    break
                received += more
            elif not begun:
                begun, first = True, received.partition(b"\n")[0].rstrip(b"\r")
                if _HTTP.match(first):  # a web page must not train a model
                    return REFUSAL
                if self._token:
                    if not secrets.compare_digest(first, b"token " + self._token):
                        return b"error: wanted the line 'token TOKEN' first\n"
                    received = received.partition(b"\n")[2]
            else:
                piece, received = received[:end], received[end:]
                self._answering.add(task)
                try:
                    writer.write(await self._answer(piece))
                    await writer.drain()
                finally:
                    self._answering.discard(task)
        return b""


async def run_lines(
    answer: Answer, listening: socket.socket, ready: Ready, *, token: str = "", limits: Limits | None = None
) -> None:
    """Serve lines until a signal stops the server; `ready` reports the address, other arguments as for `LineServer`."""
    stopping = asyncio.Event()
    with stopped_by_signals(stopping):
        server = LineServer(answer, token=token, limits=limits)
        await server.start(listening)
        ready()
        await stopping.wait()
        await server.stop()
