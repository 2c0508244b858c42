"""Work done ahead: order, errors, ends."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from threading import Lock, active_count

import pytest

from hutch.core.data.ahead import in_order


def jobs(count: int, begun: list[int]) -> Iterator[Callable[[], int]]:
    def job(number: int) -> int:
        time.sleep((number * 7919 % 5) / 5000)  # later ones often end earlier
        return number

    for number in range(count):
        begun.append(number)
        yield lambda number=number: job(number)


@pytest.mark.parametrize("threads", [0, 1, 2, 7])
@pytest.mark.parametrize("room", [1, 3, 9])
def test_results_come_in_order_and_not_too_early(threads: int, room: int) -> None:
    before, begun = active_count(), list[int]()
    for expected, found in enumerate(in_order(jobs(60, begun), threads, room)):
        assert found == expected
        assert len(begun) <= expected + max(room, 1)
    assert len(begun) == 60 and active_count() == before
    assert list(in_order(jobs(0, begun), threads, room)) == []


@pytest.mark.parametrize("threads", [0, 1, 2, 7])
def test_an_error_is_raised_in_its_turn(threads: int) -> None:
    def failing() -> Iterator[Callable[[], int]]:
        for number in range(20):
            yield lambda number=number: 5 // (8 - number)

    before, seen = active_count(), []
    with pytest.raises(ZeroDivisionError):
        for found in in_order(failing(), threads, 9):
            seen.append(found)
    assert seen == [5 // (8 - n) for n in range(8)] and active_count() == before


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_an_error_between_jobs_is_raised_in_its_turn(threads: int) -> None:
    def ending() -> Iterator[Callable[[], int]]:
        for number in range(5):
            yield lambda number=number: number
        raise OSError("gone")

    seen = []
    with pytest.raises(OSError, match="gone"):
        for found in in_order(ending(), threads, 4):
            seen.append(found)
    assert seen == [0, 1, 2, 3, 4]


def test_leaving_closes_the_jobs_and_ends_the_threads() -> None:
    closed = []

    def endless() -> Iterator[Callable[[], int]]:
        try:
            while True:
                yield lambda: 1
        finally:
            closed.append(True)

    before = active_count()
    items = in_order(endless(), 1, 3)
    assert next(items) == 1
    assert active_count() == before + 1 and not closed
    items.close()
    assert active_count() == before and closed


def test_the_next_job_is_asked_for_by_one_thread_at_a_time() -> None:
    lock = Lock()

    def exclusive() -> Iterator[Callable[[], int]]:
        for number in range(200):
            assert lock.acquire(blocking=False)
            time.sleep(0.0001)
            lock.release()
            yield lambda number=number: number

    assert list(in_order(exclusive(), 8, 16)) == list(range(200))


ABANDONED = """
import signal
import time
from hutch.core.data.ahead import in_order
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is started without
def job():
    time.sleep(0.01)
    return 1
def jobs():
    while True:
        yield job
found = in_order(jobs(), 3, 5)
next(found)
kept = [found]
{end}
"""


@pytest.mark.parametrize(("end", "code"), [("raise SystemExit(7)", 7), ("1 / 0", 1), ("signal.raise_signal(2)", -2)])
def test_a_process_ends_although_threads_wait(end: str, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", ABANDONED.format(end=end)], capture_output=True, timeout=60)
    assert done.returncode == code
