"""Signals that stop a server."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Ready = Callable[[], None]
"""Reports that a server listens: called once signals stop it gracefully, so that a process that waits may send one."""


@contextmanager
def stopped_by_signals(stopping: asyncio.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM set an event of the running loop while the block runs."""
    loop, numbers = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stopping.set)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
