"""Standard streams that may be closed, full or no longer read: lost output is dropped, and reported at the end.

A message that nobody can read does not end a run: the work is done and saved, and the exit status shows that output
was lost.
"""

import errno
import io
import os
import sys
from typing import Any, cast


class ForgivingOutput(io.FileIO):
    """A descriptor that takes everything; after the first error nothing more is written.

    Attributes:
        lost: the first error, None without one.
    """

    def __init__(self, descriptor: int, lost: OSError | None = None) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.lost: OSError | None = None
        self._closed_before = lost

    def write(self, data: Any, /) -> int:
        """Write the data, or drop it if it cannot be written; returns the number of bytes given."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        if size and self.lost is None:
            self.lost = self._closed_before
        try:
            while len(rest) and self.lost is None:
                rest = rest[super().write(rest) or 0 :]
        except OSError as error:
            self.lost = error
        return size


class Screen(io.TextIOWrapper):
    """Text for a terminal: control characters in it, which data may hold, are shown and not obeyed."""

    def write(self, text: str, /) -> int:
        """Write a text, with each control character but line feeds, carriage returns and tabs as its code."""
        return super().write(text if text.isprintable() else text.translate(_CONTROLS))


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\r\t"}


class _ClosedInput(io.RawIOBase):
    """Standard input that was closed before this process began."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        raise OSError(errno.EBADF, "standard input is closed")


def guard() -> None:
    """Replace standard output and error by streams that never fail, and a closed input by one that reports it.

    A closed descriptor becomes the null device, so that no file that is opened later takes its number.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedInput()), encoding="utf-8")
    sys.stdout = _guarded(sys.stdout, 1, OSError(errno.EBADF, "it is closed"))
    sys.stderr = _guarded(sys.stderr, 2, None)  # to close it is to want no messages


def _guarded(stream: Any, descriptor: int, lost: OSError | None) -> Any:
    raw = ForgivingOutput(descriptor, lost if stream is None else None)
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="replace")
    stream.flush()
    kind = Screen if stream.isatty() else io.TextIOWrapper
    return kind(
        cast(Any, raw) if stream.write_through else io.BufferedWriter(raw),  # for `python -u`
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def lost_error(stream: Any) -> OSError | None:
    """Why a guarded stream, text or binary, does not write any more; None if it does."""
    buffer = getattr(stream, "buffer", stream)
    return getattr(getattr(buffer, "raw", buffer), "lost", None)


def status_of_lost_output() -> int:
    """The exit status if some output of this process was lost, after printing one line about it; else 0.

    Returns:
        141 if the reader closed the pipe, as shells report SIGPIPE; 1 for all else.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for name, stream in (("output", sys.stdout), ("error", sys.stderr)):
        lost = lost_error(stream)
        if lost is not None and lost.errno == errno.EPIPE:
            return 128 + 13
        if lost is not None:
            print(f"standard {name}: {lost.strerror or lost}: what was written to it is lost", file=sys.stderr)
            sys.stderr.flush()
            return 1
    return 0
