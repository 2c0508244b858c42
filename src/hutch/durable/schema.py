"""The tables of a label store, and how a store file is opened."""

import os
import secrets
import sqlite3
import time
from pathlib import Path

from hutch.core.errors import StoreError, at, shortened
from hutch.core.version import newer, version
from hutch.durable.checksums import COVERED, add_functions
from hutch.durable.damage import why_unusable

SCHEMA_VERSION = 1
APPLICATION_ID = 0x48757463
"""Marks an SQLite file as a label store ("Hutc")."""

_SMALLEST = 512
"""Bytes of the smallest database."""
_TABLES = """
-- The checksums of rows are those of the columns that never change, see hutch.durable.checksums.
CREATE TABLE store (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER) WITHOUT ROWID;

-- One row per run of `ask`: what its requests were drawn from.
CREATE TABLE rounds (
    round INTEGER PRIMARY KEY,
    pool TEXT NOT NULL,
    examples INTEGER NOT NULL,      -- lines the requests were drawn from
    probability REAL NOT NULL,      -- sum over these lines: the labels expected
    threshold REAL,                 -- of scalar predictions; NULL where classes are predicted
    created REAL NOT NULL,
    checksum INTEGER
);

CREATE TABLE requests (
    number INTEGER PRIMARY KEY,     -- order of asking
    id TEXT NOT NULL UNIQUE,
    round INTEGER NOT NULL REFERENCES rounds,
    line TEXT NOT NULL,
    prediction REAL NOT NULL,
    probability REAL NOT NULL CHECK (probability > 0 AND probability <= 1),
    importance REAL NOT NULL CHECK (importance >= 1),
    model TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'unknown')),
    wanted INTEGER NOT NULL DEFAULT 1 CHECK (wanted >= 1),
    created REAL NOT NULL,
    leased_until REAL NOT NULL DEFAULT 0,
    leased_to TEXT NOT NULL DEFAULT '',
    checksum INTEGER
);
CREATE INDEX open_requests ON requests (number) WHERE state = 'open';

CREATE TABLE labels (
    number INTEGER PRIMARY KEY REFERENCES audit,  -- order of arrival
    id TEXT NOT NULL UNIQUE,
    request TEXT NOT NULL REFERENCES requests (id),
    worker TEXT NOT NULL,
    label TEXT NOT NULL,
    time REAL NOT NULL,
    checksum INTEGER
);
CREATE INDEX labels_of ON labels (request, worker);

-- All that happened, in order. A model has learned a prefix of it.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    event TEXT NOT NULL CHECK (event IN ('ask', 'answer', 'learn')),
    detail TEXT NOT NULL,           -- JSON
    time REAL NOT NULL,
    checksum INTEGER
);
CREATE TRIGGER audit_never_changes BEFORE UPDATE OF number, event, detail, time ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_never_shrinks BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- What people see of a request, as a JSON object; without one they see its line.
CREATE TABLE documents (
    request TEXT PRIMARY KEY REFERENCES requests (id),
    document TEXT NOT NULL,
    checksum INTEGER
) WITHOUT ROWID;
CREATE INDEX leases ON requests (leased_to, number) WHERE leased_to != '';

-- What counting goes by.
CREATE INDEX requests_by_state ON requests (state);
CREATE INDEX labels_by_worker ON labels (worker, number, label);

-- Models in service. What they are called here stands in the metadata of their files.
CREATE TABLE serve_models (
    model INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,             -- under which it was served last
    saved INTEGER NOT NULL,         -- its file holds what it learned up to this entry
    kept INTEGER NOT NULL,          -- the log has the entries behind this one
    kept_chain INTEGER NOT NULL,    -- the chain of checksums there
    last INTEGER NOT NULL,          -- the last entry
    chain INTEGER NOT NULL          -- the chain of checksums there
);

-- What served models learn, in order.
CREATE TABLE serve_log (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    model INTEGER NOT NULL REFERENCES serve_models,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    audit INTEGER NOT NULL DEFAULT 0,   -- the answer in the audit log that it teaches, else 0
    time REAL NOT NULL,                 -- seconds since 1970
    checksum INTEGER NOT NULL,          -- CRC-32 of what it teaches
    chain INTEGER NOT NULL              -- CRC-32 of that and of the model's chain before
);

-- Requests that name themselves, so that one sent again is not learned again. Times are seconds of service.
CREATE TABLE serve_ids (
    model INTEGER NOT NULL,
    id TEXT NOT NULL,
    digest BLOB NOT NULL,
    number INTEGER NOT NULL,            -- of the entry in the log
    time REAL NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (model, id)
) WITHOUT ROWID;
CREATE INDEX serve_ids_by_time ON serve_ids (model, time);

-- What models have decided, with the probability of that moment, and what it cost once that is known.
CREATE TABLE serve_decisions (
    model INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    action INTEGER NOT NULL,
    probability REAL NOT NULL CHECK (probability > 0 AND probability <= 1),
    answer TEXT NOT NULL,               -- JSON: what the client was told
    cost REAL,
    number INTEGER,                     -- of the entry in the log that teaches it
    time REAL NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (model, id)
);
CREATE INDEX serve_decisions_by_time ON serve_decisions (model, time);
"""


