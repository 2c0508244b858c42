"""Eight features at once against the functions that read one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import int64, uint32, uint64

from hutch.core.kernel.abi import float32s_at, uint32s_at
from hutch.core.kernel.cache import entry
from hutch.core.text.eight import hash_eight, read_eight
from hutch.core.text.hashing import hash_name
from hutch.core.text.numbers import whole_number

PADDING = 64
SEED, MASK = 0x9E3779B9, (1 << 22) - 1
COUNT = 8


@entry("uint64(uint64, uint64, uint64, uint64, uint64, uint64)")
def names_at_once(text, begins, seeds, numbers, stops, indices):
    return hash_eight(text, begins, seeds, numbers, uint64(MASK), stops, indices)


@entry("uint64(uint64, uint64, uint64, uint64)")
def values_at_once(text, stops, asked, values):
    return read_eight(text, stops, asked, values)


@entry("int64(int64, int64, int64, uint64)")
def name_alone(start, stop, hash_all, index):
    uint32s_at(index, uint64(1))[0] = hash_name(start, stop, uint32(SEED), hash_all != 0) & uint32(MASK)
    return int64(0)


@entry("int64(int64, int64, uint64)")
def number_alone(start, stop, value):
    number, good = whole_number(start, stop)
    float32s_at(value, uint64(1))[0] = number
    return int64(good)


class Read:
    """Results of the kernels for eight features at once, and for each feature alone."""

    def __init__(self, features: list[bytes], hash_all: bool = False) -> None:
        text = b" ".join(features) + b" "
        padded = np.frombuffer(bytes(PADDING) + text + bytes(PADDING), np.uint8)
        start = int(padded.ctypes.data) + PADDING
        sizes = [len(feature) + 1 for feature in features]
        begins = np.cumsum([0, *sizes[:-1]]).astype(np.uint32)
        self.stops, self.indices, self.values = np.zeros(8, np.uint32), np.zeros(8, np.uint32), np.zeros(8, np.float32)
        seeds = np.full(8, SEED, np.uint32)
        places = (begins.ctypes.data, seeds.ctypes.data, 0 if hash_all else 255)
        found = names_at_once(start, *places, self.stops.ctypes.data, self.indices.ctypes.data)
        self.named = [bool(found >> k & 1) for k in range(COUNT)]
        self.asked = [bool(found >> k + COUNT & 1) for k in range(COUNT)]
        found = values_at_once(start, self.stops.ctypes.data, found >> COUNT, self.values.ctypes.data)
        self.read = [bool(found >> k & 1) for k in range(COUNT)]
        self.zero = [bool(found >> k + COUNT & 1) for k in range(COUNT)]
        self.wanted_indices, self.wanted_values = np.zeros(8, np.uint32), np.ones(8, np.float32)
        self.wanted_stops, self.is_number = np.zeros(8, np.uint32), 8 * [False]
        for k, feature in enumerate(features):
            name, colon, value = feature.partition(b":")
            stop = self.wanted_stops[k] = int(begins[k]) + len(name)
            name_alone(start + int(begins[k]), start + int(stop), hash_all, self.wanted_indices[k:].ctypes.data)
            if colon:
                bounds = start + int(stop) + 1, start + int(stop) + 1 + len(value)
                self.is_number[k] = number_alone(*bounds, self.wanted_values[k:].ctypes.data) == 1


def agree(read: Read, features: list[bytes]) -> None:
    """Check that features reported as read equal those of the plain functions."""
    for k, feature in enumerate(features):
        if read.named[k]:
            assert (read.stops[k], read.indices[k]) == (read.wanted_stops[k], read.wanted_indices[k])
            assert read.asked[k] == (b":" in feature)
        if read.asked[k] and read.read[k]:
            assert read.is_number[k]
            assert read.values[k : k + 1].view(np.uint32) == read.wanted_values[k : k + 1].view(np.uint32)
        assert read.zero[k] == (read.asked[k] and read.read[k] and read.values[k] == 0)
        if not read.asked[k]:
            assert read.values[k] == 1


NAMES = ["7", "a", "12345", "abcdefg", "1234567", "12345678", "abcdefgh", "1a", "feature10", "0123456789", "x" * 12]
NAMES += ["123456789012345", "a" * 15, "3c6ef372", "é", "\x7f!"]
NUMBERS = ["1", "0.5", "-0.25", "1.", ".5", "-.5", "1.1137", "999999", "0.123456", "-0.123456", "12345678", "123.4567"]
NUMBERS += ["16777151", "0.00000001", "-1234.5678", "0.000000123", "00000000000.25", "-12", "1677715.1"]
NUMBERS += ["0", "-0", "0.0", "0.0000000001", "-0.000000000012", "000000000000000", "8", "-9", "1234567", "-123456.7"]


@pytest.mark.parametrize("hash_all", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_usual_names_are_read_at_once(name: str, hash_all: bool) -> None:
    for other in (name, "b", "item_12:3", "0123456789", "x" * 12):
        features = [part.encode() for part in (name, other, f"{name}:1", other, name, other, other, f"{name}:-2.5")]
        read = Read(features, hash_all)
        assert all(read.named)
        agree(read, features)


@pytest.mark.parametrize("number", NUMBERS)
def test_usual_numbers_are_read_at_once(number: str) -> None:
    for other in (number, "2", "-3.25", "0.1234567"):
        features = [f"{name}:{value}".encode() for name in "abcd" for value in (number, other)]
        read = Read(features)
        assert all(read.read)
        agree(read, features)


UNUSUAL = ["x", "1e-3", "1.2.3", "--1", "-", ".", "-.", "", "nan", "+3", "16777216", "1234567890.12", "3:4", "3|f", ":"]
UNUSUAL += ["1234567812345678", "12a4567", "1" * 17, "1\xff", "1/", "1;", "0.00000001.", "1.0000000.1", "0.1-"]


@pytest.mark.parametrize("number", UNUSUAL)
def test_only_the_unusual_is_left(number: str) -> None:
    for other in ("2", "0.1234567"):
        features = [f"a:{value}".encode("latin-1") for value in 3 * [other] + [number] + 4 * [other]]
        read = Read(features)
        assert read.read == [True] * 3 + [False] + [True] * 4
        agree(read, features)


@pytest.mark.parametrize("name", ["", "a" * 16, "1" * 16, "b" * 40])
def test_names_that_are_empty_or_long_are_left(name: str) -> None:
    features = [word.encode() for word in ("a", "b", "c", name, "d", "e:1", "f", "g:2")]
    read = Read(features)
    assert read.named == [True] * 3 + [False] + [True] * 4
    agree(read, features)


names = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters=":"), max_size=17)
digits = st.text("0123456789", min_size=1, max_size=16)
decimals = st.from_regex(r"-?[0-9]{0,6}\.?[0-9]{0,9}", fullmatch=True)
values = st.one_of(decimals, decimals, st.sampled_from([value for value in UNUSUAL if value.isascii()]))
features = st.tuples(st.one_of(names, digits), st.one_of(st.none(), values))


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(features, min_size=8, max_size=8), hash_all=st.booleans())
def test_any_features(parts: list[tuple[str, str | None]], hash_all: bool) -> None:
    text = [(name if value is None else f"{name}:{value}").encode() for name, value in parts]
    agree(Read(text, hash_all), text)
