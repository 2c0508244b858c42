"""Stopping a run by SIGINT or SIGTERM without losing what it has learned."""

import signal
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

Item = TypeVar("Item")

STOPPING = (signal.SIGINT, signal.SIGTERM)


class _Stopped(BaseException):
    """Raised only while waiting for data."""


class Interruption:
    """While it is entered, the first SIGINT or SIGTERM ends the loop over `until_stopped`; a second one kills.

    Attributes:
        number: of the signal that came, None if none did.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._waiting = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._stop) for number in STOPPING}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        for each in STOPPING:
            signal.signal(each, signal.SIG_DFL)
        if self._waiting:
            raise _Stopped

    def until_stopped(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items; none after a signal. The work on the current item is always finished."""
        iterator = iter(items)
        while True:
            try:
                self._waiting = True
                if self.number is not None:
                    return
                item = next(iterator)
                self._waiting = False
            except (_Stopped, StopIteration):
                return
            finally:
                self._waiting = False
            yield item

    @property
    def exit_code(self) -> int:
        """The exit status that shells know a signal by; 0 without one."""
        return 0 if self.number is None else 128 + self.number
