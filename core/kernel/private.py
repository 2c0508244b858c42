"""All that Hutch uses of Numba beyond its documented interface; importing this module imports Numba.

A release of Numba may rename any of it. If a part is missing that every kernel needs, one line says so. If a part is
missing that only saves time, one notice says so, and plain `numba.njit` with its cache compiles the kernels;
`HUTCH_PLAIN_NUMBA=1` asks for that.

The compilers below are for functions that only kernels call. Numba takes each function through LLVM and on to machine
code, and every function that calls it optimises all of it once more; where functions call functions, that is most of
the time that compiling takes. Here LLVM sees them when the kernel that calls them is complete, and simplifies each
before it puts it into its callers. Without permission to reorder arithmetic LLVM computes the same numbers either way.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numba
from numba import types

from hutch.core.errors import HutchError
from hutch.core.kernel.plain import PLAIN, plain_wanted

_UNKNOWN = f"numba {numba.__version__} is not one that Hutch knows"

try:
    from numba.core import cgutils as cgutils
    from numba.core import sigutils as sigutils
    from numba.core.errors import NumbaError as NumbaError
    from numba.core.lowering import BaseLower as BaseLower
    from numba.core.registry import cpu_target
    from numba.np.arrayobj import make_array as make_array
    from numba.np.arrayobj import populate_array as populate_array
except (ImportError, AttributeError) as error:
    raise HutchError(f"{_UNKNOWN}: {error}; install an older one") from error


class _Known:
    _numba_type_ = types.int64


if numba.typeof(_Known()) is not types.int64:  # as kernels find the helpers that they call
    raise HutchError(f"{_UNKNOWN}: it ignores _numba_type_; install an older one")


def definition_of(function: Any) -> Callable[..., Any] | None:
    """What an intrinsic of Numba's own decorator is made of; None for anything else."""
    definition: Callable[..., Any] | None = getattr(function, "_defn", None)
    return definition


def type_of_intrinsic(define: Callable[..., Any]) -> Any:
    """Numba's type of a function that writes LLVM code."""
    from numba.extending import intrinsic

    made = intrinsic(define)
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(made)


def signature_of(function: Any, kinds: tuple[Any, ...]) -> Any:
    """The signature with which Numba calls a function that it knows, for arguments of these types."""
    cpu_target.target_context.refresh()
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_function_type(function, kinds, {})


def unified_type(kinds: tuple[Any, ...]) -> Any:
    """The type of a variable that is given values of these types."""
    return cpu_target.typing_context.unify_types(*kinds)


_compilers: tuple[Any, Any] | None = None
_why = f"{PLAIN} is set" if plain_wanted() else ""

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.compiler_machinery import PassManager
    from numba.core.postproc import PostProcessor, VariableLifetime
    from numba.core.targetconfig import TargetConfig
    from numba.core.transforms import canonicalize_cfg
    from numba.core.typed_passes import AnnotateTypes
    from numba.core.types.functions import BaseFunction

    for owner, names in (
        (JITCodeLibrary, "codegen _optimize_final_module _finalize_final_module _finalize_dynamic_globals"),
        (JITCodeLibrary, "get_pointer_to_function serialize_using_object_code _ensure_finalized"),
        (Compiler, "define_pipelines compile_extra"),
        (PassManager, "add_pass finalize"),
        (TargetConfig, "values __eq__ __hash__"),
        (PostProcessor, "run _insert_var_dels"),
        (BaseFunction, "get_call_type"),
    ):
        for name in names.split():
            getattr(owner, name)
except (ImportError, AttributeError) as error:
    _why = _why or str(error)
else:

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

    class _KernelCompiler(Compiler):
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

    class _LinkedCompiler(_KernelCompiler):
        """Compiles a function to a library for linking."""

        def compile_extra(self, func: Callable[..., Any]) -> Any:
            library: Any = _LinkedLibrary
            self.state.library = library(self.state.targetctx.codegen(), func.__qualname__)
            return super().compile_extra(func)  # type: ignore[no-untyped-call]

    _compilers = None if _why else (_KernelCompiler, _LinkedCompiler)
    _POST_PROCESS: Any = PostProcessor.run
    _TYPE_OF_CALL: Any = BaseFunction.get_call_type
    _USUAL = (types.Number, types.Boolean, types.Array, types.Record)
    _calls: dict[Any, Any] = {}