def open_store(path: str | Path, *, create: bool) -> sqlite3.Connection:
    """Open a store file, or make a new one.

    Every commit is on disk before it returns; readers and one writer do not wait for each other.

    Args:
        path: the file.
        create: make it if it is missing.

    Raises:
        StoreError: it is missing, no store, or of another version.
    """

    def fail(text: str) -> StoreError:
        return StoreError(at(str(path), None, None, text))

    if not create and not Path(path).is_file():
        raise fail("no such store; `hutch active ask` makes one")
    connection = None
    try:
        if create and not Path(path).exists():  # it holds the token of the page: for its owner only
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if 0 < os.stat(path).st_size < _SMALLEST:  # SQLite would take it as empty
            raise fail("cannot be used as a label store: file is not a database")
        connection = sqlite3.connect(path, timeout=60.0, isolation_level=None, check_same_thread=False)
        add_functions(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN IMMEDIATE")
        written = connection.execute("PRAGMA user_version").fetchone()[0]
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if mark != APPLICATION_ID and not empty:
            raise fail("an SQLite file, but not a label store")
        if empty:
            _run(connection, _TABLES)
            for table, (key, others) in COVERED.items():
                new = [", ".join(f"new.{column}" for column in part.split(", ")) for part in (key, others)]
                connection.execute(
                    f"CREATE TRIGGER checksum_of_{table} AFTER INSERT ON {table} BEGIN UPDATE {table}"
                    f" SET checksum = checksum({', '.join(new)}) WHERE ({key}) = ({new[0]}); END"
                )
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            noted = [("identity", str(secrets.randbits(62))), ("hutch_version", version())]
            connection.executemany("INSERT INTO store VALUES (?, ?, NULL)", noted)
        elif written != SCHEMA_VERSION:
            [by] = connection.execute("SELECT max(value) FROM store WHERE key = 'hutch_version'").fetchone()
            raise fail(newer("store", written, shortened(str(by)), SCHEMA_VERSION))
        connection.execute("COMMIT")
        for left in range(6000, -1, -1):  # only here SQLite does not wait for other writers
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or not left:
                    raise
                time.sleep(0.01)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("SELECT 1 FROM store").fetchall()  # makes the file of its write-ahead log
    except BaseException as error:
        if connection is not None:
            connection.close()
        if not isinstance(error, sqlite3.Error | OSError | UnicodeDecodeError):
            raise
        raise fail(f"cannot be used as a label store: {why_unusable(path, error)}") from None
    return connection


def _run(connection: sqlite3.Connection, statements: str) -> None:
    """Run statements within the present transaction; executescript() would commit first."""
    statement = ""
    for line in statements.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
