"""Storage of compiled kernels on disk, and the decorators that put them there.

Numba keys a cached function by the text of its own file, so a change of a callee in another file gives a stale hit. A
directory's name therefore carries Hutch's version, a hash of this room (records, decorators, compiler), and one of all
sources that a kernel can reach: the files of Hutch that its own file imports, directly or not. A plugin may spell its
imports in any way, so the key of its kernels covers all of its package, everything that `hutch.plugin` re-exports, and
by value what the kernel reads and calls, see `hutch.core.kernel.reached`.
"""

import gc
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any

from hutch.core.errors import PluginError, at
from hutch.core.kernel import home, object_store, shipped
from hutch.core.kernel.arguments import UNFIT, Description, Native, describe, numba_type, result_of, text_of
from hutch.core.kernel.build_lock import build_lock
from hutch.core.kernel.checked import prepare
from hutch.core.kernel.decorators import CHECKED, Deferred, helper, is_interpreted
from hutch.core.version import version

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": CHECKED}
_IMPORTS = re.compile(r"from hutch\.([\w.]+) import (\([^)]*\)|.*)")  # fast: begins with plain letters
_MODULES = re.compile(r"\nimport (?:[\w., ]+, *)?hutch\.([\w.]+)")
_OWN_FILE = os.path.realpath(__file__)
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(_OWN_FILE)))
_SIGNATURE = re.compile(r"(\w+)\(([^()]*)\)")
_ABANDONED = 60.0
"""Seconds after which a temporary file of Numba's is nobody's."""
_dispatchers: list[Any] = []
_spent = 0.0  # seconds that this process has compiled
_said: set[str] = set()
_making = RLock()  # threads that need the same kernel at once compile it once
_lock = RLock()  # Numba's setting of the cache directory is the process's, and two threads may need their first kernel


def _source(path: str) -> tuple[bytes, tuple[str, ...]]:
    """Hash of a source as it is now, and the files of Hutch that it imports."""
    status = os.stat(path)
    return _read(path, status.st_mtime_ns, status.st_size)


@cache
def _read(path: str, *_: int) -> tuple[bytes, tuple[str, ...]]:
    with open(path, "rb") as file:
        content = file.read()
    name = os.path.basename(path)
    digest = hashlib.sha256(name.encode() + b"\0" + content).digest()
    if path == _OWN_FILE:  # this file's imports store code and do not affect it
        return digest, ()
    found = []
    text = content.decode("utf-8")
    for dotted, names in _IMPORTS.findall(text):
        found += _files_of(dotted, re.findall(r"\w+", names))
    for dotted in _MODULES.findall(f"\n{text}"):
        found += _files_of(dotted, [])
    return digest, tuple(filter(_is_file, found))


def _files_of(dotted: str, names: list[str]) -> list[str]:
    """The files that some names of a module of Hutch may come from."""
    if dotted == "plugin":
        return [_plugin_source()]
    top, *below = dotted.split(".")
    place = os.sep.join((_home_of(top), *below))
    if _is_file(f"{place}.py"):
        return [f"{place}.py"]
    ends = ["__init__", *names, *(f"{name}{os.sep}__init__" for name in names)]  # a package: its names may be modules
    return [f"{place}{os.sep}{end}.py" for end in ends]


@cache
def _home_of(name: str) -> str:
    """The place of a module or package of Hutch; in the repository few of them stand at the top."""
    place = os.path.join(_ROOT, name)
    return place if os.path.exists(place) else os.path.join(_ROOT, "src", "hutch", name)


_is_file = cache(os.path.isfile)


def _reached(start: str) -> set[str]:
    """A source and all of Hutch's sources that it imports, directly or not."""
    reached, waiting = {start}, [start]
    while waiting:
        new = set(_source(waiting.pop())[1]) - reached
        reached |= new
        waiting += new
    return reached


@cache
def source_digest(source: str) -> str:
    """A hash of a source and of all of Hutch's sources that it imports, directly or not, as they are at the first call.

    Args:
        source: absolute path without symbolic links.
    """
    digest = hashlib.sha256()
    for path in sorted(_reached(source)):
        digest.update(_source(path)[0])
    return digest.hexdigest()[:16]


