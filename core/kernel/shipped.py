"""Machine code of kernels that came with the package, for a level of x86-64, or for any 64-bit ARM.

A wheel for Linux holds objects compiled from its own sources when it was built (`.ci/ship_kernels`), in the form of
the object store. One is used only if the sources, the signature, and Numba's calling convention are those that it
was compiled with; only the package's own files are read, which are trusted as its Python sources are.
"""

import hashlib
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from hutch.core.kernel import object_store
from hutch.core.kernel.decorators import CHECKED

SWITCH = "HUTCH_SHIPPED_KERNELS"
FOLDER = Path(__file__).parent / "shipped_objects"

LEVELS = {
    "x86-64-v3": frozenset("sse4_2 ssse3 popcnt cx16 lahf_lm avx avx2 bmi1 bmi2 f16c fma abm movbe xsave".split()),
    "x86-64-v2": frozenset("sse4_2 ssse3 popcnt cx16 lahf_lm".split()),
}
"""Features that a processor needs, in Linux's words, from the highest level down: the psABI's levels."""
_ARM = "aarch64"


def level() -> str | None:
    """The highest level for which the package has code and that this processor supports; None without one.

    `HUTCH_SHIPPED_KERNELS=0` turns it off, so that everything is compiled for this very processor.
    """
    if CHECKED or not object_store.enabled() or os.environ.get(SWITCH) == "0":
        return None
    return _level()


@cache
def _level() -> str | None:
    machine = os.uname().machine
    if machine == _ARM:
        return _ARM if (FOLDER / _ARM).is_dir() else None
    if machine != "x86_64":
        return None
    can = object_store.processor_flags()
    found = (name for name, needed in LEVELS.items() if needed <= can and (FOLDER / name).is_dir())
    return next(found, None)


def place_of(directory: str, function: str, signature: str, built_for: str) -> Path:
    """The file of a kernel.

    Args:
        directory: the name of its directory in the cache: its module, and the hash of every source that it reaches.
        function: its name and its line.
        signature: in Numba's notation.
        built_for: one of the levels.
    """
    key = "\n".join((directory, function, signature, built_for, _convention()))
    return FOLDER / built_for / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.object"


def load(directory: str, function: str, signature: str) -> object_store.Code | None:
    """A kernel's code that came with the package; None if it has none for this processor."""
    built_for = level()
    if built_for is None:
        return None
    return object_store.load(place_of(directory, function, signature, built_for), ours=True)[0]


@cache
def _convention() -> str:
    """The calling convention between kernels of the installed Numba, as in shipped ones, and its layout of arrays."""
    found = find_spec("numba")
    paths = [
        Path(found.origin).parent / "core" / name if found and found.origin else None
        for name in ("callconv.py", "datamodel/models.py", "runtime/nrtdynmod.py")
    ]
    return " ".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path and path.is_file())
