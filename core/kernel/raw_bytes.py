"""Bytes at addresses: copies, loads of words and the search for delimiters, the building blocks of the text parser.

Addresses, bytes and counts are int64, words uint64, so that plain literals mix with the former and bit tricks stay in
the latter. Nothing is checked; the caller keeps padding around the text.
"""

from collections.abc import Callable
from typing import Any

from hutch.core.kernel.decorators import intrinsic, meaning


def _instruction(argument: str, result: str, build: Callable[[Any, Any], Any]) -> Any:
    """An intrinsic of one argument; `build(builder, value)` makes its LLVM code."""

    @intrinsic
    def instruction(typing_context: Any, operand: Any) -> Any:
        from numba import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return build(builder, arguments[0])

        return getattr(types, result)(getattr(types, argument)), generate

    return instruction


def _load(builder: Any, address: Any, bits: int, count: int = 1) -> Any:
    from llvmlite import ir

    kind = ir.IntType(bits) if count == 1 else ir.VectorType(ir.IntType(bits), count)
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer()))
    loaded.align = 1
    return loaded


def _load_word(builder: Any, address: Any, bits: int) -> Any:
    from llvmlite import ir

    loaded = _load(builder, address, bits)
    return loaded if bits == 64 else builder.zext(loaded, ir.IntType(64))


def _where(how: str, byte: int) -> Any:
    """An intrinsic that compares the 64 bytes at an address with one; a bit for each of them."""

    def build(builder: Any, address: Any) -> Any:
        from llvmlite import ir

        block = _load(builder, address, 8, 64)
        return builder.bitcast(builder.icmp_unsigned(how, block, ir.Constant(block.type, [byte] * 64)), ir.IntType(64))

    return _instruction("int64", "uint64", build)


def _trailing_zeros(builder: Any, word: Any) -> Any:
    from llvmlite import ir

    return builder.cttz(word, ir.IntType(1)(0))


byte_at = _instruction("int64", "int64", lambda b, address: _load_word(b, address, 8))
"""The byte at an address."""
half_at = _instruction("int64", "uint64", lambda b, address: _load_word(b, address, 32))
"""The 4 bytes at an address, little-endian."""
word_at = _instruction("int64", "uint64", lambda b, address: _load_word(b, address, 64))
"""The 8 bytes at an address, little-endian."""
blanks_at, tabs_at, feeds_at, returns_at = (_where("==", byte) for byte in b" \t\n\r")
bars_at, controls_at = _where("==", ord("|")), _where("<", 0x20)
"""Bit i is set if byte i of the 64 bytes at an address is a blank, tab, line feed, carriage return, and so on."""
trailing_zeros = _instruction("uint64", "int64", _trailing_zeros)
"""Number of zero bits below the lowest set bit; 64 without one."""
bit_count = _instruction("uint64", "uint64", lambda b, word: b.ctpop(word))
"""Number of set bits."""


@meaning("copy")
@intrinsic
def copy_bytes(typing_context: Any, target: Any, source: Any, size: Any) -> Any:
    """Copy bytes from one address to another; the two places do not overlap."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        from hutch.core.kernel.private import cgutils

        byte = ir.IntType(8).as_pointer()
        target, source = (builder.inttoptr(address, byte) for address in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.uint64), generate
