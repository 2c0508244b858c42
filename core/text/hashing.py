"""VW's hashing of names to feature indices, so that models, readable weights and VW command lines agree.

A name is hashed with MurmurHash3 (Austin Appleby's 32-bit x86 variant). In the default mode `strings` a name made of
digits only is taken as a number and added to the seed instead, so that numbered features keep their order and never
collide below 2^bits. A feature is hashed with the hash of its namespace as the seed. Everything is modulo 2^32; a
parser keeps the low `bits`.
"""

from typing import Literal

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.kernel.cache import entry
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.raw_bytes import byte_at, half_at

HashMode = Literal["strings", "all"]
"""`strings`: names of digits are numbers; `all`: every name is hashed (VW's `--hash`)."""
NamespaceMode = Literal["name", "letter"]
"""`name`: namespaces are distinguished by their full names; `letter`: by their first byte, as in VW."""

ANONYMOUS_LETTER = 32
"""Id of the anonymous namespace in letter mode (a blank, as in VW); in name mode it is murmur3_32(b"") = 0."""

PADDING = 4


@helper
def murmur_mix(h, k):
    """Mix one little-endian 32-bit word into the hash."""
    return murmur_rotate(h ^ murmur_scramble(k), uint32(13)) * uint64(5) + uint64(0xE6546B64) & uint64(0xFFFFFFFF)


@helper
def murmur_scramble(k):
    """The value to xor into the hash for the word `k`; 0 for 0, so an empty tail needs no branch."""
    k = (uint64(k) * uint64(0xCC9E2D51)) & uint64(0xFFFFFFFF)
    return (murmur_rotate(k, uint32(15)) * uint64(0x1B873593)) & uint64(0xFFFFFFFF)


@helper
def murmur_rotate(x, bits):
    """Rotate 32 bits to the left."""
    x = uint64(x)
    return ((x << uint64(bits)) | (x >> uint64(32 - bits))) & uint64(0xFFFFFFFF)


@helper
def murmur_finish(h, length):
    """Xor the length and avalanche."""
    h = uint64(h) ^ (uint64(length) & uint64(0xFFFFFFFF))
    h = ((h ^ (h >> uint64(16))) * uint64(0x85EBCA6B)) & uint64(0xFFFFFFFF)
    h = ((h ^ (h >> uint64(13))) * uint64(0xC2B2AE35)) & uint64(0xFFFFFFFF)
    return uint32(h ^ (h >> uint64(16)))


@helper
def murmur3_32(start, stop, seed):
    """MurmurHash3 x86_32 of the bytes at addresses `start` to `stop`; up to 3 bytes more are loaded."""
    h = uint64(seed) & uint64(0xFFFFFFFF)
    at = start
    while at + 4 <= stop:
        h = murmur_mix(h, half_at(at))
        at += 4
    tail = half_at(at) & ((uint64(1) << uint64(8 * (stop - at))) - uint64(1))
    return murmur_finish(h ^ murmur_scramble(tail), stop - start)


@helper
def hash_name(start, stop, seed, hash_all):
    """VW's hash of the name at `start` to `stop`: a number plus the seed if all are digits, else MurmurHash3; uint32.

    Bytes up to 0x20 at both ends do not count unless `hash_all`.
    """
    if hash_all:
        return murmur3_32(start, stop, seed)
    while start < stop and byte_at(start) <= 32:
        start += 1
    while start < stop and byte_at(stop - 1) <= 32:
        stop -= 1
    number = uint64(0)
    for at in range(start, stop):
        byte = byte_at(at)
        if byte < 48 or byte > 57:
            return murmur3_32(start, stop, seed)
        number = uint64(10) * number + uint64(byte - 48)
    return uint32(number + uint64(seed))


@helper
def anonymous_hash(seed):
    """Hash of the anonymous namespace; uint32."""
    return uint32(0) if seed == 0 else murmur_finish(uint64(seed), 0)


@entry("int64(int64, int64, int64, int64)")
def _hash_at(start, size, seed, hash_all):
    return int64(hash_name(start, start + size, uint32(seed), hash_all != 0))


def _bytes(name: str | bytes) -> bytes:
    return name.encode() if isinstance(name, str) else name


def _hash(name: str | bytes, seed: int, hash_all: bool) -> int:
    text = _bytes(name)
    padded = np.frombuffer(text + bytes(PADDING), np.uint8)
    return int(_hash_at(padded.ctypes.data, len(text), int(seed), hash_all))


def hash_text(text: str | bytes, seed: int, mode: HashMode = "strings") -> int:
    """The hash of any text with a seed; an integer below 2^32."""
    return _hash(text, seed, mode == "all")


def hash_namespace(namespace: str | bytes, seed: int = 0, mode: HashMode = "strings") -> int:
    """The hash of a namespace's name: the seed of its features.

    Args:
        namespace: full name; empty or one blank for the anonymous namespace.
        seed: VW's `--hash_seed`, below 2^32.
        mode: how names of digits are treated.

    Returns:
        An integer below 2^32.

    >>> hash_namespace("features"), hash_namespace(""), hash_namespace("12")
    (2493003127, 0, 12)
    """
    if namespace in ("", " ", b"", b" "):
        return 0 if seed == 0 else _hash(b"", seed, True)
    return _hash(namespace, seed, mode == "all")


def hash_feature(namespace: str | bytes, name: str | bytes, seed: int = 0, mode: HashMode = "strings") -> int:
    """The hash of a feature before masking; `hash & (2**bits - 1)` is its index in a table of 2^bits rows.

    Args:
        namespace: full name of its namespace; empty for the anonymous one.
        name: the feature's name as it stands in a line. For a string value take `hash_namespace(value, seed)` with
            this function's result for the name as the seed.
        seed: VW's `--hash_seed`, below 2^32.
        mode: how names of digits are treated.

    Returns:
        An integer below 2^32.

    >>> hash_feature("f", "a") & (2**18 - 1)
    14355
    >>> hash_feature("", "12"), hash_feature("", "012")
    (12, 12)
    >>> hash_feature("f", "12", mode="all") & (2**18 - 1)
    65340
    """
    return _hash(name, hash_namespace(namespace, seed, mode), mode == "all")


def namespace_id(name: str | bytes, mode: NamespaceMode = "name") -> int:
    """The id of a namespace in `Batch.namespace_id`.

    Args:
        name: full name; empty or one blank for the anonymous namespace.
        mode: `name` gives MurmurHash3 of the full name (whatever the hash options), `letter` the first byte.

    Returns:
        An integer below 2^32, or below 256 in letter mode.

    >>> namespace_id("rater", "letter") == ord("r"), namespace_id("", "letter"), namespace_id("")
    (True, 32, 0)
    """
    text = b"" if name in (" ", b" ") else _bytes(name)
    if mode == "letter":
        return text[0] if text else ANONYMOUS_LETTER
    return _hash(text, 0, True)
