"""The write-ahead log: what a served model is about to learn, in the file of the label store.

Nothing is learned, and no request answered, before it is on disk. Entries of many requests that arrive while the disk
is busy share one transaction (group commit). A model file says up to which entry it has learned; so after a crash the
model is its last save and the entries behind it, in their order.
"""

import asyncio
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from hutch.active.records import Answer
from hutch.active.store import Store
from hutch.core.errors import DataError, HutchError, StoreError, at

_TABLES = (
    # What served models learn, in order; entries that every save holds are removed.
    """CREATE TABLE IF NOT EXISTS serve_log (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        model TEXT NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        audit INTEGER NOT NULL DEFAULT 0,   -- the answer in the audit log that it teaches, else 0
        time REAL NOT NULL
    )""",
    # Requests that name themselves, so that one sent again is not learned again.
    """CREATE TABLE IF NOT EXISTS serve_ids (
        model TEXT NOT NULL,
        id TEXT NOT NULL,
        digest BLOB NOT NULL,
        number INTEGER NOT NULL,            -- of the entry in the log
        PRIMARY KEY (model, id)
    ) WITHOUT ROWID""",
    # The file that each model began with, and the last entry that it held.
    """CREATE TABLE IF NOT EXISTS serve_models (
        model TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        through INTEGER NOT NULL
    ) WITHOUT ROWID""",
)
_GROUP = 1024


@dataclass(slots=True)
class Entry:
    """Something to learn.

    Attributes:
        model: name of the model.
        kind: of the body, see `hutch.serve.bodies`.
        body: what was sent.
        id: under which the client knows it; empty for none.
        answers: of label requests, instead of a body.
        audit: number of the answer in the audit log that it teaches, else 0.
    """

    model: str
    kind: str
    body: bytes
    id: str = ""
    answers: tuple[Answer, ...] = ()
    audit: int = 0

    @property
    def digest(self) -> bytes:
        """A hash of what was sent."""
        return hashlib.sha256(self.kind.encode() + b"\0" + self.body).digest()


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry that is on disk.

    Attributes:
        number: its place in the log; of answers, how many were new.
        repeated: its id was known, so that it is not learned again.
        teaches: entries that answers gave rise to, with their places.
    """

    number: int
    repeated: bool = False
    teaches: tuple[tuple[int, Entry], ...] = ()


def _hold(path: str | Path) -> int:
    """Keep other servers away from a file as long as this process lives; returns its descriptor."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(at(str(path), None, None, f"cannot be opened: {error.strerror}")) from None
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # not on this system
        pass
    except OSError:
        os.close(descriptor)
        raise StoreError(at(str(path), None, None, "another server uses it")) from None
    return descriptor


Teach = Callable[[Answer, int], Entry | None]
"""Makes the entry that an accepted answer gives rise to; it gets the answer's number in the audit log."""
Deliver = Callable[[Entry, Logged | HutchError], None]


