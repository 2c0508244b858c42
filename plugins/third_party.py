"""Third-party code: named where it fails."""

from collections.abc import Iterator, Mapping
from types import TracebackType


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
    """Message about an exception raised in third-party code; None for any other.

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
