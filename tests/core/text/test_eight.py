"""Eight features at once against the functions that read one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import int64, uint32, uint64

from hutch.core.kernel.abi import float32s_at, uint32s_at
from hutch.core.kernel.cache import entry
from hutch.core.text.eight import ALL_EIGHT, eight_plain, eight_valued
from hutch.core.text.hashing import hash_name
from hutch.core.text.words import any_number

PADDING = 64
SEED, MASK = 0x9E3779B9, (1 << 22) - 1
DELIMITERS = b" \n:|\t"


@entry("uint64(uint64, uint64, uint64, uint64, uint64)")
def valued(text, positions, numbers, indices, values):
    return eight_valued(text, positions, uint64(SEED), numbers, uint64(MASK), indices, values)


@entry("uint64(uint64, uint64, uint64, uint64, uint64)")
def plain(text, positions, numbers, indices, values):
    return eight_plain(text, positions, uint64(SEED), numbers, uint64(MASK), indices, values)


@entry("int64(int64, int64, int64, uint64)")
def name_alone(start, stop, hash_all, index):
    uint32s_at(index, uint64(1))[0] = hash_name(start, stop, uint32(SEED), hash_all != 0) & uint32(MASK)
    return int64(0)


@entry("int64(int64, int64, uint64)")
def number_alone(start, stop, value):
    number, good = any_number(start, stop)
    float32s_at(value, uint64(1))[0] = number
    return int64(good)


class Read:
    """What the kernels make of a text that begins with a blank: eight at once, and each token by itself."""

    def __init__(self, text: bytes, hash_all: bool = False, with_values: bool = True) -> None:
        padded = np.frombuffer(bytes(PADDING) + text + bytes(PADDING), np.uint8)
        start = int(padded.ctypes.data) + PADDING
        found = [k for k, byte in enumerate(text) if byte in DELIMITERS]
        positions = np.array(found + 17 * [len(text) - 1], np.uint32)
        self.indices, self.values = np.zeros(8, np.uint32), np.zeros(8, np.float32)
        numbers = 0 if hash_all else 255
        places = (positions.ctypes.data, numbers, self.indices.ctypes.data, self.values.ctypes.data)
        found_bits = (valued if with_values else plain)(start, *places)
        self.all_good = found_bits == ALL_EIGHT
        self.good, self.usual, self.ends = ([bool(found_bits >> 8 * k + i & 1) for i in range(8)] for k in range(3))
        step = 2 if with_values else 1
        self.wanted_indices = np.zeros(8, np.uint32)
        self.wanted_values = np.zeros(8, np.float32) if with_values else np.ones(8, np.float32)
        self.is_number = 8 * [False]
        for i in range(8):
            before, stop, end = (int(positions[step * i + k]) for k in (0, 1, step))
            if before + 1 < stop:
                name_alone(start + before + 1, start + stop, hash_all, self.wanted_indices[i:].ctypes.data)
            if with_values and stop + 1 < end:
                value = self.wanted_values[i:].ctypes.data
                self.is_number[i] = number_alone(start + stop + 1, start + end, value) == 1


def agree(read: Read) -> None:
    """What is said to be good is what the plain functions read."""
    good = np.array(read.good)
    assert np.array_equal(read.indices[good], read.wanted_indices[good])
    assert np.array_equal(read.values[good].view(np.uint32), read.wanted_values[good].view(np.uint32))


NAMES = ["7", "a", "12345", "abcdefg", "1234567", "12345678", "abcdefgh", "1a", "feature10", "0123456789", "x" * 12]
NAMES += ["123456789012345", "a" * 15, "3c6ef372", "é", "\x7f!"]
NUMBERS = ["1", "0.5", "-0.25", "1.", ".5", "-.5", "1.1137", "999999", "0.123456", "-0.123456", "12345678", "123.4567"]
NUMBERS += ["16777151", "0.00000001", "-1234.5678", "0.000000123", "00000000000.25", "-12", "1677715.1"]


@pytest.mark.parametrize("hash_all", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", ["1", "-0.123456"])
def test_usual_features_are_read_at_once(name: str, number: str, hash_all: bool) -> None:
    read = Read(f" {name}:{number}".encode() * 8 + b" ", hash_all)
    assert read.all_good
    agree(read)
    read = Read(f" {name}".encode() * 8 + b" ", hash_all, with_values=False)
    assert read.all_good
    agree(read)


@pytest.mark.parametrize("number", NUMBERS)
def test_usual_numbers_are_read_at_once(number: str) -> None:
    for others in (number, "2", "-3.25", "0.1234567"):
        read = Read((f" a:{others}" * 3 + f" b:{number}" + f" c:{others}" * 4 + " ").encode())
        assert read.all_good
        agree(read)


UNUSUAL = ["0", "-0", "0.0", "x", "1e-3", "1.2.3", "--1", "-", ".", "-.", "", "nan", "+3", "16777216", "1234567890.12"]
UNUSUAL += ["0.0000000001", "1234567812345678", "12a4567", "1" * 17, "1\xff", "1/", "1;"]


@pytest.mark.parametrize("number", UNUSUAL)
def test_only_the_unusual_is_left(number: str) -> None:
    for others in ("2", "0.1234567"):
        read = Read((f" a:{others}" * 3 + f" b:{number}" + f" c:{others}" * 4 + " ").encode("latin-1"))
        assert read.good == [True] * 3 + [False] + [True] * 4
        agree(read)


@pytest.mark.parametrize("name", ["", "a" * 16, "1" * 16, "b" * 40])
def test_names_that_are_empty_or_long_are_left(name: str) -> None:
    read = Read(f" a b c {name} d e f g ".encode(), with_values=False)
    assert read.good == [True] * 3 + [False] + [True] * 4
    agree(read)


def test_what_follows_is_told() -> None:
    read = Read(b" a:1 b:2\n-1 |f a:3 b:4 c:5 d:6 e:7 ")
    assert read.usual[:3] == [True, True, False]
    assert read.ends[:2] == [False, True]
    read = Read(b" a b |f c d e f g ", with_values=False)
    assert read.usual[:3] == [True, True, False]
    assert not any(read.ends)


names = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters=":|"), max_size=17)
digits = st.text("0123456789", min_size=1, max_size=16)
decimals = st.from_regex(r"-?[0-9]{0,6}\.?[0-9]{0,9}", fullmatch=True)
features = st.tuples(st.one_of(names, digits), st.one_of(decimals, decimals, st.sampled_from(UNUSUAL[:-3])))


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(features, min_size=8, max_size=8), hash_all=st.booleans(), end=st.sampled_from([" ", "\n"]))
def test_any_features(parts: list[tuple[str, str]], hash_all: bool, end: str) -> None:
    read = Read(("".join(f" {name}:{number}" for name, number in parts) + end).encode(), hash_all)
    agree(read)
    assert all(number or not good for good, number in zip(read.good, read.is_number, strict=True))
    agree(Read(("".join(f" {name}" for name, _ in parts) + end).encode(), hash_all, with_values=False))
