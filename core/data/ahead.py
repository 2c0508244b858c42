"""Work that threads do ahead of time, its results in order."""

from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple, TypeVar

Item = TypeVar("Item")


class _Outcome(NamedTuple):
    """The outcome of a job; without result or error: no job was left."""

    result: Any = None
    error: BaseException | None = None


class _Ring:
    """As many places as there may be results at a time; job n belongs to place n modulo their number."""

    def __init__(self, jobs: Iterator[Callable[[], Any]], room: int) -> None:
        self.jobs = jobs
        self.outcomes: list[SimpleQueue[_Outcome]] = [SimpleQueue() for _ in range(room)]
        self.free: SimpleQueue[bool] = SimpleQueue()  # one entry for each place that is free, or False: stop
        self.stopped = False
        self._begun = count()
        self._lock = Lock()

    def work(self) -> None:
        """Do jobs while places become free."""
        while self.free.get() and not self.stopped:
            with self._lock:
                place = self.outcomes[next(self._begun) % len(self.outcomes)]
                job = self._attempt(lambda: next(self.jobs, None))
            place.put(self._attempt(job.result) if job.result else job)

    @staticmethod
    def _attempt(job: Callable[[], Any]) -> _Outcome:
        try:
            return _Outcome(job())
        except BaseException as error:
            return _Outcome(error=error)


def in_order(jobs: Iterable[Callable[[], Item]], threads: int, room: int) -> Generator[Item, None, None]:
    """Results of jobs in the order of the jobs, while threads run those to come.

    Results and errors do not depend on the number of threads: an error is raised at its job's turn. When the
    iteration ends, for whatever reason, no thread is still working.

    Args:
        jobs: asked for the next job by one thread at a time, closed at the end if it can be; no job results in None.
        threads: number of threads; 0: each job runs when its result is requested.
        room: number of jobs started before the first of them has been released by requesting the next result, so that
            job n may reuse the resources of job n - room.

    >>> list(in_order((lambda n=n: n * n for n in range(5)), threads=2, room=3))
    [0, 1, 4, 9, 16]
    """
    if threads == 0:
        yield from (job() for job in jobs)
        return
    ring = _Ring(iter(jobs), room)
    workers = [Thread(target=ring.work, name="hutch-ahead", daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(room):
            ring.free.put(True)
        for number in count():
            outcome = ring.outcomes[number % room].get()
            if outcome.error is not None:
                raise outcome.error
            if outcome.result is None:
                return
            yield outcome.result
            ring.free.put(True)
    finally:
        ring.stopped = True
        for _ in workers:
            ring.free.put(False)
        for worker in workers:
            worker.join()
        close = getattr(ring.jobs, "close", None)
        if close is not None:
            close()
