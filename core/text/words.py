"""Numbers and names of a few bytes as machine words, taken apart without a loop over their bytes.

A token is moved to the upper end of a word, so that zeros come in where a longer one would have its first digits.
Numbers come out as `text_float` reads them, hashes as `hashing` makes them.
"""

import numpy as np
from numpy import float32, int64, uint32, uint64

from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import byte_at, half_at, trailing_zeros, word_at
from hutch.core.text.hashing import murmur_finish, murmur_mix, murmur_scramble
from hutch.core.text.numbers import LOWEST_POWER, POWERS, has_digit, is_digit, is_misread, read_plain_float

MINUS = 45
EXACT = uint64((1 << 24) - 64)
"""VW's sums of digits are exact below this."""
HUGE = float32(1e18)
"""Numbers beyond this are left to the slow parser, so that no product overflows unseen."""

ZEROS = uint64(0x3030303030303030)
SIXES = uint64(0x0606060606060606)
HIGH_HALVES = uint64(0xF0F0F0F0F0F0F0F0)
_DOT = uint64(0x1E)  # once a zero is xored away
_ODD_DOT = uint64(0x30)  # what `odd_bits` makes of it
_HUNDRED_MILLION = uint64(100_000_000)
_SIGNS = 16
_SCALES = np.concatenate([sign * POWERS[-LOWEST_POWER::-1][:_SIGNS] for sign in (np.float32(1), np.float32(-1))])
"""10^0 to 10^-15, then the same negative."""


@inlined
def spread(start, length):
    """The 1 to 8 bytes at `start` in the upper bytes of a word, the last one highest, zeros xored away; 0 below."""
    return (word_at(start) ^ ZEROS) << uint64(64 - 8 * length)


@inlined
def odd_bits(word):
    """Bits in the upper halves of the bytes that are above 9; 0 if all are digits."""
    return ((word + SIXES) | word) & HIGH_HALVES


@inlined
def only_dot(word, odd):
    """Whether all bytes are digits but one, which is a dot; and the lowest bit of the first that is not a digit."""
    place = uint64(trailing_zeros(odd) - 4)
    return odd >> place == _ODD_DOT and (word >> place) & uint64(255) == _DOT, place


@inlined
def without_dot(word, place):
    """Close the gap of the dot whose lowest bit is number `place`; returns the number of bytes above it, and the word.

    A byte of 0 comes in from below.
    """
    bit = uint64(1) << place
    return (56 - int64(place)) >> 3, (word & ~((bit << uint64(8)) - uint64(1))) | (
        (word & (bit - uint64(1))) << uint64(8)
    )


@inlined
def digits_value(word):
    """The number that 8 bytes of at most 9 spell, the lowest byte first."""
    word = (word * uint64(10) + (word >> uint64(8))) & uint64(0x00FF00FF00FF00FF)
    word = (word * uint64(100) + (word >> uint64(16))) & uint64(0x0000FFFF0000FFFF)
    return (word * uint64(10000) + (word >> uint64(32))) & uint64(0xFFFFFFFF)


@inlined
def scaled(number, decimals, negative):
    """An integer divided by a power of ten as VW reads it; and whether it is exact and not a negative zero."""
    return float32(int64(number)) * _SCALES[decimals + _SIGNS * negative], number - uint64(negative) < EXACT


@inlined
def short_number(start, stop):
    """A number of up to 8 bytes after its sign, as VW reads it; returns (float32, whether it is one)."""
    negative = int64(byte_at(start) == MINUS)
    start += negative
    length = stop - start
    if length < 1 or length > 8:
        return float32(0), False
    word, decimals = spread(start, length), int64(0)
    odd = odd_bits(word)
    if odd != 0:
        dotted, place = only_dot(word, odd)
        if length == 1 or not dotted:
            return float32(0), False
        decimals, word = without_dot(word, place)
    return scaled(digits_value(word), decimals, negative)


@helper
def medium_number(start, stop):
    """`short_number` for 9 to 16 bytes after the sign."""
    negative = int64(byte_at(start) == MINUS)
    start += negative
    length = stop - start
    if length < 9 or length > 16:
        return float32(0), False
    high, low, decimals = word_at(stop - 8) ^ ZEROS, spread(start, length - 8), int64(0)
    odd_high, odd_low = odd_bits(high), odd_bits(low)
    if odd_high != 0:
        dotted, place = only_dot(high, odd_high)
        if odd_low != 0 or not dotted:
            return float32(0), False
        decimals, high = without_dot(high, place)
        high |= low >> uint64(56)
        low <<= uint64(8)
    elif odd_low != 0:
        dotted, place = only_dot(low, odd_low)
        if not dotted:
            return float32(0), False
        decimals, low = without_dot(low, place)
        decimals += 8
    return scaled(digits_value(low) * _HUNDRED_MILLION + digits_value(high), decimals, negative)


@helper
def any_number(start, stop):
    """A number of any length; returns (float32, whether all of `start` to `stop` is one and below `HUGE`)."""
    value, good = short_number(start, stop)
    if not good:
        value, good = medium_number(start, stop)
    if good:
        return value, True
    value, used = read_plain_float(start, stop)
    good = used == stop - start and abs(value) < HUGE and (value != 0 or has_digit(start, stop))
    return value, good and not is_misread(start, stop)


@inlined
def short_hash(start, stop, seed):
    """`hash_name` in the mode `strings` for a name of 1 to 16 bytes, none of them a control character or a blank."""
    length = stop - start
    if is_digit(byte_at(start)):
        if length <= 8:
            word = spread(start, length)
            if odd_bits(word) == 0:
                return uint32(digits_value(word) + uint64(seed))
        elif odd_bits(word_at(start) ^ ZEROS) == 0:
            high = word_at(stop - 8) ^ ZEROS
            if odd_bits(high) == 0:
                low = digits_value(spread(start, length - 8))
                return uint32(low * _HUNDRED_MILLION + digits_value(high) + uint64(seed))
    return murmur_short(start, length, seed)


@inlined
def murmur_short(start, length, seed):
    """`murmur3_32` up to 16 bytes without a loop, since the length of words cannot be predicted."""
    h = uint64(seed)
    for i in range(3):
        mixed = murmur_mix(h, half_at(start + 4 * i))
        h = mixed if length >= 4 * i + 4 else h
    if length == 16:
        h = murmur_mix(h, half_at(start + 12))
    tail = half_at(start + (length & ~3)) & ((uint64(1) << uint64(8 * (length & 3))) - uint64(1))
    return murmur_finish(h ^ murmur_scramble(tail), length)
