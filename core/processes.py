"""Processes of our own."""

import os
from multiprocessing import get_context
from multiprocessing.context import SpawnContext


def spawning() -> SpawnContext:
    """What begins processes that share nothing with this one.

    Python's own process that removes the semaphores of a parent that was killed does so without a word: nobody who
    killed a command wants to read of them.

    >>> spawning().get_start_method()
    'spawn'
    """
    if os.name == "posix":
        from multiprocessing.resource_tracker import ensure_running

        before = os.environ.get("PYTHONWARNINGS")
        os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker"
        try:
            ensure_running()
        finally:
            if before is None:
                del os.environ["PYTHONWARNINGS"]
            else:
                os.environ["PYTHONWARNINGS"] = before
    return get_context("spawn")
