"""Models of votes on pairs behind one interface: which effects a vote has, fitted in batch or in one pass."""

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError, did_you_mean
from hutch.crowd.pairs import kernels
from hutch.crowd.pairs.intervals import covariance_of
from hutch.crowd.pairs.state import UNSEEN, Array, Design, PairState
from hutch.crowd.pairs.votes import Votes

WEAK = 100.0
"""Prior variance of the side bias and the ties of all."""
SCALES = {"strength.0": 1.0, "strength": 1.0, "tie.0": 0.1, "tie": 0.3, "value": 0.25}
"""Prior variances to begin with: of players, and of players in a context of a feature."""
WORKER_SCALES = {"reliability": 0.15, "side": 0.1, "worker_tie": 1.0}
"""Prior variances of workers to begin with."""
FIXED = ("reliability",)
"""Groups whose prior variance is not learned: strengths times reliabilities have no separate scale."""
_SPAM = 0.25
"""Share of the median reliability up to which a worker's is no part of the average one."""
TRUST = 4.0
"""Pseudo-observations of each of these variances."""
ROUNDS, CONJUGATE, ENOUGH = 15, 12, 1e-6
"""Newton steps at most; conjugate gradients in each; gain per vote at which they end."""


@dataclass(frozen=True)
class PairFit:
    """Result of fitting votes.

    Attributes:
        state: strengths, contexts, workers, with their variances.
        objective: minus the log posterior per vote.
        iterations: Newton steps; 0 for one pass.
    """

    state: PairState
    objective: float
    iterations: int


class PairModel(ABC):
    """One explanation of how votes on pairs arise; a subclass declares its effects."""

    name: ClassVar[str]
    summary: ClassVar[str]
    ties: ClassVar[bool] = True
    side: ClassVar[bool] = True
    workers: ClassVar[bool] = False
    contexts: ClassVar[bool] = False

    def start(self, features: list[str]) -> PairState:
        """The state before any vote."""
        scales = {"strength.0": SCALES["strength.0"]}
        if self.workers:
            scales |= {name: WORKER_SCALES[name] for name in ("reliability", "side")}
        if self.workers and self.ties:
            scales["worker_tie"] = WORKER_SCALES["worker_tie"]
        if self.contexts:
            scales |= {"tie.0": SCALES["tie.0"]}
            for f in range(len(features)):
                scales |= {
                    f"strength.{1 + f}": SCALES["strength"],
                    f"tie.{1 + f}": SCALES["tie"],
                    f"value.{f}": SCALES["value"],
                }
        state = PairState(self.name, list(features), scales)
        state.variance["shared"] = np.array([WEAK if self.side else 0.0, WEAK if self.ties else 0.0])
        return state

    def learn(self, votes: Votes, state: PairState) -> Array:
        """One pass over votes, in their order; returns the probabilities of left, right and tie before each (votes, 3).

        The state does not depend on how votes are cut into pieces, bit for bit.
        """
        design = state.encode(votes, grow=True)
        return self._learn(design, state)

    def _learn(self, design: Design, state: PairState) -> Array:
        mean, variance = state.vector(state.mean), state.vector(state.variance)
        before = np.empty((len(design.workers), 3))
        kernels.learn(
            mean, variance, *state.sizes, *_arguments(design), design.outcomes, design.weights, self.ties, before
        )
        state.keep(state.mean, mean)
        state.keep(state.variance, variance)
        state.votes += len(design.workers)
        state.covariance = None
        return before

    def fit(self, votes: Votes) -> PairFit:
        """The mode of the posterior of all votes, variances of priors included, and the covariance of the strengths.

        Where all votes went to one side, it is taken for a way of writing votes down, and there is no side bias.

        Begins with one pass, then Newton's method with conjugate gradients on Fisher's information. After each step
        the prior variance of each group becomes the mean of x² + var(x).
        """
        state = self.start(votes.features)
        if votes.written_by_winner:
            state.variance["shared"][0] = 0.0
            state.scales |= {"side": 0.0} if self.workers else {}
        design = state.encode(votes, grow=True)
        shared, start = state.variance["shared"].copy(), state.vector(state.variance)
        self._learn(design, state)
        x, free = state.vector(state.mean), start > 0
        groups = _groups(state, free)
        variance = np.where(free, start, 1.0)
        gradient, diagonal, step = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        curvature = np.empty((len(votes), 4))

        def evaluate(at: Array) -> float:
            value = kernels.evaluate(
                at, 1 / variance, *state.sizes, *_arguments(design), design.outcomes, design.weights, self.ties,
                gradient, diagonal, curvature,
            )  # fmt: skip
            return float(value)

        objective, rounds = evaluate(x), 0
        for rounds in range(1, ROUNDS + 1):  # noqa: B007
            kernels.newton_step(
                x, 1 / variance, free, *state.sizes, *_arguments(design), self.ties, gradient, diagonal, curvature,
                CONJUGATE, 0.05, step,
            )  # fmt: skip
            before, length = objective, 1.0
            while (objective := evaluate(x + length * step)) > before and length > 1e-4:
                length /= 2
            x = x + length * step
            gain = before - objective
            moved = 0.0
            for name, members in groups.items():
                if name in FIXED:
                    continue
                new = (np.sum(x[members] ** 2 + 1 / diagonal[members]) + TRUST * _scale(name)) / (len(members) + TRUST)
                moved = max(moved, abs(np.log(new / variance[members[0]])))
                more = 1 / new - 1 / variance[members]
                objective += 0.5 * float(more @ x[members] ** 2)
                gradient[members] += more * x[members]
                diagonal[members] += more
                variance[members] = new
                state.scales[name] = float(new)
            if gain < ENOUGH * len(votes) and moved < 0.05:
                break
        if self.workers:
            _level(x, variance, groups, state, design)
            objective = evaluate(x)
        state.keep(state.mean, x)
        posterior = np.where(free, 1 / diagonal, 0.0)
        state.covariance = covariance_of(state, design, x, 1 / variance, free, curvature, diagonal, self.ties)
        posterior[2 + state.player_units] = np.diag(state.covariance)
        state.keep(state.variance, posterior)
        state.variance["shared"] = np.where(shared > 0, posterior[:2], 0.0)
        return PairFit(state, objective / max(len(votes), 1), rounds)

    def predict(self, votes: Votes, state: PairState) -> Array:
        """P(left), P(right), P(tie) of votes, whose outcomes are ignored (votes, 3)."""
        design = state.encode(votes, grow=False)
        out = np.empty((len(votes), 3))
        kernels.predict(state.vector(state.mean), *state.sizes, *_arguments(design), self.ties, out)
        return out


