"""Commands that report: what they print may go to a file, and what else they say may be left out."""

import contextlib
import inspect
import io
import sys
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from hutch.shell.declared import Command, Option
from hutch.shell.options import keyword

Output = Annotated[
    str | None,
    Option("-o", "--output", metavar="FILE", help="Write what is printed on standard output to FILE instead."),
]
Quiet = Annotated[bool, Option("--quiet", help="Print no notices and no progress.")]


def reports(command: Command) -> Command:
    """Give a command the options `--output`, and `--quiet` if it has none.

    Args:
        command: prints its report on standard output, and notices and progress on standard error.
    """
    own = inspect.signature(command, eval_str=True).parameters
    added = [keyword("output", None, Output)] + ([] if "quiet" in own else [keyword("quiet", False, Quiet)])
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own.values()] + added

    @wraps(command)
    def run(**given: Any) -> int | None:
        output, silent = given.pop("output"), "quiet" not in own and given.pop("quiet")
        with contextlib.ExitStack() as stack:
            if silent:
                stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            if output is not None:
                stack.enter_context(printed_to(output, [*_paths(given.values())]))
            status = command(**given)
        if output not in (None, "-") and not silent and not given.get("quiet"):
            print(f"wrote {output}", file=sys.stderr)
        return status

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


@contextlib.contextmanager
def printed_to(path: str, others: list[str | Path]) -> Iterator[None]:
    """Write what is printed on standard output to a file, in one step; nothing if the run fails.

    Args:
        path: of the file; `-` is standard output.
        others: of files that the run reads or writes.

    Raises:
        UsageError: the file cannot be written, or is one of the others.
    """
    from hutch.core.atomic import atomic_write, check_outputs

    if path == "-":
        yield
        return
    check_outputs([path], others)
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        with contextlib.redirect_stdout(text):
            yield
        text.flush()
        text.detach()


def _paths(values: Any) -> Iterator[str | Path]:
    """The texts among the values of options: any may be the path of a file."""
    for value in values:
        if isinstance(value, str | Path) and value not in ("", "-"):
            yield value
        elif isinstance(value, list | tuple):
            yield from _paths(value)
