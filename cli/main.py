"""The entry point of the command `hutch`."""

import gc
import os
import sys
import warnings
from typing import NoReturn

from hutch.cli.outcome import end_at_interrupts, one_message

_WITHOUT_BLAS = ("train", "predict", "vw")


def main() -> NoReturn:
    """Run the command line of this process, and exit."""
    end_at_interrupts()
    from hutch.core.streams import guard, status_of_lost_output

    guard()
    gc.set_threshold(100_000, 50, 100)  # imports make a hundred thousand objects that stay: no use looking for garbage
    words = sys.argv[1:]
    if words[:1] and words[0] in _WITHOUT_BLAS:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads would spin from NumPy's import on, for nothing
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would look for them in all that is installed
    warnings.formatwarning = lambda message, *_: f"{message}\n"
    try:
        status = _run(words)
        end_at_interrupts()
        sys.exit(status_of_lost_output() or status)
    finally:
        gc.freeze()  # what is left ends with the process: no use looking for garbage in it either


def _run(words: list[str]) -> int:
    """Run a command line; returns its exit status."""
    try:
        if words[:1] == ["vw"] and "_HUTCH_COMPLETE" not in os.environ:
            with one_message():
                from hutch.vw.main import vw  # Typer would take longer to import than VW to run

                return vw(words[1:])
        from hutch.cli.commands import app

        app(words, prog_name="hutch")
    except SystemExit as left:
        if left.code is None or isinstance(left.code, int):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    return 0
