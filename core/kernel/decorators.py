"""Decorators of functions that only kernels call.

Their results are placeholders for objects of Numba in every kernel that names them, and Numba makes those objects when
the first such kernel is compiled: a process whose kernels are all on disk never imports Numba.
"""

import os
from collections.abc import Callable, Mapping
from functools import cached_property, update_wrapper
from types import MappingProxyType
from typing import Any, ClassVar, cast

CHECKED = os.environ.get("HUTCH_CHECKED", "") not in ("", "0")
"""Whether kernels check their accesses, see `hutch.core.kernel.checked`; the mode is fixed for a process."""

INTERPRETED = {name.strip() for name in os.environ.get("HUTCH_INTERPRETED", "").split(",")} - {"", "0"}
"""Modules and packages whose kernels CPython runs, see `hutch.core.interpreted`; `1`: the kernels of all layers."""


def is_interpreted(module: str) -> bool:
    """Whether CPython runs the kernels of a module."""
    return any(name == "1" or f"{module}.".startswith(f"{name}.") for name in INTERPRETED)


class Deferred:
    """Placeholder for a function of Numba, in Python and in kernels, until it is needed.

    Args:
        function: the plain function.
        make: makes Numba's.
        callable_from_python: False for a function that only kernels can call.
        options: of Numba's decorator.

    Attributes:
        interpreter: makes of a plain function what CPython runs, where it does; see `hutch.core.interpreted`.
    """

    interpreter: ClassVar[Any] = None

    def __init__(
        self,
        function: Callable[..., Any],
        make: Callable[[], Any],
        callable_from_python: bool = True,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.options = dict(options)
        self._make = make
        self._callable = callable_from_python

    @cached_property
    def made(self) -> Any:
        """Numba's function."""
        return self._make()

    @property
    def _numba_type_(self) -> Any:  # Numba asks every global of unknown class for this
        return self.made._numba_type_

    @property
    def targetoptions(self) -> dict[str, Any]:
        """Numba's options; here it looks for functions to inline."""
        options: dict[str, Any] = self.made.targetoptions
        return options

    def __call__(self, *arguments: Any) -> Any:
        if not self._callable:
            if INTERPRETED and self.interpreter:
                return self.interpreter(self.py_func)(*arguments)
            raise TypeError(f"{self.py_func.__name__} is called by kernels only: decorate it with `compiled` instead")
        return self.made(*arguments)


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Numba's decorator of the same name, without importing Numba yet."""
    if function is None:
        return lambda function: njit(function, **options)

    by_kernels_only = options.get("no_cpython_wrapper", False)

    def make() -> Any:
        from numba import njit as decorator

        from hutch.core.kernel.private import of_helpers

        linked = of_helpers() if by_kernels_only else {}
        return decorator(**options, **linked, boundscheck=CHECKED)(function)

    return Deferred(function, make, not by_kernels_only, options)


def helper(function: Callable[..., Any]) -> Any:
    """Decorate a function that only kernels call: `njit` with NumPy's division, and no entry from Python.

    The code that Numba builds for callers in Python takes a fifth of such a function's compile time.
    """
    return njit(function, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


class Intrinsic:
    """Placeholder for an intrinsic of Numba; kernels need only its type.

    Args:
        define: as of `intrinsic`.

    Attributes:
        meaning: what it does where CPython runs a kernel: a function, or a name of `hutch.core.interpreted.run` with
            its first arguments; None if it runs in machine code only.
        interpreter: gives the function that an intrinsic means, where CPython runs kernels.
    """

    interpreter: ClassVar[Any] = None

    def __init__(self, define: Callable[..., Any]) -> None:
        update_wrapper(cast(Any, self), define)
        self.define = define
        self.meaning: Any = None

    @cached_property
    def _numba_type_(self) -> Any:
        from hutch.core.kernel.private import type_of_intrinsic

        return type_of_intrinsic(self.define)

    def __call__(self, *arguments: Any) -> Any:
        """What the author of a kernel types in a debugger."""
        if not self.interpreter:
            raise TypeError(f"{self.define.__name__} is called by kernels only")
        return self.interpreter(self)(*arguments)


def meaning(*what: Any) -> Callable[[Intrinsic], Any]:
    """Decorate an intrinsic with what it does where CPython runs a kernel; see `Intrinsic.meaning`."""

    def put(made: Intrinsic) -> Intrinsic:
        made.meaning = what if isinstance(what[0], str) else what[0]
        return made

    return put


def intrinsic(define: Callable[..., Any]) -> Any:
    """Numba's decorator of functions that write LLVM code, without importing Numba yet.

    Args:
        define: takes the typing context and the types of the arguments; returns the signature and a code generator.
    """
    return Intrinsic(define)


def inlined(function: Callable[..., Any]) -> Any:
    """Decorate a `helper` that LLVM always inlines."""
    return njit(function, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)
