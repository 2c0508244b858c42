"""A C record that kernels see by its address, and that keeps alive everything it points to."""

from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from hutch.core.kernel.decorators import INTERPRETED

_records: WeakValueDictionary[int, "Record"] = WeakValueDictionary()  # by address, where kernels are interpreted


class Addressed(Protocol):
    """An object that stays at one address as long as it lives: another record, a buffer, a kernel."""

    @property
    def address(self) -> int:
        """Where it lies."""


class Record:
    """One record of a structured dtype, zeros at first.

    A field takes a number directly. For an array, or anything with an `address`, it takes the address; the record
    keeps it alive until the field is set again.

    Args:
        dtype: of the record; fields that hold addresses are "u8".
        fields: initial values, by name.

    Raises:
        TypeError: an array for a field that is not an address.
        ValueError: an array whose elements are not contiguous, which kernels would read wrongly.

    Attributes:
        array: the record as an array of length 1; its fields are live.
        targets: the objects it points to, by field.

    >>> record = Record(np.dtype([("count", "i8"), ("values", "u8")]), values=np.zeros(3))
    >>> record["count"] = 3
    >>> record["count"]
    array([3])
    >>> record["values"][0] == record.targets["values"].ctypes.data
    np.True_
    """

    __slots__ = ("__weakref__", "array", "targets")

    def __init__(self, dtype: np.dtype[Any], **fields: Any) -> None:
        self.array: NDArray[Any] = np.zeros(1, dtype)
        self.targets: dict[str, Any] = {}
        self.set(**fields)
        if INTERPRETED:
            _records[self.address] = self

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the record."""
        return self.array.dtype

    @property
    def address(self) -> int:
        """Where the record lies, for kernels and for other records."""
        return int(self.array.ctypes.data)

    def set(self, **fields: Any) -> None:
        """Set several fields."""
        for name, value in fields.items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            if np.may_share_memory(value, self.array):
                return  # `record["count"] += 1` has changed the field in place
            if self.dtype[name] != np.uint64:
                raise TypeError(
                    f"{name}: got an array, wanted a number: the field is {self.dtype[name]}, not an address"
                )
            if not value.flags.c_contiguous:
                raise ValueError(f"{name}: got an array with gaps, wanted a contiguous one")
            self.array[name], self.targets[name] = value.ctypes.data, value
        elif (address := getattr(value, "address", None)) is not None:
            self.array[name] = address
            if value is not self:
                self.targets[name] = value
        else:
            self.array[name] = value
            self.targets.pop(name, None)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A field as a live array of length 1, an address where it holds one."""
        found: NDArray[Any] = self.array[name]
        return found


def address_of(record: NDArray[Any] | Addressed) -> int:
    """Where a record lies, be it a `Record` or a structured array of length 1."""
    return int(record.ctypes.data) if isinstance(record, np.ndarray) else record.address


def record_at(address: int) -> Record | None:
    """The `Record` at an address; None where there is none, and where nothing is interpreted."""
    return _records.get(address)


def all_records() -> list[Record]:
    """All living records; none where nothing is interpreted."""
    return list(_records.values())
