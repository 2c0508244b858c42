"""The counters of a chain that wait until an example is finished."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.kernel.abi import SHARED

_COUNTED = ("time", "features")
"""The first and the last of the counters to which an example adds when VW finishes it."""


class Counts:
    """The counters of a chain that VW changes when an example is finished.

    Args:
        shared: the chain's SHARED record.
    """

    def __init__(self, shared: NDArray[Any]) -> None:
        names = list(SHARED.names or ())
        self._names = names[names.index(_COUNTED[0]) : names.index(_COUNTED[1]) + 1]
        self._shared = shared
        self._bytes = shared.view(np.uint8).data
        fields: Any = SHARED.fields
        self._place = slice(fields[self._names[0]][1], fields[self._names[-1]][1] + 8)

    @property
    def now(self) -> bytes:
        """Their values."""
        return bytes(self._bytes[self._place])

    def taken_back(self, before: bytes) -> tuple[bytes, bytes]:
        """Reset the counters to `before`; returns both values."""
        after = self.now
        self._bytes[self._place] = before
        return before, after

    def add(self, change: tuple[bytes, bytes]) -> None:
        """Let them change as they did between two values."""
        before, after = change
        if not before:
            return  # it was never run
        if self.now == before:
            self._bytes[self._place] = after
            return
        kind = np.dtype([(name, SHARED[name]) for name in self._names])
        old, new = (np.frombuffer(values, kind) for values in (before, after))
        for name in self._names:
            self._shared[name] += new[name] - old[name]
