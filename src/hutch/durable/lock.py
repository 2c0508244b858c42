"""A file that one process writes: locked as long as it is open, and watched for changes by others."""

import os
from pathlib import Path
from typing import BinaryIO

from hutch.core.atomic import locked
from hutch.core.errors import StoreError, at


class Held:
    """A file that is locked against other servers.

    The lock is on the file under the name; `follow` moves it when the file is replaced.

    Args:
        path: of the file; links are followed.
        create: make it if it is missing, for its owner only.

    Raises:
        StoreError: it cannot be opened, or another server is using it, or a run will write it.
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = Path(path).resolve()
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
        except OSError as error:
            raise StoreError(at(str(path), None, None, f"cannot be opened: {error.strerror}")) from None
        if not locked(self._descriptor):
            os.close(self._descriptor)
            raise StoreError(at(str(path), None, None, "another server is using it, or a run that will write it"))
        self._seen = state_of(self.path)
        self._next: int | None = None

    def follow(self, file: BinaryIO) -> None:
        """Hold also a file that is about to take the place of this one; then call `replaced`."""
        self._forget_next()
        self._next = os.dup(file.fileno())
        locked(self._next)

    def replaced(self) -> bool:
        """Hold the file that was to take the place of this one, if it did; returns whether."""
        state = state_of(self.path)
        if self._next is None or state is None:
            return False
        found = os.fstat(self._next)
        if state[:2] == (found.st_dev, found.st_ino):
            os.close(self._descriptor)
            self._descriptor, self._next, self._seen = self._next, None, state
            return True
        self._forget_next()
        return False

    def _forget_next(self) -> None:
        if self._next is not None:
            os.close(self._next)
            self._next = None

    def check(self) -> None:
        """Check that no other process has written the file.

        Raises:
            StoreError: another process has.
        """
        if (state := state_of(self.path)) != self._seen:
            text = "was changed by another program while it was served, and is left as it is"
            text = text if state else "cannot be written: it was removed while it was served"
            raise StoreError(at(str(self.path), None, None, text))

    def close(self) -> None:
        """Let others have it."""
        self._forget_next()
        os.close(self._descriptor)


def state_of(path: Path) -> tuple[int, ...] | None:
    """The identity of a file and of its content; None if it is missing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
