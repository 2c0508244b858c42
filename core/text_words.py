"""Numbers and names of a few bytes as machine words, taken apart without a loop over their bytes.

A word is loaded so that it ends where the token ends, and what lies before the token is masked away. Numbers come out
as `text_float` reads them, hashes as `hashing` makes them.
"""

from numpy import float32, int64, uint32, uint64

from hutch.core.hashing import hash_name, murmur3_32, murmur_finish, murmur_mix, murmur_scramble
from hutch.core.kernel_helper import njit
from hutch.core.raw_bytes import byte_at, half_at, trailing_zeros, word_at
from hutch.core.text_float import LOWEST_POWER, POWERS, has_digit, is_digit, read_float

MINUS = 45
EXACT = (1 << 24) - 64
"""VW's sums of digits are exact below this."""
HUGE = float32(1e18)
"""Numbers beyond this are left to the slow parser, so that no product overflows unseen."""

_ZEROS = uint64(0x3030303030303030)
_DOTS = uint64(0x1E1E1E1E1E1E1E1E)  # dots once zeros are xored away
_ONES = uint64(0x0101010101010101)
_HIGH_BITS = uint64(0x8080808080808080)
_SIXES = uint64(0x0606060606060606)
_HIGH_HALVES = uint64(0xF0F0F0F0F0F0F0F0)


@njit(inline="always")
def are_digits(word):  # type: ignore[no-untyped-def]
    """Whether all 8 bytes are at most 9."""
    return ((word + _SIXES) | word) & _HIGH_HALVES == 0


@njit(inline="always")
def digits_value(word):  # type: ignore[no-untyped-def]
    """The number that 8 bytes of at most 9 spell, the lowest byte first."""
    word = (word * uint64(10) + (word >> uint64(8))) & uint64(0x00FF00FF00FF00FF)
    word = (word * uint64(100) + (word >> uint64(16))) & uint64(0x0000FFFF0000FFFF)
    return (word * uint64(10000) + (word >> uint64(32))) & uint64(0xFFFFFFFF)


@njit(inline="always")
def last_bytes(stop, length):  # type: ignore[no-untyped-def]
    """The last 1 to 8 bytes before `stop` with zeros xored away, filled up with 0 from below."""
    return (word_at(stop - 8) ^ _ZEROS) & (~uint64(0) << uint64(64 - 8 * length))


@njit(inline="always")
def without_dot(word, dots):  # type: ignore[no-untyped-def]
    """Close the gap of the dot at the lowest bit of `dots`; returns the number of bytes above it, and the word."""
    below = (dots & (~dots + uint64(1))) - uint64(1)  # all bits below the dot byte's highest
    word = (word & ~((below << uint64(1)) | uint64(1))) | ((word & (below >> uint64(7))) << uint64(8))
    return (63 - trailing_zeros(dots)) >> 3, word


@njit(inline="always")
def short_number(start, stop):  # type: ignore[no-untyped-def]
    """A number of up to 8 bytes after its sign, as VW reads it; returns (float32, whether it is one)."""
    negative = byte_at(start) == MINUS
    length = stop - start - negative
    if length < 1 or length > 8:
        return float32(0), False
    word = last_bytes(stop, length)
    decimals = int64(0)
    difference = word ^ _DOTS
    dots = (difference - _ONES) & ~difference & _HIGH_BITS
    if dots != 0:
        if length == 1:
            return float32(0), False
        decimals, word = without_dot(word, dots)
    number = digits_value(word)
    value = float32(int64(number)) * POWERS[-decimals - LOWEST_POWER]
    return (-value if negative else value), are_digits(word) and number < EXACT


@njit
def medium_number(start, stop):  # type: ignore[no-untyped-def]
    """`short_number` for 9 to 16 bytes after the sign."""
    negative = byte_at(start) == MINUS
    length = stop - start - negative
    if length < 9 or length > 16:
        return float32(0), False
    high, low = word_at(stop - 8) ^ _ZEROS, last_bytes(stop - 8, length - 8)
    decimals = int64(0)
    difference = high ^ _DOTS
    dots = (difference - _ONES) & ~difference & _HIGH_BITS
    if dots != 0:
        decimals, high = without_dot(high, dots)
        high |= low >> uint64(56)
        low <<= uint64(8)
    else:
        difference = low ^ _DOTS
        dots = (difference - _ONES) & ~difference & _HIGH_BITS
        if dots != 0:
            decimals, low = without_dot(low, dots)
            decimals += 8
    number = digits_value(low) * uint64(100_000_000) + digits_value(high)
    value = float32(int64(number)) * POWERS[-decimals - LOWEST_POWER]
    return (-value if negative else value), are_digits(low) and are_digits(high) and number < EXACT


@njit
def any_number(start, stop):  # type: ignore[no-untyped-def]
    """A longer number; returns (float32, whether all of `start` to `stop` is one and below `HUGE`)."""
    value, good = medium_number(start, stop)
    if good:
        return value, True
    value, used = read_float(start, stop)
    return value, used == stop - start and abs(value) < HUGE and (value != 0 or has_digit(start, stop))


@njit(inline="always")
def short_hash(start, stop, seed, hash_all):  # type: ignore[no-untyped-def]
    """`hash_name` for a name without control characters, quick up to 16 bytes."""
    length = stop - start
    if length > 16 or hash_all:
        return hash_name(start, stop, seed, hash_all)
    if not is_digit(byte_at(start)):
        return murmur_short(start, length, seed)
    if length <= 8:
        word = last_bytes(stop, length)
        if are_digits(word):
            return uint32(digits_value(word) + uint64(seed))
    elif are_digits(word_at(start) ^ _ZEROS) and are_digits(word_at(stop - 8) ^ _ZEROS):
        return hash_name(start, stop, seed, hash_all)
    return murmur3_32(start, stop, seed)


@njit(inline="always")
def murmur_short(start, length, seed):  # type: ignore[no-untyped-def]
    """`murmur3_32` up to 16 bytes without a loop, for words change their length in a way that cannot be predicted."""
    h = uint64(seed)
    for i in range(3):
        mixed = murmur_mix(h, half_at(start + 4 * i))
        h = mixed if length >= 4 * i + 4 else h
    if length == 16:
        h = murmur_mix(h, half_at(start + 12))
    tail = half_at(start + (length & ~3)) & ((uint64(1) << uint64(8 * (length & 3))) - uint64(1))
    return murmur_finish(h ^ murmur_scramble(tail), length)
