"""Records and arrays at addresses as objects of Python: live, typed, bounded.

A record shows its fields as attributes, an array is NumPy's and refuses an index outside. The addresses in a layer's
own record know the arrays behind them: a view of another dtype, one that is too long, or one of an array that nobody
keeps is refused where it is made.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.interpreted.arithmetic import converted, typed
from hutch.core.kernel.record import Record, all_records, record_at

_SMALLEST = 1 << 16
"""No address is smaller; a count seldom is larger."""


class Address(np.uint64):
    """An address that a layer's record holds.

    Attributes:
        field: where it was read from, for messages.
        target: what the record keeps there, most often an array; None if it keeps nothing.
    """

    field: str
    target: Any


def memory(address: int, dtype: np.dtype[Any], length: int) -> NDArray[Any]:
    """The array at an address; an empty one at address 0, where nothing lies."""
    if not address or not length:
        return np.zeros(0, dtype)
    room = (ctypes.c_char * (dtype.itemsize * length)).from_address(address)
    found: NDArray[Any] = np.frombuffer(memoryview(room), dtype)
    return found


class LiveRecord:
    """A record with its fields as attributes.

    Args:
        array: the record as an array of length 1.
        owner: what keeps the record and the arrays that it points to; None if unknown.
    """

    __slots__ = ("_array", "_owner")

    def __init__(self, array: NDArray[Any], owner: Record | None = None) -> None:
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_owner", owner)

    def __getattr__(self, name: str) -> Any:
        array, owner = self._array, self._owner
        if name.startswith("__") or name not in array.dtype.names:
            raise AttributeError(f"there is no field {name!r}; there are {', '.join(array.dtype.names)}")
        value = array[name][0]
        if owner is None or value.ndim or value.dtype != np.uint64 or value < _SMALLEST:
            return value
        address = Address(value)
        address.field, address.target = name, owner.targets.get(name)
        return address

    def __getitem__(self, name: str) -> Any:
        """A field whose name is a word of Python, such as `pass`."""
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)
        self._array[name] = converted(value, self._array.dtype[name].type)

    def __repr__(self) -> str:
        kept = {} if self._owner is None else self._owner.targets
        found = {name: kept.get(name, self._array[name][0]) for name in self._array.dtype.names}
        return f"<{', '.join(f'{name}={value!s}' for name, value in found.items())}>"


class LiveRecords:
    """An array of records.

    Args:
        array: of a structured dtype.
    """

    __slots__ = ("_array",)

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, i: Any) -> LiveRecord:
        self._array[i]  # an IndexError where there is none
        return LiveRecord(self._array[int(i) : int(i) + 1])


def record(dtype: np.dtype[Any], address: Any, own: bool = False) -> LiveRecord:
    """The record at an address; `own`: it is a layer's, whose addresses are those of arrays that it keeps."""
    if not address:
        raise ValueError("a record at address 0 is read")
    owner = record_at(int(address))
    if owner is None:
        return LiveRecord(memory(int(address), dtype, 1))
    if _places(dtype) != _places(owner.dtype)[: len(_places(dtype))]:
        raise TypeError(f"got a view of {dtype}, wanted one of {owner.dtype}, as the record is")
    return LiveRecord(owner.array, owner if own else None)


@cache
def _places(dtype: np.dtype[Any]) -> list[Any]:
    """The fields of a record: names, types and places."""
    fields: Any = dtype.fields or {}
    return [(name, fields[name][:2]) for name in dtype.names or ()]


def array(dtype: np.dtype[Any], address: Any, length: Any) -> Any:
    """The array at an address.

    Raises:
        TypeError: the array there has another dtype.
        ValueError: it is shorter, or nobody keeps it.
    """
    size = int(length)
    if isinstance(address, Address) and address:
        _check(address, dtype, size)
    return shown(memory(int(address), dtype, size))


def shown(value: Any) -> Any:
    """A value as kernels see it: arrays of records with the fields of these as attributes."""
    return LiveRecords(value) if isinstance(value, np.ndarray) and value.dtype.names is not None else value


def _check(address: Address, dtype: np.dtype[Any], length: int) -> None:
    """Refuse a view that is not the array that the record keeps."""
    target, size = address.target, dtype.itemsize * length
    if target is None and not any(_holds(known, int(address)) for known in all_records()):
        raise ValueError(f"{address.field}: nobody keeps the array at this address; set the field to the array itself")
    if isinstance(target, np.ndarray):
        numbers = dtype.names is None and target.dtype.names is None
        if numbers and target.dtype != dtype:
            raise TypeError(f"{address.field}: got a view of {dtype}, wanted one of {target.dtype}, as the array is")
        if size > target.nbytes:
            most = target.nbytes // dtype.itemsize
            raise ValueError(f"{address.field}: got a view of length {length}, wanted at most {most}, as the array is")


def _holds(known: Record, address: int) -> bool:
    """Whether an address lies in a record or in an array that it keeps."""
    arrays = [known.array, *(each for each in known.targets.values() if isinstance(each, np.ndarray))]
    return any(each.ctypes.data <= address < each.ctypes.data + each.nbytes for each in arrays)


def fitting(owner: Any, value: Any) -> Any:
    """A value as the elements of an array have it."""
    if isinstance(owner, np.ndarray) and not isinstance(value, np.ndarray | tuple | list):
        if owner.dtype.kind in "iu" and isinstance(value, float | np.floating) and value % 1:
            text = f"an array of {owner.dtype} gets {value!s}, whose fraction would be lost"
            raise TypeError(f"{text}: give it a dtype of floats, or convert the number, such as int64(...)")
        return converted(value, owner.dtype.type)
    return typed(value)
