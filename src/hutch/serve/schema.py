"""The tables that `hutch serve` adds to the file of the label store."""

import sqlite3

_TABLES = (
    # What served models learn, in order; entries that every save holds are removed.
    """CREATE TABLE IF NOT EXISTS serve_log (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        model TEXT NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        audit INTEGER NOT NULL DEFAULT 0,   -- the answer in the audit log that it teaches, else 0
        time REAL NOT NULL
    )""",
    # Requests that name themselves, so that one sent again is not learned again.
    """CREATE TABLE IF NOT EXISTS serve_ids (
        model TEXT NOT NULL,
        id TEXT NOT NULL,
        digest BLOB NOT NULL,
        number INTEGER NOT NULL,            -- of the entry in the log
        time REAL NOT NULL DEFAULT 0,
        PRIMARY KEY (model, id)
    ) WITHOUT ROWID""",
    # The file that each model began with, and the last entry that it held.
    """CREATE TABLE IF NOT EXISTS serve_models (
        model TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        through INTEGER NOT NULL
    ) WITHOUT ROWID""",
    # What models have decided, with the probability of that moment, and what it cost once that is known.
    """CREATE TABLE IF NOT EXISTS serve_decisions (
        model TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        body BLOB NOT NULL,
        action INTEGER NOT NULL,
        probability REAL NOT NULL CHECK (probability > 0 AND probability <= 1),
        answer TEXT NOT NULL,               -- JSON: what the client was told
        cost REAL,
        number INTEGER,                     -- of the entry in the log that teaches it
        time REAL NOT NULL,
        PRIMARY KEY (model, id)
    )""",
)


def add_tables(connection: sqlite3.Connection) -> None:
    """Make the tables that are missing."""
    for table in _TABLES:
        connection.execute(table)


def forget(connection: sqlite3.Connection, model: str, through: int, before: float) -> None:
    """Remove ids and decisions that are old, unless the log still needs them.

    Args:
        connection: in a transaction.
        model: its name.
        through: the last entry of the log that the model's file holds.
        before: seconds since 1970; what is younger stays.
    """
    connection.execute("DELETE FROM serve_ids WHERE model = ? AND time < ?", [model, before])
    connection.execute(
        "DELETE FROM serve_decisions WHERE model = ? AND time < ? AND (number IS NULL OR number <= ?)",
        [model, before, through],
    )