class Log:
    """The log in a store's file, written by one thread.

    Args:
        path: the file; made if it is missing, readable by its owner only.

    Raises:
        StoreError: it cannot be used, or another server uses it.
    """

    def __init__(self, path: str | Path) -> None:
        self._held = _hold(path)
        self.store = Store(path, create=True)
        with self.store.transaction() as connection:
            for table in _TABLES:
                connection.execute(table)
        self.teach: Teach = lambda answer, number: None
        self._queue: SimpleQueue[tuple[Entry, Deliver] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def identity(self) -> int:
        """A random number that tells this log from all others."""
        return self.store.identity

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to write; what is on disk is delivered in the loop, in the order of the log."""
        self._thread = threading.Thread(target=self._write, args=(loop,), name="hutch-log")
        self._thread.start()

    def append(self, entry: Entry, deliver: Deliver) -> None:
        """Write an entry, then call `deliver` in the loop."""
        self._queue.put((entry, deliver))

    def flush(self) -> None:
        """Write what waits, and write no more."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.flush()
        self.store.close()
        os.close(self._held)

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        while (first := self._queue.get()) is not None:
            group, last = [first], False
            while len(group) < _GROUP and not self._queue.empty():
                one = self._queue.get()
                if one is None:
                    last = True
                    break
                group.append(one)
            loop.call_soon_threadsafe(self._deliver, group, self._commit([entry for entry, _ in group]))
            if last:
                return

    @staticmethod
    def _deliver(group: list[tuple[Entry, Deliver]], outcomes: list[Logged | HutchError]) -> None:
        for (entry, deliver), outcome in zip(group, outcomes, strict=True):
            deliver(entry, outcome)

    def _commit(self, entries: list[Entry]) -> list[Logged | HutchError]:
        try:
            with self.store.transaction() as connection:
                return [self._insert(connection, entry) for entry in entries]
        except HutchError as error:
            return [error] * len(entries)

    def _insert_answers(self, connection: sqlite3.Connection, entry: Entry) -> Logged | HutchError:
        """All of the answers or none, whatever becomes of other entries."""
        connection.execute("SAVEPOINT answers")
        try:
            numbers = self.store.accept(connection, entry.answers)
        except DataError as error:
            connection.execute("ROLLBACK TO answers")
            return error
        finally:
            connection.execute("RELEASE answers")
        made = [self.teach(answer, n) for answer, n in zip(entry.answers, numbers, strict=True) if n is not None]
        new = sum(number is not None for number in numbers)
        return Logged(new, teaches=tuple((self._append(connection, one), one) for one in made if one is not None))

    def _insert(self, connection: sqlite3.Connection, entry: Entry) -> Logged | HutchError:
        if entry.answers:
            return self._insert_answers(connection, entry)
        if entry.id:
            key = [entry.model, entry.id]
            before = connection.execute(
                "SELECT digest, number FROM serve_ids WHERE model = ? AND id = ?", key
            ).fetchone()
            if before is not None:
                if before[0] != entry.digest:
                    return Conflict(f"id: got {entry.id!r} with another body than before, wanted an id of its own")
                return Logged(before[1], repeated=True)
        number = self._append(connection, entry)
        if entry.id:
            connection.execute("INSERT INTO serve_ids VALUES (?, ?, ?, ?)", [*key, entry.digest, number])
        return Logged(number)

    @staticmethod
    def _append(connection: sqlite3.Connection, entry: Entry) -> int:
        cursor = connection.execute(
            "INSERT INTO serve_log (model, kind, body, audit, time) VALUES (?, ?, ?, ?, ?)",
            [entry.model, entry.kind, entry.body, entry.audit, time.time()],
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def entries(self, model: str, after: int) -> Iterator[tuple[int, Entry]]:
        """The entries of a model behind number `after`, in order."""
        query = (
            "SELECT number, kind, body, audit FROM serve_log WHERE model = ? AND number > ? ORDER BY number LIMIT 256"
        )
        while rows := self._rows(query, [model, after]):
            for number, kind, body, audit in rows:
                yield number, Entry(model, kind, body, audit=audit)
            after = rows[-1][0]

    def last(self) -> int:
        """The number of the last entry ever written."""
        found = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'serve_log'")
        return int(found[0][0]) if found else 0

    def beginning(self, model: str) -> tuple[str, int] | None:
        """The fingerprint of the file that a model began with, and the last entry then; None if it is new."""
        found = self._rows("SELECT fingerprint, through FROM serve_models WHERE model = ?", [model])
        return (found[0][0], int(found[0][1])) if found else None

    def begin(self, model: str, fingerprint: str) -> int:
        """Note the file that a model begins with; returns the number of the last entry."""
        through = self.last()
        with self.store.transaction() as connection:
            connection.execute("INSERT INTO serve_models VALUES (?, ?, ?)", [model, fingerprint, through])
        return through

    def saved(self, model: str, through: int) -> None:
        """Remove the entries of a model that its file now holds."""
        with self.store.transaction() as connection:
            connection.execute("DELETE FROM serve_log WHERE model = ? AND number <= ?", [model, through])

    def _rows(self, query: str, arguments: Iterable[Any] = ()) -> list[Any]:
        with self.store.transaction() as connection:
            return connection.execute(query, list(arguments)).fetchall()


class Conflict(DataError):
    """A request that contradicts an earlier one."""
