"""Names and numbers of eight features at a time, in any form.

A token of up to 7 bytes is read as one word, a longer one of up to 15 as two, and its end found there; lanes that hold
anything else are reported to the caller, which reads them one by one. Numbers equal those of `numbers`, hashes those
of `hashing`.
"""

from collections.abc import Callable
from typing import Any

from hutch.core.kernel.decorators import intrinsic
from hutch.core.kernel.lanes import COUNT, Lanes, broadcast, constant, flags, load, store, words
from hutch.core.text.numbers import LOWEST_POWER, POWERS

_EXACT = (1 << 24) - 64  # VW's sums of digits are exact below this
_ZEROS, _SIXES, _HIGH_HALVES = 0x3030303030303030, 0x0606060606060606, 0xF0F0F0F0F0F0F0F0
_MINUS, _DOT = 0x1D, 0x1E  # once a zero is xored away
_ONE = 0x3F800000  # as a float32


class _Word:
    """Eight words of text, and where in each the first byte up to 0x20 lies, or the first colon if these end a token.

    Attributes:
        bytes: those before it, zeros behind.
        before: all bits of these.
        missing: which words hold none.
        colon: which end with a colon.
    """

    def __init__(self, builder: Any, addresses: list[Any], colons: bool) -> None:
        text = words(builder, addresses)
        each = text.split(8)
        colon, found = each.compare("==", ord(":")), each.compare("<=", ord(" "))
        found = (found | colon if colons else found).masks(8).split(64)
        lowest = found & -found
        self.before, self.missing = lowest - 1, found.compare("==", 0)
        self.bytes = text & self.before
        self.colon = (colon.masks(8).split(64) & lowest).compare("!=", 0)


class _Tokens:
    """Eight tokens in registers.

    Attributes:
        first, rest: their first 8 bytes and the others, zeros behind; no `rest` if none is longer.
        length: in bytes.
        usable: which have 1 to 15.
        colon: which end with a colon.
    """

    def __init__(self, word: _Word, second: _Word | None) -> None:
        self.first, self.rest, self.colon = word.bytes, None, word.colon
        self._digits, self._more, bits = word.bytes ^ (word.before & _ZEROS), None, word.before.called("ctpop")
        if second is not None:
            more = word.missing.choose(second.before, 0)
            self.rest, bits = second.bytes & more, bits + more.called("ctpop")
            self._more = self.rest ^ (more & _ZEROS)
            self.colon = word.missing.choose(second.colon, word.colon)
        self.length, self.usable = bits >> 3, (bits - 1).compare("<", 120)
        self._shift, self._long = -bits & 63, bits.compare(">", 64)

    def take_minus(self) -> Lanes:
        """Replace the sign of negative numbers by a zero; returns the mask of these."""
        negative = (self._digits & 0xFF).compare("==", _MINUS)
        self._digits = negative.choose(self._digits & ~0xFF, self._digits)
        return negative

    def spelled(self) -> tuple[Lanes, Lanes | None]:
        """The last 8 bytes, the last one highest, and those before; zeros xored away."""
        high = self._digits << self._shift
        if self._more is None:
            return high, None
        joined = (self._more << self._shift) | (self._digits >> (-self._shift & 63))
        return self._long.choose(joined, high), self._long.choose(high, 0)


def _are_digits(spelled: Lanes) -> Lanes:
    """Mask of the words that hold only bytes up to 9."""
    return (((spelled + _SIXES) | spelled) & _HIGH_HALVES).compare("==", 0)


def _number(high: Lanes, low: Lanes | None) -> Lanes:
    """The numbers that bytes of at most 9 spell, the lowest byte first."""
    if low is not None:
        return (_number(low, None) & 0xFFFFFFFF) * 100_000_000 + _number(high, None)
    twos = high.split(16)
    twos = (twos * 10 + (twos >> 8)) & 0xFF
    fours = ((twos * 100).split(32) & 0xFFFF) + (twos.split(32) >> 16)
    eights = fours.split(64)
    return (eights & 0xFFFFFFFF) * 10_000 + (eights >> 32)


