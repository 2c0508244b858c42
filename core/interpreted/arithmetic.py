"""Numba's arithmetic in CPython, on NumPy's scalars: the same types, the same rounding, and no exceptions.

What `a + b` means depends on the types: float32 with a literal is float64 for Numba and float32 for NumPy, two uint32
give a uint64, and a division by 0 gives infinity. `typed_source` rewrites the operators of a kernel to the functions
of this file; each asks Numba, once for each combination of types, to which types the operands are converted.
"""

import builtins
import ctypes
import ctypes.util
import math
import operator
import sys
from collections.abc import Callable, Iterator
from functools import cache, reduce
from typing import Any

import numpy as np

Kind = Any
"""A type of NumPy's scalars."""
_PYTHON: dict[type, Kind] = {int: np.int64, float: np.float64, bool: np.bool_}
_LARGEST = (1 << 63) - 1


def typed(value: Any) -> Any:
    """A number as one of NumPy's, with the type that Numba gives it; anything else as it is.

    >>> typed(2.5).dtype
    dtype('float64')
    """
    kind = _PYTHON.get(type(value))
    if kind is None:
        return value
    return np.uint64(value) if kind is np.int64 and value > _LARGEST else kind(value)


def converted(value: Any, kind: Kind) -> Any:
    """A number as one of another type, as C converts it.

    >>> converted(-1, np.uint64)
    np.uint64(18446744073709551615)
    """
    if type(value) is kind:
        return value
    number = typed(value)
    return number.astype(kind) if isinstance(number, np.generic) else kind(number)


def _kind(value: Any) -> Kind | None:
    """The type of a number; None for anything else."""
    if isinstance(value, np.generic):
        return value.dtype.type if value.dtype.kind in "biuf" else None
    return type(typed(value)) if type(value) in _PYTHON else None


def _numba(kind: Kind) -> Any:
    from numba import from_dtype

    return from_dtype(np.dtype(kind))


def _numpy(kind: Any) -> Kind | None:
    """NumPy's type of a number of Numba's; None for anything else."""
    name = str(kind).removeprefix("range_state_")
    return np.dtype(name).type if name in ("bool", "float32", "float64") or name.lstrip("u").startswith("int") else None


@cache
def _rule(function: Any, *kinds: Kind) -> tuple[tuple[Kind, ...], Kind | None]:
    """To which types a function of Numba converts arguments, and the type of its result."""
    from hutch.core.kernel.private import signature_of

    signature = signature_of(function, tuple(map(_numba, kinds)))
    wanted = tuple(_numpy(kind) or given for kind, given in zip(signature.args, kinds, strict=True))
    result = _numpy(signature.return_type)
    if len(wanted) > 1 and all(np.issubdtype(kind, np.integer) for kind in (result or bool, *wanted)):
        wanted = (result,) * len(wanted)  # they are words, and a sign is how one reads them
    return wanted, result


@cache
def unified(*kinds: Kind) -> Kind:
    """The one type of a variable that is given numbers of these types."""
    from hutch.core.kernel.private import unified_type

    return _numpy(unified_type(tuple(map(_numba, kinds)))) or np.float64


