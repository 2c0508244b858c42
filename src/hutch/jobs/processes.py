"""An engine of processes on this machine; values are in files, so that no process's death loses one."""

import os
import shutil
import signal
import tempfile
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import count
from mmap import ACCESS_COPY, mmap
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

from hutch.core.errors import HutchError
from hutch.core.threads import processor_count
from hutch.jobs.engine import Ref, opened, packed, work

MOST_DEATHS = 10
"""How many processes in a row may die before a task ends."""


class Value:
    """A value in a file, which is deleted with this object.

    Args:
        path: of the file.
        task: that writes it; None if the file exists.
    """

    def __init__(self, path: str, task: "_Task | None" = None) -> None:
        self.path, self.task = path, task
        weakref.finalize(self, partial(Path(path).unlink, missing_ok=True))


class _Task:
    """A task that was begun; it runs again if its process dies."""

    def __init__(self, engine: "Processes", run: Callable[[], None], needed: Sequence[Value]) -> None:
        self._engine, self._run, self._needed = engine, run, needed  # its inputs must not be deleted before
        self.future: Future[None] | None = engine.begin(run)

    def finish(self) -> None:
        """Return when its results are available."""
        while self.future is not None:
            try:
                self.future.result()
            except BrokenProcessPool:
                self._engine.revive(self.future)
                self.future = self._engine.begin(self._run)
            else:
                self.future, self._needed = None, ()
                self._engine.deaths = 0


class Processes:
    """Tasks run in separate processes, as many at a time as there are processors.

    A process that dies is replaced, and its task runs again. A script that uses this engine does so below
    `if __name__ == "__main__":`, as the processes import it, too.

    Args:
        workers: number of processes; None: one per processor.

    Attributes:
        deaths: number of processes in a row that died before a task ended.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or processor_count()
        self._folder = tempfile.mkdtemp(prefix="hutch-")
        self._names, self.deaths = count(), 0
        self._cleared = weakref.finalize(self, shutil.rmtree, self._folder, True)
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._workers, get_context("spawn"), _begin, (self._folder,))

    def begin(self, run: Callable[[], None]) -> Future[None]:
        """Hand a call to a process."""
        try:
            return self._pool.submit(run)
        except BrokenProcessPool:
            self.revive(None)
            return self._pool.submit(run)

    def revive(self, broken: Future[None] | None) -> None:
        """Start new processes after one has died.

        Args:
            broken: the call that was lost; if others were lost with it, the processes may have been replaced already.
        """
        if not getattr(self._pool, "_broken", True):
            return
        self.deaths += 1
        if self.deaths > MOST_DEATHS:
            raise HutchError(f"processes died {self.deaths} times in a row: is there enough memory?")
        self._pool.shutdown(wait=False)
        self._pool = self._start()

    def put(self, value: Any) -> Ref:
        """Write it to a file."""
        path = self._path()
        Path(path).write_bytes(packed(value))
        return Value(path)

    def submit(self, function: Callable[..., Any], *arguments: Ref, results: int = 1) -> list[Ref]:
        """Pass it to a process when its arguments are available."""
        for each in arguments:
            _finish(each)
        paths = [self._path() for _ in range(results)]
        task = _Task(self, partial(_work, function, [each.path for each in arguments], paths), arguments)
        return [Value(path, task) for path in paths]

    def get(self, ref: Ref) -> Any:
        """Read the file."""
        _finish(ref)
        return opened(_content(ref.path))

    def wait(self, refs: Sequence[Ref]) -> tuple[list[Ref], list[Ref]]:
        while True:
            running = {ref.task.future for ref in refs if ref.task is not None and ref.task.future is not None}
            if len(running) == len(refs):
                wait(running, return_when=FIRST_COMPLETED)
            for ref in refs:
                if ref.task is not None and ref.task.future is not None and ref.task.future.done():
                    ref.task.finish()
            ready = [ref for ref in refs if ref.task is None or ref.task.future is None]
            if ready or not refs:
                return ready, [ref for ref in refs if ref not in ready]

    def _path(self) -> str:
        return os.path.join(self._folder, str(next(self._names)))

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._cleared()


def _finish(ref: Value) -> None:
    if ref.task is not None:
        ref.task.finish()
        ref.task = None


def _begin(folder: str) -> None:
    """Ignore interrupts from the terminal, which reach every process: they are for the parent, which ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, args=(folder,), daemon=True).start()


def _end_with_parent(folder: str) -> None:
    """A process whose parent is killed would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        shutil.rmtree(folder, True)
        os._exit(1)


def _work(function: Callable[..., Any], arguments: Sequence[str], results: Sequence[str]) -> None:
    found = work(function, len(results), *map(_content, arguments))
    for path, content in zip(results, found, strict=True):
        Path(path).write_bytes(content)


def _content(path: str) -> bytes | memoryview:
    """A value's bytes; where the system allows mapped files to be deleted, a private mapping of the file."""
    with open(path, "rb") as file:
        return memoryview(mmap(file.fileno(), 0, access=ACCESS_COPY)) if os.name == "posix" else file.read()
