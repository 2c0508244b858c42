"""Numbers as VW reads them, bit for bit.

VW accumulates the digits in float32 and multiplies by a power of ten from a table made by repeated float32
multiplication or division. The result is often one unit in the last place off the correctly rounded number, and
models depend on it. Only text that this reader does not accept (`+3`, `1e+2`, `0x10`, `inf`, `nan`) goes to the C
library's `strtof`.
"""

from typing import Any

import numpy as np
from numpy import float32, int64
from numpy.typing import NDArray

from hutch.core.kernel.decorators import helper, intrinsic
from hutch.core.kernel.raw_bytes import byte_at

LOWEST_POWER, HIGHEST_POWER = -37, 38


def _powers() -> NDArray[np.float32]:
    """10^-37 to 10^38, each made from its neighbour nearer to 1."""
    ten, table = np.float32(10), np.ones(HIGHEST_POWER - LOWEST_POWER + 1, np.float32)
    for power in range(1, HIGHEST_POWER + 1):
        table[power - LOWEST_POWER] = table[power - 1 - LOWEST_POWER] * ten
    for power in range(-1, LOWEST_POWER - 1, -1):
        table[power - LOWEST_POWER] = table[power + 1 - LOWEST_POWER] / ten
    return table


POWERS = _powers()
MAX_DECIMALS = 35
"""Digits after the point beyond this many are skipped."""
HUGE = float32(1e18)
"""Numbers beyond this are left to the slow parser, so that no product overflows unseen."""
SMALLEST_POWER, LARGEST_POWER = -128, 127
"""Powers of ten that VW's reader does not wrap around."""


@intrinsic
def _strtof(typing_context: Any, start: Any) -> Any:
    """The number at an address as C's `strtof` reads it, and the address where it ends."""
    from llvmlite import ir
    from numba import types

    from hutch.core.kernel.private import cgutils

    result = types.Tuple((types.float32, types.int64))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.FloatType(), [word, word.as_pointer()])
        function = cgutils.get_or_insert_function(builder.module, kind, "strtof")
        end = cgutils.alloca_once(builder, word)
        value = builder.call(function, [arguments[0], end])
        return context.make_tuple(builder, result, [value, builder.load(end)])

    return result(types.int64), generate


@helper
def is_digit(byte):
    """Whether a byte is an ASCII digit."""
    return 48 <= byte <= 57


@helper
def has_digit(start, stop):
    """Whether there is any ASCII digit in the bytes at `start` to `stop`."""
    for at in range(start, stop):
        if is_digit(byte_at(at)):
            return True
    return False


@helper
def power_of_ten(exponent):
    """VW's float32 power of ten: 0 below the table, infinity above it; the exponent wraps to 8 bits first."""
    exponent = ((exponent + 128) & 255) - 128
    if exponent > HIGHEST_POWER:
        return float32(np.inf)
    return float32(0) if exponent < LOWEST_POWER else POWERS[exponent - LOWEST_POWER]


@helper
def written_power(start, stop):
    """Power of ten of the number at `start` to `stop` as it is written: its exponent less its decimals.

    VW's reader keeps 8 bits of it, so that `1e400` is 0 and `1e256` is 1.
    """
    decimals, exponent, sign, dotted, in_exponent = int64(0), int64(0), int64(1), False, False
    for at in range(start, stop):
        byte = byte_at(at)
        if byte == 46:
            dotted = True
        elif (byte | 32) == 101:
            in_exponent = True
        elif byte == 45 and in_exponent:
            sign = int64(-1)
        elif is_digit(byte) and in_exponent:
            exponent = min(exponent * 10 + byte - 48, int64(99_999))
        elif is_digit(byte) and dotted:
            decimals = min(decimals + 1, int64(MAX_DECIMALS))
    return sign * exponent - decimals


@helper
def is_hexadecimal(start, stop):
    """Whether a number is written as C writes hexadecimal ones, `0x10`."""
    for at in range(start, stop):
        if (byte_at(at) | 32) == 120:
            return True
    return False


@helper
def is_misread(start, stop):
    """Whether the number at `start` to `stop` is hexadecimal, or of a power of ten that VW's reader wraps around."""
    power = written_power(start, stop)
    return power > LARGEST_POWER or power < SMALLEST_POWER or is_hexadecimal(start, stop)


@helper
def read_with_strtof(start, stop):
    """Number at the beginning of the bytes at `start` to `stop` by the C library; same result as `read_float`.

    The byte at `stop` must end any number: the library does not know where the piece ends.
    """
    first = start
    while first < stop and (byte_at(first) == 32 or 9 <= byte_at(first) <= 13):
        first += 1
    if first == stop:
        return float32(0), int64(0)
    value, end = _strtof(first)
    return value, (end - start if end > first else int64(0))


@helper
def read_float(start, stop):
    """Number at the beginning of the bytes at `start` to `stop`, which may be preceded by blanks.

    The byte at `stop` must be a blank, a control character or `|`. Returns (float32, bytes used); 0 bytes used means
    that the text is not a number. A sign, a dot or an `e` alone is 0, as in VW.
    """
    value, used = read_plain_float(start, stop)
    if used < 0:
        return read_with_strtof(start, stop)
    return value, used


@helper
def read_plain_float(start, stop):
    """`read_float` for the forms that VW reads itself; -1 bytes used where it calls the C library."""
    at, ten, zero = start, float32(10), float32(48)
    while at < stop and byte_at(at) == 32:
        at += 1
    negative = at < stop and byte_at(at) == 45
    if negative:
        at += 1
    number = float32(0)
    while at < stop and is_digit(byte_at(at)):
        number = float32(float32(number * ten) + float32(byte_at(at))) - zero  # in this order: VW's roundings
        at += 1
    decimals = int64(0)
    if at < stop and byte_at(at) == 46:
        at += 1
        while at < stop and is_digit(byte_at(at)):
            if decimals < MAX_DECIMALS:
                number = float32(number * ten) + float32(byte_at(at) - 48)
                decimals += 1
            at += 1
    exponent = int64(0)
    if at < stop and (byte_at(at) | 32) == 101:
        at += 1
        sign = int64(1)
        if at < stop and byte_at(at) == 45:
            sign = int64(-1)
            at += 1
        while at < stop and is_digit(byte_at(at)):
            exponent = exponent * 10 + byte_at(at) - 48
            at += 1
        exponent *= sign
    if at == stop or byte_at(at) == 32 or byte_at(at) == 9:
        number = float32(number * power_of_ten(exponent - decimals))
        return (-number if negative else number), int64(at - start)
    return float32(0), int64(-1)


@helper
def whole_number(start, stop):
    """The number at `start` to `stop`; returns (float32, whether all of it is one, below `HUGE`)."""
    value, used = read_plain_float(start, stop)
    good = used == stop - start and abs(value) < HUGE and (value != 0 or has_digit(start, stop))
    return value, good and (used < 4 or not is_misread(start, stop))
