"""Decisions whose use is not certain yet: nothing is learned of them until they are activated.

A cost that comes before is held. One that is never activated is never learned, also not with the default.
"""

import sqlite3

from hutch.durable.choices import Reward

TABLE = (
    "CREATE TABLE IF NOT EXISTS serve_deferred"
    " (model INTEGER NOT NULL, id TEXT NOT NULL, cost REAL, PRIMARY KEY (model, id)) WITHOUT ROWID"
)
"""Decisions that wait for their activation, and the cost that came meanwhile."""


def defer(connection: sqlite3.Connection, model: int, id: str) -> None:
    """Let a decision wait for its activation."""
    connection.execute("INSERT INTO serve_deferred VALUES (?, ?, NULL)", [model, id])


def hold(connection: sqlite3.Connection, model: int, reward: Reward) -> bool:
    """Hold the cost of a decision that waits for its activation, unless one is held; returns whether it waits."""
    query = "UPDATE serve_deferred SET cost = coalesce(cost, ?) WHERE model = ? AND id = ?"
    return connection.execute(query, [reward.cost, model, reward.id]).rowcount > 0


def activate(connection: sqlite3.Connection, model: int, id: str, since: float) -> float | None:
    """End the waiting of a decision, if it waits and is not too old.

    Args:
        connection: in a transaction.
        model: its number in the store.
        id: of the decision.
        since: seconds of service; one made before this stays as it is.

    Returns:
        The cost that is held, to be learned now; None if there is none.
    """
    query = (
        "SELECT held.cost FROM serve_deferred AS held JOIN serve_decisions USING (model, id) WHERE model = ? AND id = ?"
    )
    found = connection.execute(f"{query} AND time >= ?", [model, id, since]).fetchone()
    if found is None:
        return None
    connection.execute("DELETE FROM serve_deferred WHERE model = ? AND id = ?", [model, id])
    return None if found[0] is None else float(found[0])


def forget(connection: sqlite3.Connection, model: int) -> None:
    """Forget what is held of decisions that are not remembered any more."""
    known = (
        "SELECT 1 FROM serve_decisions AS made WHERE made.model = serve_deferred.model AND made.id = serve_deferred.id"
    )
    connection.execute(f"DELETE FROM serve_deferred WHERE model = ? AND NOT EXISTS ({known})", [model])
