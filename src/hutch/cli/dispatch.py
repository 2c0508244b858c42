"""Finds the command of a command line; nothing is imported but its needs."""

import os
import sys


def run(words: list[str]) -> int:
    """Run a command line; returns its exit status.

    Args:
        words: behind `hutch`.
    """
    try:
        if words[:1] == ["vw"] and "_HUTCH_COMPLETE" not in os.environ:  # it reads its options itself, without Typer
            from hutch.shell.outcome import one_message
            from hutch.vw.main import vw

            with one_message():
                return vw(words[1:])
        from hutch.cli.commands import app, of_group

        app(of_group(words), prog_name="hutch")
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    return 0
