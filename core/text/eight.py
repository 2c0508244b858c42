"""Names and numbers of eight features at once, where a run of features has the same form: `a:0.5 b:1.25 …` or `a b …`.

What comes out is what `text_words` makes of each token by itself; a lane that holds anything unusual is marked
unusable, and is left to the functions there. Positions are those that `text_scan` finds: token k lies between the
delimiter number `first + step · k` and the next. A token of up to 7 bytes is read as one word that ends with the
delimiter behind it, a longer one of up to 15 as two.
"""

from typing import Any

from numpy import float32, uint64

from hutch.core.kernel.abi import float32s_at
from hutch.core.kernel.decorators import inlined, intrinsic
from hutch.core.kernel.lanes import COUNT, Lanes, broadcast, constant, flags, load, store, words
from hutch.core.kernel.raw_bytes import trailing_zeros
from hutch.core.text.numbers import LOWEST_POWER, POWERS
from hutch.core.text.words import EXACT, HIGH_HALVES, SIXES, ZEROS

Place = tuple[int, int]
"""Number of the delimiter before the first token, and of delimiters from one token to the next."""
NAMES, VALUES, PLAIN_NAMES = (0, 2), (1, 2), (0, 1)
"""Names and values alternating, names alone."""
SHORT, LONG = 7, 15
"""The most bytes of a token that is read as one word, and as two."""
_FEED, _BLANK, _COLON = 0x0A, 0x20, 0x3A
_ZEROS, _SIXES, _HIGH_HALVES, _EXACT = map(int, (ZEROS, SIXES, HIGH_HALVES, EXACT))
_EACH_BYTE = 0x0101010101010101
_MINUS, _DOT = 0x1D, 0x1E  # once a zero is xored away
_MOST_DECIMALS = 9
GOOD, STOPS, ENDS = 0, 8, 16
ALL_EIGHT = uint64(0xFFFF)
"""Results of `eight_valued`: the lowest bit of each kind; all good, followed as usual, and none ends its line."""


class _Tokens:
    """Eight tokens in registers.

    Attributes:
        length: of the tokens, in bytes.
        stop: the byte behind each.
        high: the last 8 bytes up to its end, of which the token may only be some.
        low: of long ones the 7 bytes before these, above a byte of zero.
        high_mask, low_mask: which bits of these are the token's.
    """

    def __init__(self, builder: Any, text: Any, positions: Any, place: Place, most: int) -> None:
        from llvmlite import ir

        word, (first, step) = ir.IntType(64), place

        def end(k: int) -> Any:
            at = builder.add(positions, word(4 * (first + step * k + 1)))
            position = builder.load(builder.inttoptr(at, ir.IntType(32).as_pointer()))
            return builder.add(text, builder.zext(position, word))

        ends = [end(k) for k in range(COUNT)]
        last = words(builder, [builder.sub(at, word(7)) for at in ends])
        before = words(builder, [builder.sub(at, word(15)) for at in ends]) if most == LONG else None
        ones, nothing = constant(builder, word, -1), constant(builder, word, 0)
        self.length = _lengths(builder, positions, place)
        self.stop = last >> 56
        self.shift = -(self.length << 3) & 63
        self.high, self.low = last << 8, nothing
        self.high_mask, self.low_mask = ones << self.shift, nothing
        if before is not None:
            self.high |= before >> 56
            self.low = before << 8
            self.high_mask = self.length.compare("<", 8).choose(self.high_mask, ones)
            self.low_mask = self.length.compare(">", 8).choose(ones << self.shift, nothing)

    def fit(self, most: int) -> Lanes:
        """Which tokens are neither empty nor of more bytes than that."""
        return (self.length - 1).compare("<", most)

    def stops(self, named: bool) -> tuple[Lanes, Lanes]:
        """Which are followed as usual, by a colon if `named`, else by a blank or the line's end; and by that."""
        ends = self.stop.compare("==", _FEED)
        return self.stop.compare("==", _COLON) if named else ends | self.stop.compare("==", _BLANK), ends

    def spelled(self) -> tuple[Lanes, Lanes]:
        """`high` and `low` of the token alone, zeros xored away."""
        return (self.high ^ _ZEROS) & self.high_mask, (self.low ^ _ZEROS) & self.low_mask

    def from_start(self) -> tuple[Lanes, Lanes]:
        """The token's first 8 bytes and the rest, zeros behind its end."""
        high, low, long = self.high & self.high_mask, self.low & self.low_mask, self.length.compare(">", 8)
        shifted = high >> self.shift
        return long.choose((low >> self.shift) | (high << (-self.shift & 63)), shifted), long.choose(shifted, low)


