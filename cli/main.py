"""The entry point of the command `hutch`."""

import gc
import os
import sys
import warnings
from typing import NoReturn

_WITHOUT_BLAS = ("train", "predict", "vw")


def main() -> NoReturn:
    """Run the command line of this process, and leave."""
    gc.set_threshold(100_000, 50, 100)  # imports make a hundred thousand objects that stay: no use to look for garbage
    words = sys.argv[1:]
    if words[:1] and words[0] in _WITHOUT_BLAS:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads would spin from NumPy's import on, for nothing
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would look for them in all that is installed
    warnings.formatwarning = lambda message, *_: f"{message}\n"
    try:
        _run(words)
        sys.exit(0)
    finally:
        gc.freeze()  # what is left ends with the process: no use to look for garbage in it either


def _run(words: list[str]) -> None:
    if words[:1] == ["vw"] and "_HUTCH_COMPLETE" not in os.environ:  # Typer would take longer to import than VW to run
        from hutch.cli.outcome import one_message
        from hutch.vw.main import vw

        with one_message():
            status = vw(words[1:])
        sys.exit(status)
    from hutch.cli.commands import app

    app(words, prog_name="hutch")
