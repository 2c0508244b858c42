"""The decisions of models, in the file of the log: how one is drawn, its probability, and later its cost."""

import hashlib
import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import DataError, at, shortened
from hutch.durable.checksums import sound
from hutch.durable.loops import Beside
from hutch.durable.records import LONGEST_NAME, NEIGHBOURS, nearest

DECISION = "decision"
"""The kind of an entry in the log whose body is the id of a decision."""
_DEFERRED = "deferred"
"""Key of a stored answer: the decision came deferred."""


class Choice(NamedTuple):
    """A chosen action.

    Attributes:
        action: counted from 0; a class, counted from 1, where examples are single lines.
        cost: of the action.
        probability: with which it was chosen.
        metrics: what was seen of it, as `hutch.durable.seen.text_of` writes it, if the model learns metrics.
    """

    action: int
    cost: float
    probability: float
    metrics: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision as the client got it.

    Attributes:
        id: its name, unique for its model.
        kind, body: the decision's body, as the client sent it.
        action, probability: of the choice, as in `Choice`.
        answer: to the client.
        beside: if an apprentice made it, how it stands to the choice of the caller.
        deferred: nothing is learned of it until it is activated.
    """

    id: str
    kind: str
    body: bytes
    action: int
    probability: float
    answer: dict[str, Any]
    beside: Beside | None = None
    deferred: bool = False


class Default(NamedTuple):
    """What is learned of a decision without a reward.

    Attributes:
        seconds: of service that a decision waits for its reward, above 0.
        cost: that is learned then.
        metrics: by name, those that are learned then, each where it did not come; None where the model learns costs.
    """

    seconds: float
    cost: float
    metrics: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Reward:
    """The cost of a decision.

    Attributes:
        id: of the decision.
        cost: finite.
        place: (source, line, column) it was read from, for messages.
        told: how: `cost`, or `reward`, the negative cost.
        called: the name of `id` in the client's interface, for messages.
        seen: the metrics that the cost is made of, by name; None where the model learns costs.
    """

    id: str
    cost: float
    place: tuple[str, int | None, int | None]
    told: Literal["cost", "reward"] = "cost"
    called: str = "id"
    seen: Mapping[str, float] | None = None


def add_decision(
    connection: sqlite3.Connection, model: int, decided: Decided, now: float, called: str = "id"
) -> dict[str, Any]:
    """Store a decision unless its id is known; returns the answer to the client.

    Args:
        connection: in a transaction.
        model: its number in the store.
        decided: the decision.
        now: seconds of service, see `hutch.durable.log.Log.now`.
        called: the name of the id in the client's interface, for messages.

    Raises:
        Contradiction: the id belongs to another decision, or to one that is deferred while this is not, or the reverse.
    """
    query = f"SELECT kind, body, answer FROM serve_decisions WHERE model = ? AND id = ? AND {sound('serve_decisions')}"
    found = connection.execute(query, [model, decided.id]).fetchone()
    if found is not None:
        if found[:2] != (decided.kind, decided.body):
            raise Contradiction(f"{called}: got {decided.id!r} with another body than before, wanted a new id")
        answer = json.loads(found[2])
        check_deferred(answer, decided.deferred, decided.id, called)
        return {**answer, "repeated": True}
    row = [model, decided.id, decided.kind, decided.body, decided.action, decided.probability]
    kept = decided.answer | ({_DEFERRED: True} if decided.deferred else {})
    connection.execute(
        "INSERT INTO serve_decisions (model, id, kind, body, action, probability, answer, time)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [*row, json.dumps(kept), now],
    )
    return decided.answer


def check_deferred(answer: Mapping[str, Any], deferred: bool, id: str, called: str) -> None:
    """See that a decision that comes again is deferred as it was before, also if it has been activated since.

    Args:
        answer: of the first time, as it is stored.
        deferred: whether it is deferred now.
        id: of the decision.
        called: the name of the id in the client's interface.

    Raises:
        Contradiction: it is not.
    """
    if answer.get(_DEFERRED, False) != deferred:
        now, before = ("deferred", "not") if deferred else ("not deferred", "it was")
        raise Contradiction(f"{called}: got {id!r} {now}, and before {before}, wanted a new id")


def answers_of(connection: sqlite3.Connection, model: int, beginning: str) -> dict[str, tuple[bytes, dict[str, Any]]]:
    """Body and answer of the decisions whose ids begin with a text, by id, in the order in which they were made."""
    query = (
        "SELECT id, body, answer FROM serve_decisions WHERE model = ? AND id >= ? AND id < ?"
        f" AND {sound('serve_decisions')} ORDER BY rowid"
    )
    found = connection.execute(query, [model, beginning, beginning + chr(0x10FFFF)])
    return {id: (body, json.loads(answer)) for id, body, answer in found}


def add_cost(connection: sqlite3.Connection, model: int, reward: Reward, name: str) -> int | None:
    """Store the cost of a decision of the model of that name.

    Returns:
        None; or the number of the entry to learn from it, if the same cost was known before.

    Raises:
        UnknownDecision: there is none of this id.
        DataError: it has another cost.
    """
    query = "SELECT cost, number FROM serve_decisions WHERE model = ? AND id = ?"
    found = connection.execute(query, [model, reward.id]).fetchone()
    if found is None:
        raise unknown(connection, model, reward, name)
    if found[0] is None:
        query = "UPDATE serve_decisions SET cost = ? WHERE model = ? AND id = ?"
        connection.execute(query, [reward.cost, model, reward.id])
        return None
    if found[0] != reward.cost:
        sign = -1.0 if reward.told == "reward" else 1.0
        got, before = sign * reward.cost, sign * found[0]
        text = f"{reward.told}: got {got!r} for decision {reward.id!r}, but it was {before!r} before"
        raise DataError(at(*reward.place, text))
    return int(found[1])


def unknown(connection: sqlite3.Connection, model: int, reward: Reward, name: str) -> "UnknownDecision":
    """The error about a reward whose decision the model of that name does not have."""
    query = "SELECT id FROM serve_decisions WHERE model = ? ORDER BY rowid DESC LIMIT ?"
    hint = nearest(reward.id, [row[0] for row in connection.execute(query, [model, NEIGHBOURS])])
    id = shortened(reward.id, LONGEST_NAME)
    return UnknownDecision(
        at(*reward.place, f"{reward.called}: there is no decision {id!r} of the model {name!r}{hint}")
    )


def overdue(connection: sqlite3.Connection, model: int, since: float, before: float, most: int) -> list[str]:
    """Ids of decisions made in a span of time whose cost is not known, the oldest first; none that is deferred.

    Args:
        connection: of the store.
        model: its number in the store.
        since, before: seconds of service; both ends are included.
        most: so many at most.
    """
    query = (
        "SELECT id FROM serve_decisions WHERE model = ? AND cost IS NULL AND time BETWEEN ? AND ? AND NOT EXISTS"
        " (SELECT 1 FROM serve_deferred AS deferred WHERE deferred.model = serve_decisions.model"
        " AND deferred.id = serve_decisions.id) ORDER BY time, rowid LIMIT ?"
    )
    return [id for (id,) in connection.execute(query, [model, since, before, most])]


def has_cost(connection: sqlite3.Connection, model: int, id: str) -> bool:
    """Whether the cost of a decision is known."""
    query = "SELECT 1 FROM serve_decisions WHERE model = ? AND id = ? AND cost IS NOT NULL"
    return connection.execute(query, [model, id]).fetchone() is not None


def came_late(connection: sqlite3.Connection, model: int, reward: Reward, default: Default) -> bool:
    """Whether a decision was learned with the default before a reward of another value came.

    The time does not tell: after a crash, seconds of service are those of the last save.
    """
    query = "SELECT 1 FROM serve_decisions WHERE model = ? AND id = ? AND cost != ? AND cost = ?"
    return connection.execute(query, [model, reward.id, reward.cost, default.cost]).fetchone() is not None


def note_entry(connection: sqlite3.Connection, model: int, id: str, number: int) -> None:
    """Record the log entry that a decision leads to."""
    query = "UPDATE serve_decisions SET number = ? WHERE model = ? AND id = ?"
    connection.execute(query, [number, model, id])


def choice_of(connection: sqlite3.Connection, model: int, id: str) -> tuple[str, bytes, Choice] | None:
    """Kind and body of a decision, and its choice; None if it is unknown."""
    columns = "kind, body, action, cost, probability"
    query = f"SELECT {columns} FROM serve_decisions WHERE model = ? AND id = ? AND {sound('serve_decisions')}"
    found = connection.execute(query, [model, id]).fetchone()
    return found and (found[0], found[1], Choice(*found[2:]))


class Contradiction(DataError):
    """A request that contradicts an earlier one."""


class UnknownDecision(DataError):
    """The id of a decision that is not remembered, or was never made."""


def drawn(values: NDArray[np.float32], seed: str) -> tuple[int, NDArray[np.float32]]:
    """Draw one of some probabilities; the draw depends on these and on the seed alone.

    Args:
        values: of the actions, ≥ 0, which need not sum to 1.
        seed: any text.

    Returns:
        The place drawn, and the probabilities.

    Raises:
        DataError: values that are no probabilities.

    >>> drawn(np.array([0.5, 0.0, 1.5], np.float32), "visit 8")
    (2, array([0.25, 0.  , 0.75], dtype=float32))
    """
    total = float(values.sum(dtype=np.float64))
    if not (values >= 0).all() or not 0 < total < math.inf:
        raise DataError(f"the chain predicts {values.tolist()}, which are not probabilities")
    shares = (values / total).astype(np.float32)
    share = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:6], "big") / (1 << 48)
    return draw(shares.tolist(), share), shares


def draw(probabilities: Sequence[float], share: float) -> int:
    """The first place at which the running sum exceeds a share of the whole.

    >>> draw([0.25, 0.0, 0.75], 0.2), draw([0.25, 0.0, 0.75], 0.25)
    (0, 2)
    """
    sums = np.cumsum(np.asarray(probabilities, np.float64))
    last = int(np.flatnonzero(np.asarray(probabilities))[-1])
    return min(int(np.searchsorted(sums, share * sums[-1], "right")), last)
