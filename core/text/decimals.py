"""Numbers of tables: decimals, rounded to the nearest float32.

Digits up to 2^53 and powers of ten up to 10^22 are float64 without error, so that their product or quotient is rounded
once (W. Clinger, "How to read floating point numbers accurately", PLDI 1990). Rounding it again to float32 errs only
where it lies halfway between two numbers of float32; these, and longer decimals, are left to the C library.
"""

import numpy as np
from numpy import float32, float64, int64

from hutch.core.kernel.decorators import helper
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text.numbers import is_digit, read_with_strtof

_POWERS = np.array([10.0**power for power in range(23)])
_EXACT = 1 << 53
_MOST_DIGITS = 10**17
"""Digits beyond these are not counted: the number is left to the C library already."""
_BLANK, _PLUS, _MINUS, _POINT, _E, _I, _N = 32, 43, 45, 46, 101, 105, 110


@helper
def _rounded(number):
    """The nearest float32, and whether a number that was rounded to float64 `number` has the same."""
    nearest = float32(number)
    other = number + (number - float64(nearest))
    return nearest, other == float64(nearest) or other != float64(float32(other))


@helper
def read_decimal(start, stop):
    """All the bytes at `start` to `stop` as one decimal number, and whether they are one.

    A number is a sign or none, digits with a point or without, and an exponent or none; there is a digit before an `e`
    and one after it. Blanks may come before. `inf` and `nan` are numbers, hexadecimal ones are not. Values beyond
    float32 become infinite, or 0 if too small. The byte at `stop` must end any number.
    """
    at = start
    while at < stop and (byte_at(at) == _BLANK or 9 <= byte_at(at) <= 13):
        at += 1
    negative = at < stop and byte_at(at) == _MINUS
    if at < stop and (negative or byte_at(at) == _PLUS):
        at += 1
    if at < stop and (byte_at(at) | 32 == _I or byte_at(at) | 32 == _N):
        number, used = read_with_strtof(start, stop)
        return number, used == stop - start
    digits, power, decimals, dotted, has_digit = int64(0), int64(0), int64(0), False, False
    while at < stop:
        byte = byte_at(at)
        if is_digit(byte):
            has_digit = True
            if digits < _MOST_DIGITS:
                digits = digits * 10 + int64(byte - 48)
                decimals += dotted
        elif byte == _POINT and not dotted:
            dotted = True
        else:
            break
        at += 1
    if not has_digit:
        return float32(0), False
    if at < stop:
        if byte_at(at) | 32 != _E:
            return float32(0), False
        at += 1
        below = at < stop and byte_at(at) == _MINUS
        if at < stop and (below or byte_at(at) == _PLUS):
            at += 1
        if at == stop:
            return float32(0), False
        while at < stop:
            if not is_digit(byte_at(at)):
                return float32(0), False
            power = min(power * 10 + int64(byte_at(at) - 48), int64(99_999))
            at += 1
        if below:
            power = -power
    power -= decimals
    if digits <= _EXACT and -22 <= power <= 22:
        number = float64(digits)
        number = number * _POWERS[power] if power >= 0 else number / _POWERS[-power]
        nearest, good = _rounded(number)
        if good:
            return (-nearest if negative else nearest), True
    return read_with_strtof(start, stop)[0], True
