"""Linear algebra by one thread: the bits do not depend on how many there might be."""

import os
import subprocess
import sys

import pytest

from hutch.core import threads
from hutch.core.errors import UsageError
from hutch.core.threads import one_thread, thread_count
from hutch.jobs.engine import Here

PROGRAM = """
import hashlib
import numpy as np
from hutch.core.threads import one_thread
rows = np.random.default_rng(0).normal(size=(3000, 200))
with one_thread():
    parts = [rows @ rows.T, np.vdot(rows, rows), np.linalg.svd(rows[:200])[0]]
print(hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest())
"""


def test_the_number_of_threads_is_put_back():
    if not threads._settings():
        pytest.skip("NumPy's linear algebra is not OpenBLAS of its wheel")
    [(read, write), *_] = threads._settings()
    before = read()
    try:
        write(2)
        with pytest.raises(ZeroDivisionError), one_thread():
            assert read() == 1
            raise ZeroDivisionError
        assert read() == 2
    finally:
        write(before)


def test_bits_do_not_depend_on_the_number_of_threads():
    if not threads._settings():
        pytest.skip("NumPy's linear algebra is not OpenBLAS of its wheel")
    found = set()
    for count in ("1", "2"):
        command = [sys.executable, "-c", PROGRAM]
        found.add(subprocess.check_output(command, env={**os.environ, "OPENBLAS_NUM_THREADS": count}))
    assert len(found) == 1


def test_a_task_of_many_has_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUTCH_THREADS", "5")
    [inside] = Here().submit(_counted)
    assert (Here().get(inside), thread_count()) == (1, 5)


def _counted() -> int:
    return thread_count()


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "257", "²", " 2"])
def test_a_number_of_threads_that_is_none(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUTCH_THREADS", given)
    with pytest.raises(UsageError, match="HUTCH_THREADS: got .*, wanted a number of threads, 1 to 256"):
        thread_count()


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUTCH_THREADS", "7")
    assert thread_count() == 7
    monkeypatch.setenv("HUTCH_THREADS", "")
    assert 1 <= thread_count() <= 256
