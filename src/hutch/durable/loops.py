"""Learning loops beside the choices of their callers: the mode of each, and how the model compares with the caller.

While a model is an apprentice, the answer is the caller's own choice, but for a share of the events, in which the model
draws. With c the mean reward before an event, r its reward, p the probability of the action shown, π that which the
model gives it, and b = 1 if it is the caller's own, the model's advantage is the mean of (r - c)(π - b) / p and the
caller's value the mean of c + (r - c) b / p; c depends on earlier events alone, so both are without bias. A model that
learns gets better, so the comparison begins anew after FIRST events, then after twice as many, and so on. The k-th has
the error alpha / ((k + 1)(k + 2)), which makes alpha of all together, and its interval holds at every look
(`hutch.core.intervals.every_look`). It allows for one more event, with the reward 1 and the largest weight, 1 / share.
"""

import math
import sqlite3
from dataclasses import dataclass, replace
from typing import NamedTuple

from hutch.core.intervals import every_look, wilson

TABLES = (
    "CREATE TABLE IF NOT EXISTS serve_loops"
    " (model INTEGER PRIMARY KEY, apprentice INTEGER NOT NULL, share REAL NOT NULL,"
    " events INTEGER NOT NULL, agreed REAL NOT NULL, period INTEGER NOT NULL, counted INTEGER NOT NULL,"
    " rewards REAL NOT NULL, caller REAL NOT NULL, advantage REAL NOT NULL, squares REAL NOT NULL, better INTEGER)",
    "CREATE TABLE IF NOT EXISTS serve_beside"
    " (model INTEGER NOT NULL, id TEXT NOT NULL, weight REAL, caller REAL NOT NULL,"
    " agreed REAL NOT NULL, PRIMARY KEY (model, id)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS serve_counts"
    " (model INTEGER PRIMARY KEY, decided INTEGER NOT NULL, learned INTEGER NOT NULL, rewards REAL NOT NULL)",
)
"""Loops, the decisions of apprentices whose reward is not known yet, and what was decided and learned in all."""
FIRST = 250
"""Events of the first period."""
ENOUGH = 50
"""Events below which nothing is said."""
CONFIDENCE = 0.95
_COLUMNS = "apprentice, share, events, agreed, period, counted, rewards, caller, advantage, squares, better"


class Beside(NamedTuple):
    """A decision of an apprentice beside that of the caller.

    Attributes:
        weight: (π - b) / p; None if the caller's own action was certain, so that nothing follows for others.
        caller: b / p.
        agreed: probability that the model gives the caller's own action.
    """

    weight: float | None
    caller: float
    agreed: float


@dataclass(frozen=True, slots=True)
class Loop:
    """The state of a loop.

    Attributes:
        apprentice: the caller's own choices are shown.
        share: of the events in which an apprentice draws.
        events: of the apprentice whose reward is known.
        agreed: sum of the probabilities that the model gave the caller's own actions.
        period: number of the present comparison, from 0.
        counted: events in it whose weight is known.
        rewards: their sum.
        caller, advantage, squares: sums of the caller's value, of the model's advantage and of its square.
        better: events after which the model was found to be better; None if it was not.
    """

    apprentice: bool = False
    share: float = 0.0
    events: int = 0
    agreed: float = 0.0
    period: int = 0
    counted: int = 0
    rewards: float = 0.0
    caller: float = 0.0
    advantage: float = 0.0
    squares: float = 0.0
    better: int | None = None

    @property
    def mean(self) -> float:
        """The mean reward of the present comparison."""
        return self.rewards / self.counted if self.counted else 0.0

    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval of the model's advantage; None if there are too few events."""
        n = self.counted
        if n < ENOUGH:
            return None
        mean, far = self.advantage / n, (1 - self.mean) / self.share
        variance = max(self.squares / n - mean**2, 0.0) + far**2 / n
        level = 1 - (1 - CONFIDENCE) / ((self.period + 1) * (self.period + 2))
        reach = every_look(n, level, FIRST * 2**self.period / 2) * math.sqrt(variance / n)
        return mean - reach, mean + reach + far / n

    def agreement(self) -> tuple[float, float] | None:
        """The ends of the interval of the share of events in which the model chooses as the caller does."""
        if not self.events:
            return None
        reach = every_look(self.events, CONFIDENCE, FIRST)
        return wilson(self.agreed / self.events, 0.25 / self.events, 0.5, (0.0, 1.0), reach)

    def after(self, beside: Beside, reward: float) -> "Loop":
        """The state after the reward of a decision has come."""
        events, agreed = self.events + 1, self.agreed + beside.agreed
        if beside.weight is None:
            return replace(self, events=events, agreed=agreed)
        begins = self.counted >= FIRST * 2**self.period
        old = replace(self, period=self.period + 1, counted=0, rewards=0.0, caller=0.0, advantage=0.0,
                        squares=0.0) if begins else self  # fmt: skip
        off = reward - self.mean
        found = replace(
            old,
            events=events,
            agreed=agreed,
            counted=old.counted + 1,
            rewards=old.rewards + reward,
            caller=old.caller + self.mean + off * beside.caller,
            advantage=old.advantage + off * beside.weight,
            squares=old.squares + (off * beside.weight) ** 2,
        )
        ends = found.interval()
        if ends is not None and ends[0] > 0 and found.better is None:
            return replace(found, better=events)
        return replace(found, better=None) if ends is not None and ends[1] < 0 else found


