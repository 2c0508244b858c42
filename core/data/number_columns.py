"""Columns of numbers of a table, many rows at a time: a table may have more columns than a batch has room for rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}
_TOGETHER = 1 << 22
"""Numbers that are read at once."""


def are_plain(types: Any, kind: Any) -> bool:
    """Whether values of Arrow's type `kind` are numbers of NumPy, or truth values."""
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def singles(array: Any, missing: float) -> NDArray[np.float32]:
    """Numbers as float32, nulls as `missing`; the caller minds overflow."""
    found = numbers_of(array).astype(np.float32)
    if array.null_count:
        found[~valid(array)] = missing
    return found


def numbers_of(array: Any) -> NDArray[Any]:
    """The values of an Arrow array of numbers or truth values, without a copy; where it has nulls they are arbitrary.

    Arrow's own ways from and to NumPy import pandas, if it is installed, which takes a second.

    >>> import pyarrow
    >>> numbers_of(pyarrow.array([1.5, 2.0]))
    array([1.5, 2. ])
    """
    kind, begin, end = str(array.type), array.offset, array.offset + len(array)
    if kind == "null":
        return np.zeros(len(array))
    if kind == "bool":
        return _bits(array.buffers()[1], begin, end)
    return np.frombuffer(array.buffers()[1] or b"", _FLOATS.get(kind, kind))[begin:end]


def valid(array: Any) -> NDArray[np.bool_]:
    """Which values are present."""
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    if str(array.type) == "null":
        return np.zeros(len(array), np.bool_)
    return _bits(array.buffers()[0], array.offset, array.offset + len(array))


def _bits(buffer: Any, begin: int, end: int) -> NDArray[np.bool_]:
    whole = np.frombuffer(buffer or b"", np.uint8)[begin // 8 : -(-end // 8)]
    return np.unpackbits(whole, count=begin % 8 + end - begin, bitorder="little")[begin % 8 :].view(np.bool_)


class NumberColumns:
    """Reads columns of numbers into one matrix.

    Args:
        positions: of the columns in the table.
    """

    def __init__(self, positions: Sequence[int]) -> None:
        self._positions = positions
        self._first, self._rows = 0, np.zeros((0, len(positions)), np.float32)

    def start(self) -> None:
        """Forget the rows that were read: another record batch comes."""
        self._first, self._rows = 0, self._rows[:0]

    def rows(self, record_batch: Any, start: int, stop: int) -> NDArray[np.float32]:
        """Rows of a record batch, float32 (rows, columns), valid until others are asked for.

        Args:
            record_batch: that of the rows asked for since `start`.
            start, stop: the rows, which follow those asked for before.
        """
        if stop > self._first + len(self._rows):
            count = max(stop - start, _TOGETHER // max(len(self._positions), 1))
            piece = record_batch.slice(start, count)
            found = np.empty((len(self._positions), piece.num_rows), np.float32)
            with np.errstate(over="ignore", invalid="ignore"):  # too large values become infinite, and are reported
                for k, position in enumerate(self._positions):
                    found[k] = singles(piece.column(position), float("nan"))
            self._first, self._rows = start, np.ascontiguousarray(found.T)
        return self._rows[start - self._first : stop - self._first]
