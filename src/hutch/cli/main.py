"""The entry point of the command `hutch`."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # already loaded, like everything imported here
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # not if the parent process ignores it
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # before a command begins there is nothing to report or save


def main() -> NoReturn:
    """Run the command line of this process, and exit."""
    import warnings

    from hutch.cli.dispatch import run
    from hutch.core.streams import guard, status_of_lost_output
    from hutch.shell.outcome import end_at_interrupts

    guard()
    gc.set_threshold(100_000, 50, 100)  # imports make a hundred thousand objects that stay: looking at them is wasted
    words = sys.argv[1:]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # more would change the last bits of sums, need memory, and spin idly
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would look for them in all that is installed
    warnings.formatwarning = lambda message, *_: f"{message}\n"
    try:
        status = run(words)
        end_at_interrupts()
        sys.exit(status_of_lost_output() or status)
    finally:
        gc.freeze()  # the rest ends with the process: collecting garbage in it is wasted time