def _of_numbers(function: Any, compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers as Numba has it.

    Args:
        function: of Python or NumPy, as kernels name it.
        compute: computes it for numbers that have been converted.
    """
    rules: dict[tuple[type, ...], Any] = {}

    def call(*values: Any) -> Any:
        key = tuple(map(type, values))
        rule = rules.get(key)
        if rule is None:
            kinds = [kind for value in values if (kind := _kind(value)) is not None]
            if len(kinds) < len(values):  # arrays and tuples
                return compute(*map(typed, values))
            rule = rules[key] = _rule(function, *kinds)
        wanted, result = rule
        found = compute(*map(converted, values, wanted))
        return found if result is None else converted(found, result)

    return call


def _libm(name: str) -> Callable[..., Any]:
    """A function of the C library, which machine code calls, too: NumPy's own may round otherwise."""
    library = ctypes.CDLL(None if sys.platform != "win32" else ctypes.util.find_library("msvcrt"))
    found: dict[Kind, Any] = {}
    for kind, ending, c in ((np.float64, "", ctypes.c_double), (np.float32, "f", ctypes.c_float)):
        found[kind] = function = library[name + ending]
        function.restype = c

    def call(*values: Any) -> Any:
        kind = np.float32 if isinstance(values[0], np.float32) else np.float64
        c = ctypes.c_float if kind is np.float32 else ctypes.c_double
        return kind(found[kind](*[c(float(value)) for value in values]))

    return call


_pow = _of_numbers(operator.pow, _libm("pow"))


def _power(base: Any, exponent: Any) -> Any:
    """Numba multiplies where the exponent is whole; a literal one is known when it compiles."""
    if not isinstance(exponent, int | np.integer):
        return _pow(base, exponent)
    if exponent < 0:
        return OPERATORS["truediv"](1.0, _power(base, -exponent))
    multiply, left, result, square = OPERATORS["mul"], int(exponent), None, base
    while left:
        if left & 1:
            result = square if result is None else multiply(result, square)
        square, left = multiply(square, square), left >> 1
    kind = _kind(base)
    if kind is None:
        return typed(1) if result is None else result
    return converted(1 if result is None else result, _rule(operator.pow, kind, np.int64)[1])


_SAME = "add sub mul truediv floordiv mod and_ or_ xor lshift rshift neg invert lt le gt ge eq ne"
OPERATORS: dict[str, Callable[..., Any]] = {
    **{name: _of_numbers(getattr(operator, name), getattr(operator, name)) for name in _SAME.split()},
    "matmul": operator.matmul,
    "pos": operator.pos,
    "pow": _power,
}
"""What replaces the operators of a kernel, by their names in `operator`."""


def joined(value: Any, other: Any) -> Any:
    """A number for a variable that elsewhere is given another one, a literal: in machine code it has one type."""
    kind = _kind(value)
    if kind is None:
        return value
    whole = not isinstance(other, float) and issubclass(kind, np.integer | np.bool_)
    return value if whole else converted(value, unified(kind, _kind(other)))


def _chosen(before: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`min` or `max`."""

    def choose(first: Any, *others: Any) -> Any:
        values = first if not others else (first, *others)
        kinds = [_kind(value) for value in values]
        if None in kinds:
            raise TypeError(f"got {[type(value).__name__ for value in values]}, wanted numbers")
        kind = unified(*kinds)
        return reduce(lambda best, value: value if before(value, best) else best, [converted(v, kind) for v in values])

    return choose


def _range(*values: Any) -> Iterator[Any]:
    kinds = [_kind(value) for value in values]
    kind = _rule(range, *kinds)[1] or np.int64
    return map(kind, range(*(int(converted(value, kind)) for value in values)))


def _length(values: Any) -> Any:
    return np.int64(len(values))


_C = "exp expm1 exp2 log log1p log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh erf erfc lgamma tgamma"
_COMPUTED: dict[Any, Callable[..., Any]] = {
    math.sqrt: np.sqrt,
    math.fabs: np.abs,
    math.copysign: np.copysign,
    math.isfinite: np.isfinite,
    math.isinf: np.isinf,
    math.isnan: np.isnan,
    builtins.abs: np.abs,
    builtins.float: lambda value: value,
    builtins.int: lambda value: value,
    builtins.bool: lambda value: value,
    builtins.round: np.rint,
    math.floor: np.floor,
    math.ceil: np.ceil,
    math.trunc: np.trunc,
}


def _of_arrays_too(name: str) -> Callable[..., Any]:
    """A function of NumPy that Numba takes from the C library."""
    function, plain = getattr(np, name), _of_numbers(getattr(np, name), _libm(name))

    def call(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return plain(value)
        found = [plain(each) for each in value.ravel()]
        return np.array(found, function(value[:0]).dtype).reshape(value.shape)

    return call


@cache
def functions() -> dict[Any, Callable[..., Any]]:
    """What replaces functions and types that kernels call, by these."""
    found: dict[Any, Callable[..., Any]] = {}
    for name in _C.split():
        function = getattr(math, {"tgamma": "gamma"}.get(name, name))
        found[function] = _of_numbers(function, _libm(name))
    for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tanh"):
        found[getattr(np, name)] = _of_arrays_too(name)
    found |= {function: _of_numbers(function, compute) for function, compute in _COMPUTED.items()}
    for name in "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split():
        kind = getattr(np, name)
        found[kind] = lambda value=0, kind=kind: converted(value, kind)
    found |= {min: _chosen(OPERATORS["lt"]), max: _chosen(OPERATORS["gt"]), len: _length}
    found[range] = _range
    return found