@cache
def _digest_of_all(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(source_digest(str(path)).encode())
    return digest.hexdigest()[:16]


@cache
def _of_every_kernel() -> str:
    """A key for all that the machine code of any kernel depends on: Hutch's version, and the sources of this room."""
    digest = hashlib.sha256(version().encode())
    for path in sorted(Path(_OWN_FILE).parent.glob("*.py")):
        digest.update(_source(str(path))[0])
    return digest.hexdigest()[:8]


@cache
def _plugin_source() -> str:
    """The file that imports all that `hutch.plugin` re-exports."""
    spec = find_spec("hutch.plugin")  # read, not imported
    assert spec is not None and spec.origin is not None
    return os.path.realpath(f"{spec.origin}i")


@cache
def _usable(directory: Path) -> bool:
    import tempfile

    try:
        home.make(directory)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError as error:
        _say_not_kept(str(directory), error)
        return False


def _say_not_kept(directory: str, error: OSError) -> None:
    """Report, once in a process, that compiled kernels cannot be stored."""
    if not _said:
        notice = f"no kernel cache ({error.strerror}): kernels are compiled at every start; set HUTCH_CACHE_DIR"
        print(at(directory, None, None, notice), file=sys.stderr)
    _said.add(directory)


def directory_for(function: Callable[..., Any]) -> Callable[[], Path | None]:
    """The cache directory of a kernel: named by its module and the hash of every source that it can reach.

    The name of a third party's kernel covers values as well, as they are at the first call of the result, when all that
    the kernel names is there.

    The module counts because Numba stores its name: a file run by itself must not leave kernels of `__main__`. To be
    called when the module is imported: a source that is edited later does not describe the running code.

    Returns:
        A function that gives the directory; None for a function without a file, of a notebook or standard input, and
        for one that reads something that has no key.
    """
    key = _directory_name(function.__code__.co_filename, function.__module__)
    if key is None:
        return lambda: None
    if function.__module__.startswith("hutch."):
        return partial(_own_directory, key)
    return cache(partial(_their_directory, key, function))


_own_directory = cache(home.cache_directory)


def _their_directory(key: str, function: Callable[..., Any]) -> Path | None:
    """The directory of a third party's kernel."""
    from hutch.core.kernel.reached import digest_of

    reached = digest_of(function, source_digest)
    return home.cache_directory(f"{key}-{reached}") if reached else None


@cache
def _directory_name(file: str, module: str) -> str | None:
    return _key(os.path.realpath(file), module) if os.path.isfile(file) else None


def _key(source: str, module: str) -> str:
    key = f"{module}{'-checked' if CHECKED else ''}-{_of_every_kernel()}-{source_digest(source)}"
    top = module.split(".")[0]
    if top == "hutch":
        return key
    init = Path(getattr(sys.modules.get(top), "__file__", None) or source).resolve()
    package = _digest_of_all(init.parent) if init.name == "__init__.py" else ""
    return f"{key}-{hashlib.sha256(f'{source_digest(_plugin_source())} {package}'.encode()).hexdigest()[:16]}"


def _dispatcher(function: Callable[..., Any], directory: Path | None, **options: Any) -> Any:
    """Numba's function, kept on disk."""
    import numba

    from hutch.core.kernel import private

    prepare()
    config: Any = numba.config
    decorator: Any = numba.njit
    with _lock:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(directory)
        try:
            cached = directory is not None and _usable(directory)
            dispatcher = decorator(cache=cached, **private.of_kernels(), **_OPTIONS, **options)(function)
            if cached:
                private.let_saving_fail(dispatcher, partial(_save_if_possible, str(directory)))
        finally:
            config.CACHE_DIR = before
        _dispatchers.append(dispatcher)
    return dispatcher


def _save_if_possible(directory: str, save: Callable[[], None], where: str) -> None:
    """On a full disk, let compiled code serve this process alone; Numba would raise an error instead."""
    try:
        save()
        _remove_abandoned(Path(where))
    except OSError as error:
        _say_not_kept(directory, error)


def _remove_abandoned(directory: Path) -> None:
    """Remove files left by runs that were killed while Numba wrote; it renames within moments."""
    for path in directory.glob("*.tmp.*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()


def _plain_dispatcher(function: Callable[..., Any], directory: Path | None) -> Any:
    """Numba's function without the wrappers for calls from Python."""
    return _dispatcher(function, directory, no_cpython_wrapper=True, no_cfunc_wrapper=True)


class _Specialisation:
    """One function compiled for one signature, in memory and on disk.

    Args:
        function: the plain function.
        directory: gives its kernels' directory; None: nothing is stored.
        signature: of the machine code, as text.
        make: compiles it; returns Numba's function and its result.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        directory: Callable[[], Path | None],
        signature: str,
        make: Callable[[], tuple[Any, Any]],
    ) -> None:
        self._function = function
        self._directory = directory
        self._make = make
        self.signature = signature
        self.name = f"{function.__qualname__}-{function.__code__.co_firstlineno}"

    def code(self) -> object_store.Code:
        """The machine code: from the store, or as it came with the package, or compiled."""
        with _making:
            place = self.place()
            code, known = object_store.load(place) if place else (None, True)
            if code is None and place and not known:
                code = shipped.load(place.parent.name, self.name, self.signature)
            if code is None and place and not known and _usable(place.parent):
                with build_lock(place.with_suffix(".lock")):
                    code, known = object_store.load(place)  # another process may have compiled it meanwhile
                    return code or self._compile(None if known else place)
            return code or self._compile(None if known else place)

    def place(self) -> Path | None:
        """The file of the object code; None where none is kept."""
        if not object_store.enabled() or self._function.__closure__:
            return None
        directory = self._directory()
        if directory is None:
            return None
        key = hashlib.sha256(f"{self.signature} {object_store.build_key()}".encode()).hexdigest()[:16]
        return directory / f"{self.name}-{key}.object"

    def _compile(self, place: Path | None) -> object_store.Code:
        """Let Numba make or find the code, and keep the object."""
        from hutch.core.kernel.private import plain, pointer_to

        with _compiling(self._function.__name__):
            dispatcher, made = self._make()
            if place and dispatcher.stats.cache_hits and not plain():
                dispatcher.recompile()  # code from Numba's cache has no object to store
                made = dispatcher.overloads[made.signature.args]
        code = object_store.Code(pointer_to(made), result_of(made.signature.return_type))
        if place and _usable(place.parent):
            object_store.save(place, made, code.result, kernel=self.name, signature=self.signature)
        return code


class ArrayKernel(Deferred):
    """A function on arrays and numbers, called from Python and by other kernels; see `compiled`.

    Args:
        function: a module-level function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._directory = directory_for(function)
        self._natives: dict[Any, Native | None] = {}
        super().__init__(function, lambda: _plain_dispatcher(function, self._directory()))

    def __call__(self, *arguments: Any) -> Any:
        flat: list[Any] = []
        kinds = tuple([describe(argument, flat) for argument in arguments])
        if kinds not in self._natives:
            self._natives[kinds] = self._native(kinds)
        native = self._natives[kinds]
        return native(flat) if native else self._called(*arguments)

    def _native(self, found: tuple[Description | None, ...]) -> Native | None:
        """The function for these kinds of arguments; None where only Numba can call it."""
        kinds = [kind for kind in found if kind is not None]
        if len(kinds) < len(found) or self._is_interpreted():
            return None

        def make() -> tuple[Any, Any]:
            types = tuple(map(numba_type, kinds))
            self.made.compile(types)
            return self.made, self.made.overloads[types]

        signature = ", ".join(map(text_of, kinds))
        code = _Specialisation(self.py_func, self._directory, f"({signature})", make).code()
        return None if code.result == UNFIT else Native(self.py_func.__name__, code.address, kinds, code.result)

    def _is_interpreted(self) -> bool:
        """Whether CPython runs it: one of a plugin, since Hutch's own parsers are made of machine code."""
        module = self.py_func.__module__
        return not module.startswith("hutch.") and is_interpreted(module)

    @cached_property
    def _called(self) -> Any:
        """Numba's function with the wrappers for calls from Python; its files differ from those of the plain one."""
        if self._is_interpreted():
            assert self.interpreter, "hutch.core.interpreted.run is imported where plugins are loaded"
            return self.interpreter(self.py_func)
        directory = self._directory()
        return _dispatcher(self.py_func, directory and directory / "called")


def compiled(function: Callable[..., Any]) -> Any:
    """Decorate a kernel that Python calls with arrays: compiled at its first call, stored on disk.

    It is compiled once for each combination of kinds of arguments: of dtypes, dimensions and layouts. One that returns
    numbers, tuples of numbers or nothing is loaded without Numba.

    Args:
        function: a module-level function on arrays, scalars and tuples of these.
    """
    return ArrayKernel(function)


class AddressKernel:
    """A function with one fixed scalar signature, called by its address; compiled when the address is first asked for.

    Python may call it too, with plain numbers; it releases the GIL while it runs. So may other kernels, by its name.

    Args:
        function: a module-level function.
        signature: in Numba's notation, as `float64(float64, uint64)`.
    """

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        self.function = self.py_func = function
        self.signature = signature
        self._directory = directory_for(function)
        self._kept = _Specialisation(function, self._directory, signature, self._made)
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    @cached_property
    def _part(self) -> Any:
        """What it is for another kernel that calls it by its name; Numba does not keep it alive."""
        return helper(self.function)

    @property
    def _numba_type_(self) -> Any:
        return self._part._numba_type_

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's function, compiled."""
        from hutch.core.kernel.private import NumbaError
        from hutch.core.kernel.reason import reason

        dispatcher = _plain_dispatcher(self.function, self._directory())
        try:
            dispatcher.compile(self.signature)
        except (NumbaError, TypeError, LookupError, NotImplementedError) as error:
            if self.function.__module__.startswith("hutch."):
                raise
            why, line = reason(error)
            code = self.function.__code__
            text = f"kernel {self.__name__!r} of {self.function.__module__} cannot be compiled for {self.signature}: "
            raise PluginError(at(code.co_filename, line or code.co_firstlineno, None, text + why)) from error
        return dispatcher

    def _made(self) -> tuple[Any, Any]:
        (made,) = self.dispatcher.overloads.values()
        return self.dispatcher, made

    @cached_property
    def address(self) -> int:
        """Address of the machine code; valid as long as this object lives."""
        with _making:
            return self._kept.code().address

    def loads_without_numba(self) -> bool:
        """Whether later processes find its machine code on disk; True where none is kept."""
        place = self._place() if self.address else None
        code, known = object_store.load(place) if place else (None, False)
        return code is not None or not known

    def _place(self) -> Path | None:
        return self._kept.place()

    @cached_property
    def _native(self) -> Native:
        found = _SIGNATURE.fullmatch(self.signature)
        assert found
        return Native(self.__name__, self.address, [name.strip() for name in found[2].split(",")], found[1])

    def __call__(self, *arguments: float) -> Any:
        return self._native(arguments)


_LINE, _LONGEST = 64, 24
"""Characters of the line that says what is compiled, and of a name in it."""


@contextmanager
def _compiling(name: str) -> Iterator[None]:
    """While a kernel is compiled, show on a terminal or in a notebook which and how much was, in one short line."""
    from hutch.core.kernel.private import compiling_fast

    global _spent
    screen = sys.stdout if "ipykernel" in sys.modules else sys.stderr  # a notebook shows errors on red
    shown = screen is not None and (screen.isatty() or screen is sys.stdout)
    if shown:
        said = f"\rcompiling, once: kernel {compilations() + 1} ({name[:_LONGEST]}), {_spent:.0f} s"
        print(f"{said:{_LINE}}", end="", file=screen, flush=True)
    begun, collects = time.perf_counter(), gc.isenabled()
    gc.disable()  # Numba makes millions of small objects that stay: searching them is a tenth of the time
    try:
        with compiling_fast():
            yield
    finally:
        if collects:
            gc.enable()
        _spent += time.perf_counter() - begun
        if shown:
            print(f"\r{'':{_LINE}}\r", end="", file=screen, flush=True)


def entry(signature: str) -> Callable[[Callable[..., Any]], AddressKernel]:
    """Decorate a kernel that Python calls with numbers and addresses; arrays are views of the memory there.

    It takes less time to call than a `compiled` kernel, and has one signature.

    Args:
        signature: in Numba's notation, as `int64(uint64, int64)`.
    """
    return lambda function: AddressKernel(function, signature)


def compilations() -> int:
    """Number of kernels that this process has compiled itself, instead of loading them from the cache."""
    return sum(sum(dispatcher.stats.cache_misses.values()) for dispatcher in _dispatchers)
