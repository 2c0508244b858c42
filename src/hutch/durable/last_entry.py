"""The file beside a log that names its last entry and counts its commits, so that a log which lost some is noticed."""

import os
import shutil
import sqlite3
import zlib
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hutch.core.errors import StoreError, at

_OPEN, _CLOSED = "open", "closed"
_UNKNOWN = "-" * 16


class LastEntry:
    """The number of the last acknowledged entry, the generation of the log, and whether its server ended in order.

    Args:
        path: of the log; the file is beside it.

    Attributes:
        number: of the last entry when the file was opened; 0 if it was not known.
        generation: of the log's last server, if its main file says so as well; empty if unknown.
        is_closed: the server ended in order, so that nothing is left in a write-ahead log but by other programs.
        commits: how many there had been when the file was opened, also of decisions and answers; 0 if it was not known.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(f"{path}-last", os.O_RDWR | os.O_CREAT, 0o600)
        self.number, self.generation, self.is_closed, self.commits = 0, "", False, 0
        with suppress(OSError, ValueError):
            number, checksum, *more = os.read(self._file, 100).decode().split()  # only the number before version 0.1
            if _checksum(int(number), *more) == int(checksum, 16):
                self.number = int(number)
                state, generation, commits = [*(more or (_OPEN, _UNKNOWN)), "0"][:3]
                self.is_closed, self.generation = state == _CLOSED, generation.replace(_UNKNOWN, "")
                self.commits = int(commits)
        self._written = (-1, "", 0, False)

    def write(self, number: int, generation: str = "", commits: int = 0, *, closed: bool = False) -> None:
        """Note the last entry; nothing is written again."""
        if (number, generation, commits, closed) != self._written:
            self._written = (number, generation, commits, closed)
            with suppress(OSError):  # even a full disk has the acknowledged entries
                self._put(number, _CLOSED if closed else _OPEN, generation or _UNKNOWN, commits)

    def _put(self, number: int, state: str, generation: str, commits: int) -> None:
        os.lseek(self._file, 0, os.SEEK_SET)
        checksum = _checksum(number, state, generation, f"{commits:020d}")
        os.write(self._file, f"{number:020d} {checksum:08x} {state:6} {generation} {commits:020d}\n".encode())

    def reopen(self, number: int, commits: int = 0) -> None:
        """Note that a server begins; durably, or after a power failure what it wrote would look like another's.

        Raises:
            StoreError: the disk does not take it.
        """
        try:
            self._put(number, _OPEN, _UNKNOWN, commits)
            os.fsync(self._file)
        except OSError as error:
            if self.is_closed or self.generation:  # after a power failure the disk may still say so
                name = f"{self._path.name}-last"
                raise StoreError(
                    at(str(self._path), None, None, f"{name} cannot be written: {error.strerror}")
                ) from None

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def check(self) -> None:
        """Check that SQLite's write-ahead log belongs to the log, before SQLite writes the one into the other.

        A copy that was put back has no such file; that of a crashed server would bring back what came later, or destroy
        the log.

        Raises:
            StoreError: it belongs to another state of the log.
        """
        ahead = Path(f"{self._path}-wal")
        if not (ahead.is_file() and ahead.stat().st_size) or not self._path.stat().st_size:
            return
        why = ""
        if self.is_closed:
            found = _last_with(self._path, ahead)
            if found != (self.number, self.generation):
                why = f"entry {self.number} was the last one when the log was closed"
        elif self.generation and (found_generation := _generation_in(self._path)) is not None:
            if found_generation != self.generation:
                why = "it was written by a server that the log does not know"
        if why:
            text = f"belongs to another state of {self._path}: {why}. It would bring back what came later, or destroy"
            way = f"if you put the log back, delete {ahead.name} and {self._path.name}-shm, and start again"
            raise StoreError(at(str(ahead), None, None, f"{text} the log: {way}"))


def _checksum(number: int, *more: str) -> int:
    return zlib.crc32(" ".join((str(number), *more)).encode())


def _last_with(path: Path, ahead: Path) -> tuple[int, str] | None:
    """The last entry and the generation of a log after its write-ahead log, tried on a copy; None if it is no log."""
    with TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        shutil.copyfile(ahead, f"{copy}-wal")
        with suppress(sqlite3.Error), closing(sqlite3.connect(copy)) as connection:
            if connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]:
                [last] = connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'serve_log'").fetchone()
                return last or 0, generation_of(connection)
    return None


def _generation_in(path: Path) -> str | None:
    """The generation in the main file of a log, without its write-ahead log; None if it cannot be read."""
    with suppress(sqlite3.Error):
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?immutable=1", uri=True)) as connection:
            return generation_of(connection)
    return None


def generation_of(connection: sqlite3.Connection) -> str:
    """The generation of a log: a random name of the server that opened it last; empty if none did since version 0.1."""
    found = connection.execute("SELECT value FROM store WHERE key = 'generation'").fetchone()
    return str(found[0]) if found else ""


def commits_of(connection: sqlite3.Connection) -> int:
    """How many commits servers have made to a log; 0 if none has counted them."""
    found = connection.execute("SELECT value FROM store WHERE key = 'commits'").fetchone()
    return int(found[0]) if found else 0