def _scramble(k: Lanes) -> Lanes:
    k *= 0xCC9E2D51
    return ((k << 15) | (k >> 17)) * 0x1B873593


def _murmur(tokens: _Tokens, seed: Lanes) -> Lanes:
    """MurmurHash3 of the tokens, lanes of 32 bits."""
    parts = [
        half for word in (tokens.first, tokens.rest) if word for half in (word.narrowed(32), (word >> 32).narrowed(32))
    ]
    length, h, tail = tokens.length.narrowed(32), seed, parts[0]
    for k, part in enumerate(parts[1:]):
        mixed = h ^ _scramble(parts[k])
        whole = length.compare(">=", 4 * k + 4)
        h = whole.choose(((mixed << 13) | (mixed >> 19)) * 5 + 0xE6546B64, h)
        tail = whole.choose(part, tail)
    h ^= _scramble(tail) ^ length
    h = (h ^ (h >> 16)) * 0x85EBCA6B
    h = (h ^ (h >> 13)) * 0xC2B2AE35
    return h ^ (h >> 16)


def _without_dot(spelled: Lanes) -> tuple[Lanes, Lanes]:
    """Close the gap of each word's lowest dot, a zero coming in below; returns the dot's lowest bit too, 0 for none."""
    dots = spelled.split(8).compare("==", _DOT).masks(8).split(64)
    bit = dots & -dots
    below = bit - 1
    closed = (spelled & ~((bit << 8) - 1)) | ((spelled & below) << 8)
    return bit.compare("==", 0).choose(spelled, closed), bit


def _scale(builder: Any, dot: Lanes, beyond: Lanes | None) -> Lanes:
    """VW's negative powers of ten for the bytes above a dot; 8 more where it lies in the word `beyond`."""
    from llvmlite import ir

    powers = POWERS[: -LOWEST_POWER + 1][::-1][: 8 if beyond is None else 16]
    scales = [constant(builder, ir.FloatType(), float(power)) for power in powers]
    tests = [(dot & sum(1 << 56 - 8 * n for n in range(8) if n >> bit & 1)).compare("!=", 0) for bit in range(3)]
    for test in tests if beyond is None else [*tests, beyond]:
        scales = [test.choose(odd, even) for even, odd in zip(scales[::2], scales[1::2], strict=True)]
    return scales[0]


def _value(builder: Any, tokens: _Tokens) -> tuple[Lanes, Lanes]:
    """Float32 numbers as their bits, and which tokens are numbers."""
    negative = tokens.take_minus()
    high, low = tokens.spelled()
    high, dot = _without_dot(high)
    dotted, usable, beyond = dot.compare("!=", 0), tokens.usable, None
    if low is not None:
        closed, dot_low = _without_dot(low)
        high = dotted.choose(high | (low >> 56), high)
        low = dotted.choose(low << 8, closed)
        beyond = ~dotted & dot_low.compare("!=", 0)
        usable &= _are_digits(low)
        dot, dotted = dotted.choose(dot, dot_low), dotted | beyond
    number = _number(high, low)
    usable &= (tokens.length - negative.widened(64) - dotted.widened(64)).compare("!=", 0)
    usable &= _are_digits(high)
    if low is not None:
        usable &= number.compare("<", _EXACT)
    return number.narrowed(32).scaled(_scale(builder, dot, beyond)) ^ (negative.masks(32) & (1 << 31)), usable


def _read(builder: Any, addresses: list[Any], colons: bool, asked: Any, read: Callable[[_Tokens], Any]) -> Any:
    """Apply `read` to the tokens at addresses, as long ones only if any requested one is long; see `_Word`."""
    from llvmlite import ir

    word, results = _Word(builder, addresses, colons), []
    long = builder.icmp_unsigned("!=", builder.and_(word.missing.bits(), asked), ir.IntType(64)(0))
    with builder.if_else(long) as branches:
        for branch, is_long in zip(branches, (True, False), strict=True):
            with branch:
                behind = [builder.add(address, ir.IntType(64)(8)) for address in addresses] if is_long else None
                result = read(_Tokens(word, _Word(builder, behind, colons) if behind else None))
                results.append((result, builder.block))
    found = builder.phi(ir.IntType(64))
    for result, block in results:
        found.add_incoming(result, block)
    return found


