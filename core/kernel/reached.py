"""A key of all that the machine code of a third party's kernel is made from, beside the source of its own file.

Numba freezes the globals that a kernel reads, and the functions that it calls, when it compiles. These may come from
anywhere: another module, another package, the environment, a file read at import. So the key covers their values, and
the code of the functions with their own globals in turn.
"""

import builtins
import dis
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from hutch.core.errors import at
from hutch.core.kernel.decorators import Deferred, Intrinsic

_GROUND = frozenset(sys.stdlib_module_names) | {"numpy", "numba", "llvmlite"}
"""Packages whose names stand for what they name: their versions are in the key of every kernel."""
_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_said: set[str] = set()


class NoKeyError(Exception):
    """A value that a key cannot cover.

    Args:
        name: of the global, as the source has it.
        value: its value.
    """

    def __init__(self, name: str, value: object) -> None:
        super().__init__(name, value)
        self.name, self.kind = name, type(value).__name__


def digest_of(function: Callable[..., Any], source_digest: Callable[[str], str]) -> str | None:
    """A hash of a kernel, of the globals that it reads, and of the functions that it reaches.

    Args:
        function: the plain function.
        source_digest: of a source, by its path.

    Returns:
        The hash; None, with one notice for each name, if something that it reads has no key.
    """
    walk = _Walk(source_digest)
    try:
        walk.function(function)
    except NoKeyError as error:
        if error.name not in _said:
            _said.add(error.name)
            code = function.__code__
            text = (
                f"kernel {function.__name__!r} is compiled at every start: got {error.name!r}, a {error.kind}, wanted "
                "numbers, texts, tuples, NumPy arrays, and functions decorated with 'helper'"
            )
            print(at(code.co_filename, code.co_firstlineno, None, text), file=sys.stderr)
        return None
    return walk.digest()


def _top(thing: object) -> str:
    """The package that something comes from."""
    return str(getattr(thing, "__module__", "")).partition(".")[0]


