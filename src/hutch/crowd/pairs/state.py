"""State of a model of pairs: parameters by the names they belong to; it grows with new names."""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.chain.model_file import load_model, save_model
from hutch.core.errors import ModelError, UsageError, at
from hutch.crowd.pairs.votes import Codes, Votes

Array = NDArray[np.float64]

UNSEEN = 0
"""Code of an unknown unit, value or worker; their parameters stay 0."""
KINDS = ("shared", "strength", "tie", "value", "reliability", "side", "worker_tie")
"""The parts of the parameter vector, in its order; see `hutch.crowd.pairs.kernels`."""
FEW = 5
"""A context with so many values at most has no others: strengths are averages over them. One with more is a sample."""


@dataclass(frozen=True)
class Design:
    """Votes as places in the parameter vector, the arguments that all kernels share.

    Attributes:
        left, right: int32 (votes, levels).
        values: int32 (votes, features).
        workers: int32 (votes).
        outcomes: uint8 (votes).
        weights: float64 (votes).
    """

    left: Codes
    right: Codes
    values: Codes
    workers: Codes
    outcomes: NDArray[np.uint8]
    weights: Array


@dataclass
class PairState:
    """Parameters of players, contexts and workers.

    Attributes:
        model: name of the model.
        features: names of the features.
        scales: variance of the prior of each group of parameters, by name.
        players, workers: codes by name; 0 is any unseen one.
        values: codes by (feature, name).
        cells: unit of a player in a context, by (player's unit, value's code).
        unit_level: 0 for a player, 1 + feature for a player in a context (units).
        value_feature: the feature of each value (values).
        mean, variance: by kind of parameter.
        votes: number of votes learned.
        covariance: of the players' strengths, in the order of `players`; None where only variances are known.
        value_votes: number of votes with each value (values).
    """

    model: str
    features: list[str]
    scales: dict[str, float]
    players: dict[str, int] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)
    values: dict[tuple[int, str], int] = field(default_factory=dict)
    cells: dict[tuple[int, int], int] = field(default_factory=dict)
    unit_level: NDArray[np.int64] = field(default_factory=lambda: np.full(1, -1))
    value_feature: NDArray[np.int64] = field(default_factory=lambda: np.full(1, -1))
    mean: dict[str, Array] = field(default_factory=lambda: _start(0.0))
    variance: dict[str, Array] = field(default_factory=lambda: _start(0.0))
    votes: int = 0
    covariance: Array | None = None
    value_votes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of units, values and workers, the unseen one included."""
        return len(self.unit_level), len(self.value_feature), len(self.workers) + 1

    @property
    def player_units(self) -> NDArray[np.int64]:
        """The unit of each player."""
        return np.fromiter(self.players.values(), np.int64, len(self.players))

    @property
    def shares(self) -> Array:
        """What each unit adds to the strength of its player (units): 1 for the player; a context, if it has `FEW`
        values at most, the share of the votes that had its value.
        """
        features = 1 + self.value_feature  # 0: the unseen value's
        count, total = np.bincount(features), np.bincount(features, self.value_votes)
        value = np.where((count <= FEW)[features], self.value_votes / np.maximum(total, 1)[features], 0.0)
        shares: Array = np.where(self.unit_level == 0, 1.0, 0.0)
        for (_, code), unit in self.cells.items():
            shares[unit] = value[code]
        return shares

    @property
    def owners(self) -> NDArray[np.int64]:
        """The place of each unit's player in `players` (units); that of the unseen one is 0."""
        owner, place = (
            np.zeros(len(self.unit_level), np.int64),
            {unit: k for k, unit in enumerate(self.players.values())},
        )
        for unit, k in place.items():
            owner[unit] = k
        for (player, _), unit in self.cells.items():
            owner[unit] = place[player]
        return owner

    def strengths(self) -> tuple[Array, Array]:
        """Mean and variance of the strength of each player, without what is common to them (players)."""
        owners, shares = self.owners, self.shares
        mean, variance = np.zeros((2, len(self.players)))
        np.add.at(mean, owners[1:], (shares * self.mean["strength"])[1:])
        if self.covariance is not None:
            return mean, np.diag(self.covariance).copy()
        np.add.at(variance, owners[1:], (shares**2 * self.variance["strength"])[1:])
        for level in range(1, 1 + len(self.features)):  # of a sample of contexts, the variance of its mean
            sample = np.bincount(owners[(self.unit_level == level) & (shares == 0)], minlength=len(mean))
            variance[sample > 0] += self.scales.get(f"strength.{level}", 0.0) / sample[sample > 0]
        return mean, variance

    def vector(self, which: dict[str, Array]) -> Array:
        """`mean` or `variance` as one vector."""
        return np.concatenate([which[kind] for kind in KINDS])

    def keep(self, which: dict[str, Array], vector: Array) -> None:
        """Write a vector back."""
        start = 0
        for kind in KINDS:
            which[kind] = vector[start : start + len(which[kind])].copy()
            start += len(which[kind])

    def encode(self, votes: Votes, grow: bool) -> Design:
        """Votes as places; new names get new places if the state may grow, else that of unseen ones.

        Raises:
            UsageError: the votes have other features.
        """
        if votes.features != self.features:
            got, wanted = (", ".join(names) or "none" for names in (votes.features, self.features))
            raise UsageError(f"features: got {got}, wanted those of the model: {wanted}")
        levels: list[int] = []

        def player(name: str) -> int:
            unit = self.players.get(name, UNSEEN)
            if grow and not unit:
                unit = self.players[name] = len(self.unit_level) + len(levels)
                levels.append(0)
            return unit

        units = np.array([player(name) for name in votes.players] or [0], np.int32)
        left, right = units[votes.left][:, None], units[votes.right][:, None]
        workers = np.array(
            [_code(self.workers, name, grow) if name else UNSEEN for name in votes.worker_names] or [0], np.int32
        )
        values = np.empty_like(votes.values)
        for f, names in enumerate(votes.value_names):
            known = np.array([_code(self.values, (f, name), grow) for name in names] or [0], np.int32)
            values[:, f] = known[votes.values[:, f]]
            sides = []
            for side in (left[:, 0], right[:, 0]):
                sides.append(side.astype(np.int64) << 32 | values[:, f])
            keys, places = np.unique(np.concatenate(sides), return_inverse=True)
            codes = np.empty(len(keys), np.int32)
            for k, key in enumerate(keys.tolist()):
                cell, unit = (key >> 32, key & 0xFFFFFFFF), UNSEEN
                if all(cell):
                    unit = self.cells.get(cell, UNSEEN)
                    if grow and not unit:
                        unit = self.cells[cell] = len(self.unit_level) + len(levels)
                        levels.append(1 + f)
                codes[k] = unit
            both = codes[places].reshape(2, -1)
            left, right = np.column_stack([left, both[0]]), np.column_stack([right, both[1]])
        self._grow(levels)
        if grow:
            self.value_votes += np.bincount(values.ravel(), minlength=len(self.value_votes))
        left, right = np.ascontiguousarray(left, np.int32), np.ascontiguousarray(right, np.int32)
        weights = votes.weights if len(votes.weights) else np.ones(len(votes))
        return Design(left, right, values, workers[votes.workers], votes.outcomes, weights)

    def _grow(self, levels: list[int]) -> None:
        """Make room for new units, values and workers, each with the variance of its group."""
        fresh = [feature for feature, _ in list(self.values)[len(self.value_feature) - 1 :]]
        self.unit_level = np.append(self.unit_level, levels).astype(np.int64)
        self.value_feature = np.append(self.value_feature, fresh).astype(np.int64)
        self.value_votes = np.append(self.value_votes, np.zeros(len(fresh), np.int64))
        people = ["workers"] * (len(self.workers) + 1 - len(self.mean["side"]))
        groups = {
            "strength": [f"strength.{level}" for level in levels],
            "tie": [f"tie.{level}" for level in levels],
            "value": [f"value.{feature}" for feature in fresh],
            **{kind: [kind for _ in people] for kind in ("reliability", "side", "worker_tie")},
        }
        for kind, names in groups.items():
            self.mean[kind] = np.append(self.mean[kind], np.zeros(len(names)))
            self.variance[kind] = np.append(self.variance[kind], [self.scales.get(name, 0.0) for name in names])

    def save(self, path: str) -> None:
        """Write the state; another run continues from it.

        Raises:
            HutchError: the file cannot be written.
        """
        arrays: dict[str, NDArray[Any]] = {f"mean.{kind}": array for kind, array in self.mean.items()}
        arrays |= {f"variance.{kind}": array for kind, array in self.variance.items()}
        arrays |= {"unit_level": self.unit_level, "value_feature": self.value_feature}
        arrays["value_votes"] = self.value_votes
        arrays["cells"] = np.array([(*key, unit) for key, unit in self.cells.items()], np.int64).reshape(-1, 3)
        if self.covariance is not None:
            arrays["covariance"] = self.covariance
        names = {
            "players": list(self.players.items()),
            "workers": list(self.workers.items()),
            "values": [[*key, code] for key, code in self.values.items()],
        }
        arrays["names"] = np.frombuffer(json.dumps(names).encode(), np.uint8)
        metadata = {"model": self.model, "features": self.features, "scales": self.scales, "votes": self.votes}
        save_model(path, arrays, metadata, kind="pairs")

    @classmethod
    def load(cls, path: str) -> "PairState":
        """Read a file written by `save`.

        Raises:
            ModelError: the file is missing, damaged, foreign or newer than this version.
        """
        arrays, metadata = load_model(path, kind="pairs")
        try:
            names = json.loads(arrays["names"].tobytes())
            return cls(
                metadata["model"],
                metadata["features"],
                metadata["scales"],
                dict(names["players"]),
                dict(names["workers"]),
                {(feature, name): code for feature, name, code in names["values"]},
                {(player, value): unit for player, value, unit in arrays["cells"].tolist()},
                arrays["unit_level"],
                arrays["value_feature"],
                {kind: arrays[f"mean.{kind}"] for kind in KINDS},
                {kind: arrays[f"variance.{kind}"] for kind in KINDS},
                metadata["votes"],
                arrays.get("covariance"),
                arrays.get("value_votes", np.zeros(len(arrays["value_feature"]), np.int64)),  # none in the first format
            )
        except (KeyError, ValueError) as error:
            raise ModelError(at(path, None, None, f"the model of pairs lacks {error}")) from None


def _start(value: float) -> dict[str, Array]:
    return {kind: np.full(2 if kind == "shared" else 1, value) for kind in KINDS}


def _code(known: dict[Any, int], name: Any, grow: bool) -> int:
    """The code of a name; a new one gets the next if the table may grow."""
    return known.setdefault(name, len(known) + 1) if grow else known.get(name, UNSEEN)
