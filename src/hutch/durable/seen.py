"""What was seen of the metrics of decisions, in the file of the log: each metric of a decision once."""

import json
import sqlite3
from collections.abc import Iterable, Mapping

TABLE = (
    "CREATE TABLE IF NOT EXISTS serve_metrics (model INTEGER NOT NULL, id TEXT NOT NULL, metric TEXT NOT NULL,"
    " value REAL NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (model, id, metric)) WITHOUT ROWID"
)
"""The metrics of decisions, and the entry of the log that teaches each."""
METRICS = "metrics"
"""The kind of an entry in the log whose body is the id of a decision and metrics of it."""


def text_of(seen: Mapping[str, float]) -> str:
    """Metrics as a text, the same whatever their order.

    >>> text_of({"right": 1.0, "price": 0.002})
    '{"price": 0.002, "right": 1.0}'
    """
    return json.dumps(seen, sort_keys=True)


def body_of(id: str, text: str) -> bytes:
    """The body of an entry, from a decision's id and `text_of` its metrics."""
    return json.dumps([id, text]).encode()


def parts_of(body: bytes) -> tuple[str, str] | None:
    """What `body_of` made a body of; None if it is damaged."""
    try:
        id, text = json.loads(body)
    except ValueError:
        return None
    return (id, text) if isinstance(id, str) and isinstance(text, str) else None


def seen_of(connection: sqlite3.Connection, model: int, id: str) -> dict[str, float]:
    """All metrics of a decision that are known, by name."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'serve_metrics'").fetchone():
        return {}  # a log that no server of this version has opened
    return dict(connection.execute("SELECT metric, value FROM serve_metrics WHERE model = ? AND id = ?", [model, id]))


def entry_of(connection: sqlite3.Connection, model: int, id: str, names: Iterable[str]) -> int:
    """The last of the entries that teach some metrics of a decision, all of them known."""
    query = "SELECT metric, number FROM serve_metrics WHERE model = ? AND id = ?"
    numbers = dict(connection.execute(query, [model, id]))
    return max(int(numbers[name]) for name in names)


def lacking(
    connection: sqlite3.Connection, model: int, since: float, before: float, names: Iterable[str], most: int
) -> list[str]:
    """Ids of decisions made in a span of time of which some metrics are not known, the oldest first.

    Args:
        connection: of the store.
        model: its number in the store.
        since, before: seconds of service; both ends are included.
        names: of the metrics.
        most: so many at most.
    """
    wanted = list(names)
    known = (
        "SELECT count(*) FROM serve_metrics AS seen WHERE seen.model = serve_decisions.model"
        f" AND seen.id = serve_decisions.id AND metric IN ({', '.join('?' * len(wanted))})"
    )
    query = (
        f"SELECT id FROM serve_decisions WHERE model = ? AND time BETWEEN ? AND ? AND ({known}) < ?"
        " ORDER BY time, rowid LIMIT ?"
    )
    return [id for (id,) in connection.execute(query, [model, since, before, *wanted, len(wanted), most])]


def note_seen(
    connection: sqlite3.Connection, model: int, id: str, seen: Mapping[str, float], cost: float, number: int
) -> bool:
    """Store metrics of a decision, and their part of its cost; returns whether they are the first.

    Args:
        connection: in a transaction.
        model: its number in the store.
        id: of the decision.
        seen: metrics that were not known, by name.
        cost: of these.
        number: of the entry that teaches them.
    """
    query = "SELECT 1 FROM serve_decisions WHERE model = ? AND id = ? AND number IS NULL"
    first = connection.execute(query, [model, id]).fetchone() is not None
    rows = [(model, id, name, value, number) for name, value in seen.items()]
    connection.executemany("INSERT INTO serve_metrics VALUES (?, ?, ?, ?, ?)", rows)
    changes = "cost = coalesce(cost, 0) + ?, number = coalesce(number, ?)"
    query = f"UPDATE serve_decisions SET {changes} WHERE model = ? AND id = ?"
    connection.execute(query, [cost, number, model, id])
    return first


def take_back(connection: sqlite3.Connection, model: int, first: int, last: int) -> None:
    """Forget the metrics that some entries teach, from the first to the last."""
    query = "DELETE FROM serve_metrics WHERE model = ? AND number BETWEEN ? AND ?"
    connection.execute(query, [model, first, last])


def forget(connection: sqlite3.Connection, model: int) -> None:
    """Forget the metrics of decisions that are not remembered any more."""
    known = (
        "SELECT 1 FROM serve_decisions AS made WHERE made.model = serve_metrics.model AND made.id = serve_metrics.id"
    )
    connection.execute(f"DELETE FROM serve_metrics WHERE model = ? AND NOT EXISTS ({known})", [model])