class _Walk:
    """One walk over all that a function reaches."""

    def __init__(self, source_digest: Callable[[str], str]) -> None:
        self._source_digest = source_digest
        self._hash = hashlib.sha256()
        self._seen: dict[int, int] = {}

    def digest(self) -> str:
        return self._hash.hexdigest()[:16]

    def _add(self, *parts: object) -> None:
        for part in parts:
            content = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
            self._hash.update(f"{len(content)}:".encode() + content)

    def function(self, function: Callable[..., Any], compiling: bool = False) -> None:
        """Add a function.

        Args:
            function: the plain function.
            compiling: it runs in Python while a kernel is compiled, and may call plain functions.
        """
        if self._again(function):
            return
        self._add("function", function.__module__, function.__qualname__)
        path, top = function.__code__.co_filename, _top(function)
        if top not in _GROUND and os.path.isfile(path):
            self._add(self._source_digest(os.path.realpath(path)))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # not bound yet
                self._add("empty")
                continue
            self.value(name, value, compiling)
        if top in _GROUND or top == "hutch":
            return
        self.value("defaults", function.__defaults__, compiling)
        self.value("defaults", function.__kwdefaults__, compiling)
        self._code(function.__code__)
        for name, value in _globals_of(function, function.__code__):
            self._add(name)
            self.value(name, value, compiling)

    def _again(self, value: object) -> bool:
        """Whether something was added already: functions may call each other."""
        known = id(value) in self._seen
        self._add("again", self._seen.setdefault(id(value), len(self._seen)))
        return known

    def _code(self, code: CodeType) -> None:
        self._add("code", code.co_code, code.co_flags, code.co_argcount, code.co_varnames, code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant)
            else:
                self.value("constant", constant, False)

    def value(self, name: str, value: Any, compiling: bool) -> None:
        """Add the value of a global.

        Args:
            name: as the source has it.
            value: its value.
            compiling: as of `function`.
        """
        if type(value) in _PLAIN:
            self._add(type(value).__name__, repr(value))
        elif isinstance(value, np.dtype):
            self._add("dtype", repr(value), value.alignment, value.isalignedstruct)
        elif isinstance(value, np.generic | np.ndarray) and not value.dtype.hasobject:
            self._add("array", repr(value.dtype), value.shape, value.strides, value.tobytes())
        elif isinstance(value, Enum):
            self._add("member", type(value).__qualname__, value.name)
            self.value(name, value.value, compiling)
        elif isinstance(value, tuple | list):
            self._add(type(value).__qualname__, getattr(value, "_fields", ()), len(value))
            for item in value:
                self.value(name, item, compiling)
        elif isinstance(value, dict):
            self.value(name, [*value.items()], compiling)
        elif isinstance(value, frozenset | set):
            self.value(name, sorted(value, key=repr), compiling)
        else:
            self._reached(name, value, compiling)

    def _reached(self, name: str, value: Any, compiling: bool) -> None:
        """Add a function, a class, or what else has a name."""
        plain = getattr(value, "py_func", None)
        if isinstance(value, Deferred):
            self.value(name, value.options, compiling)
            self.function(value.py_func)
        elif isinstance(plain, FunctionType) and _top(type(value)) == "numba":
            self.value(name, {key: str(option) for key, option in value.targetoptions.items()}, compiling)
            self.function(plain)
        elif isinstance(plain, FunctionType) and _top(type(value)) == "hutch":  # a kernel
            self.function(plain)
        elif isinstance(value, Intrinsic):
            self.function(value.define, compiling=True)
        elif isinstance(value, FunctionType) and (compiling or _top(value) in _GROUND):
            self.function(value, compiling)
        elif isinstance(value, type):
            self._class(name, value, compiling)
        elif _top(type(value)) == "numba" and hasattr(value, "mangling_args"):  # a type
            self._add("type", value)
        elif isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _GROUND:
            self._add("module", value.__name__)
        elif (owner := _owner(value)) is not None:
            self._add("named", owner, value.__name__)
        elif definition := _definition(value):
            self.function(definition, compiling=True)
        else:
            raise NoKeyError(name, value)

    def _class(self, name: str, value: type, compiling: bool) -> None:
        self._add("class", value.__module__, value.__qualname__)
        if issubclass(value, Enum):
            self.value(name, list(value), compiling)
        elif issubclass(value, tuple):
            self._add(getattr(value, "_fields", ()))
        elif _top(value) not in _GROUND and not issubclass(value, BaseException):
            raise NoKeyError(name, value)


def _owner(value: Any) -> str | None:
    """The module of the ground that has something by its own name; None for anything else."""
    owner = "numpy" if isinstance(value, np.ufunc) else str(getattr(value, "__module__", ""))
    named = getattr(sys.modules.get(owner), getattr(value, "__name__", ""), None)
    return owner if owner.partition(".")[0] in _GROUND and named is value else None


def _definition(value: object) -> Callable[..., Any] | None:
    """What an intrinsic of Numba's is made of; None for anything else."""
    if _top(type(value)) != "numba":
        return None
    from hutch.core.kernel.private import definition_of

    return definition_of(value)


def _globals_of(function: Callable[..., Any], code: CodeType) -> Iterator[tuple[str, Any]]:
    """Names and values of the globals that a code reads, `module.name` as one."""
    known = function.__globals__
    instructions = list(dis.get_instructions(code))
    for place, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME" and str(instruction.argval).partition(".")[0] not in _GROUND | {"hutch"}:
            raise NoKeyError(f"import {instruction.argval}", sys)
        if instruction.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
            continue
        name, missing = str(instruction.argval), object()
        value = known.get(name, vars(builtins).get(name, missing))
        for after in instructions[place + 1 :]:
            ground = isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _GROUND
            if ground or not isinstance(value, ModuleType) or after.opname not in _ATTRIBUTES:
                break
            name, value = f"{name}.{after.argval}", getattr(value, after.argval, missing)
        yield name, None if value is missing else value
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(function, constant)
