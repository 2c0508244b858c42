"""Factors that were learned before: a large table takes half a minute, and a benchmark asks for them at every call."""

import contextlib
import hashlib
import inspect
import os
import time
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hutch.core.atomic import write_bytes
from hutch.core.errors import HutchError
from hutch.core.kernel.home import cache_directory, make
from hutch.factors import table
from hutch.factors.table import RANK, Factors, learn_factors

SLOW = 1.0
"""Seconds: factors that took less are learned again."""
KEPT = 8
"""Tables of which factors are kept, those used last."""


def remembered_factors(answers: NDArray[np.floating], rank: int = RANK, seed: int = 0) -> Factors:
    """The factors of a table, from the cache of this user if they are there, bit for bit those that were learned.

    Args:
        answers, rank, seed: as of `learn_factors`.

    >>> remembered_factors(np.eye(12), rank=2).columns.shape
    (12, 2)
    """
    answers = np.ascontiguousarray(answers, np.float32)
    file = _file_of(answers, rank, seed)
    if file is not None and (found := _read(file)) is not None:
        return found
    start = time.perf_counter()
    found = learn_factors(answers, rank, seed=seed)
    if file is not None and time.perf_counter() - start > SLOW:
        _write(file, found)
    return found


def _file_of(answers: NDArray[np.float32], rank: int, seed: int) -> Path | None:
    """Its name says all that the factors depend on; None without a cache."""
    directory = cache_directory("factors")
    if directory is None:
        return None
    key = hashlib.blake2b(f"{answers.shape} {rank} {seed} {np.__version__}".encode(), digest_size=16)
    key.update(_method())
    key.update(answers.tobytes())
    return directory / f"{key.hexdigest()}.safetensors"


@cache
def _method() -> bytes:
    return inspect.getsource(table).encode()


def _read(file: Path) -> Factors | None:
    """What a file holds; None if it is not there, or damaged."""
    if not file.exists():
        return None
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        found = Factors(**load_file(file))
        os.utime(file)
    except (OSError, SafetensorError, TypeError):
        return None
    return found


def _write(file: Path, found: Factors) -> None:
    """Keep factors, and drop those that were used longest ago; a cache that cannot be written is no error."""
    from safetensors.numpy import save

    with contextlib.suppress(OSError, HutchError):
        make(file.parent)
        parts = {name: getattr(found, name) for name in ("ability", "rows", "ease", "columns")}
        write_bytes(file, save(parts))
        old = sorted(file.parent.glob("*.safetensors"), key=lambda each: each.stat().st_mtime)[:-KEPT]
        for each in old:
            each.unlink()
