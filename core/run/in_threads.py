"""Data that is predicted by several threads ahead of its turn, each with a chain of its own over the same weights."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Any, Protocol

from hutch.core.batch import Batch
from hutch.core.chain.engine import Engine
from hutch.core.chain.outputs import Predicted
from hutch.core.data.files import parsers
from hutch.core.threads import thread_count


class Source(Protocol):
    """Batches of which several stay valid; `hutch.core.data.files.InputFiles` are."""

    held: int

    @property
    def cached(self) -> bool:
        """Whether the batches come from the cache, so that nothing is parsed."""

    @property
    def may_run_ahead(self) -> bool:
        """Whether batches may be asked for before those ahead of them are used."""

    def __iter__(self) -> Iterator[Batch]:
        """The batches."""


class Notes(Protocol):
    """Where messages go; `hutch.core.run.run.Notes` are."""

    say: Callable[[str], Any]


def predicted(
    engine: Engine, files: Source, scores: bool, notes: Notes | None = None, threads: int | None = None
) -> Iterable[Batch | Predicted]:
    """The batches of files, predicted ahead by threads where that makes no difference to what comes out.

    A chain is skipped if one of its layers does not say `Parallel.predicts_alone`, and so is streaming data. One that
    predicts as fast as a line is parsed leaves the threads that parse their processors.

    Args:
        engine: only predicts these batches, and is not changed meanwhile.
        files: the data.
        scores: of all classes are wanted.
        notes: what is said there while a batch is read is shown when its turn comes.
        threads: how many predict; None: `thread_count`.
    """
    count = thread_count() if threads is None else threads
    if threads is None and _is_light(engine) and not files.cached:
        count -= parsers()
    if count < 2 or not files.may_run_ahead or not engine.predicts_alone:
        return files
    files.held = count + 1
    return _Ahead(engine, files, scores, notes or _Silent(), count)


def _is_light(engine: Engine) -> bool:
    """Whether the chain is one base learner that sees each feature once."""
    [*above, base] = engine.layers
    return not above and base.shortcuts.looks_ahead and not getattr(base.parameters, "interactions", ())


class _Silent:
    def __init__(self) -> None:
        self.say: Callable[[str], Any] = str


class _Read:
    """A batch, or the error in its place; and what was said while it was read."""

    def __init__(self, batches: Iterator[Batch], notes: Notes) -> None:
        self.said: list[str] = []
        self.error: Exception | None = None
        self.batch: Batch | None = None
        say = notes.say
        notes.say = self.said.append
        try:
            self.batch = next(batches, None)
        except Exception as error:
            self.error = error
        finally:
            notes.say = say

    def close(self, notes: Notes) -> None:
        """Its turn has come: show what was said, raise the error."""
        for text in self.said:
            notes.say(text)
        if self.error is not None:
            raise self.error


class _Ahead:
    def __init__(self, engine: Engine, files: Source, scores: bool, notes: Notes, threads: int) -> None:
        self._engine, self._files, self._scores = engine, files, scores
        self._notes, self._threads = notes, threads

    def __iter__(self) -> Iterator[Batch | Predicted]:
        twins: SimpleQueue[Engine] = SimpleQueue()
        with ExitStack() as stack:
            batches = iter(self._files)
            stack.callback(getattr(batches, "close", lambda: None))
            first, second = _Read(batches, self._notes), None
            if first.batch is not None:
                second = _Read(batches, self._notes)
            if second is None or second.batch is None:  # one batch, or none, is not worth a thread
                first.close(self._notes)
                if first.batch is not None:
                    yield first.batch
                if second is not None:
                    second.close(self._notes)
                return
            from concurrent.futures import ThreadPoolExecutor

            pool = ThreadPoolExecutor(self._threads, "hutch-predict")
            stack.callback(pool.shutdown, cancel_futures=True)
            for _ in range(self._threads):
                twins.put(self._engine.twin())
            waiting = deque((read, pool.submit(self._predict_ahead, twins, read.batch)) for read in (first, second))
            while waiting:
                while waiting[-1][0].batch is not None and len(waiting) <= self._threads:
                    read = _Read(batches, self._notes)
                    waiting.append((read, pool.submit(self._predict_ahead, twins, read.batch)))
                read, found = waiting.popleft()
                read.close(self._notes)
                if (result := found.result()) is None:
                    return
                yield result

    def _predict_ahead(self, twins: SimpleQueue[Engine], batch: Batch | None) -> Predicted | None:
        if batch is None:
            return None
        twin = twins.get()
        try:
            return twin.predict_ahead(batch, self._scores)
        finally:
            twins.put(twin)
