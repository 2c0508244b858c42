"""Machine code of kernels on disk: a process that finds all its kernels never imports Numba, nor, on x86-64, LLVM.

A file holds the ELF object that Numba made of one kernel, with a checksum before it. Only objects that need nothing but
the C library and Numba's arrays are stored: kernels that call into Python are marked, and left to Numba's own cache.
"""

import ctypes
import hashlib
import json
import os
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hutch.core.atomic import write_bytes
from hutch.core.errors import HutchError
from hutch.core.kernel.arguments import UNFIT
from hutch.core.kernel.checked import VIOLATED, address_of_note, prepare
from hutch.core.kernel.elf import ElfObject
from hutch.core.kernel.home import distrust_reason
from hutch.core.kernel.plain import plain_wanted

_FORMAT = b"hutch object 2"
_SETTINGS = Path(".numba_config.yaml")
_THREADS = "NUMBA_NUM_THREADS"
_FIRST_PROCESSOR = 4096  # characters: Linux describes them all, one after the other
_TELLING = frozenset(("vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags"))
_C_LIBRARY = frozenset(
    "memcpy memmove memset strtof exp expf exp2 exp2f expm1 expm1f log logf log2 log2f log10 log10f log1p log1pf "
    "pow powf sqrt sqrtf cbrt cbrtf sin sinf cos cosf sincos sincosf tan tanf asin asinf acos acosf atan atanf "
    "atan2 atan2f sinh sinhf cosh coshf tanh tanhf floor floorf ceil ceilf trunc truncf rint rintf fmod fmodf fma "
    "fmaf hypot hypotf erf erff erfc erfcf lgamma tgamma".split()
)
_FREES_ARRAYS = "NRT_MemInfo_call_dtor"
"""Numba's, named wherever a helper is given an array; code that makes only views and no arrays never gets there."""
_RUNTIME = {
    "NRT_MemInfo_alloc_aligned": ("core/runtime/_nrt_python", "MemInfo_alloc_aligned"),
    _FREES_ARRAYS: ("core/runtime/_nrt_python", "MemInfo_call_dtor"),
    "NRT_MemInfo_new_varsize_dtor": ("core/runtime/_nrt_python", "MemInfo_new_varsize_dtor"),
    "numba_attempt_nocopy_reshape": ("_helperlib", "attempt_nocopy_reshape"),
}
"""Functions for arrays that kernels make: the library of Numba's that has each, and its name there."""
_engines: list[Any] = []  # they own the code


class Code(NamedTuple):
    """Machine code in memory, valid to the end of the process.

    Attributes:
        address: its start.
        result: the kind of its result, see `hutch.core.kernel.arguments.result_of`.
    """

    address: int
    result: Any


def enabled() -> bool:
    """Whether the store is used: on Linux, where alone it was tested, unless `HUTCH_OBJECT_STORE=0` turns it off."""
    return sys.platform == "linux" and os.environ.get("HUTCH_OBJECT_STORE", "") != "0" and not plain_wanted()


@cache
def build_key() -> str:
    """A key for everything but the sources that machine code depends on: versions, processor, Numba's settings.

    The number of threads is not among them: kernels start none, and joblib sets it in its processes.
    """
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_") and item[0] != _THREADS)
    parts = [
        sys.implementation.cache_tag,
        version_source("numba", "_version.py"),
        version_source("llvmlite", "_version.py"),
        np.__version__,
        *_processor(),
        *(f"{name}={value}" for name, value in settings),
        _SETTINGS.read_text(encoding="utf-8", errors="replace") if _SETTINGS.is_file() else "",
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def version_source(package: str, file: str) -> str:
    """The source that defines the installed version of a package, found without importing it.

    Args:
        package: a top-level package.
        file: name of the file in its directory.
    """
    found = find_spec(package)
    path = Path(found.origin).with_name(file) if found and found.origin else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""


def _processor() -> list[str]:
    """The processor and its features from Linux; for other kinds of processors, LLVM provides the rest."""
    if os.uname().machine == "x86_64":
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.split(":", 1) for line in file.read(_FIRST_PROCESSOR).partition("\n\n")[0].splitlines()]
        return [f"{name.strip()}={value.strip()}" for name, value in lines if name.strip() in _TELLING]
    import llvmlite.binding as llvm

    return [llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]


def processor_flags() -> frozenset[str]:
    """The processor's features, in Linux's words; empty if Linux does not list them."""
    told = dict(line.split("=", 1) for line in _processor() if "=" in line)
    return frozenset(told.get("flags", "").split())


