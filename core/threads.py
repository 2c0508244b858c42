"""The number of threads that compute at a time; and that of NumPy's linear algebra, which affects its rounding."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

import numpy as np

from hutch.core.errors import UsageError, at

SETTING = "HUTCH_THREADS"
"""The environment variable with the number of threads that compute at a time."""
_MOST = 256
_alone = ContextVar("_alone", default=False)
_PREFIXES, _SUFFIXES = ("scipy_openblas", "openblas"), ("64_", "")


def processor_count() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count() -> int:
    """Number of threads that may compute at a time: `HUTCH_THREADS`, else the number of processors for this process.

    No result depends on it.

    Raises:
        UsageError: the variable holds something other than a number from 1 to 256.
    """
    given = "1" if _alone.get() else os.environ.get(SETTING)
    if not given:
        return min(_MOST, processor_count())
    if given.isascii() and given.isdigit() and 1 <= int(given) <= _MOST:
        return int(given)
    raise UsageError(at(SETTING, None, None, f"got {given!r}, wanted a number of threads, 1 to {_MOST}"))


@contextmanager
def one_processor() -> Iterator[None]:
    """Make `thread_count` return 1 in the block: the other processors are busy.

    >>> with one_processor():
    ...     thread_count()
    1
    """
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Make linear algebra use one thread in the block, if it is OpenBLAS, as in NumPy's wheels.

    >>> with one_thread():
    ...     (np.eye(2) @ np.ones(2)).tolist()
    [1.0, 1.0]
    """
    found = [(read(), write) for read, write in _settings()]
    for _, write in found:
        write(1)
    try:
        yield
    finally:
        for before, write in found:
            write(before)


@cache
def _settings() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """The functions that read and set the number of threads, of each OpenBLAS that came with NumPy."""
    package = Path(np.__file__).parent
    found = []
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for name in (f"{prefix}_{{}}_num_threads{suffix}" for prefix in _PREFIXES for suffix in _SUFFIXES):
                read, write = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
                if read is not None and write is not None:
                    read.restype, write.argtypes, write.restype = ctypes.c_int, [ctypes.c_int], None
                    found.append((read, write))
                    break
    return found