def _lengths(builder: Any, positions: Any, place: Place) -> Lanes:
    from llvmlite import ir

    first, step = place
    at = builder.add(positions, ir.IntType(64)(4 * first))
    if step == 2:
        both = load(builder, at, ir.IntType(64))
        return (both >> 32) - (both & 0xFFFFFFFF) - 1
    ends = load(builder, builder.add(at, ir.IntType(64)(4)), ir.IntType(32))
    return (ends - load(builder, at, ir.IntType(32)) - 1).widened(64)


def _found(builder: Any, good: Lanes, stops: tuple[Lanes, Lanes]) -> Any:
    """Bits of three kinds as one word."""
    from llvmlite import ir

    word, found = ir.IntType(64), good.bits()
    for k, lanes in enumerate(stops):
        found = builder.or_(found, builder.shl(lanes.bits(), word(COUNT * (k + 1))))
    return found


def _are_digits(spelled: Lanes) -> Lanes:
    """Which words hold nothing but bytes up to 9."""
    return (((spelled + _SIXES) | spelled) & _HIGH_HALVES).compare("==", 0)


def _number(digits: Lanes) -> Lanes:
    """The numbers that 8 bytes of at most 9 spell, the lowest byte first."""
    twos = digits.split(16)
    twos = (twos * 10 + (twos >> 8)) & 0xFF
    fours = ((twos * 100).split(32) & 0xFFFF) + (twos.split(32) >> 16)
    eights = fours.split(64)
    return (eights & 0xFFFFFFFF) * 10_000 + (eights >> 32)


def _long_number(high: Lanes, low: Lanes) -> Lanes:
    """The numbers of 16 digits."""
    return (_number(low) & 0xFFFFFFFF) * 100_000_000 + _number(high)


def _scramble(k: Lanes) -> Lanes:
    k *= 0xCC9E2D51
    return ((k << 15) | (k >> 17)) * 0x1B873593


