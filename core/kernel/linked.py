"""Numba's compiler for functions that only kernels call: what it makes is optimised in the kernels, and only there.

Numba takes each function through LLVM and to machine code, and every function that calls it optimises all of it once more;
of functions within functions that is most of the time that compiling takes. These are translated only: LLVM sees them when
the kernel that calls them is whole, and simplifies each before it is put into its callers.
"""

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _NoMachine:
    """Stands for the code generator where Numba would tell machine code where its Python objects are."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: there is no machine code."""


class _LinkedLibrary(JITCodeLibrary):
    """Functions that are linked into other libraries and never run from here."""

    @property
    def codegen(self) -> Any:
        return _NoMachine()

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class LinkedCompiler(Compiler):
    """Compiles a function to what other libraries link."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _LinkedLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)
