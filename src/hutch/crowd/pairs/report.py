"""Outputs of `hutch crowd --pairs`: strengths, workers, a summary, the next pairs to request."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.crowd.pairs.intervals import MOST, centred
from hutch.crowd.pairs.islands import Compared, places_of
from hutch.crowd.pairs.kernels import LEFT, RIGHT, TIE
from hutch.crowd.pairs.model import PairModel
from hutch.crowd.pairs.state import Array, PairState
from hutch.crowd.pairs.votes import Votes, is_one_way

NORMAL_95 = 1.959963984540054
_CLEAN = str.maketrans({"\t": " ", "\n": " ", "\r": " "})


@dataclass
class Tally:
    """Counts of votes, by the codes of a state; it grows with it.

    Attributes:
        outcomes: left, right, tie.
        sides: votes of each unit as left and as right (units, 2).
        results: votes of each unit won, lost, tied (units, 3).
        workers: votes of each worker.
        loss, seen: sum of the log-losses before each vote was learned, and their number.
        compared: which players votes connect.
        form: how the votes were read, in one line.
    """

    outcomes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))
    sides: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    results: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    workers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    loss: float = 0.0
    seen: int = 0
    compared: Compared = field(default_factory=Compared)
    form: str = ""

    def add(self, votes: Votes, state: PairState) -> None:
        """Count some votes."""
        self.compared.add(votes)
        self.form = votes.form
        units, _, workers = state.sizes
        code = np.array([state.players.get(name, 0) for name in votes.players] or [0])
        left, right = code[votes.left], code[votes.right]
        self.outcomes += np.bincount(votes.outcomes, minlength=3)
        self.sides = _grown(self.sides, units)
        self.results = _grown(self.results, units)
        self.sides += np.stack([np.bincount(side, minlength=units) for side in (left, right)], axis=1)
        for unit, won, lost in ((left, LEFT, RIGHT), (right, RIGHT, LEFT)):
            for column, outcome in enumerate((won, lost, TIE)):
                self.results[:, column] += np.bincount(unit[votes.outcomes == outcome], minlength=units)
        person = np.array([state.workers.get(name, 0) for name in votes.worker_names] or [0])
        self.workers = _grown(self.workers, workers)
        self.workers += np.bincount(person[votes.workers], minlength=workers)

    def add_loss(self, probability: Array, votes: Votes) -> None:
        """Add the log-losses of votes that were predicted."""
        self.loss += float(log_losses(probability, votes.outcomes).sum())
        self.seen += len(votes)


def _grown(counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.concatenate([counts, np.zeros((size - len(counts), *counts.shape[1:]), np.int64)])


def log_losses(probability: Array, outcomes: NDArray[np.uint8]) -> Array:
    """Minus the logarithm of the probability of each vote, clipped at 1e-6 (votes)."""
    return np.asarray(-np.log(np.maximum(probability[np.arange(len(outcomes)), outcomes], 1e-6)))


@dataclass(frozen=True)
class Strengths:
    """Strengths of players, less their mean; one unit multiplies the odds of winning by e.

    Attributes:
        players: names, the strongest first.
        strength, low, high: with their 95 % interval (players).
        order: places of these players in the state's order.
        group: of these players, from 0; those of different groups were never compared.
    """

    players: list[str]
    strength: Array
    low: Array
    high: Array
    order: NDArray[np.int64]
    group: NDArray[np.int64]


def strengths(state: PairState, groups: Sequence[Sequence[str]] = ()) -> Strengths:
    """The players' strengths with intervals.

    Args:
        state: of the model.
        groups: of players that were compared; strengths are less the mean of their group. Empty: all were.
    """
    names, (mean, variance) = list(state.players), state.strengths()
    group = places_of(groups, names) if len(groups) > 1 else np.zeros(len(names), np.int64)
    for number in np.unique(group).tolist():
        inside = np.flatnonzero(group == number)
        mean[inside] -= mean[inside].mean()
        if state.covariance is not None:
            variance[inside] = np.diag(centred(state.covariance[np.ix_(inside, inside)]))
    half = NORMAL_95 * np.sqrt(variance)
    order = np.lexsort((-mean, group))
    return Strengths(
        [names[k] for k in order.tolist()], mean[order], (mean - half)[order], (mean + half)[order], order, group[order]
    )


def strength_columns(state: PairState, tally: Tally, groups: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """Columns with a row per player, the strongest first: `player strength low high win votes won lost tied`.

    `win` is the probability of winning against a player of mean strength, ties left out. Several groups of players that
    were never compared come one after the other, with their number in the column `group`.
    """
    found = strengths(state, groups)
    results = tally.results[state.player_units[found.order] if len(found.order) else found.order]
    columns = {
        "player": found.players,
        "strength": found.strength,
        "low": found.low,
        "high": found.high,
        "win": 1 / (1 + np.exp(-found.strength)),
        "votes": results.sum(axis=1),
        **{name: results[:, k] for k, name in enumerate(("won", "lost", "tied"))},
    }
    return columns | ({"group": found.group + 1} if len(groups) > 1 else {})


def worker_columns(model: PairModel, state: PairState, tally: Tally) -> dict[str, Any]:
    """Columns with a row per worker: `worker votes reliability low high side tie`.

    Reliability is 1 for the average worker, 0 for one whose votes have no information, below 0 for reversed votes;
    `side` is the share of left among votes on equal players that are not ties, `tie` the share of ties among all votes
    on such players.

    Raises:
        UsageError: the model has no workers.
    """
    if not model.workers:
        raise UsageError(f"--workers: the model {model.name} treats all workers alike; wanted --model hierarchical")
    places = np.fromiter(state.workers.values(), np.int64, len(state.workers))
    bias, ties = state.mean["shared"]
    reliability, half = (
        1 + state.mean["reliability"][places],
        NORMAL_95 * np.sqrt(state.variance["reliability"][places]),
    )
    z, t = bias + state.mean["side"][places], ties + state.mean["worker_tie"][places]
    return {
        "worker": list(state.workers),
        "votes": _grown(tally.workers, max(state.sizes[2], len(tally.workers)))[places],
        "reliability": reliability,
        "low": reliability - half,
        "high": reliability + half,
        "side": 1 / (1 + np.exp(-z)),
        "tie": 1 / (1 + 2 * np.cosh(z / 2) * np.exp(-t)) if model.ties else np.zeros(len(places)),
    }


def write_columns(file: BinaryIO, columns: Mapping[str, Any]) -> None:
    """Write columns as a table."""
    file.write(("\t".join(columns) + "\n").encode())
    for row in zip(*(_cells(column) for column in columns.values()), strict=True):
        file.write(("\t".join(row) + "\n").encode())


def _cells(column: Any) -> list[str]:
    if isinstance(column, list):
        return [name.translate(_CLEAN) for name in column]
    return [f"{value:.4f}" if column.dtype.kind == "f" else f"{value}" for value in column.tolist()]


def votes_of(state: PairState, tally: Tally) -> dict[str, int]:
    """The number of votes of each player."""
    return {name: int(tally.results[unit].sum()) for name, unit in state.players.items() if unit < len(tally.results)}


def about_sides(state: PairState, tally: Tally) -> tuple[list[str], str, bool]:
    """What the verdict says of sides.

    Returns:
        the players in more than half of the votes that always stood on the same side, which looks like strength; the
        side that won all votes; and whether the model takes that for a preference for the side.
    """
    if is_one_way(tally.outcomes):
        return [], ("left", "right")[int(tally.outcomes[RIGHT] > 0)], bool(state.variance["shared"][0])
    sides = {name: tally.sides[unit] for name, unit in state.players.items() if unit < len(tally.sides)}
    half = tally.outcomes.sum() / 2 if len(sides) > 2 else math.inf
    return [name for name, (left, right) in sides.items() if left + right > half and not min(left, right)], "", False


def summary(model: PairModel, method: str, state: PairState, tally: Tally) -> dict[str, Any]:
    """The numbers of a run."""
    bias = float(state.mean["shared"][0])
    found: dict[str, Any] = {
        "model": model.name,
        "method": method,
        "players": len(state.players),
        "workers": int(np.count_nonzero(tally.workers[1:])),
        "votes": int(tally.outcomes.sum()),
        "left": int(tally.outcomes[LEFT]),
        "right": int(tally.outcomes[RIGHT]),
        "ties": int(tally.outcomes[TIE]),
        "features": state.features,
        "left_share": 1 / (1 + float(np.exp(-bias))),
    }
    if tally.seen:
        found["log_loss_before"] = tally.loss / tally.seen
    return found


def score(model: PairModel, state: PairState, votes: Votes) -> dict[str, float | None]:
    """Log-loss of left, right and tie, and how often the most probable of them was chosen, on votes not learned."""
    if not len(votes):
        return {"log_loss": None, "accuracy": None}
    probability = model.predict(votes, state)
    right = probability.argmax(axis=1) == votes.outcomes
    return {"log_loss": float(log_losses(probability, votes.outcomes).mean()), "accuracy": float(right.mean())}


def next_pairs(state: PairState, tally: Tally, count: int) -> list[dict[str, Any]]:
    """The pairs whose votes have the most expected information about the strengths, best first.

    The gain of a vote on i, j is ln(1 + h v) / 2 nats, v being the variance of the difference of the two and h the
    information of a vote at the present estimate. After each choice the variances are those that would follow. The
    left one is the player that has been left less often.

    Raises:
        UsageError: too many players.
    """
    players = list(state.players)
    if len(players) > MOST:
        raise UsageError(f"--next: got {len(players)} players, wanted at most {MOST}")
    if len(players) < 2:
        return []
    units, (mean, variance), known = state.player_units, state.strengths(), state.covariance
    covariance = np.diag(variance) if known is None else known.copy()
    ties = float(state.mean["shared"][1]) if state.variance["shared"][1] > 0 else -np.inf
    z = mean[:, None] - mean
    total = 2 * np.cosh(z / 2) + np.exp(ties)
    information = (2 * np.cosh(z / 2) / total) / 4 - (np.sinh(z / 2) / total) ** 2
    left = tally.sides[units, 0] - tally.sides[units, 1] if len(tally.sides) > units.max() else np.zeros(len(units))
    rows = []
    for _ in range(count):
        spread = np.diag(covariance)
        variance = np.maximum(spread[:, None] + spread - 2 * covariance, 0.0)
        gain = 0.5 * np.log1p(information * variance)
        np.fill_diagonal(gain, -1.0)
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(gain)), gain.shape))
        if left[i] > left[j]:
            i, j = j, i
        left[i] += 1
        left[j] -= 1
        rows.append({"left": players[i], "right": players[j], "gain": float(gain[i, j])})
        along = covariance[i] - covariance[j]
        h = information[i, j]
        covariance = covariance - np.outer(along, along) * (h / (1 + h * (along[i] - along[j])))
    return rows


def learn_blocks(model: PairModel, state: PairState | None, blocks: Iterable[Votes]) -> tuple[PairState | None, Tally]:
    """One pass over pieces of votes; returns the state and the counts, the loss before each vote included."""
    tally = Tally()
    for votes in blocks:
        state = state or model.start(votes.features)
        tally.add_loss(model.learn(votes, state), votes)
        tally.add(votes, state)
    return state, tally
