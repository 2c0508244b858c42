"""Checksums of rows: triggers of the schema write them, and a query that reads a row compares them."""

import sqlite3
import zlib
from functools import cache

COVERED = {
    "store": ("key", "value"),
    "rounds": ("round", "pool, examples, probability, threshold"),
    "requests": ("number", "id, round, line, prediction, probability, importance, model"),
    "documents": ("request", "document"),
    "labels": ("number", "id, request, worker, label"),
    "audit": ("number", "event, detail"),
    "serve_ids": ("model, id", "digest, number"),
    "serve_decisions": ("model, id", "kind, body, action, probability, answer"),
}
"""By table, the key and the other columns that the checksum of a row covers."""


def checksum(*cells: object) -> int:
    """CRC-32 of the cells of a row."""
    return zlib.crc32(ascii(cells).encode())


@cache
def sound(table: str, name: str = "") -> str:
    """The SQL condition that a row is intact; if not, the query fails.

    Args:
        table: one of `COVERED`.
        name: of the table in the query, if it differs.

    >>> sound("documents", "d")
    'sound(d.checksum, d.request, d.document)'
    """
    columns = ["checksum", *", ".join(COVERED[table]).split(", ")]
    return f"sound({', '.join(f'{name or table}.{column}' for column in columns)})"


def _sound(stored: object, *cells: object) -> int:
    if stored != checksum(*cells):
        raise ValueError
    return 1


def add_functions(connection: sqlite3.Connection) -> None:
    """Let a connection compute checksums and compare them."""
    connection.execute("PRAGMA trusted_schema = ON")  # its triggers use them
    connection.create_function("checksum", -1, checksum, deterministic=True)
    connection.create_function("sound", -1, _sound, deterministic=True)
