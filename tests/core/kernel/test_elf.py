"""Putting machine code into memory: as LLVM does where it is simple, and not at all where it is not."""

import ctypes
import math
import os
from collections.abc import Callable
from typing import Any

import numba
import pytest

from hutch.core.kernel import object_store
from hutch.core.kernel.elf import ElfObject

pytestmark = pytest.mark.skipif(
    not object_store.enabled() or os.uname().machine != "x86_64", reason="only x86-64 code is put there so"
)


def with_tables(x):
    """Code with constants, a table of jumps, and calls of the C library."""
    kind = int(x) % 8
    if kind == 0:
        return math.exp(x)
    elif kind == 1:
        return math.log1p(x) + 0.1
    elif kind == 2:
        return math.pow(x, 1.5)
    elif kind == 3:
        return x * 0.3 - 7.0
    elif kind == 4:
        return math.atan2(x, 3.0)
    return math.sin(x) / 7.0


@pytest.fixture(scope="module")
def made() -> tuple[bytes, str]:
    """An object, and the name of its function."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "nogil": True}
    dispatcher: Any = numba.njit(**options)(with_tables)
    dispatcher.compile("float64(float64)")
    (result,) = dispatcher.overloads.values()
    return result.library.serialize_using_object_code()[2][0], result.fndesc.llvm_func_name


def called(address: int | None, x: float) -> float:
    assert address
    result = ctypes.c_double()
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p, ctypes.c_double)
    assert kind(address)(result, None, x) == 0
    return result.value


def test_code_does_there_what_it_does_where_llvm_put_it(made: tuple[bytes, str]) -> None:
    code, symbol = made
    address = ElfObject(code).place(symbol, object_store._address_of)
    other = object_store._link(code, {"symbol": symbol, "needs": ElfObject(code).needs()})
    assert address != other
    for x in range(16):
        assert called(address, x + 0.25) == called(other, x + 0.25) == with_tables(x + 0.25)


def test_needs_are_the_functions_of_others(made: tuple[bytes, str]) -> None:
    assert {"exp", "log1p", "pow", "atan2", "sin"} <= set(ElfObject(made[0]).needs()) <= object_store._C_LIBRARY


def test_what_is_not_elf_is_not_taken_for_it(made: tuple[bytes, str]) -> None:
    assert ElfObject.recognises(made[0])
    assert not ElfObject.recognises(b"MZ" + made[0]) and not ElfObject.recognises(b"")


def another_machine(code: bytearray) -> None:
    code[18:20] = (183).to_bytes(2, "little")


def another_relocation(code: bytearray) -> None:
    change_sections(code, lambda kind: kind == 4, lambda at, start: code.__setitem__(start + 8, 2))


def writable_data(code: bytearray) -> None:
    change_sections(code, lambda kind: kind == 1, lambda at, start: code.__setitem__(at + 8, code[at + 8] | 1))


def zeros_to_make(code: bytearray) -> None:
    change_sections(code, lambda kind: kind == 1, lambda at, start: code.__setitem__(at + 4, 8))


def strange_alignment(code: bytearray) -> None:
    change_sections(
        code, lambda kind: kind == 1, lambda at, start: code.__setitem__(slice(at + 48, at + 52), b"\0\0\1\0")
    )


def change_sections(code: bytearray, wanted: Callable[[int], bool], change: Callable[[int, int], None]) -> None:
    """Change every section of a kind, given where its header and its content begin."""
    first = int.from_bytes(code[40:48], "little")
    for k in range(int.from_bytes(code[60:62], "little")):
        at = first + 64 * k
        if wanted(code[at + 4]):
            change(at, int.from_bytes(code[at + 24 : at + 32], "little"))


@pytest.mark.parametrize(
    "spoil", [another_machine, another_relocation, writable_data, zeros_to_make, strange_alignment]
)
def test_what_is_not_simple_is_left_to_llvm(made: tuple[bytes, str], spoil: Callable[[bytearray], None]) -> None:
    code = bytearray(made[0])
    spoil(code)
    assert ElfObject(bytes(code)).place(made[1], object_store._address_of) is None


def test_a_function_that_nobody_knows_is_left_to_llvm(made: tuple[bytes, str]) -> None:
    assert ElfObject(made[0]).place(made[1], lambda name: None) is None
    assert ElfObject(made[0]).place("another", object_store._address_of) is None
    assert object_store._address_of("no_such_function") is None
