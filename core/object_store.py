"""Machine code of kernels on disk, loaded by llvmlite alone: a process that finds all its kernels never imports Numba.

A file holds the ELF object that Numba made of one kernel, with a checksum before it. Only objects that need nothing but
the C library are kept: whatever calls into Python or Numba's runtime is noted as such, and left to Numba's own cache.
"""

import hashlib
import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hutch.core.atomic import write_bytes
from hutch.core.errors import HutchError

_FORMAT = b"hutch object 1"
_ELF64 = b"\x7fELF\x02\x01"
_SYMBOL = np.dtype(
    [("name", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"), ("size", "u8")]
)
_SETTINGS = Path(".numba_config.yaml")
_C_LIBRARY = frozenset(
    "memcpy memmove memset strtof exp expf exp2 exp2f expm1 expm1f log logf log2 log2f log10 log10f log1p log1pf "
    "pow powf sqrt sqrtf cbrt cbrtf sin sinf cos cosf tan tanf asin asinf acos acosf atan atanf atan2 atan2f "
    "sinh sinhf cosh coshf tanh tanhf floor floorf ceil ceilf trunc truncf rint rintf fmod fmodf fma fmaf "
    "hypot hypotf erf erff erfc erfcf lgamma tgamma".split()
)
_FREES_ARRAYS = "NRT_MemInfo_call_dtor"
"""Numba's, named wherever a helper is given an array; code that makes no array, only views, never comes there."""
_engines: list[Any] = []  # they own the code


def enabled() -> bool:
    """Whether the store is used: on Linux, where alone it was tried, unless `HUTCH_OBJECT_STORE=0` turns it off."""
    return sys.platform == "linux" and os.environ.get("HUTCH_OBJECT_STORE", "") != "0"


@cache
def build_key() -> str:
    """Names everything but the sources that machine code depends on: versions, processor, Numba's settings."""
    from importlib.metadata import distribution

    import llvmlite
    import llvmlite.binding as llvm

    parts = [
        sys.implementation.cache_tag,
        distribution("numba").read_text("METADATA") or "",  # with the version; to parse it would take longer
        llvmlite.__version__,
        np.__version__,
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        *(f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("NUMBA_")),
        _SETTINGS.read_text(encoding="utf-8", errors="replace") if _SETTINGS.is_file() else "",
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def load(path: Path) -> tuple[int | None, bool]:
    """Load a kernel.

    Args:
        path: where `save` has put it.

    Returns:
        The address of its code, valid to the end of the process, or None; and whether the file is there and whole.
    """
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return None, False
    if head != _head(body):
        return None, False
    described, _, code = body.partition(b"\n")
    description = json.loads(described)
    if not code:
        return None, True
    import llvmlite.binding as llvm

    target = _target()
    if _FREES_ARRAYS in description["needs"] and llvm.address_of_symbol(_FREES_ARRAYS) is None:
        llvm.add_symbol(_FREES_ARRAYS, llvm.address_of_symbol("abort"))
    if any(llvm.address_of_symbol(name) is None for name in description["needs"]):  # LLVM would abort the process
        return None, True
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)  # one for each object: functions put in line elsewhere may share a name, but not the code
    return int(engine.get_function_address(description["symbol"])), True


def save(path: Path, compiled: Any) -> None:
    """Keep a kernel that Numba has compiled in this process; a full disk is no error.

    Args:
        path: of the file; its directory exists.
        compiled: Numba's result of the compilation.
    """
    symbol, code = compiled.fndesc.llvm_func_name, compiled.library.serialize_using_object_code()[2][0]
    needs = needed_symbols(code) if code.startswith(_ELF64) else None
    if needs is None or not _C_LIBRARY.issuperset({*needs} - {_FREES_ARRAYS}):
        code = b""  # says that this kernel is Numba's
    body = json.dumps({"symbol": symbol, "needs": needs}).encode() + b"\n" + code
    try:
        write_bytes(path, _head(body) + b"\n" + body)
    except HutchError:
        return


def needed_symbols(code: bytes) -> list[str]:
    """Names that a 64-bit little-endian ELF object leaves for others to define."""
    import llvmlite.binding as llvm

    found = llvm.ObjectFileRef.from_data(code)
    sections = {section.name(): section.data() for section in found.sections() if section.name()}
    table, names = np.frombuffer(sections[b".symtab"], _SYMBOL), sections[b".strtab"]
    starts = table["name"][(table["section"] == 0) & (table["name"] > 0)].tolist()
    return sorted(names[start : names.index(b"\0", start)].decode() for start in starts)


def _head(body: bytes) -> bytes:
    return _FORMAT + b" " + hashlib.sha256(body).hexdigest().encode()


@cache
def _target() -> Any:
    from contextlib import suppress

    import llvmlite.binding as llvm

    with suppress(RuntimeError):  # llvmlite refuses since it does this itself
        llvm.initialize()
    with suppress(RuntimeError):  # other systems have it elsewhere; what is not found then is Numba's
        llvm.load_library_permanently("libm.so.6")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()
