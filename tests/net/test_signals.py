"""A server can be stopped from the moment it says where it listens."""

import asyncio
import os
import signal
import socket

import pytest

from hutch.net.application import Application
from hutch.net.lines import run_lines
from hutch.net.web import run_app


async def echo(lines: bytes) -> bytes:
    return lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", ["lines", "http"])
def test_a_signal_at_the_first_moment_stops_the_server(number: int, kind: str) -> None:
    told = []

    def ready() -> None:
        told.append(listening.getsockname()[1])
        os.kill(os.getpid(), number)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        if kind == "lines":
            asyncio.run(run_lines(echo, listening, ready))
        else:
            pytest.importorskip("uvicorn")
            run_app(Application([], {}), listening, ready)
    assert len(told) == 1
