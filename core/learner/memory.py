"""Buffers that kernels can grow without Python: a record holds the address, the size and CPython's raw reallocator."""

import ctypes
import weakref
from typing import Any

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.kernel.abi import float32s_at, int64s_at, record_of, uint32s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, intrinsic, meaning
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show

BUFFER = np.dtype([("address", "u8"), ("size", "u8"), ("reallocate", "u8")])

buffer_of = record_of(BUFFER)

# The raw allocator does not need the GIL and is found at one address on every platform.
_REALLOCATE = ctypes.cast(ctypes.pythonapi.PyMem_RawRealloc, ctypes.c_void_p).value
_FREE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyMem_RawFree", ctypes.pythonapi))


def _release(buffer: Record) -> None:
    _FREE(int(buffer["address"][0]) or None)


class Buffer:
    """An empty buffer; its memory is freed when this object dies.

    Attributes:
        record: the BUFFER; kernels get its address.
    """

    def __init__(self) -> None:
        self.record = Record(BUFFER, reallocate=_REALLOCATE)
        weakref.finalize(self, _release, self.record)

    @property
    def address(self) -> int:
        """Of the record."""
        return self.record.address

    def read(self, kind: Any, count: int) -> NDArray[Any]:
        """A copy of its first elements.

        Args:
            kind: their dtype.
            count: their number; the buffer has room for them.
        """
        size = count * np.dtype(kind).itemsize
        return np.frombuffer(ctypes.string_at(int(self.record["address"][0]), size) if size else b"", kind)


def _reallocate_in_python(function: Any, address: Any, size: Any) -> np.uint64:
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    return np.uint64(kind(int(function))(int(address), int(size)) or 0)


@meaning(_reallocate_in_python)
@intrinsic
def _call_reallocate(typing_context: Any, function: Any, address: Any, size: Any) -> Any:
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        pointer = builder.inttoptr(arguments[0], ir.FunctionType(word, [word, word]).as_pointer())
        return builder.call(pointer, arguments[1:])

    return types.uint64(types.uint64, types.uint64, types.uint64), generate


@helper
def reserve(at, size):
    """Reserve `size` bytes in the buffer at this address; its content stays. Returns the address of the bytes.

    The result is 0 if there is no memory; the buffer is then as it was.
    """
    buffer = buffer_of(at)
    if size > buffer.size or buffer.address == uint64(0):
        wanted = max(uint64(size), uint64(2) * buffer.size, uint64(4096))
        address = _call_reallocate(buffer.reallocate, buffer.address, wanted)
        if address == uint64(0):
            return address
        buffer.address, buffer.size = address, wanted
    return buffer.address


@helper
def append(buffer, e, name, count):
    """Show one more namespace behind a copy of an example's own; returns its indices and values, to be filled.

    Without memory these are empty, and the example is as it was.
    """
    spaces, length, total = e.namespace_count, e.length, e.length + count
    address = reserve(buffer, uint64(8) * (spaces + uint64(2) + total) + uint64(4) * (spaces + uint64(1)))
    if address == uint64(0):
        return uint32s_at(e.indices, address), float32s_at(e.values, address)
    ids = address + uint64(8) * (spaces + uint64(2))
    indices = ids + uint64(4) * (spaces + uint64(1))
    values = indices + uint64(4) * total
    copy(uint32s_at(e.indices, length), uint32s_at(indices, length))
    copy(float32s_at(e.values, length), float32s_at(values, length))
    starts, names = int64s_at(address, spaces + uint64(2)), uint32s_at(ids, spaces + uint64(1))
    copy(uint32s_at(e.namespace_ids, spaces), names)
    for j in range(spaces):
        starts[j] = int64s_at(e.namespaces, spaces)[j] - int64s_at(e.namespaces, spaces)[0]
    starts[spaces], starts[spaces + uint64(1)], names[spaces] = length, total, name
    show(e, (indices, values, total, address, ids, spaces + uint64(1)))
    return uint32s_at(indices + uint64(4) * length, count), float32s_at(values + uint64(4) * length, count)
