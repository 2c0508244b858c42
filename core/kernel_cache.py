"""Where compiled kernels live on disk, and the decorators that put them there.

Numba keys a cached function by the text of its own file, so a change of a callee in another file gives a stale hit. The
directory's name therefore carries a hash of every source that a kernel can reach: all of Hutch, and for a plugin's kernel
all of the plugin's package too.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
from numba import njit, types

from hutch.core.errors import at

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_dispatchers: list[Any] = []


@cache
def _digest(root: Path) -> str:
    """Hash of all Python sources below `root`."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _home() -> Path:
    """The writable directory under which all caches lie; `HUTCH_CACHE_DIR` overrides it."""
    if os.environ.get("HUTCH_CACHE_DIR"):
        return Path(os.environ["HUTCH_CACHE_DIR"])
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "hutch"


@cache
def _usable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError as error:
        notice = f"no kernel cache ({error.strerror}): kernels are compiled at every start; set HUTCH_CACHE_DIR"
        print(at(str(directory), None, None, notice), file=sys.stderr)
        return False


def directory_for(function: Callable[..., Any]) -> Path:
    """The cache directory of a kernel: named by the hash of every source that it can reach."""
    own = Path(__file__).resolve().parent
    source = Path(function.__code__.co_filename).resolve()
    key = "-".join(_digest(own.parent / part) for part in _parts(own))
    key = hashlib.sha256(key.encode()).hexdigest()[:16]
    if function.__module__.split(".")[0] != "hutch":
        top = sys.modules.get(function.__module__.split(".")[0])
        root = Path(getattr(top, "__file__", None) or source).resolve()
        key += "-" + _digest(root.parent if root.name == "__init__.py" else root)
    return _home() / f"kernels-{key}"


@cache
def _parts(own: Path) -> tuple[str, ...]:
    return tuple(name for name in ("core", "reductions", "crowd", "em") if (own.parent / name).is_dir())


def compiled(function: Callable[..., Any], signature: Any = None, **options: Any) -> Any:
    """Decorate a kernel that Python calls with arrays: compiled at its first call, kept on disk.

    Args:
        function: a module-level function on scalars and arrays.
        signature: Numba signature; given, it compiles now.
        options: further Numba options.
    """
    directory = directory_for(function)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(directory)
    decorate = njit(signature, cache=_usable(directory), **_OPTIONS, **options) if signature else None
    try:
        dispatcher = (decorate or njit(cache=_usable(directory), **_OPTIONS, **options))(function)
    finally:
        numba.config.CACHE_DIR = before
    _dispatchers.append(dispatcher)
    return dispatcher


class AddressKernel:
    """A function of one fixed signature of scalars, met by its address; compiled when the address is first asked for.

    Args:
        function: a module-level function.
        signature: the Numba signature.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.function = function
        self.signature = signature
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    @cached_property
    def dispatcher(self) -> Any:
        """The compiled function."""
        return compiled(self.function, self.signature, no_cpython_wrapper=True, no_cfunc_wrapper=True)

    @cached_property
    def address(self) -> int:
        """Where the machine code lies; valid as long as this object lives."""
        result = self.dispatcher.overloads[self.signature.args]
        return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def compilations() -> int:
    """How many kernels this process has compiled itself, instead of loading them from the cache."""
    return sum(sum(dispatcher.stats.cache_misses.values()) for dispatcher in _dispatchers)


def scalar(name: str) -> Any:
    """Numba's scalar type of that name, e.g. `float32`."""
    return getattr(types, name)
