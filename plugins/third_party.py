"""Third-party code: kept from doing harm while it is loaded, and named where it fails later."""

import dis
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import TracebackType
from typing import Any, NoReturn


class _Kept:
    """A stream that can be used but not closed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        """Stay open."""


@contextmanager
def contained(output: Any = None) -> Iterator[None]:
    """Run third-party code: it cannot close the standard streams, and `os._exit` raises a SystemExit.

    Args:
        output: where what it prints goes; None: to standard error, since standard output may be data.
    """
    process, leave, inside = os.getpid(), os._exit, True

    def refuse(status: int) -> NoReturn:
        if inside and os.getpid() == process:
            raise SystemExit(f"os._exit({status})")
        leave(status)

    os._exit = refuse
    try:
        errors: Any = _Kept(sys.stderr)
        printed: Any = errors if output is None else _Kept(output)
        with redirect_stdout(printed), redirect_stderr(errors):
            yield
    finally:
        os._exit, inside = leave, False


def may_go_on(error: BaseException) -> bool:
    """Whether an exception from third-party code may be passed over: any but the user's own Ctrl-C."""
    if not isinstance(error, KeyboardInterrupt) or error.__traceback__ is None:
        return not isinstance(error, KeyboardInterrupt)
    last: TracebackType = list(_links(error.__traceback__))[-1]
    code = last.tb_frame.f_code.co_code  # Ctrl-C strikes anywhere; code that raises the same says `raise`
    return dis.opname[code[last.tb_lasti]] == "RAISE_VARARGS"


def _links(first: TracebackType | None) -> Iterator[TracebackType]:
    while first is not None:
        yield first
        first = first.tb_next


def reason(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error)
    return printable(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def printable(text: str) -> str:
    """A text in one line, without characters that a terminal would act on."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in " ".join(text.split()))


def failure(error: BaseException, owners: Mapping[str, str]) -> str | None:
    """What to say of an exception that came from third-party code; None if it did not.

    Args:
        error: any exception.
        owners: top-level packages of plugins, each with the name of its plugin in messages.
    """
    for link in reversed(list(_links(error.__traceback__))):
        package = str(link.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in owners:
            code = link.tb_frame.f_code
            place = f"{code.co_filename}:{link.tb_lineno}"
            return f"{place}: {owners[package]} failed in {code.co_name}: {reason(error)}"
    return None
