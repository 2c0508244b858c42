"""How a command line finds its command; nothing is imported but what that needs."""

import os
import sys

from hutch.cli.table import installed, load


def run(words: list[str]) -> int:
    """Run a command line; returns its exit status.

    Args:
        words: behind `hutch`.
    """
    from hutch.cli.shell.outcome import end_at_interrupts, one_message

    if words[:2] == ["serve", "log"]:
        words = ["serve log", *words[2:]]
    try:
        if "_HUTCH_COMPLETE" not in os.environ:
            with one_message():
                status = _run_without_typer(words)
            if status is not None:
                return status
            end_at_interrupts()
        from hutch.cli.commands import app

        app(words, prog_name="hutch")
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    return 0


def _run_without_typer(words: list[str]) -> int | None:
    """Run a command line that is plainly right: Typer would take longer to import than most commands to run.

    Returns:
        The exit status; None if Typer must read the words.
    """
    name, *rest = words or [""]
    if name == "vw":
        from hutch.vw.main import vw

        return vw(rest)
    if not installed(name):
        return None
    from hutch.cli.shell.parse import understood

    found = understood(load(name), rest)
    if found is None:
        return None
    command, arguments = found
    return command(**arguments) or 0
