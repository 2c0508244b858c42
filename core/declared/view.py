"""What kernels see of a declared state: one tuple of numbers and arrays, made at the call from the layer's record."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hutch.core.kernel.abi import LAYER, array_value


class Place(NamedTuple):
    """Where a record has a number, or the address of an array with its sizes behind it.

    Attributes:
        name: in kernels.
        dtype: of the number, or of those in the array.
        offset: in the record, in bytes.
        axes: of the array; 0: it is a number.
        learned: each sub-model has an array of its own.
    """

    name: str
    dtype: str
    offset: int
    axes: int
    learned: bool


Plan = tuple[Place, ...]
_STATE: int = LAYER.fields["state"][1]  # type: ignore[index]


def view_of(plan: Plan, shown: type[Any], span: int) -> Callable[..., Any]:
    """Define an intrinsic `state(layer, offset)` for kernels.

    Args:
        plan: what it shows, in order.
        shown: the class of the tuple.
        span: where the record has the rows from one sub-model of the layer to the next, in bytes.
    """
    any_learned = any(place.learned for place in plan)

    def state(typing_context: Any, layer: Any, offset: Any) -> Any:
        from llvmlite import ir
        from numba import from_dtype, types

        kinds = [from_dtype(np.dtype(place.dtype)) for place in plan]
        arrays = [
            array_value(kind, place.axes) if place.axes else None for place, kind in zip(plan, kinds, strict=True)
        ]
        tuple_type = types.NamedTuple([a[0] if a else kind for a, kind in zip(arrays, kinds, strict=True)], shown)
        word = ir.IntType(64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            layer, offset = arguments

            def read(address: Any, behind: int, kind: Any = word) -> Any:
                pointer = builder.inttoptr(builder.add(address, word(behind)), kind.as_pointer())
                return builder.load(pointer)

            record = read(layer, _STATE)
            own = builder.udiv(offset, read(record, span)) if any_learned else None
            values = []
            for place, kind, array in zip(plan, kinds, arrays, strict=True):
                if array is None:
                    stored = read(record, place.offset, context.get_data_type(kind))
                    values.append(context.data_model_manager[kind].from_data(builder, stored))
                    continue
                address = read(record, place.offset)
                sizes = [read(record, place.offset + 8 * (1 + axis)) for axis in range(place.axes)]
                if place.learned:
                    size = word(np.dtype(place.dtype).itemsize)
                    for each in sizes:
                        size = builder.mul(size, each)
                    address = builder.add(address, builder.mul(own, size))
                values.append(array[1](context, builder, address, *sizes))
            return context.make_tuple(builder, tuple_type, values)

        return tuple_type(types.uint64, types.uint64), generate

    state.__qualname__ = "state"  # in messages
    return state


def state_at(plan: Plan, shown: type[Any], layer: Any, offset: Any) -> Any:
    """The same where CPython runs a kernel: the record knows its arrays.

    Args:
        plan, shown: as of `view_of`.
        layer, offset: as kernels have them.
    """
    from hutch.core.interpreted.live import record
    from hutch.core.kernel.record import record_at

    owner = record_at(int(record(LAYER, layer).state))
    assert owner is not None
    own = int(offset) // int(owner["span"][0])
    values = []
    for place in plan:
        field = f".{place.name}"
        array = owner.targets[field] if place.axes else None
        values.append(owner[field][0] if array is None else np.atleast_1d(array[own, ...]) if place.learned else array)
    return shown(*values)