def _murmur(tokens: _Tokens, seed: Lanes, most: int) -> Lanes:
    """MurmurHash3 of the tokens, lanes of 32 bits."""
    first, rest = tokens.from_start()
    parts = [first.narrowed(32), (first >> 32).narrowed(32), rest.narrowed(32), (rest >> 32).narrowed(32)]
    length, h, tail = tokens.length.narrowed(32), seed, parts[0]
    for k in range(most // 4):
        mixed = h ^ _scramble(parts[k])
        whole = length.compare(">=", 4 * k + 4)
        h = whole.choose(((mixed << 13) | (mixed >> 19)) * 5 + 0xE6546B64, h)
        tail = whole.choose(parts[k + 1], tail)
    h ^= _scramble(tail) ^ length
    h = (h ^ (h >> 16)) * 0x85EBCA6B
    h = (h ^ (h >> 13)) * 0xC2B2AE35
    return h ^ (h >> 16)


def _hashes(place: Place, most: int) -> Any:
    """An intrinsic that writes the indices of names; returns what `eight_plain` does."""

    @intrinsic
    def hash_eight(
        typing_context: Any, text: Any, positions: Any, seed: Any, numbers: Any, mask: Any, indices: Any
    ) -> Any:
        from numba import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            from llvmlite import ir

            text, positions, seed, numbers, mask, indices = arguments
            tokens = _Tokens(builder, text, positions, place, most)
            seeds, masks = (broadcast(builder, builder.trunc(word, ir.IntType(32))) for word in (seed, mask))
            high, low = tokens.spelled()
            are_numbers = flags(builder, numbers) & _are_digits(high)
            if most == LONG:
                are_numbers &= _are_digits(low)
            usable = tokens.fit(most)
            with builder.if_then(builder.icmp_unsigned("!=", (are_numbers & usable).bits(), ir.IntType(64)(0))):
                number = _number(high) if most == SHORT else _long_number(high, low)
                store(builder, (number.narrowed(32) + seeds) & masks, indices)
            with builder.if_then(builder.icmp_unsigned("!=", (~are_numbers & usable).bits(), ir.IntType(64)(0))):
                hashed = _murmur(tokens, seeds, most) & masks
                store(builder, are_numbers.choose(load(builder, indices, ir.IntType(32)), hashed), indices)
            return _found(builder, usable, tokens.stops(place == NAMES))

        return types.uint64(*[types.uint64] * 6), generate

    return hash_eight


def _without_dot(spelled: Lanes) -> tuple[Lanes, Lanes]:
    """Close the gap of each word's lowest dot, a zero coming in below; returns the dot's lowest bit too, 0 for none."""
    dots = spelled.split(8).compare("==", _DOT).masks(8).split(64)
    bit = dots & -dots
    below = bit - 1
    closed = (spelled & ~((bit << 8) - 1)) | ((spelled & below) << 8)
    return bit.compare("==", 0).choose(spelled, closed), bit


def _scale(builder: Any, dot_high: Lanes, dot_low: Lanes, most: int) -> Lanes:
    """VW's negative powers of ten for the decimals behind a dot."""
    from llvmlite import ir

    scale = constant(builder, ir.FloatType(), 1.0)
    for decimals in range(1, min(most, _MOST_DECIMALS + 1)):
        power = constant(builder, ir.FloatType(), float(POWERS[-LOWEST_POWER - decimals]))
        dot = dot_high if decimals < 8 else dot_low
        scale = dot.compare("==", 1 << (56 - 8 * (decimals % 8))).choose(power, scale)
    return scale


def _numbers(most: int) -> Any:
    """An intrinsic that writes values; returns what `eight_valued` does."""

    @intrinsic
    def read_eight(typing_context: Any, text: Any, positions: Any, values: Any) -> Any:
        from numba import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            tokens = _Tokens(builder, arguments[0], arguments[1], VALUES, most)
            high, low = tokens.spelled()
            first_of_high = tokens.high_mask & ~(tokens.high_mask << 8)
            first_of_low = tokens.low_mask & ~(tokens.low_mask << 8)
            long = tokens.length.compare(">", 8)
            first = long.choose(first_of_low, first_of_high) if most == LONG else first_of_high
            signed = long.choose(low, high) if most == LONG else high
            negative = (signed & first).compare("==", first & (_EACH_BYTE * _MINUS))
            if most == LONG:
                low = (negative & long).choose(low & ~first, low)
                high = (negative & ~long).choose(high & ~first, high)
            else:
                high = negative.choose(high & ~first, high)
            closed, dot_high = _without_dot(high)
            usable, dot_low = tokens.fit(most), dot_high
            dotted = dot_high.compare("!=", 0)
            if most == LONG:
                closed_low, dot_low = _without_dot(low)
                closed = dotted.choose(closed | (low >> 56), closed)
                low = dotted.choose(low << 8, closed_low)
                usable &= _are_digits(low) & (dotted | dot_low.compare("==", 0) | dot_low.compare(">=", 1 << 48))
            number = _number(closed) if most == SHORT else _long_number(closed, low)
            usable &= _are_digits(closed) & (number - 1).compare("<", _EXACT - 1)
            value = number.narrowed(32).scaled(_scale(builder, dot_high, dot_low, most))
            store(builder, value ^ (negative.masks(32) & (1 << 31)), arguments[2])
            return _found(builder, usable, tokens.stops(False))

        return types.uint64(*[types.uint64] * 3), generate

    return read_eight


def _longest(place: Place) -> Any:
    """An intrinsic that returns a bit for each token that is not a short one."""

    @intrinsic
    def longer(typing_context: Any, positions: Any) -> Any:
        from numba import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _lengths(builder, arguments[0], place).compare(">", SHORT).bits()

        return types.uint64(types.uint64), generate

    return longer


_longer_names, _longer_values, _longer_plain_names = _longest(NAMES), _longest(VALUES), _longest(PLAIN_NAMES)
_short_names, _long_names = _hashes(NAMES, SHORT), _hashes(NAMES, LONG)
_short_plain_names, _long_plain_names = _hashes(PLAIN_NAMES, SHORT), _hashes(PLAIN_NAMES, LONG)
_short_values, _long_values = _numbers(SHORT), _numbers(LONG)


@inlined
def first_of(found, kind):
    """Number of the first feature, from 0, whose bit of a kind is set in a result of `eight_valued`; else above 7."""
    return uint64(trailing_zeros(found >> uint64(kind)))


@inlined
def eight_valued(text, positions, seed, numbers, mask, indices, values):
    """Read features with values from the delimiter at address `positions`, a blank, on.

    Args:
        text: address of the text.
        positions: address of 17 positions of delimiters.
        seed: hash of the namespace.
        numbers: 255 if names of digits are numbers, 0 if they are hashed.
        mask: of the indices.
        indices, values: addresses where eight are written in any case.

    Returns:
        Three times eight bits, the first feature's lowest: 1 if name and value are good and the value is not zero; 1 if
        they are followed as usual, the value by a blank or the end of the line; 1 if it is by that. The latter are
        known early, so that a caller who guesses the former need not wait for the arithmetic.
    """
    if _longer_names(positions) == uint64(0):
        usable = _short_names(text, positions, seed, numbers, mask, indices)
    else:
        usable = _long_names(text, positions, seed, numbers, mask, indices)
    if _longer_values(positions) == uint64(0):
        good = _short_values(text, positions, values)
    else:
        good = _long_values(text, positions, values)
    return good & (usable | uint64(0xFF << ENDS))


@inlined
def eight_plain(text, positions, seed, numbers, mask, indices, values):
    """`eight_valued` for names alone, between 9 positions of delimiters; all values are 1."""
    ones = float32s_at(values, uint64(8))
    for i in range(8):
        ones[i] = float32(1)
    if _longer_plain_names(positions) == uint64(0):
        usable = _short_plain_names(text, positions, seed, numbers, mask, indices)
    else:
        usable = _long_plain_names(text, positions, seed, numbers, mask, indices)
    return usable
