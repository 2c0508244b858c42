"""Commits in groups: pieces of work that wait at the same moment share one transaction and one sync of the disk."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Any

from hutch.core.errors import DataError, HutchError, StoreError

_GROUP = 1024

Work = Callable[[sqlite3.Connection], Any]
"""The work of one transaction: done completely or, if it raises a DataError, not at all."""
Deliver = Callable[[Any], None]
"""Gets the result of the work, once it is on disk, or the error."""


class GroupCommit:
    """Does work in the transactions of a file, in one thread and in order.

    Args:
        transaction: begins one.

    Attributes:
        committed: called in the thread with the seconds of each transaction that succeeded.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
        self._transaction = transaction
        self.committed: Callable[[float], Any] = lambda seconds: None
        self._queue: SimpleQueue[tuple[Work, Deliver] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether work that is submitted will be done."""
        return self._thread is not None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start writing; results on disk are delivered in the loop, in order."""
        self._thread = threading.Thread(target=self._write, args=(loop,), name="hutch-log")
        self._thread.start()

    def submit(self, work: Work, deliver: Deliver) -> None:
        """Do some work in a transaction, then call `deliver` in the loop."""
        self._queue.put((work, deliver))

    async def done(self, work: Work, then: Deliver = lambda outcome: None) -> Any:
        """The same for a caller that waits for it.

        Args:
            work: see `Work`.
            then: called in the loop with the outcome, in order.

        Raises:
            HutchError: raised by the work; `then` was not called.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def deliver(outcome: Any) -> None:
            if not isinstance(outcome, HutchError):
                then(outcome)
            settle(future, outcome)

        self.submit(work, deliver)
        return await future

    def flush(self) -> None:
        """Write all that is waiting, then stop."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

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
        begun = time.perf_counter()
        try:
            with self._transaction() as connection:
                outcomes = [self._do(connection, work) for work in group]
            self.committed(time.perf_counter() - begun)
        except HutchError as error:
            return [error] * len(group)
        except Exception as error:  # such as lack of memory: callers that wait must get it
            return [StoreError(f"nothing was stored: {type(error).__name__} {error}")] * len(group)
        return outcomes

    @staticmethod
    def _do(connection: sqlite3.Connection, work: Work) -> Any:
        """All of it or nothing, independent of the others in the transaction."""
        connection.execute("SAVEPOINT work")
        try:
            return work(connection)
        except DataError as error:
            connection.execute("ROLLBACK TO work")
            return error
        finally:
            connection.execute("RELEASE work")


def settle(future: Any, outcome: Any) -> None:
    """Deliver the outcome to a waiting caller, or raise the error there."""
    if future is None or future.done():  # replayed, or the client has gone
        return
    if isinstance(outcome, HutchError):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
