"""Arrays as a model file holds them: whole, or only those rows that have a bit set."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ModelError

_MOST_BYTES = 1 << 46
"""Largest size of an array: a processor can address it, and no product of sizes overflows."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsInUse:
    """An array stored by some of its rows; all others are zeros. It takes its whole size only in `dense`.

    Attributes:
        shape: of the whole array.
        rows: uint32 (n): their numbers, rising.
        values: (n, ...): their content.
    """

    shape: tuple[int, ...]
    rows: NDArray[np.uint32]
    values: NDArray[Any]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the elements."""
        return self.values.dtype

    def dense(self) -> NDArray[Any]:
        """The whole array.

        Raises:
            ModelError: it is larger than the memory there is.
        """
        try:
            found = np.zeros(self.shape, self.dtype)
        except MemoryError:
            raise ModelError(f"an array of shape {list(self.shape)} is larger than the memory there is") from None
        found[self.rows] = self.values
        return found


Stored = NDArray[Any] | RowsInUse


def rows_in_use(name: str, shape: Any, tensors: dict[str, NDArray[Any]]) -> RowsInUse:
    """Take an array's rows and their numbers from the content of a file.

    Args:
        name: of the array.
        shape: of the whole array, according to the file.
        tensors: content of the file; `name#rows` and `name#values` are taken out.

    Raises:
        ModelError: the file has no array of this shape with these rows.

    >>> rows_in_use("w", [4, 1], {"w#rows": np.array([2], np.uint32), "w#values": np.ones((1, 1))}).dense().ravel()
    array([0., 0., 1., 0.])
    """
    rows, values = tensors.pop(f"{name}#rows", None), tensors.pop(f"{name}#values", None)
    if rows is None or values is None or name in tensors:
        raise ModelError(f"{name}: got it whole or in part, wanted its rows and their numbers")
    if not (isinstance(shape, list) and shape and all(type(size) is int and size >= 0 for size in shape)):
        raise ModelError(f"{name}: got the shape {str(shape)[:60]}, wanted a list of sizes")
    if math.prod(shape) * values.dtype.itemsize > _MOST_BYTES:
        raise ModelError(f"{name}: got the shape {str(shape)[:60]}, which no memory can hold")
    if rows.dtype != np.uint32 or rows.ndim != 1 or values.shape != (len(rows), *shape[1:]):
        raise ModelError(f"{name}: got {rows.shape} numbers for rows of shape {values.shape}, wanted one for each")
    if len(rows) and (int(rows[-1]) >= shape[0] or bool((rows[1:] <= rows[:-1]).any())):
        raise ModelError(f"{name}: got numbers of rows that do not rise, or lie beyond the {shape[0]} there are")
    return RowsInUse(tuple(shape), rows, values)


def room_for(arrays: Mapping[str, Stored]) -> dict[str, NDArray[Any]]:
    """Zeros in the shapes of a model's arrays, to copy these into.

    Args:
        arrays: by name.
    """
    return {name: np.zeros_like(dense(stored)) for name, stored in arrays.items()}


def dense(array: Stored) -> NDArray[Any]:
    """The whole array, also of one stored by rows."""
    return array.dense() if isinstance(array, RowsInUse) else array


def parts_of(array: Stored) -> NDArray[Any]:
    """All that is stored of an array: every number of it but zeros."""
    return array.values if isinstance(array, RowsInUse) else array


def copy_into(target: NDArray[Any], array: Stored) -> None:
    """Copy an array of the same shape and dtype, without making it whole first."""
    if isinstance(array, RowsInUse):
        target[...] = 0
        target[array.rows] = array.values
    else:
        target[...] = array