class BradleyTerry(PairModel):
    """Bradley and Terry's model (Biometrika 39, 1952): a tie is half a win of each side."""

    name = "bradley_terry"
    summary = "strengths and side bias; a tie is half a win of each side"
    ties = False


class Davidson(PairModel):
    """Davidson's model of ties (Journal of the American Statistical Association 65, 1970)."""

    name = "davidson"
    summary = "strengths, side bias and ties"


class Hierarchical(PairModel):
    """Davidson's model with effects of workers, of players and of contexts, all drawn from priors that are learned.

    Each worker has a reliability (1 on average; 0: votes without information; below 0: reversed votes), a side bias
    and a readiness to call a tie; each player has a strength and a readiness to be tied, in each context too.
    """

    name = "hierarchical"
    summary = "strengths, side bias, ties, workers' reliability, contexts"
    workers = True
    contexts = True


MODELS: tuple[type[PairModel], ...] = (Hierarchical, Davidson, BradleyTerry)
"""All models of pairs; the first is the default."""


def create(name: str | None = None) -> PairModel:
    """A model of pairs by name.

    Raises:
        UsageError: the name is unknown.

    >>> create("davidson").summary
    'strengths, side bias and ties'
    """
    models = {model.name: model for model in MODELS}
    chosen = name or MODELS[0].name
    if chosen not in models:
        raise UsageError(f"no pairs model {chosen!r}; {did_you_mean(chosen, models)}")
    return models[chosen]()


def _arguments(design: Design) -> tuple[NDArray[np.int32], ...]:
    return design.left, design.right, design.values, design.workers


def _level(x: Array, variance: Array, groups: dict[str, NDArray[np.int64]], state: PairState, design: Design) -> None:
    """Make reliabilities 1 on average again, and strengths larger for it; no vote becomes less probable.

    At the mode of all parameters at once, many strengths have shrunk and few reliabilities have grown instead. Workers
    whose votes say little, or the opposite, do not count: they would make all others more reliable than 1.
    """
    units, _, workers = state.sizes
    reliability = x[len(x) - 3 * workers :][:workers]
    votes = np.bincount(design.workers, design.weights, minlength=workers)
    if votes[UNSEEN] or not votes.any():
        return  # votes without a worker have the reliability 1, which is a scale
    counted = votes * (1 + reliability > _SPAM * (1 + np.median(reliability[votes > 0])))
    mean = 1 + float(reliability @ counted) / float(counted.sum())
    if not mean > 0:
        return
    reliability[1:] = (1 + reliability[1:]) / mean - 1
    x[2 : 2 + units] *= mean
    for name, members in groups.items():
        if name.startswith("strength."):
            variance[members] *= mean**2
            state.scales[name] *= mean**2


def _scale(name: str) -> float:
    """The prior variance of a group to begin with."""
    kind, _, level = name.partition(".")
    return WORKER_SCALES[kind] if kind in WORKER_SCALES else SCALES.get(name, SCALES[kind] if level else WEAK)


def _groups(state: PairState, free: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
    """Where the parameters stand that share a prior variance."""
    units, values, workers = state.sizes
    names: list[list[str]] = [
        ["", ""],
        [f"strength.{level}" for level in state.unit_level],
        [f"tie.{level}" for level in state.unit_level],
        [f"value.{feature}" for feature in state.value_feature],
        *([kind] * workers for kind in ("reliability", "side", "worker_tie")),
    ]
    every = np.array([name for part in names for name in part])
    return {name: np.flatnonzero((every == name) & free) for name in state.scales if ((every == name) & free).any()}
