import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from hutch.core.run.interrupt import Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_work_lets_the_work_end(number: signal.Signals) -> None:
    done = []
    with Interruption() as interruption:
        for item in interruption.until_stopped(range(10)):
            if item == 3:
                os.kill(os.getpid(), number)
            done.append(item)
    assert done == [0, 1, 2, 3]
    assert interruption.number == number and interruption.exit_code == 128 + number


def test_a_signal_while_waiting_ends_the_wait() -> None:
    def slow() -> Iterator[int]:
        yield 1
        time.sleep(60)
        yield 2

    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
    start = time.monotonic()
    with Interruption() as interruption:
        assert list(interruption.until_stopped(slow())) == [1]
    assert time.monotonic() - start < 30 and interruption.exit_code == 143


def test_without_a_signal_everything_comes_and_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interruption() as interruption:
        assert list(interruption.until_stopped([1, 2])) == [1, 2]
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert interruption.exit_code == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_second_signal_is_the_system_s() -> None:
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.number == signal.SIGINT
        assert signal.getsignal(signal.SIGINT) == signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
