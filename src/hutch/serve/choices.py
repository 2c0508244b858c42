"""What models have decided, in the file of the log: each decision with its probability, and later its cost."""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from hutch.core.batch import Batch, shared_rows
from hutch.core.chain.reduction import Labels
from hutch.core.errors import DataError, at
from hutch.serve.bodies import SOURCE

DECISION = "decision"
"""The kind of an entry in the log whose body is the id of a decision."""
_NEIGHBOURS = 1000


class Choice(NamedTuple):
    """An action that was chosen.

    Attributes:
        action: counted from 0; a class, counted from 1, where examples are single lines.
        cost: what it cost.
        probability: with which it was chosen.
    """

    action: int
    cost: float
    probability: float


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision as it was told.

    Attributes:
        id: its name, unique for its model.
        kind, body: what was decided, see `hutch.serve.bodies`.
        action, probability: of the choice, as in `Choice`.
        answer: what the client is told.
    """

    id: str
    kind: str
    body: bytes
    action: int
    probability: float
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reward:
    """What a decision has cost.

    Attributes:
        id: of the decision.
        cost: finite.
        place: in the list of rewards, from 1; for messages.
    """

    id: str
    cost: float
    place: int


def find_answer(connection: sqlite3.Connection, model: str, id: str, kind: str, body: bytes) -> dict[str, Any] | None:
    """What a client was told before under this id; None if the id is new.

    Raises:
        Contradiction: the id belongs to another decision.
    """
    query = "SELECT kind, body, answer FROM serve_decisions WHERE model = ? AND id = ?"
    found = connection.execute(query, [model, id]).fetchone()
    if found is None:
        return None
    if found[:2] != (kind, body):
        raise Contradiction(f"id: got {id!r} with another body than before, wanted an id of its own")
    answer: dict[str, Any] = json.loads(found[2])
    return answer


def add_decision(connection: sqlite3.Connection, model: str, decided: Decided) -> dict[str, Any]:
    """Store a decision unless its id is known; returns what the client is told.

    Raises:
        Contradiction: the id belongs to another decision.
    """
    before = find_answer(connection, model, decided.id, decided.kind, decided.body)
    if before is not None:
        return before | {"repeated": True}
    row = [model, decided.id, decided.kind, decided.body, decided.action, decided.probability]
    connection.execute(
        "INSERT INTO serve_decisions (model, id, kind, body, action, probability, answer, time)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [*row, json.dumps(decided.answer), time.time()],
    )
    return decided.answer


def add_cost(connection: sqlite3.Connection, model: str, reward: Reward) -> int | None:
    """Store the cost of a decision.

    Returns:
        None; or the number of the entry that teaches it, if the same cost was known before.

    Raises:
        DataError: no such decision, or it has another cost.
    """
    query = "SELECT cost, number FROM serve_decisions WHERE model = ? AND id = ?"
    found = connection.execute(query, [model, reward.id]).fetchone()
    if found is None:
        query = "SELECT id FROM serve_decisions WHERE model = ? ORDER BY rowid DESC LIMIT ?"
        ids = [row[0] for row in connection.execute(query, [model, _NEIGHBOURS])]
        near = get_close_matches(reward.id, ids, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        text = f"id: there is no decision {reward.id!r} of the model {model!r}{hint}"
        raise DataError(at(SOURCE, reward.place, None, text))
    if found[0] is None:
        query = "UPDATE serve_decisions SET cost = ? WHERE model = ? AND id = ?"
        connection.execute(query, [reward.cost, model, reward.id])
        return None
    if found[0] != reward.cost:
        text = f"cost: got {reward.cost!r} for decision {reward.id!r}, but it was {found[0]!r} before"
        raise DataError(at(SOURCE, reward.place, None, text))
    return int(found[1])


def note_entry(connection: sqlite3.Connection, model: str, id: str, number: int) -> None:
    """Note the entry of the log that teaches a decision."""
    query = "UPDATE serve_decisions SET number = ? WHERE model = ? AND id = ?"
    connection.execute(query, [number, model, id])


def choice_of(connection: sqlite3.Connection, model: str, id: str) -> tuple[str, bytes, Choice]:
    """Kind and body of a decision, and what was chosen."""
    query = "SELECT kind, body, action, cost, probability FROM serve_decisions WHERE model = ? AND id = ?"
    kind, body, *choice = connection.execute(query, [model, id]).fetchone()
    return kind, body, Choice(*choice)


def with_choice(batch: Batch, takes: Labels, choice: Choice) -> Batch:
    """A decision without a label as one whose action was chosen.

    Args:
        batch: one decision; a shared row comes first.
        takes: what kind of labels the chain takes.
        choice: its label.
    """
    of_lines = takes is Labels.LOGGED_ACTION
    row = choice.action + int(shared_rows(batch)[0]) if of_lines else 0
    place = int(batch.cost_ptr[row])
    ends = batch.cost_ptr.copy()
    ends[row + 1 :] += 1
    return replace(
        batch,
        cost_ptr=ends,
        cost_classes=np.insert(batch.cost_classes, place, choice.action),
        costs=np.insert(batch.costs, place, choice.cost),
        probabilities=np.insert(batch.probabilities, place, choice.probability),
    )


def draw(probabilities: Sequence[float], share: float) -> int:
    """The first place at which the running sum exceeds a share of the whole.

    >>> draw([0.25, 0.0, 0.75], 0.2), draw([0.25, 0.0, 0.75], 0.25)
    (0, 2)
    """
    sums = np.cumsum(np.asarray(probabilities, np.float64))
    last = int(np.flatnonzero(np.asarray(probabilities))[-1])
    return min(int(np.searchsorted(sums, share * sums[-1], "right")), last)


class Contradiction(DataError):
    """A request that contradicts an earlier one."""
