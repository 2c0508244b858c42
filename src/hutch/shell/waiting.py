"""A line on the terminal that tells how long a command has been at work, while it has nothing else to say."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_FIRST, _EACH = 2.0, 1.0
"""Seconds until the line appears, and between two changes of it."""


@contextmanager
def waiting(what: str, quiet: bool = False) -> Iterator[None]:
    """Tell on the terminal how long something takes, after two seconds; nothing where there is no terminal.

    Args:
        what: is at work.
        quiet: tell nothing.

    >>> with waiting("crowd"):
    ...     done = sum(range(100))
    """
    screen = sys.stderr
    if quiet or screen is None or not screen.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    line = _Line(screen, what)
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        setattr(sys, name, _Above(stream, line))
    clock = threading.Thread(target=line.keep, name="hutch-waiting", daemon=True)
    clock.start()
    try:
        yield
    finally:
        line.done.set()
        clock.join()
        line.clear()
        for name, stream in streams.items():
            setattr(sys, name, stream)


class _Line:
    """The line, which is cleared before anything else is written."""

    def __init__(self, screen: TextIO, what: str) -> None:
        self._screen, self._what, self._begun = screen, what, time.monotonic()
        self._shown, self._lock = 0, threading.Lock()
        self.done = threading.Event()

    def keep(self) -> None:
        """Show the time until all is done."""
        pause = _FIRST
        while not self.done.wait(pause):
            pause = _EACH
            text = f"{self._what}: {time.monotonic() - self._begun:.0f} s"
            with self._lock:
                self._screen.write(f"\r{text}")
                self._screen.flush()
                self._shown = len(text)

    def clear(self) -> None:
        """Take the line from the screen."""
        with self._lock:
            if self._shown:
                self._screen.write("\r" + " " * self._shown + "\r")
                self._screen.flush()
            self._shown = 0


class _Above:
    """A stream that clears the line before it writes.

    Args:
        stream: to write to.
        line: on the same terminal.
    """

    def __init__(self, stream: TextIO, line: _Line) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> int:
        """Write a text where the line was."""
        self._line.clear()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