def _addresses(builder: Any, text: Any, places: Any, more: int) -> list[Any]:
    """Addresses in the text, loaded one by one: taking them out of lanes costs more."""
    from llvmlite import ir

    word, half = ir.IntType(64), ir.IntType(32).as_pointer()
    each = (builder.load(builder.inttoptr(builder.add(places, word(4 * k)), half)) for k in range(COUNT))
    return [builder.add(builder.add(text, word(more)), builder.zext(place, word)) for place in each]


@intrinsic
def hash_eight(
    typing_context: Any, text: Any, begins: Any, seeds: Any, numbers: Any, mask: Any, stops: Any, indices: Any
) -> Any:
    """Hash eight names as `hash_name` does.

    Args:
        text: address of the text.
        begins: address of the places in it where the names begin, uint32.
        seeds: address of the hashes of their namespaces, uint32.
        numbers: 255 if names of digits are numbers, 0 if they are hashed.
        mask: of the indices.
        stops, indices: addresses for eight results each: the places behind the names, and their hashes.

    Returns:
        Two times eight bits, the first name's lowest: whether it was read, and whether a colon follows.
    """
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        text, begins, seeds, numbers, mask, stops, indices = arguments
        half, nothing = ir.IntType(32), ir.IntType(64)(0)
        seed, masks = load(builder, seeds, half), broadcast(builder, builder.trunc(mask, half))

        def read(tokens: _Tokens) -> Any:
            high, low = tokens.spelled()
            are_numbers = flags(builder, numbers) & _are_digits(high)
            if low is not None:
                are_numbers &= _are_digits(low)
            with builder.if_then(builder.icmp_unsigned("!=", are_numbers.bits(), nothing)):
                store(builder, (_number(high, low).narrowed(32) + seed) & masks, indices)
            with builder.if_then(builder.icmp_unsigned("!=", (~are_numbers).bits(), nothing)):
                hashed = _murmur(tokens, seed) & masks
                store(builder, are_numbers.choose(load(builder, indices, half), hashed), indices)
            store(builder, load(builder, begins, half) + tokens.length.narrowed(32), stops)
            colons = (tokens.usable & tokens.colon).bits()
            return builder.or_(tokens.usable.bits(), builder.shl(colons, ir.IntType(64)(COUNT)))

        return _read(builder, _addresses(builder, text, begins, 0), True, ir.IntType(64)(255), read)

    return types.uint64(*[types.uint64] * 7), generate


@intrinsic
def read_eight(typing_context: Any, text: Any, stops: Any, asked: Any, values: Any) -> Any:
    """Read eight values.

    Args:
        text: address of the text.
        stops: address of the places behind the names, where a colon may be, uint32.
        asked: a bit for each feature that has a value, the first one's lowest.
        values: address for eight results, float32; 1 without a value.

    Returns:
        Two times eight bits: whether it was read, and whether it is 0.
    """
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        text, stops, asked, values = arguments

        def read(tokens: _Tokens) -> Any:
            value, usable = _value(builder, tokens)
            wanted = flags(builder, asked)
            store(builder, wanted.choose(value, _ONE), values)
            zeros = (wanted & usable & (value << 1).compare("==", 0)).bits()
            return builder.or_(usable.bits(), builder.shl(zeros, ir.IntType(64)(COUNT)))

        return _read(builder, _addresses(builder, text, stops, 1), False, asked, read)

    return types.uint64(*[types.uint64] * 4), generate


@intrinsic
def fill_eight(typing_context: Any, address: Any, word: Any) -> Any:
    """Write the low half of a word eight times."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        store(builder, broadcast(builder, builder.trunc(arguments[1], ir.IntType(32))), arguments[0])
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


@intrinsic
def copy_eight(typing_context: Any, target: Any, source: Any) -> Any:
    """Copy eight half words."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        store(builder, load(builder, arguments[1], ir.IntType(32)), arguments[0])
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate
