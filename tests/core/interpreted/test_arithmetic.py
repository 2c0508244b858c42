"""CPython computes what Numba compiles, bit for bit: operators, functions, and whole functions of both."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from hutch.core.interpreted.arithmetic import OPERATORS, converted, functions, typed
from hutch.core.interpreted.run import python_of
from hutch.core.kernel.decorators import helper, intrinsic
from hutch.core.kernel.random import merand48, mixed, uniform

KINDS = (np.uint32, np.int64, np.uint64, np.float32, np.float64)
VALUES: dict[type[Any], list[Any]] = {
    np.uint32: [0, 1, 7, 2**32 - 1],
    np.int64: [0, 1, -3, 2**62, -(2**63), 7],
    np.uint64: [0, 1, 2**63, 2**64 - 1, 5],
    np.float32: [0.0, 0.1, -3.3, 1e30, np.inf, np.nan],
    np.float64: [0.0, 0.1, -3.3, 1e300, -np.inf, np.nan],
}


def told(values: Any, kinds: Any = None) -> list[Any]:
    """Numbers with their types and bits; all NaN are the same."""
    found = []
    for k, value in enumerate(values):
        number = typed(value) if kinds is None else converted(value, np.dtype(str(kinds[k])).type)
        found.append((str(number.dtype), "nan" if number != number else number.tobytes().hex()))
    return found


def any_numbers(a: Any, b: Any) -> Any:
    return a + b, a - b, a * b, a / b, a < b, a >= b, a == b, a != b, min(a, b), max(a, b), -a, abs(b), float(a), a**3


def integers(a: Any, b: Any) -> Any:
    return a & b, a | b, a ^ b, ~a, a << (b & 15), a >> (b & 15)


def of_one(a: Any, b: Any) -> Any:
    return (
        math.exp(b),
        math.sqrt(a),
        math.isfinite(a),
        np.float32(a),
        np.float64(b),
        math.log(abs(a) + 1),
        2.5 * a,
        a - 1,
    )


@pytest.mark.parametrize("left, right", list(product(KINDS, KINDS)))
def test_operators_have_the_types_and_bits_of_numba(left: Any, right: Any) -> None:
    tried = [any_numbers, of_one]
    if not {left, right} & {np.float32, np.float64}:
        tried.append(integers)
    for function in tried:
        compiled, interpreted = njit(error_model="numpy")(function), python_of(function)  # type: ignore[arg-type]
        for a, b in product(VALUES[left], VALUES[right]):
            with np.errstate(all="ignore"):
                got, wanted = interpreted(left(a), right(b)), compiled(left(a), right(b))
            [signature] = compiled.nopython_signatures
            assert told(got) == told(wanted, list(signature.return_type)), (function, a, b)


def one_type_for_each_variable(x: Any, n: Any) -> Any:
    total, product = 0.0, np.float32(1)
    for _ in range(n):
        total += x
        product *= x
        if not 0 < total < 1e3:
            total = x
    best = 0.0
    if x > best:
        best = x
    return total * total, product * best, best * best, x if n > 3 else 0.0


@helper
def chosen(x: Any, way: Any) -> Any:
    if way == 1:
        return 1.0
    return x


def places(array: Any, x: Any) -> Any:
    array[1], array[2] = x * 3.1, array[1]
    array[np.uint64(0)] -= array[3] * x
    part = array[1:3]
    part[0] += 1
    for k, value in enumerate(array):
        array[k] = -value
    first, (second, third) = array[0], (len(part), array[-1])
    return first, second, third * third


def helped(x: Any, n: Any) -> Any:
    found = chosen(x, n) * x
    state, number = merand48(np.uint64(n))
    return found, mixed(np.uint64(n)), uniform(n, 3, 1), number, state, chosen(x, 1)


@given(st.floats(-50, 50, width=32), st.integers(0, 9))
@settings(max_examples=60)
def test_functions_give_the_bits_of_numba(x: float, n: int) -> None:
    for function, arguments in (
        (one_type_for_each_variable, (np.float32(x), n)),
        (places, (np.array([x, 2, x, 5], np.float32), np.float32(x))),
        (helped, (np.float32(x), n)),
    ):
        compiled, interpreted = COMPILED[function], python_of(function)  # type: ignore[arg-type]
        again = tuple(each.copy() if isinstance(each, np.ndarray) else each for each in arguments)
        with np.errstate(all="ignore"):
            got, wanted = interpreted(*arguments), compiled(*again)
        [signature] = compiled.nopython_signatures
        assert told(got) == told(wanted, list(signature.return_type))
        assert all(np.array_equal(*each, equal_nan=True) for each in zip(arguments, again, strict=True))


COMPILED = {each: njit(error_model="numpy")(each) for each in (one_type_for_each_variable, places, helped)}


@given(st.floats(width=32), st.floats())
def test_functions_of_the_c_library_round_as_in_machine_code(x: float, y: float) -> None:
    for name in ("exp", "log", "expm1", "log1p", "sin", "cos", "tanh"):
        for kind, value in ((np.float32, x), (np.float64, y)):
            function = getattr(np, name)
            with np.errstate(all="ignore"):
                got = functions()[function](kind(value))
            assert told([got]) == told([_OF_ONE[name](kind(value))], [np.dtype(kind)])


_OF_ONE = {
    name: njit(eval(f"lambda x: np.{name}(x)", {"np": np}))  # one function of each name
    for name in ("exp", "log", "expm1", "log1p", "sin", "cos", "tanh")
}


def test_what_has_no_meaning_in_python_is_refused_with_its_name() -> None:
    @intrinsic
    def magic(typing_context: Any, x: Any) -> Any: ...

    with pytest.raises(Exception, match=r"magic writes machine code: CPython cannot run it"):
        magic(1)


def test_operators_of_arrays_are_numpys() -> None:
    assert OPERATORS["mul"](np.ones(2, np.float32), 2.0).dtype == np.float64