@cache
def plain() -> bool:
    """Whether kernels are compiled by plain `numba.njit`; says so once."""
    if _compilers is None:
        text = f"numba {numba.__version__} compiles kernels in its own way, which takes longer: {_why}"
        print(f"hutch: {text}", file=sys.stderr)
    return _compilers is None


def of_kernels() -> dict[str, Any]:
    """Options of `numba.njit` for a kernel."""
    return {} if plain() or _compilers is None else {"pipeline_class": _compilers[0]}


def of_helpers() -> dict[str, Any]:
    """Options of `numba.njit` for a function that only kernels call."""
    return {} if plain() or _compilers is None else {"pipeline_class": _compilers[1]}


@contextmanager
def compiling_fast() -> Iterator[None]:
    """While kernels compile, replace what Numba does slowly; not to be entered by two threads at once.

    The machine code is the same to the byte. Afterwards Numba is as it was.
    """
    if plain():
        yield
        return
    faster: tuple[tuple[Any, str, Any], ...] = (
        (TargetConfig, "__eq__", _same_options),
        (TargetConfig, "__hash__", lambda self: 0),
        (PostProcessor, "run", _post_process),
        (BaseFunction, "get_call_type", _type_of_call),
    )
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in faster]
    for owner, name, made in faster:
        setattr(owner, name, made)
    try:
        yield
    finally:
        for owner, name, made in before:
            setattr(owner, name, made)


def _same_options(self: Any, other: object) -> bool:
    """Whether two sets of options hold the same.

    Numba reads each option by name, some 44,000 times in a bandit's start, since it compares the options of each
    function at every call that it sees. Its own hash is one number for all, too.
    """
    return isinstance(other, TargetConfig) and (self._values == other._values or self.values() == other.values())


def _post_process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """What follows a pass, without lists of the variables that live at the start of each block.

    Numba makes them nine times for each function; only generators and its object mode read them.
    """
    code = self.func_ir
    if code.is_generator:
        _POST_PROCESS(self, emit_dels, extend_lifetimes)
        return
    code.blocks = canonicalize_cfg(code.blocks)
    code.variable_lifetime = VariableLifetime(code.blocks)
    code.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _type_of_call(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call of a function that Numba knows, such as `+`, found once for all arguments of these types.

    Until one of its definitions fits, Numba writes for each of the others why it does not. Those of `min` and `max` are
    compiled with each caller: they would be in another order in its machine code.
    """
    if kws or self.typing_key in (min, max) or not all(isinstance(kind, _USUAL) and kind.is_precise() for kind in args):
        return _TYPE_OF_CALL(self, context, args, kws)
    call = self, context, tuple(args)
    if call not in _calls:
        found = _TYPE_OF_CALL(self, context, args, kws)
        _calls[call] = found, self._impl_keys[found.args]
    found, definition = _calls[call]
    self._impl_keys[found.args] = definition  # of the types as a definition takes them, the last call counts
    return found


def pointer_to(compiled: Any) -> int:
    """Where the code of a kernel lies that Numba has compiled in this process.

    Args:
        compiled: Numba's result of the compilation, which must live as long as the address is used.
    """
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def object_of(compiled: Any) -> tuple[str, bytes] | None:
    """The name and the object code of a kernel that Numba has compiled in this process; None where it keeps none."""
    if plain():
        return None
    return compiled.fndesc.llvm_func_name, compiled.library.serialize_using_object_code()[2][0]


def let_saving_fail(dispatcher: Any, save: Callable[[Callable[[], None], str], None]) -> None:
    """Let a function of ours call the one with which Numba stores compiled code.

    Args:
        dispatcher: Numba's function, which has a cache.
        save: gets what stores the code, and the folder where.
    """
    kept: Any = getattr(dispatcher, "_cache", None)
    own = getattr(kept, "save_overload", None)
    if own is not None:
        kept.save_overload = lambda signature, code: save(lambda: own(signature, code), str(kept.cache_path))
