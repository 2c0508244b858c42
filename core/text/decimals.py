"""Numbers of tables: decimals, rounded to the nearest float32.

The first 17 digits and a power of ten up to 10^22 give a float64 that is off by a few units in its last place (W.
Clinger, "How to read floating point numbers accurately", PLDI 1990). Nearly always all numbers that near round to the
same float32; the others, and larger powers, are left to the C library.
"""

import numpy as np
from numpy import float32, float64, int64, uint64

from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import byte_at, trailing_zeros, word_at
from hutch.core.text.numbers import is_digit, read_with_strtof

POWERS = np.array([10.0**power for power in range(23)])
"""Powers of ten that are float64 without error."""
_MOST_DIGITS = 10**17
_DOUBT = 5e-16
"""More than the relative error of a float64 made of rounded digits and a power of ten."""
_ONES, _HIGHS, _ZEROS = uint64(0x0101010101010101), uint64(0x8080808080808080), uint64(0x3030303030303030)
_SIXES, _HIGH_HALVES = uint64(0x0606060606060606), uint64(0xF0F0F0F0F0F0F0F0)
_BLANK, _PLUS, _MINUS, _POINT, _E, _I, _N = 32, 43, 45, 46, 101, 105, 110


@inlined
def places_in(word, byte):
    """The high bit of the lowest byte of a word that equals `byte`, perhaps with bits above it; 0 without one."""
    different = word ^ uint64(byte) * _ONES
    return (different - _ONES) & ~different & _HIGHS


@helper
def _read_any(start, at, stop, minus):
    """`read_decimal` for all forms; behind a sign, the number begins at `at`."""
    if at < stop and (byte_at(at) | 32 == _I or byte_at(at) | 32 == _N):
        number, used = read_with_strtof(start, stop)
        return number, used == stop - start
    digits, power, exponent, dotted, good = int64(0), int64(0), int64(0), False, False
    while at < stop and (is_digit(byte_at(at)) or (byte_at(at) == _POINT and not dotted)):
        if byte_at(at) == _POINT:
            dotted = True
        elif digits < _MOST_DIGITS:
            digits, power, good = digits * 10 + int64(byte_at(at) - 48), power - dotted, True
        else:
            power += not dotted
        at += 1
    if good and at < stop and byte_at(at) | 32 == _E:
        below = byte_at(at + 1) == _MINUS
        at += 1 + int64(below or byte_at(at + 1) == _PLUS)
        good = at < stop
        while at < stop and is_digit(byte_at(at)):
            exponent = min(exponent * 10 + int64(byte_at(at) - 48), int64(99_999))
            at += 1
        power += -exponent if below else exponent
    if at < stop or not good:
        return float32(0), False
    if -22 <= power <= 22:
        number = float64(digits)
        number = number * POWERS[power] if power >= 0 else number / POWERS[-power]
        if float32(number * (1 - _DOUBT)) == float32(number * (1 + _DOUBT)):
            return float32(number) * float32(1 - 2 * minus), True
    return read_with_strtof(start, stop)[0], True


@inlined
def read_decimal(start, stop):
    """All the bytes at `start` to `stop` as one decimal number, and whether they are one.

    A number is a sign or none, digits with a point or without, and an exponent or none; there is a digit before an `e`
    and one after it. Blanks may surround it. `inf` and `nan` are numbers, hexadecimal ones are not. Values beyond
    float32 become infinite, or 0 if too small. The byte at `stop` must end any number; 7 bytes beyond it may be loaded.
    """
    at = start
    while stop > at and byte_at(stop - 1) == _BLANK:
        stop -= 1
    while at < stop and (byte_at(at) == _BLANK or 9 <= byte_at(at) <= 13):
        at += 1
    minus = int64(byte_at(at) == _MINUS)  # without a branch: signs come at random
    at += minus | int64(byte_at(at) == _PLUS)
    size = stop - at
    if 0 < size <= 8:  # one word, as in D. Lemire, "Number parsing at a gigabyte per second", 2021
        word, decimals = (word_at(at) ^ _ZEROS) << uint64(64 - 8 * size), int64(0)
        points = places_in(word, uint64(_POINT ^ 48))
        if points != uint64(0):
            through = points ^ (points - uint64(1))  # the lowest point and all before it
            word = (word & ~through) | (word & through >> uint64(8)) << uint64(8)
            decimals = (63 - trailing_zeros(points)) >> 3
            size -= 1
        if size > 0 and ((word + _SIXES) | word) & _HIGH_HALVES == uint64(0):
            word = (word * uint64(10) + (word >> uint64(8))) & uint64(0x00FF00FF00FF00FF)
            word = (word * uint64(100) + (word >> uint64(16))) & uint64(0x0000FFFF0000FFFF)
            word = (word * uint64(10_000) + (word >> uint64(32))) & uint64(0xFFFFFFFF)
            number = float64(int64(word)) / POWERS[decimals]
            if float32(number * (1 - _DOUBT)) == float32(number * (1 + _DOUBT)):
                return float32(number) * float32(1 - 2 * minus), True
    return _read_any(start, at, stop, minus)
