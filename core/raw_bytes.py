"""Bytes at addresses: loads of words and the search for delimiters, the instructions of which the text parser is made.

Addresses, bytes and counts are int64, words uint64, so that plain literals mix with the former and bit tricks stay in
the latter. Nothing is checked; whoever calls keeps padding around the text.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_BYTE, _HALF, _WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_BLOCK = ir.VectorType(_BYTE, 64)


def _instruction(argument: Any, result: Any, build: Callable[[Any, Any], Any]) -> Any:
    """An intrinsic of one argument; `build(builder, value)` makes its LLVM code."""

    @intrinsic
    def instruction(typing_context: Any, operand: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return build(builder, arguments[0])

        return result(argument), generate

    return instruction


def _load(builder: Any, address: Any, kind: Any) -> Any:
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer()))
    loaded.align = 1
    return loaded


def _delimiters(builder: Any, address: Any) -> Any:
    block = _load(builder, address, _BLOCK)

    def compare(how: str, byte: int) -> Any:
        return builder.icmp_unsigned(how, block, ir.Constant(_BLOCK, [byte] * 64))

    found = builder.or_(builder.or_(compare("<=", 0x20), compare("==", ord(":"))), compare("==", ord("|")))
    return builder.bitcast(found, _WORD)


byte_at = _instruction(types.int64, types.int64, lambda b, address: b.zext(_load(b, address, _BYTE), _WORD))
"""The byte at an address."""
half_at = _instruction(types.int64, types.uint64, lambda b, address: b.zext(_load(b, address, _HALF), _WORD))
"""The 4 bytes at an address, little-endian."""
word_at = _instruction(types.int64, types.uint64, lambda b, address: _load(b, address, _WORD))
"""The 8 bytes at an address, little-endian."""
delimiters_at = _instruction(types.int64, types.uint64, _delimiters)
"""Bit i says whether byte i of the 64 bytes at an address is at most 0x20, a colon or a bar."""
trailing_zeros = _instruction(types.uint64, types.int64, lambda b, word: b.cttz(word, ir.IntType(1)(0)))
"""Number of zero bits below the lowest set bit; 64 if there is none."""
bit_count = _instruction(types.uint64, types.uint64, lambda b, word: b.ctpop(word))
"""Number of set bits."""
