"""The write-ahead log: what a served model is about to learn, in the file of the label store.

Nothing is learned, and no request answered, before it is on disk. Entries of many requests that arrive while the disk
is busy share one transaction (group commit). A model file says up to which entry it has learned; so after a crash the
model is its last save and the entries behind it, in their order.
"""

import asyncio
import hashlib
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from hutch.active.store import Store
from hutch.core.errors import DataError, HutchError, StoreError, at
from hutch.serve.choices import DECISION, Choice, Contradiction, choice_of
from hutch.serve.schema import add_tables, forget

_GROUP = 1024


@dataclass(slots=True)
class Entry:
    """Something to learn.

    Attributes:
        model: name of the model.
        kind: of the body, see `hutch.serve.bodies`.
        body: what was sent.
        id: under which the client knows it; empty for none.
        audit: number of the answer in the audit log that it teaches, else 0.
        choice: of a decision whose cost has become known, its label.
    """

    model: str
    kind: str
    body: bytes
    id: str = ""
    audit: int = 0
    choice: Choice | None = None

    @property
    def digest(self) -> bytes:
        """A hash of what was sent."""
        return hashlib.sha256(self.kind.encode() + b"\0" + self.body).digest()


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry that is on disk.

    Attributes:
        number: its place in the log.
        repeated: its id was known, so that it is not learned again.
    """

    number: int
    repeated: bool = False


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
        raise StoreError(at(str(path), None, None, "another server is using it")) from None
    return descriptor


Work = Callable[[sqlite3.Connection], Any]
"""What is done in the log's transaction: all of it or, where it raises a DataError, nothing."""
Deliver = Callable[[Any], None]
"""Gets what the work returned, once it is on disk, or the error."""


class Log:
    """The log in a store's file, written by one thread.

    Args:
        path: the file; made if it is missing, readable by its owner only.
        remember: seconds for which ids of requests and decisions are known.

    Raises:
        StoreError: it cannot be used, or another server is using it.
    """

    def __init__(self, path: str | Path, remember: float = math.inf) -> None:
        self._held = _hold(path)
        self.store, self._remember = Store(path, create=True), remember
        with self.store.transaction() as connection:
            add_tables(connection)
        self._queue: SimpleQueue[tuple[Work, Deliver] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def identity(self) -> int:
        """A random number that tells this log from all others."""
        return self.store.identity

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to write; what is on disk is delivered in the loop, in the order of the log."""
        self._thread = threading.Thread(target=self._write, args=(loop,), name="hutch-log")
        self._thread.start()

    def submit(self, work: Work, deliver: Deliver) -> None:
        """Do some work in the log's transaction, then call `deliver` in the loop."""
        self._queue.put((work, deliver))

    async def done(self, work: Work, then: Callable[[Any], None] = lambda outcome: None) -> Any:
        """The same for who waits for it.

        Args:
            work: see `Work`.
            then: called in the loop with the outcome, in the order of the log.

        Raises:
            HutchError: what the work raised; `then` was not called.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def deliver(outcome: Any) -> None:
            if not isinstance(outcome, HutchError):
                then(outcome)
            settle(future, outcome)

        self.submit(work, deliver)
        return await future

    def append(self, entry: Entry, deliver: Deliver) -> None:
        """Write an entry, then call `deliver` in the loop, with a `Logged` or an error."""
        self.submit(lambda connection: self._insert(connection, entry), deliver)

    def append_now(self, entry: Entry) -> int:
        """Write an entry before the log is started; returns its number."""
        with self.store.transaction() as connection:
            return self.write(connection, entry)

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
            loop.call_soon_threadsafe(self._deliver, group, self._commit([work for work, _ in group]))
            if last:
                return

    @staticmethod
    def _deliver(group: list[tuple[Work, Deliver]], outcomes: list[Any]) -> None:
        for (_, deliver), outcome in zip(group, outcomes, strict=True):
            deliver(outcome)

    def _commit(self, group: list[Work]) -> list[Any]:
        try:
            with self.store.transaction() as connection:
                return [self._do(connection, work) for work in group]
        except HutchError as error:
            return [error] * len(group)

    @staticmethod
    def _do(connection: sqlite3.Connection, work: Work) -> Any:
        """All of it or nothing, whatever becomes of the others in the transaction."""
        connection.execute("SAVEPOINT work")
        try:
            return work(connection)
        except DataError as error:
            connection.execute("ROLLBACK TO work")
            return error
        finally:
            connection.execute("RELEASE work")

    def _insert(self, connection: sqlite3.Connection, entry: Entry) -> Logged:
        if entry.id:
            key = [entry.model, entry.id]
            before = connection.execute(
                "SELECT digest, number FROM serve_ids WHERE model = ? AND id = ?", key
            ).fetchone()
            if before is not None:
                if before[0] != entry.digest:
                    text = f"id: got {entry.id!r} with another body than before, wanted an id of its own"
                    raise Contradiction(text)
                return Logged(before[1], repeated=True)
        number = self.write(connection, entry)
        if entry.id:
            row = [*key, entry.digest, number, time.time()]
            connection.execute("INSERT INTO serve_ids (model, id, digest, number, time) VALUES (?, ?, ?, ?, ?)", row)
        return Logged(number)

    @staticmethod
    def write(connection: sqlite3.Connection, entry: Entry) -> int:
        """Write an entry within a transaction; returns its number."""
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
                yield number, self._decided(model, body) if kind == DECISION else Entry(model, kind, body, audit=audit)
            after = rows[-1][0]

    def _decided(self, model: str, id: bytes) -> Entry:
        with self.store.transaction() as connection:
            kind, body, choice = choice_of(connection, model, id.decode())
        return Entry(model, kind, body, choice=choice)

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
        """Remove the entries of a model that its file now holds, and what is too old to be remembered."""
        with self.store.transaction() as connection:
            connection.execute("DELETE FROM serve_log WHERE model = ? AND number <= ?", [model, through])
            forget(connection, model, through, time.time() - self._remember)

    def _rows(self, query: str, arguments: Iterable[Any] = ()) -> list[Any]:
        with self.store.transaction() as connection:
            return connection.execute(query, list(arguments)).fetchall()


def settle(future: Any, outcome: Any) -> None:
    """Give somebody who waits what there is, or raise the error there."""
    if future is None or future.done():  # replayed, or the client has gone
        return
    if isinstance(outcome, HutchError):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
