"""Messages about damaged label stores."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hutch.core.errors import HutchError, StoreError, at, shortened
from hutch.durable.checksums import COVERED
from hutch.durable.lock import state_of


def said_by(error: object) -> str:
    """SQLite's message, in one line: it may quote arbitrary content of the file.

    >>> said_by("near:\\n  \\x1b")
    'near: ?'
    """
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "another process keeps it busy; try again"
    text = " ".join(str(error).split())
    if text.startswith("user-defined function"):
        text = "damaged: a row has another checksum than when it was written; use a copy of before"
    return shortened("".join(each if each.isprintable() else "?" for each in text), 150)


def why_unusable(path: str | Path, error: Exception) -> str:
    """The reason why a file cannot be opened as a store.

    Args:
        path: of the file.
        error: raised by opening it.

    >>> why_unusable("/", OSError(30, "Read-only file system", "/"))
    'it is a directory'
    >>> why_unusable("labels.db", OSError(30, "Read-only file system", "labels.db"))
    'Read-only file system'
    """
    if Path(path).is_dir():
        return "it is a directory"
    if isinstance(error, OSError):
        return error.strerror or said_by(error)
    closed = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
    return said_by(error) + ("; it and its folder must be writable, even to be read" if closed else "")


@contextmanager
def named(path: Path, action: str) -> Iterator[None]:
    """Turn SQLite's errors into one that names the store.

    Args:
        path: of the store.
        action: the operation: `read` or `written`.

    Raises:
        StoreError: SQLite cannot do it.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise StoreError(at(str(path), None, None, f"cannot be {action}: {said_by(error)}")) from None


class Files:
    """The files of an open store, to notice if one is removed or replaced.

    SQLite goes on writing to a file that has no name any more: its later commits are lost when it closes.

    Args:
        path: of a store that is open.
    """

    def __init__(self, path: Path) -> None:
        beside = Path(f"{path.resolve()}-wal")  # SQLite's own log, if the file system allows one
        self._path, self._found = path, {p: s[:2] for p in (path.absolute(), beside) if (s := state_of(p))}

    def check(self) -> None:
        """Check that data written now can be found later.

        Raises:
            StoreError: a file is gone, or another one is in its place.
        """
        for path, number in self._found.items():
            if ((now := state_of(path)) or ())[:2] != number:
                whose = "" if path.name == self._path.name else f"its {path.name} "
                what = "replaced by another file" if now else "deleted or moved"
                why = f"{whose}was {what} while it was in use: nothing was stored"
                raise StoreError(
                    at(str(self._path), None, None, f"{why}; put it back, or start again with what is left")
                )


def tell_damage(error: BaseException | None, connection: sqlite3.Connection, path: Path) -> None:
    """Report that a store is damaged, if that caused a failure.

    Args:
        error: the failure.
        connection: to the store.
        path: of the store.

    Raises:
        StoreError: the store is damaged.
    """
    if isinstance(error, Exception) and not isinstance(error, HutchError) and (found := damage_of(connection)):
        text = f"damaged: {found}; use an earlier copy, or recover the readable part with `sqlite3 {path} .recover`"
        raise StoreError(at(str(path), None, None, text)) from None


def damage_of(connection: sqlite3.Connection) -> str:
    """The damage found in a store; empty without any.

    It reads everything: call it only after a failure.
    """
    try:
        [[found]] = connection.execute("PRAGMA integrity_check(1)").fetchall()
        if found != "ok":
            return said_by(found)
        for table, _, other, _ in connection.execute("PRAGMA foreign_key_check").fetchall():
            return f"a row of {table} belongs to one of {other} that is not there"
        if not connection.execute("SELECT 1 FROM store WHERE key = 'identity'").fetchall():
            return "it has no identity"
        for table, columns in COVERED.items():
            wrong = f"SELECT 1 FROM {table} WHERE checksum IS NOT checksum({', '.join(columns)}) LIMIT 1"
            if connection.execute(wrong).fetchall():
                return f"a row of {table} is not what was written"
    except (sqlite3.Error, ValueError) as error:
        return said_by(error)
    return ""
