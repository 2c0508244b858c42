"""The entry point of the command `hutch`."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # is there already, as is all that is imported here
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # not if whoever started us ignores it
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # there is nothing to say or to save before a command begins


def main() -> NoReturn:
    """Run the command line of this process, and exit."""
    import warnings

    from hutch.cli.dispatch import run
    from hutch.cli.shell.outcome import end_at_interrupts
    from hutch.core.streams import guard, status_of_lost_output

    guard()
    gc.set_threshold(100_000, 50, 100)  # imports make a hundred thousand objects that stay: no use looking for garbage
    words = sys.argv[1:]
    os.environ["OPENBLAS_NUM_THREADS"] = (
        "1"  # more would give sums other bits, need memory, and spin where little is done
    )
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would look for them in all that is installed
    warnings.formatwarning = lambda message, *_: f"{message}\n"
    try:
        status = run(words)
        end_at_interrupts()
        sys.exit(status_of_lost_output() or status)
    finally:
        gc.freeze()  # what is left ends with the process: no use looking for garbage in it either