def load(path: Path, *, ours: bool = False) -> tuple[Code | None, bool]:
    """Load a kernel.

    Args:
        path: of a file written by `save`.
        ours: it came with the package, and is trusted as the package's sources are, whoever owns them.

    Returns:
        Its code or None, and whether the file exists and is intact.
    """
    found = None if not ours and distrust_reason(path) else _parts(path)
    if found is None:
        return None, False
    description, code = found
    if not code:
        return None, True
    makes_arrays = _makes_arrays(description["needs"])
    address = ElfObject(code).place(description["symbol"], lambda name: _address_of(name, makes_arrays))
    if address is None:
        address = _link(code, description)
    return None if address is None else Code(address, description["result"]), True


def description(path: Path) -> dict[str, Any] | None:
    """The description of a kernel: its name and signature, and as `code` whether it has any.

    Args:
        path: of a file written by `save`.

    Returns:
        None if it is missing or damaged.
    """
    found = _parts(path)
    return None if found is None else found[0] | {"code": bool(found[1])}


def _parts(path: Path) -> tuple[dict[str, Any], bytes] | None:
    """Description and code of a file that is whole."""
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if head != _head(body):
        return None
    described, _, code = body.partition(b"\n")
    return json.loads(described), code


def _makes_arrays(needs: list[str]) -> bool:
    return any(name in _RUNTIME and name != _FREES_ARRAYS for name in needs)


def _address_of(name: str, makes_arrays: bool = False) -> int | None:
    """Where a function of the C library or of Numba's runtime lies."""
    if name in _RUNTIME and makes_arrays:
        library, helper = _RUNTIME[name]
        return _runtime(library).get(helper)
    if name == VIOLATED:
        return address_of_note()
    known = getattr(_c_library(), "abort" if name == _FREES_ARRAYS else name, None)
    return ctypes.cast(known, ctypes.c_void_p).value if known else None


@cache
def _runtime(library: str) -> dict[str, int]:
    """Addresses of the functions of one of Numba's libraries, which is loaded without Numba's Python."""
    found = find_spec("numba")
    for ending in EXTENSION_SUFFIXES:
        path = Path(found.origin).parent / f"{library}{ending}" if found and found.origin else None
        if path and path.is_file():
            spec = spec_from_file_location(f"hutch.{path.name.partition('.')[0]}", path)
            assert spec and spec.loader
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return dict(module.c_helpers)
    return {}


@cache
def _c_library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:  # a part of the C library, or elsewhere; LLVM finds missing symbols
        return ctypes.CDLL(None)


def _link(code: bytes, description: dict[str, Any]) -> int | None:
    """Let LLVM put an object into memory."""
    import llvmlite.binding as llvm

    prepare()
    target, makes_arrays = _target(), _makes_arrays(description["needs"])
    for name in _RUNTIME.keys() & description["needs"]:
        if llvm.address_of_symbol(name) is None and (address := _address_of(name, makes_arrays)):
            llvm.add_symbol(name, address)
    if any(llvm.address_of_symbol(name) is None for name in description["needs"]):  # LLVM would abort the process
        return None
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)  # one for each object: inlined functions may share a name, but not the code
    return int(engine.get_function_address(description["symbol"]))


def save(path: Path, compiled: Any, result: Any, **names: str) -> None:
    """Store a kernel that Numba has compiled in this process; a full disk is no error.

    Args:
        path: of the file; its directory exists.
        compiled: Numba's result of the compilation.
        result: the kind of its result.
        names: further entries of its description.
    """
    from hutch.core.kernel.private import object_of

    found = object_of(compiled)
    if found is None:
        return
    symbol, code = found
    needs = ElfObject(code).needs() if ElfObject.recognises(code) else None
    if needs is None or result == UNFIT or not (_C_LIBRARY | _RUNTIME.keys() | {VIOLATED}).issuperset(needs):
        code = b""  # marks this kernel as one for Numba
    said = {"symbol": symbol, "needs": needs, "result": result, **names}
    body = json.dumps(said).encode() + b"\n" + code
    try:
        write_bytes(path, _head(body) + b"\n" + body, private=True)
    except HutchError:
        return


def _head(body: bytes) -> bytes:
    return _FORMAT + b" " + hashlib.sha256(body).hexdigest().encode()


@cache
def _target() -> Any:
    from contextlib import suppress

    import llvmlite.binding as llvm

    with suppress(RuntimeError):  # llvmlite refuses since it does this itself
        llvm.initialize()
    with suppress(RuntimeError):  # other systems have it elsewhere; missing symbols are left to Numba
        llvm.load_library_permanently("libm.so.6")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()
