"""Processes that need the same thing at the same time: one makes it, the others wait."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 120.0


@contextmanager
def build_lock(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Be the only process inside, among those that name the same file.

    A process that ends, for whatever reason, gives up its turn. Without such locks, or if the file cannot be
    written, every process goes in.

    Args:
        path: of a file that need not exist; it is removed afterwards.
        patience: seconds to wait for the others; after that, both go in.
    """
    try:
        import fcntl

        file = open(path, "ab")
    except (ImportError, OSError):
        yield
        return
    with file:
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.02)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
