"""The weight table: where it lies, and rows spread over it."""

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.driver import CACHE_LINE

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def zeros(rows: int, stride: int) -> NDArray[np.float32]:
    """A weight table of zeros that begins where a cache line does: rows that share a line are fetched together."""
    line, size = int(CACHE_LINE), 4 * rows * stride
    room = np.zeros(size + line, np.uint8)
    start = -room.ctypes.data % line
    return room[start : start + size].view(np.float32).reshape(rows, stride)


def spread(count: int, bits: int) -> NDArray[np.uint64]:
    """Numbers of rows spread evenly over a table of 2^bits, by multiples of the golden ratio (Fibonacci hashing).

    `numpy.random` would do as well, but takes longer to import than a short run takes to learn.

    >>> spread(4, 3).tolist()
    [0, 4, 1, 6]
    """
    return np.asarray(np.arange(count, dtype=np.uint64) * _GOLDEN >> np.uint64(64 - bits))
