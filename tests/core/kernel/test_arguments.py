"""Kernels called with arrays: what is handed over, what comes back, and what only Numba can do."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from hutch.core.kernel.arguments import describe, text_of
from hutch.core.kernel.cache import ArrayKernel, compiled

RECORD = np.dtype([("x", "f8"), ("n", "i4")], align=True)


class Pair(NamedTuple):
    """Two arrays under names."""

    first: Any
    second: Any


@compiled
def _mixed(numbers, table, strided, pair, flag, small, wide, records):
    total = 0.0
    for i in range(len(numbers)):
        total += numbers[i] * (2.0 if flag else 1.0)
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            total += (i + 10 * j) * table[i, j]
    for i in range(len(strided)):
        total += strided[i] * pair.first[i]
    pair.second[0] = total
    return total, (len(numbers), small, not flag), wide + np.uint64(1), records[0]["x"] + records[1]["n"]


@compiled
def _nothing(out):
    out[0] = 7


@compiled
def _new(count):
    return np.ones(count)


@compiled
def _too_much(count):
    return np.ones(count).sum()


def _arguments() -> list[Any]:
    numbers = np.arange(3, dtype=np.float32)
    table = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    strided = np.arange(8, dtype=np.int32)[::-2]
    records = np.zeros(2, RECORD)
    records["x"], records["n"] = 0.5, 3
    return [
        numbers,
        table,
        strided,
        Pair(np.arange(4.0), np.zeros(1)),
        True,
        np.float32(0.1),
        np.uint64(1 << 63),
        records,
    ]


def test_a_kernel_gets_and_returns_what_its_function_does() -> None:
    ours, plain = _arguments(), _arguments()
    found, expected = _mixed(*ours), _mixed.py_func(*plain)
    assert found == (expected[0], (3, float(np.float32(0.1)), False), (1 << 63) + 1, 3.5)
    assert ours[3].second[0] == plain[3].second[0] == expected[0] != 0
    assert [type(value) for value in (found[0], *found[1], found[2])] == [float, int, float, bool, int]
    for frozen in ours[:3]:
        frozen.flags.writeable = False
    _mixed(*ours)
    assert len(_mixed._natives) == 1  # an array that cannot be written is no other kind
    out = np.zeros(1, np.int64)
    assert _nothing(out) is None and out[0] == 7


def test_what_only_numba_can_hand_over_it_does() -> None:
    assert _new(3).tolist() == [1.0, 1.0, 1.0]
    assert isinstance(_new, ArrayKernel) and list(_new._natives.values()) == [None]


def test_a_kernel_without_memory_says_so() -> None:
    assert _too_much(4) == 4.0
    with pytest.raises(MemoryError, match="kernel _too_much failed"):
        _too_much(1 << 50)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "int64"),
        (True, "bool"),
        (1.5, "float64"),
        (np.bool_(True), "bool"),
        (np.uint8(3), "uint8"),
        (np.zeros((2, 3), np.uint16), "uint16[2C]"),
        (np.zeros((2, 3)).T, "float64[2F]"),
        (np.zeros((4, 4))[::2, ::2], "float64[2A]"),
        (np.zeros(0, bool), "bool[1C]"),
        ((1, (np.zeros(2), 2.0)), "(int64, (float64[1C], float64))"),
        ((), "()"),
    ],
)
def test_kinds_in_words(value: Any, text: str) -> None:
    kind = describe(value, [])
    assert kind is not None and text_of(kind) == text


def test_tuples_with_names_and_records_are_told_apart() -> None:
    class Other(NamedTuple):
        first: Any
        third: Any

    texts = {text_of(describe(value, []) or "") for value in (Pair(1, 2), Other(1, 2), (1, 2))}
    records = np.zeros(1, RECORD)
    texts |= {text_of(describe(array, []) or "") for array in (records, records.astype([("x", "f8"), ("m", "i4")]))}
    assert len(texts) == 5


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        1 << 63,
        np.zeros(2, ">f8"),
        np.zeros(9, np.uint8)[1:].view("f8"),
        np.zeros(1, object),
        (1, None),
        [1],
    ],
)
def test_what_is_left_to_numba(value: Any) -> None:
    assert describe(value, []) is None


PROGRAM = """
import sys
import numpy as np
from hutch.core.kernel.cache import compilations
import kernels
x = np.arange(4, dtype=np.{dtype})
print(kernels.total(x, 1.0), compilations(), "numba" in sys.modules)
"""
KERNEL = """
from hutch.core.kernel.cache import compiled
@compiled
def added(x, y):
    return x + y
@compiled
def total(x, start):
    for i in range(len(x)):
        start = added(start, {factor} * x[i])
    return start
"""


@pytest.mark.slow
def test_a_kernel_is_loaded_without_numba_until_a_source_or_a_kind_changes(tmp_path: Path) -> None:
    def run(dtype: str, factor: float) -> list[str]:
        (tmp_path / "kernels.py").write_text(KERNEL.format(factor=factor))
        known = {
            "HUTCH_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": str(tmp_path),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-c", PROGRAM.format(dtype=dtype)]
        done = subprocess.run(command, env={**os.environ, **known}, capture_output=True, text=True, check=True)
        return done.stdout.split()

    stored = "False" if sys.platform == "linux" else "True"
    assert run("float64", 2.0)[::2] == ["13.0", "True"]
    assert run("float64", 2.0) == ["13.0", "0", stored]
    assert run("float32", 2.0)[::2] == ["13.0", "True"]
    assert run("float32", 2.0) == ["13.0", "0", stored]
    assert run("float64", 3.0)[::2] == ["19.0", "True"]
    assert run("float64", 3.0) == ["19.0", "0", stored]
