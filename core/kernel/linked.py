"""Numba's compiler for kernels: functions that only kernels call are optimised in the kernels, and nowhere else.

Numba takes each function through LLVM and on to machine code, and every function that calls it optimises all of it once
more; where functions call functions, that is most of the time that compiling takes. Here LLVM sees them when the kernel
that calls them is complete, and simplifies each before it puts it into its callers. Without permission to reorder
arithmetic LLVM computes the same numbers either way.
"""

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import AnnotateTypes


def _same_options(self: Any, other: object) -> bool:
    """Whether two sets of Numba's options are the same; Numba reads each by name, some 44,000 times in a bandit's
    start, since it compares those of each function at every call that it sees."""
    return isinstance(other, TargetConfig) and (self._values == other._values or self.values() == other.values())


options: Any = TargetConfig
options.__eq__, options.__hash__ = _same_options, lambda self: 0  # Numba's is one number for all, too


class _NoMachine:
    """Replaces the code generator where Numba would give machine code the addresses of its Python objects."""

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
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0


class KernelCompiler(Compiler):
    """Numba's compiler without the listing of types, which nobody reads."""

    def define_pipelines(self) -> list[PassManager]:
        pipelines = []
        for found in super().define_pipelines():  # type: ignore[no-untyped-call]
            pipeline = PassManager(found.pipeline_name)
            for made, description in found.passes:
                if made is not AnnotateTypes:
                    pipeline.add_pass(made, description)
            pipeline.finalize()
            pipelines.append(pipeline)
        return pipelines


class LinkedCompiler(KernelCompiler):
    """Compiles a function to a library for linking."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        library: Any = _LinkedLibrary
        self.state.library = library(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)  # type: ignore[no-untyped-call]
