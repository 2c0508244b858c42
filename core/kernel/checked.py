"""Checked mode: with `HUTCH_CHECKED=1` kernels check every index, every record's address, and each `check` statement.

Each kernel is then compiled with Numba's bounds checks, and stored apart from those without. A violation raises an
IndexError in Python that names the function, its line and the index; kernels called by their addresses pass it on.
Otherwise none of this is compiled. Loads of bytes and words at bare addresses, of which parsers are made, have no
length to check against.
"""

import ctypes
import sys
from functools import cache
from typing import Any

from hutch.core.kernel.decorators import CHECKED, intrinsic, meaning

VIOLATED = "hutch_violated"
"""The symbol by which checked kernels call `note`."""
_noted: list[str] = []


@ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
def _note(text: bytes, index: int, length: int) -> None:
    _noted.append(text.decode().format(index, length))


def violation() -> str | None:
    """The violation found by the last failed check; None if nothing has failed since the last call."""
    found = _noted[-1] if _noted else None
    _noted.clear()
    return found


def address_of_note() -> int:
    """Where the function lies that checked kernels call before they fail."""
    return ctypes.cast(_note, ctypes.c_void_p).value or 0


@cache
def prepare() -> None:
    """Let Numba's bounds checks name the place, the index and the length; to be called before it compiles or loads."""
    if CHECKED:
        import llvmlite.binding as llvm

        from hutch.core.kernel.private import cgutils

        llvm.add_symbol(VIOLATED, address_of_note())
        cgutils.do_boundscheck = _check_index


def _check_index(context: Any, builder: Any, index: Any, length: Any, axis: Any = None) -> None:
    """Numba's function of this name, with a message that has the numbers."""
    inside = builder.icmp_unsigned("<", index, length)  # numbers below 0 are large ones
    require(context, builder, inside, "index {} is out of bounds for length {}", index, length)


def require(context: Any, builder: Any, holds: Any, text: str, *numbers: Any) -> None:
    """Within an intrinsic: in checked mode let the kernel fail unless a condition holds.

    Args:
        context, builder: Numba's and llvmlite's.
        holds: one bit.
        text: the mistake, with a pair of braces for each number.
        numbers: at most two 64-bit integers.
    """
    if not CHECKED:
        return
    from llvmlite import ir

    from hutch.core.kernel.private import cgutils

    word = ir.IntType(64)
    with cgutils.if_unlikely(builder, builder.not_(holds)):
        place = context.insert_const_string(builder.module, f"{_place()}: {text}")
        kind = ir.FunctionType(ir.VoidType(), [place.type, word, word])
        note = cgutils.get_or_insert_function(builder.module, kind, VIOLATED)
        builder.call(note, [place, *numbers, *[word(0)] * (2 - len(numbers))])
        context.call_conv.return_user_exc(builder, IndexError, (f"{_place()}: out of bounds",))


def _place() -> str:
    """File, line and function that Numba is lowering: only the lowering object knows the line."""
    from hutch.core.kernel.private import BaseLower

    frame = sys._getframe()
    while not isinstance(frame.f_locals.get("self"), BaseLower):
        assert frame.f_back
        frame = frame.f_back
    lower: Any = frame.f_locals["self"]
    return f"{lower.loc.filename}:{lower.loc.line}: kernel {lower.func_ir.func_id.func_qualname!r}"


@meaning("check")
@intrinsic
def check(typing_context: Any, condition: Any) -> Any:
    """State within a kernel that a condition holds: in checked mode a kernel fails where it does not."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        require(context, builder, arguments[0], "a condition that is checked does not hold")
        return context.get_dummy_value()

    return types.void(types.boolean), generate
