"""Receipts: what each entry of the log predicted before it was learned, so that a replay can prove itself.

A prediction is a fingerprint of the whole model: if those of a replay equal the receipts, the model is the one that
clients were served by. Beside them stands who wrote them: the versions and the processor of each server.
"""

import json
import sqlite3
import zlib
from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

TABLES = (
    "CREATE TABLE IF NOT EXISTS serve_receipts (number INTEGER PRIMARY KEY, receipt INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS serve_starts (after INTEGER NOT NULL, made_by TEXT NOT NULL, time REAL NOT NULL)",
)
"""CRC-32 of the predictions before an entry was learned; and who wrote the entries behind one, until the next row."""


def receipt_of(predictions: NDArray[np.float32]) -> int:
    """CRC-32 of predictions.

    >>> receipt_of(np.zeros(1, np.float32)) == receipt_of(np.zeros(1, np.float32))
    True
    """
    return zlib.crc32(predictions.tobytes())


@cache
def maker() -> dict[str, str]:
    """What predictions depend on beside the model: versions, and the processor that machine code is made for."""
    import llvmlite
    import llvmlite.binding as llvm
    import numba

    from hutch.core.version import version

    return {
        "hutch": version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "processor": llvm.get_host_cpu_name(),
    }


def note_start(connection: sqlite3.Connection, after: int, made_by: Mapping[str, str], time: float) -> None:
    """Note that a server writes the log from now on, if it differs from the one before."""
    text = json.dumps(dict(made_by), sort_keys=True)
    before = connection.execute("SELECT made_by FROM serve_starts ORDER BY rowid DESC LIMIT 1").fetchone()
    if before is None or before[0] != text:
        connection.execute("INSERT INTO serve_starts VALUES (?, ?, ?)", [after, text, time])


def made_by(connection: sqlite3.Connection, number: int) -> dict[str, str]:
    """Who wrote an entry; empty if unknown."""
    query = "SELECT made_by FROM serve_starts WHERE after < ? ORDER BY rowid DESC LIMIT 1"
    found = connection.execute(query, [number]).fetchone()
    read: dict[str, str] = json.loads(found[0]) if found else {}
    return read


def described(made: Mapping[str, str], beside: Mapping[str, str]) -> str:
    """What makes two makers differ, as `hutch 0.1.0`; everything if they do not.

    >>> described({"hutch": "0.1.0", "numpy": "2.1"}, {"hutch": "0.1.1", "numpy": "2.1"})
    'hutch 0.1.0'
    """
    differing = {key: value for key, value in made.items() if beside.get(key) != value} or made
    return ", ".join(f"{key} {value}" for key, value in differing.items()) or "an unknown version"
