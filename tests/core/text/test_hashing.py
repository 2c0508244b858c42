"""Hashes against published vectors, VW's own indices and a plain implementation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hutch.core.text import hashing
from hutch.core.text.hashing import hash_feature, hash_namespace, namespace_id

MASK = 2**18 - 1


def murmur(data: bytes, seed: int) -> int:
    """MurmurHash3 x86_32, written down once more."""
    h = seed
    words = [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]
    for i, word in enumerate(words):
        k = word * 0xCC9E2D51 % 2**32
        k = (k << 15 | k >> 17) % 2**32 * 0x1B873593 % 2**32
        h ^= k
        if 4 * i + 4 <= len(data):
            h = ((h << 13 | h >> 19) % 2**32 * 5 + 0xE6546B64) % 2**32
    h ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ h >> shift) * factor % 2**32
    return h ^ h >> 16


@pytest.mark.parametrize(
    ("text", "seed", "value"),
    [
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"", 0xFFFFFFFF, 0x81F16F39),
        (b"\xff\xff\xff\xff", 0, 0x76293B50),
        (b"!Ce\x87", 0, 0xF55B516B),
        (b"!Ce", 0, 0x7E4A8634),
        (b"!C", 0, 0xA0F7B07A),
        (b"!", 0, 0x72661CF4),
        (b"test", 0x9747B28C, 0x704B81DC),
        (b"Hello, world!", 0x9747B28C, 0x24884CBA),
        (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD),
    ],
)
def test_published_vectors(text: bytes, seed: int, value: int) -> None:
    assert murmur(text, seed) == value
    if text:
        assert hash_namespace(text, seed, "all") == value


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=40), st.integers(0, 2**32 - 1))
def test_every_length_and_seed(text: bytes, seed: int) -> None:
    if text != b" ":
        assert hash_namespace(text, seed, "all") == (murmur(text, seed) if text or seed else 0)
    assert namespace_id(text) == murmur(b"" if text == b" " else text, 0)


@pytest.mark.parametrize(
    ("namespace", "name", "index"),
    [
        ("f", "a", 14355),
        ("f", "b", 146788),
        ("g", "b", 149920),
        ("", "a", 92594),
        (" ", "b", 163331),
        ("f", "1", 34876),
        ("f", "012", 34887),
        ("f", "4294967296", 34875),
        ("f", "99999999999999999999", 34874),
        ("f", "-5", 150694),
        ("f", "1.5", 53731),
        ("f", "١", 34610),
        ("12", "12", 24),
        ("été", "café", 97633),
        ("foo", "a", 72148),
    ],
)
def test_indices_of_vw(namespace: str, name: str, index: int) -> None:
    assert hash_feature(namespace, name) & MASK == index
    assert hash_feature(namespace.encode(), name.encode()) & MASK == index


@pytest.mark.parametrize(
    ("namespace", "name", "seed", "mode", "index"),
    [
        ("f", "1", 0, "all", 204046),
        ("", "12", 0, "all", 192277),
        ("12", "1", 0, "all", 260061),
        ("f", "1", 5, "strings", 133678),
        ("", "1", 5, "strings", 86990),
        ("12", "1", 5, "strings", 18),
        ("12", "a", 5, "strings", 157310),
    ],
)
def test_modes_and_seeds_of_vw(namespace: str, name: str, seed: int, mode: hashing.HashMode, index: int) -> None:
    assert hash_feature(namespace, name, seed, mode) & MASK == index


def test_string_values_chain() -> None:
    assert hash_namespace("x", hash_feature("f", "a")) & MASK == 187176


def test_control_characters_at_the_ends_do_not_count() -> None:
    assert hash_namespace("\t12\x01") == hash_namespace(" 12 ") == 12
    assert hash_namespace("\x01ab\x02") == hash_namespace("ab")
    assert hash_namespace("\x01ab\x02", mode="all") != hash_namespace("ab", mode="all")


def test_namespace_ids() -> None:
    assert namespace_id("rater", "letter") == ord("r")
    assert namespace_id("", "letter") == namespace_id(" ", "letter") == 32
    assert namespace_id("") == namespace_id(" ") == 0
    assert namespace_id("12") == murmur(b"12", 0)
