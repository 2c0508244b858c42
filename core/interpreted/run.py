"""Kernels that CPython runs, and that machine code calls by addresses of their own."""

import ctypes
import re
from collections.abc import Callable
from functools import cache, partial
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from hutch.core.errors import PluginError
from hutch.core.interpreted import live
from hutch.core.interpreted.arithmetic import OPERATORS, converted, functions, joined
from hutch.core.interpreted.typed_source import typed
from hutch.core.kernel.abi import LAYER
from hutch.core.kernel.arguments import RAISED, Native
from hutch.core.kernel.cache import ArrayKernel
from hutch.core.kernel.decorators import Deferred, Intrinsic

_SIGNATURE = re.compile(r"(\w+)\(([^()]*)\)")


@cache
def _parts(signature: str) -> tuple[str, list[str]]:
    """The names of the types of a signature: of the result, and of the arguments."""
    found = _SIGNATURE.fullmatch(signature)
    assert found
    return found[1], [name.strip() for name in found[2].split(",")]


WATCHERS: list[Callable[[BaseException], None]] = []
"""Called with each exception of a kernel where it leaves CPython: its frames are still there."""
_told: list[BaseException] = []
_known: dict[int, "Interpreted"] = {}
_natives: dict[tuple[int, str], Native] = {}


class Interpreted:
    """A kernel that CPython runs, with an address for machine code.

    Args:
        function: the plain function.
        signature: of the kernel, in Numba's notation.
    """

    def __init__(self, function: FunctionType, signature: str) -> None:
        result, names = _parts(signature)
        code, given = function.__code__, len(names)
        if not code.co_argcount - len(function.__defaults__ or ()) <= given <= code.co_argcount:
            place = f"{code.co_filename}:{code.co_firstlineno}"
            text = f"kernel {function.__name__!r}: got {code.co_argcount} parameters, wanted {given}"
            raise PluginError(f"{place}: {text}")
        self._result, self._kinds = np.dtype(result).type, [np.dtype(name).type for name in names]
        self._function, self._python = function, python_of(function)
        c = [np.ctypeslib.as_ctypes_type(kind) for kind in (self._result, *self._kinds)]
        pointers = ctypes.POINTER(c[0]), ctypes.POINTER(ctypes.c_void_p)
        self._callback = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *c[1:])(self._called)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        _known[self.address] = self

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python, without a detour through machine code."""
        found = self._python(*map(converted, arguments, self._kinds))
        if found is None:
            code = self._function.__code__
            raise PluginError(
                f"{code.co_filename}:{code.co_firstlineno}: kernel {code.co_name!r}: got nothing, wanted a number: a "
                "`return` is missing"
            )
        return converted(found, self._result)

    def _called(self, result: Any, error: Any, *arguments: Any) -> int:
        """Called by machine code; keeps an exception for whoever has called that."""
        if RAISED:
            return 1
        try:
            with np.errstate(all="ignore"):
                result[0] = self(*arguments)
        except BaseException as raised:
            if not any(each is raised for each in _told):
                _told[:] = [raised]
                for tell in WATCHERS:
                    tell(raised)
            RAISED.append(KeyboardInterrupt() if type(raised).__name__ == "BdbQuit" else raised)
            return 1
        return 0


@cache
def interpreted(function: FunctionType, signature: str) -> Interpreted:
    """A plain function as a kernel that CPython runs."""
    return Interpreted(function, signature)


def call(signature: str, address: Any, *arguments: Any) -> Any:
    """Call the kernel at an address, be it CPython's or machine code."""
    place = int(address)
    if place in _known:
        return _known[place](*arguments)
    result, names = _parts(signature)
    native = _natives.get((place, signature))
    if native is None:
        native = _natives[place, signature] = Native("called by address", place, names, result)
    kinds = [np.dtype(name).type for name in names]
    found = native([converted(value, kind).item() for value, kind in zip(arguments, kinds, strict=True)])
    return converted(found, np.dtype(result).type)


def _copy(target: Any, source: Any, size: Any) -> None:
    ctypes.memmove(int(target), int(source), int(size))


def _check(condition: Any) -> None:
    if not condition:
        raise IndexError("a condition that is checked does not hold")


def _state(dtype: np.dtype[Any], layer: Any) -> live.LiveRecord:
    return live.record(dtype, live.record(LAYER, layer).state, own=True)


def _record_in_an_array(dtype: np.dtype[Any], address: Any) -> live.LiveRecords:
    return live.LiveRecords(live.memory(int(address), dtype, 1))


_MEANINGS: dict[str, Callable[..., Any]] = {
    "array": live.array,
    "call": call,
    "check": _check,
    "copy": _copy,
    "nothing": lambda *_: None,
    "record": live.record,
    "same": lambda value: value,
    "state": _state,
    "view": _record_in_an_array,
}
"""What intrinsics do, by the first item of their `meaning`; the others are their first arguments."""


@cache
def _of_intrinsic(intrinsic: Intrinsic) -> Any:
    if callable(intrinsic.meaning):
        return intrinsic.meaning
    if intrinsic.meaning is None:
        name = intrinsic.define.__qualname__
        raise PluginError(f"{intrinsic.define.__module__}.{name} writes machine code: CPython cannot run it")
    name, *given = intrinsic.meaning
    return partial(_MEANINGS[name], *given)


def callee(function: Any) -> Any:
    """What CPython calls where a kernel calls something."""
    if isinstance(function, Deferred):
        return python_of(function.py_func)
    if isinstance(function, Intrinsic):
        return _of_intrinsic(function)
    if isinstance(plain := getattr(function, "py_func", None), FunctionType):  # of Numba's own decorator
        return python_of(plain)
    return functions().get(function, function)


_TOOLS = SimpleNamespace(**OPERATORS, callee=callee, fitting=live.fitting, joined=joined)


@cache
def python_of(function: FunctionType) -> Callable[..., Any]:
    """A plain function of a kernel as CPython runs it."""
    return typed(function, _TOOLS)


def _with_arrays(function: FunctionType) -> Callable[..., Any]:
    """A function on arrays, which Python calls, as CPython runs it."""
    python = python_of(function)

    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return python(*map(live.shown, arguments))

    return call


Deferred.interpreter = staticmethod(python_of)
ArrayKernel.interpreter = staticmethod(_with_arrays)
Intrinsic.interpreter = staticmethod(_of_intrinsic)
