"""Code of others: kept from doing harm while it is loaded, and named where it fails later."""

import dis
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOBase
from types import TracebackType
from typing import NoReturn


class _Stderr(TextIOBase):
    """Standard error for somebody who may write to it and not close it."""

    def __init__(self) -> None:
        self._stream = sys.stderr

    def write(self, text: str) -> int:
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """Stay open."""


@contextmanager
def contained() -> Iterator[None]:
    """Run a stranger's code: what it prints goes to standard error, and `os._exit` raises a SystemExit."""
    process, leave, inside = os.getpid(), os._exit, True

    def refuse(status: int) -> NoReturn:
        if inside and os.getpid() == process:
            raise SystemExit(f"os._exit({status})")
        leave(status)

    os._exit = refuse
    try:
        with redirect_stdout(_Stderr()), redirect_stderr(_Stderr()):
            yield
    finally:
        os._exit, inside = leave, False


def may_go_on(error: BaseException) -> bool:
    """Whether an exception of a stranger's code may be passed over: any but the user's own Ctrl-C."""
    if not isinstance(error, KeyboardInterrupt) or error.__traceback__ is None:
        return not isinstance(error, KeyboardInterrupt)
    last: TracebackType = list(_links(error.__traceback__))[-1]
    code = last.tb_frame.f_code.co_code  # Ctrl-C strikes anywhere; a stranger who raises the same says `raise`
    return dis.opname[code[last.tb_lasti]] == "RAISE_VARARGS"


def _links(first: TracebackType | None) -> Iterator[TracebackType]:
    while first is not None:
        yield first
        first = first.tb_next


def reason(error: BaseException) -> str:
    """An exception in one line."""
    return printable(f"{type(error).__name__}: {error}")


def printable(text: str) -> str:
    """A stranger's text in one line, without what a terminal would act upon."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in " ".join(text.split()))


def failure(error: BaseException, owners: Mapping[str, str]) -> str | None:
    """What to say of an exception that came from a stranger's code; None if it did not.

    Args:
        error: any exception.
        owners: top-level packages of strangers, each with what messages call its plugin.
    """
    for link in reversed(list(_links(error.__traceback__))):
        package = str(link.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in owners:
            code = link.tb_frame.f_code
            place = f"{code.co_filename}:{link.tb_lineno}"
            return f"{place}: {owners[package]} failed in {code.co_name}: {reason(error)}"
    return None