def said_of(loop: Loop) -> str:
    """A sentence that tells whether the model is better than the caller."""
    if loop.share == 0:
        return (
            "whether the model is better than the caller cannot be known: it never draws; let it draw in a share of"
            " the events"
        )
    ends = loop.interval()
    if ends is None:
        return f"{loop.counted} events with rewards, wanted {ENOUGH} before anything is said of the model"
    n, low, high = loop.counted, *ends
    caller, gain = loop.caller / n, loop.advantage / n
    numbers = (
        f"over {n:,} events its choices give {caller + gain:.3f}, the caller's {caller:.3f}: "
        f"{gain:+.3f} ({low:+.3f} to {high:+.3f}; {100 * CONFIDENCE:g} %, at every look)"
    )
    if loop.better is not None:
        return f"the model was found to be better than the caller at event {loop.better:,}; {numbers}"
    return f"the model is not yet better than the caller; {numbers}"


def loop_of(connection: sqlite3.Connection, model: int) -> Loop:
    """The state of a model's loop."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM serve_loops WHERE model = ?", [model]).fetchone()
    return Loop() if found is None else Loop(bool(found[0]), *found[1:])


def keep_loop(connection: sqlite3.Connection, model: int, loop: Loop) -> None:
    """Store the state of a model's loop."""
    row = [model, int(loop.apprentice), *(getattr(loop, name) for name in _COLUMNS.split(", ")[1:])]
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT OR REPLACE INTO serve_loops (model, {_COLUMNS}) VALUES ({marks})", row)


def put_beside(connection: sqlite3.Connection, model: int, id: str, beside: Beside) -> None:
    """Store a decision of an apprentice until its reward comes."""
    connection.execute("INSERT INTO serve_beside VALUES (?, ?, ?, ?, ?)", [model, id, *beside])


def count_reward(connection: sqlite3.Connection, model: int, id: str, reward: float) -> Loop | None:
    """Count the reward of a decision, if an apprentice made it; returns the new state of its loop."""
    query = "SELECT weight, caller, agreed FROM serve_beside WHERE model = ? AND id = ?"
    found = connection.execute(query, [model, id]).fetchone()
    if found is None:
        return None
    connection.execute("DELETE FROM serve_beside WHERE model = ? AND id = ?", [model, id])
    loop = loop_of(connection, model).after(Beside(*found), reward)
    keep_loop(connection, model, loop)
    return loop


def count(connection: sqlite3.Connection, model: int, decided: int, learned: int = 0, rewards: float = 0.0) -> None:
    """Count decisions, and those that are learned with the sum of their rewards."""
    query = (
        "INSERT INTO serve_counts VALUES (?, ?, ?, ?) ON CONFLICT (model) DO UPDATE SET decided = decided"
        " + excluded.decided, learned = learned + excluded.learned, rewards = rewards + excluded.rewards"
    )
    connection.execute(query, [model, decided, learned, rewards])


def counts_of(connection: sqlite3.Connection, model: int) -> tuple[int, int, float]:
    """The number of decisions, of those that were learned, and the sum of their rewards, since the log was made."""
    query = "SELECT decided, learned, rewards FROM serve_counts WHERE model = ?"
    found: tuple[int, int, float] | None = connection.execute(query, [model]).fetchone()
    return found or (0, 0, 0.0)


def forget(connection: sqlite3.Connection, model: int) -> None:
    """Forget the decisions of apprentices that are not remembered any more."""
    known = "SELECT 1 FROM serve_decisions AS made WHERE made.model = serve_beside.model AND made.id = serve_beside.id"
    connection.execute(f"DELETE FROM serve_beside WHERE model = ? AND NOT EXISTS ({known})", [model])
