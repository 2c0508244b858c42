"""Taking answers back. The log keeps both the answer and that it was taken back."""

import json

from hutch.durable.records import SKIP, Answer
from hutch.durable.store import Store

RETRACTED = "retracts"
"""The key of a log entry that takes back the answer of this id."""


def answers_of(store: Store, worker: str, count: int) -> list[Answer]:
    """The latest answers of a worker, the last one first."""
    query = "SELECT request, worker, label, id FROM labels WHERE worker = ? ORDER BY number DESC LIMIT ?"
    return [Answer(*row) for row in store.rows(query, [worker, count])]


def find_answer(store: Store, id: str) -> Answer | None:
    """An answer by its id."""
    rows = store.rows("SELECT request, worker, label, id FROM labels WHERE id = ?", [id])
    return Answer(*rows[0]) if rows else None


def retract(store: Store, id: str, lease_seconds: float = 0.0) -> bool:
    """Retract an answer: its request is open again if it lacks answers now.

    A model that has not learned it yet never will; one that has keeps what it learned.

    Args:
        store: that has the answer.
        id: of the answer.
        lease_seconds: how long only its worker sees the request, in place of the one they see now.

    Returns:
        Whether the answer existed.
    """
    with store.transaction() as connection:
        row = connection.execute("SELECT request, worker, label FROM labels WHERE id = ?", [id]).fetchone()
        if row is None:
            return False
        request, worker, label = row
        detail = {"id": request, "worker": worker, "label": label, RETRACTED: id}
        connection.execute("DELETE FROM labels WHERE id = ?", [id])
        store.write_log(connection, "answer", detail)
        wanted, state = connection.execute("SELECT wanted, state FROM requests WHERE id = ?", [request]).fetchone()
        query = "SELECT count(*) FROM labels WHERE request = ? AND label != ?"
        if state != "open" and connection.execute(query, [request, SKIP]).fetchone()[0] < wanted:
            connection.execute("UPDATE requests SET state = 'open' WHERE id = ?", [request])
        if lease_seconds:
            free = "UPDATE requests SET leased_until = 0, leased_to = '' WHERE leased_to = ?"
            connection.execute(free, [worker])
            until = store.now() + lease_seconds
            hold = "UPDATE requests SET leased_until = ?, leased_to = ? WHERE id = ? AND state = 'open'"
            connection.execute(hold, [until, worker, request])
    return True


def taken_back(store: Store, after: int) -> set[int]:
    """The numbers of the answers in the log behind an entry that were taken back before a model learned them.

    So a model learns the same whenever it is rebuilt from the log: an answer counts if a `learn` entry came before it
    was taken back.
    """
    found: set[int] = set()
    query = "SELECT number, event, detail FROM audit WHERE number > ? AND event IN ('answer', 'learn') ORDER BY number"
    waiting: dict[str, int] = {}
    for number, event, text in store.rows(query, [after]):
        if event == "learn":
            waiting.clear()
            continue
        detail = json.loads(text)
        if RETRACTED in detail:
            taken = waiting.pop(detail[RETRACTED], None)
            found |= {number} if taken is None else {number, taken}
        else:
            waiting[detail.get("answer", "")] = number
    return found
