"""Arrays, numbers and tuples of them as arguments of machine code, by Numba's convention and without Numba.

Numba passes an array as its owner twice, the number of its elements, the size of one, the address of the first,
then shape and strides; a tuple as its items. The result is written where the first argument points to.
"""

import ctypes
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import PluginError, at
from hutch.core.kernel.checked import violation

_NUMBERS: dict[str, Any] = {
    **{name: getattr(ctypes, f"c_{name}") for name in ("int8", "int16", "int32", "int64")},
    **{name: getattr(ctypes, f"c_{name}") for name in ("uint8", "uint16", "uint32", "uint64")},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
_HEAD = object.__basicsize__
_number_at = ctypes.c_size_t.from_address
_PLAIN = {int: "int64", float: "float64", bool: "bool"}
_LARGEST = (1 << 63) - 1
_C, _F, _ALIGNED = 0x1, 0x2, 0x100  # as in `ndarray.flags.num`
_LAYOUT = _C | _F | _ALIGNED


class Kind(NamedTuple):
    """The kind of argument that Numba compiles for.

    Attributes:
        dtype: of the array's elements; for a tuple its class.
        parts: dimensions and layout (C, F or A) of the array; of a tuple the kinds of its items.
    """

    dtype: Any
    parts: tuple[Any, ...]


Description = Kind | str
"""A kind, or the name of a number's dtype."""


def _read_address(array: NDArray[Any]) -> int:
    return _number_at(id(array) + _HEAD).value


def _is_read_right() -> bool:
    return all(_read_address(array) == array.ctypes.data for array in (np.zeros(3), np.zeros((4, 2), np.int32)[2:]))


# NumPy's binary interface has the address first in an array; `ctypes.data` makes an object of ten times the time
_address = _read_address if _is_read_right() else lambda array: int(array.ctypes.data)


@cache
def _kind_of(dtype: np.dtype[Any], dimensions: int, flags: int) -> Kind | None:
    if not flags & _ALIGNED or not dtype.isnative or dtype.kind not in "biufV":
        return None
    return Kind(dtype, (dimensions, "C" if flags & _C else "F" if flags & _F else "A"))


def describe(value: Any, flat: list[Any]) -> Description | None:
    """Describe an argument; None if only Numba can pass it.

    Read-only arrays are described like all others: Numba would compile the same code a second time.

    Args:
        value: an array, a number, or a tuple of these.
        flat: receives the argument's values in the call.
    """
    kind = type(value)
    if kind is np.ndarray or kind is np.memmap:
        flat += (None, None, value.size, value.itemsize, _address(value), *value.shape, *value.strides)
        return _kind_of(value.dtype, value.ndim, value.flags.num & _LAYOUT)
    if (name := _PLAIN.get(kind)) is not None:
        flat.append(value)
        return name if kind is not int or -_LARGEST <= value <= _LARGEST else None
    if isinstance(value, np.generic):
        flat.append(value.item())
        return value.dtype.name if value.dtype.name in _NUMBERS else None
    if isinstance(value, tuple) and (kind is tuple or hasattr(kind, "_fields")):
        parts = tuple([describe(part, flat) for part in value])
        return None if None in parts else Kind(kind, parts)
    return None


def text_of(kind: Description) -> str:
    """A kind as text, complete: it differs for two kinds that Numba compiles differently.

    >>> text_of(describe((np.zeros((2, 3)), 1), []))
    '(float64[2C], int64)'
    """
    if isinstance(kind, str):
        return kind
    if isinstance(kind.dtype, np.dtype):
        return f"{kind.dtype}[{kind.parts[0]}{kind.parts[1]}]"
    inside = ", ".join(map(text_of, kind.parts))
    if kind.dtype is tuple:
        return f"({inside})"
    return f"{kind.dtype.__module__}.{kind.dtype.__qualname__}{kind.dtype._fields}({inside})"


def numba_type(kind: Description) -> Any:
    """Numba's type of a kind."""
    from numba import from_dtype, types

    if isinstance(kind, str):
        return from_dtype(np.dtype(kind))
    if isinstance(kind.dtype, np.dtype):
        return types.Array(from_dtype(kind.dtype), *kind.parts)
    return types.BaseTuple.from_types(
        [numba_type(part) for part in kind.parts], None if kind.dtype is tuple else kind.dtype
    )


RAISED: list[BaseException] = []
"""The exception of a kernel that CPython runs, until machine code has returned to its caller."""
UNFIT = "unfit"
"""Replaces a result that only Numba can pass."""


def result_of(found: Any) -> Any:
    """Numba's type of a result as JSON: the name of a number, a list of such, None for nothing, or `UNFIT`."""
    from numba import types

    if isinstance(found, types.NoneType):
        return None
    if isinstance(found, types.BaseTuple) and not isinstance(found, types.BaseNamedTuple):
        parts = [result_of(part) for part in found]  # type: ignore[attr-defined]
        return UNFIT if UNFIT in parts else parts
    return str(found) if str(found) in _NUMBERS else UNFIT


def _c_result(result: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The C type of a result, and the function that makes Python's value of it."""
    if result is None:
        return ctypes.c_void_p, lambda found: None
    if isinstance(result, str):
        return _NUMBERS[result], lambda found: found.value
    parts = [_c_result(part) for part in result]
    names = [f"part{k}" for k in range(len(parts))]
    fields = [(name, kind) for name, (kind, _) in zip(names, parts, strict=True)]
    structure = type("Result", (ctypes.Structure,), {"_fields_": fields})
    tuples = [
        (name, value) for name, part, (_, value) in zip(names, result, parts, strict=True) if isinstance(part, list)
    ]
    values = dict(tuples)

    def value(found: Any) -> Any:
        return tuple([values[name](getattr(found, name)) if name in values else getattr(found, name) for name in names])

    return structure, value


def _c_arguments(kinds: Sequence[Description]) -> list[Any]:
    """The C types of the values that `describe` puts into a call."""
    found: list[Any] = []
    for kind in kinds:
        if isinstance(kind, str):
            found.append(_NUMBERS[kind])
        elif isinstance(kind.dtype, np.dtype):
            size, pointer = ctypes.c_ssize_t, ctypes.c_void_p
            found += [pointer, pointer, size, size, pointer, *[size] * (2 * kind.parts[0])]
        else:
            found += _c_arguments(kind.parts)
    return found


class Native:
    """Machine code at an address as a function of Python; it releases the GIL while it runs.

    Args:
        name: for messages.
        address: of the code, valid as long as this object lives.
        kinds: of its arguments.
        result: see `result_of`.
    """

    __slots__ = ("_function", "_name", "_result", "_value")

    def __init__(self, name: str, address: int, kinds: Sequence[Description], result: Any) -> None:
        self._name = name
        self._result, self._value = _c_result(result)
        arguments = (ctypes.POINTER(self._result), ctypes.POINTER(ctypes.c_void_p), *_c_arguments(kinds))
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)(address)

    def __call__(self, flat: Sequence[Any]) -> Any:
        """Call it with the values that `describe` made of the arguments.

        Raises:
            IndexError: in checked mode, an index was out of bounds, or a condition did not hold.
            MemoryError: memory for one of the kernel's own arrays ran out.
            PluginError: the kernel raised an exception.
            RuntimeError: the kernel failed in another way.
        """
        result, error = self._result(), ctypes.c_void_p()
        if self._function(result, error, *flat) or RAISED:
            raise failure(self._name, error.value)
        return self._value(result)


def failure(name: str, error: int | None) -> BaseException:
    """The exception of a kernel that failed, from the addresses of its pickled class and arguments that Numba leaves.

    Args:
        name: of the kernel that Python has called.
        error: the address returned by the kernel.

    Returns:
        What a kernel that CPython runs has raised, an IndexError of checked mode, a MemoryError, or a PluginError with
        the place of a `raise`.
    """
    if RAISED:
        return RAISED.pop()
    pickled = ctypes.string_at(*_Raised.from_address(error).pickled()) if error else b""
    if b"IndexError" in pickled and (found := violation()):
        return IndexError(f"{found} (Python has called kernel {name!r})")
    if b"MemoryError" in pickled:
        return MemoryError(f"kernel {name} failed")
    try:
        kind, arguments, (function, file, line) = pickle.loads(pickled)
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, ImportError):
        return RuntimeError(f"kernel {name} failed")
    said = ": ".join([kind.__name__, *map(str, arguments or ())])
    return PluginError(at(file, line, None, f"kernel {function!r} raised {said}"))


class _Raised(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_int32))

    def pickled(self) -> tuple[int, int]:
        return self.data or 0, self.size if self.data else 0
