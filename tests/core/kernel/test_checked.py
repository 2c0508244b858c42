"""Checked mode: what kernels do that they must not is an error with its place, and costs nothing outside the mode."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hutch.core.kernel import object_store

PROGRAM = """
import sys
import numpy as np
from numpy import uint64
from hutch.core.kernel.abi import call, call_loss, example_of, float32s_at, kernel, loss_kernel, state_of
from hutch.core.kernel.cache import compilations, compiled, entry
from hutch.core.kernel.checked import check
from hutch.core.kernel.decorators import helper

state = state_of(np.dtype([("size", "u8")]))


@helper
def element(array, i):
    return array[i]


@entry("float32(uint64, uint64, uint64)")
def behind_a_helper(address, length, i):
    return element(float32s_at(address, length), i)


@compiled
def of_an_array(array, count):
    total = 0.0
    for i in range(count):
        total += array[i]
    return total


@compiled
def that_gives_an_array(array, i):
    return array[:i] + array[i]


@kernel
def below(layer, example, label, importance, offset):
    return float32s_at(layer, uint64(2))[offset]


@entry("float32(uint64, uint64, uint64)")
def by_address(function, layer, offset):
    return call(function, layer, uint64(0), np.float32(0), np.float32(0), offset)


@kernel
def of_a_record(layer, example, label, importance, offset):
    return example_of(example).raw


@entry("uint64(uint64)")
def of_a_state(layer):
    return state(layer).size


@entry("int64(int64)")
def stated(i):
    check(i > 3)
    return i


@loss_kernel
def own_loss(prediction, label, scale, norm, loss):
    return float32s_at(loss, uint64(2))[uint64(prediction)]


@entry("float64(uint64, float64, uint64)")
def of_a_loss(function, prediction, loss):
    return call_loss(function, prediction, 0.0, 0.0, 0.0, loss)


array = np.arange(5, dtype=np.float32)
at, nothing = array.ctypes.data, np.zeros(16, np.uint64)


def try_it(function, *arguments):
    try:
        print(function(*arguments))
    except IndexError as error:
        print(str(error).replace(__file__, "FILE"))


if __name__ == "__main__":
    try_it(behind_a_helper, at, 5, 4)
    try_it(of_an_array, array, 5)
    try_it(by_address, below.address, at, 1)
    try_it(stated, 4)
    if len(sys.argv) > 1:
        try_it(behind_a_helper, at, 5, 5)
        try_it(behind_a_helper, at, 5, 2**64 - 1)
        try_it(behind_a_helper, 0, 5, 0)
        try_it(of_an_array, array, 6)
        try_it(that_gives_an_array, array, 5)
        try_it(by_address, below.address, at, 2)
        try_it(by_address, of_a_record.address, at, 2)
        try_it(of_a_state, nothing.ctypes.data)
        try_it(stated, 3)
        try_it(of_a_loss, own_loss.address, 2.0, at)
    print(compilations())
"""

PLACES = {
    name: 1 + PROGRAM[: PROGRAM.index(text)].count("\n")
    for name, text in (
        ("element", "return array[i]"),
        ("of_an_array", "total += array[i]"),
        ("that_gives_an_array", "return array[:i]"),
        ("below", "return float32s_at(layer"),
        ("of_a_record", "return example_of"),
        ("of_a_state", "return state("),
        ("own_loss", "return float32s_at(loss"),
        ("stated", "check(i > 3)"),
    )
}


def _said(name: str, what: str, called: str = "") -> str:
    by = f" (Python has called kernel {called or name!r})"
    return f"FILE:{PLACES[name]}: kernel {name!r}: {what}{by}"


def _run(folder: Path, *arguments: str, **environment: str) -> list[str]:
    file = folder / "kernels.py"
    file.write_text(PROGRAM)
    known = {**os.environ, "HUTCH_CACHE_DIR": str(folder / "cache"), "HUTCH_CHECKED": "", **environment}
    done = subprocess.run([sys.executable, str(file), *arguments], env=known, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.slow
def test_each_violation_is_an_error_that_names_its_place(tmp_path: Path) -> None:
    good = ["4.0", "10.0", "1.0", "4"]
    wanted = [
        *good,
        _said("element", "index 5 is out of bounds for length 5", "behind_a_helper"),
        _said("element", "index -1 is out of bounds for length 5", "behind_a_helper"),
        _said("element", "index 0 is out of bounds for length 0", "behind_a_helper"),
        _said("of_an_array", "index 5 is out of bounds for length 5"),
        f"FILE:{PLACES['that_gives_an_array']}: kernel 'that_gives_an_array': out of bounds",  # called through Numba
        _said("below", "index 2 is out of bounds for length 2", "by_address"),
        _said("of_a_record", "a record at address 0 is read", "by_address"),
        _said("of_a_state", "a record at address 0 is read"),
        _said("stated", "a condition that is checked does not hold"),
        _said("own_loss", "index 2 is out of bounds for length 2", "of_a_loss"),
    ]
    *first, compiled = _run(tmp_path, "all", HUTCH_CHECKED="1")
    assert first == wanted
    assert int(compiled) > 0
    *again, compiled = _run(tmp_path, "all", HUTCH_CHECKED="1")
    assert again == wanted
    assert compiled == "0" or not object_store.enabled()
    *unchecked, compiled = _run(tmp_path)
    assert unchecked == good
    assert int(compiled) > 0  # no kernel of the other mode is used
    folders = [path.name for path in (tmp_path / "cache").iterdir() if "__main__" in path.name]
    assert {"-checked-" in name for name in folders} == {False, True}
