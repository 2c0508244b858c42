"""The exact natural step of PPCA: new rows' likelihood, held to the old model by a divergence, in closed form.

    θ⁺ = argmin N KL(p_θ* ‖ p_θ) - Σ_i log p_θ(x_i)

The divergence is of the observed data and weighs as much as the N samples that the anchor θ* represents. Its solution
is a rank-q factorisation of the old factor beside the new rows: incremental PCA (Ross et al., IJCV 2008), with a valid
noise, read as a natural-gradient step that is solved instead of approximated.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Self

import numpy as np

from hutch.core.errors import ConfigError
from hutch.core.threads import one_thread
from hutch.em.base.learner import Learner, State, pack, unpack
from hutch.em.base.linear_algebra import is_small, leading
from hutch.em.base.model import Array, Rows
from hutch.em.base.schedule import Schedule
from hutch.em.constrained.natural_kernel import absorb_rows, workspace_size
from hutch.em.ppca.missing import posterior
from hutch.em.ppca.model import NOISE_FLOOR, PPCA, PPCAParameters, checked_rows, log_likelihood

_DROWNED = 100
"""Rows of single precision stay so while the variance along the axes is at most this many times the noise's."""
_CONVERTED = 512
"""Single rows made double at a time: a copy of all of them would only cost memory."""
_LARGEST_SINGLE = 1e15
"""Numbers whose squares single precision can add."""


@dataclass(slots=True)
class Sketch:
    """A PPCA model whose loadings are principal axes, changed in place.

    Attributes:
        mean: (dimension).
        loadings: (rank, dimension), orthogonal rows, longest first; zeros where the data determine nothing.
        noise: variance, > 0; one number in an array.
        floor: the least noise.
    """

    mean: Array
    loadings: Array
    noise: Array
    floor: float

    @classmethod
    def of(cls, rows: Rows, rank: int) -> Self:
        """One pseudo-sample: the mean and the variance of the first rows (1 if they are all equal), no loadings."""
        if np.isnan(rows).any():
            model = PPCA.of(rows, rank, missing=True)
            noise, floor = np.array([model.variance]), NOISE_FLOOR * model.variance
            return cls(model.origin, np.zeros((rank, rows.shape[1])), noise, floor)
        mean = rows.mean(axis=0, dtype=np.float64)
        variance = float(np.mean((rows - mean) ** 2))
        variance = variance if np.isfinite(variance) and variance > 0 else 1.0
        return cls(mean, np.zeros((rank, rows.shape[1])), np.array([variance]), NOISE_FLOOR * variance)

    def copy(self) -> "Sketch":
        """An independent copy."""
        return Sketch(self.mean.copy(), self.loadings.copy(), self.noise.copy(), self.floor)

    def parameters(self) -> PPCAParameters:
        """A snapshot."""
        return PPCAParameters(self.mean.copy(), self.loadings.copy(), float(self.noise[0]))

    def truncated(self, rank: int) -> PPCAParameters:
        """The best model of lower rank: the variance of the removed axes becomes noise."""
        rank = min(rank, self.mean.size - 1)
        rest = float(np.vdot(self.loadings[rank:], self.loadings[rank:])) / (self.mean.size - rank)
        length = np.einsum("ij,ij->i", self.loadings[:rank], self.loadings[:rank])
        scale = np.sqrt(np.maximum(1 - rest / np.maximum(length, np.finfo(np.float64).tiny), 0.0))
        return PPCAParameters(self.mean.copy(), scale[:, None] * self.loadings[:rank], float(self.noise[0]) + rest)

    def completed(self, rows: Rows) -> tuple[Rows, float]:
        """Rows with missing values replaced by their expectations, and the total variance that this leaves out."""
        known, mean, loadings, noise = ~np.isnan(rows), self.mean, self.loadings, float(self.noise[0])
        latent, covariance = posterior(rows, mean, loadings, noise)
        unknown = (covariance.reshape(len(rows), -1).T @ ~known).reshape(*covariance.shape[1:], -1)
        spread = float(np.einsum("ijd,id,jd->", unknown, loadings, loadings)) + noise * np.count_nonzero(~known)
        return np.where(known, rows, mean + latent @ loadings), spread

    def absorb(self, rows: Rows, old: float, spread: float = 0.0) -> None:
        """The exact step: the anchor is the sketch itself and weighs as much as `old` > 0 samples beside these rows.

        Args:
            rows: (samples, dimension), none missing.
            old: weight of the anchor.
            spread: variance that the rows leave out, in sum.
        """
        rank, count, total = len(self.loadings), len(rows), old + len(rows)
        kind = np.dtype(np.float32 if self._takes_single(rows) else np.float64)
        # About this centre the rows' scatter is their own and that of the old mean, both about the new mean.
        average: Rows = np.full(count, 1 / count, rows.dtype)
        centre: Rows = (self.mean + (1 - sqrt(old / total)) * (average @ rows - self.mean)).astype(kind)
        stacked = np.empty((rank + count, self.mean.size), kind)
        np.multiply(self.loadings, sqrt(old), out=stacked[:rank], casting="same_kind")
        centred: Rows = np.subtract(rows, centre, out=stacked[rank:])
        self.mean += count / total * (centre - self.mean + average.astype(kind) @ centred)
        self._factorise(stacked, old * float(self.noise[0]) + spread / self.mean.size, total)

    def absorb_singly(self, rows: Rows, seen: int, old: Array) -> None:
        """The exact step of each row in turn: `seen` came before, the anchor weighs as much as `old` (rows) samples."""
        room = np.empty(workspace_size(len(self.loadings) + 1, self.mean.size))
        for first in range(0, len(rows), _CONVERTED):
            part = np.ascontiguousarray(rows[first : first + _CONVERTED], np.float64)
            weights = old[first : first + _CONVERTED]
            absorb_rows(part, seen + first, self.mean, self.loadings, self.noise, self.floor, weights, room)

    def _takes_single(self, rows: Rows) -> bool:
        """Whether products of these rows in single precision do: rounding must drown in the noise."""
        rank = len(self.loadings)
        if rows.dtype != np.float32 or is_small(rank + len(rows), self.mean.size, rank):
            return False
        noise, signal = self.mean.size * float(self.noise[0]), float(np.vdot(self.loadings, self.loadings))
        return 0 < signal < _DROWNED * noise and max(-float(rows.min()), float(rows.max())) < _LARGEST_SINGLE

    def _factorise(self, stacked: Array, isotropic: float, total: float) -> None:
        """The model of the moments (stacked' stacked + isotropic I) / total."""
        dimension = self.mean.size
        kept = min(len(self.loadings), dimension - 1)
        energy, axes, trace = leading(stacked, kept)
        rest = max(trace - float(energy.sum()), 0.0) / (dimension - kept)
        self.noise[0] = max((isotropic + rest) / total, self.floor)
        length = np.sqrt(np.maximum(energy - rest, 0.0) / total)
        length[np.einsum("ij,ij->i", axes, self.loadings[: len(axes)]) < 0] *= -1  # an axis keeps its direction
        self.loadings[: len(axes)] = length[:, None] * axes
        self.loadings[len(axes) :] = 0.0


def merged(past: Sketch, current: Sketch, past_weight: float, current_weight: float) -> Sketch:
    """The model of both sketches' moments: argmin of the weighted divergences KL(past ‖ θ) + KL(current ‖ θ).

    Args:
        past, current: of equal rank, unchanged.
        past_weight, current_weight: ≥ 0, in samples; not both 0.
    """
    out, total = past.copy(), past_weight + current_weight
    between = sqrt(past_weight * current_weight / total) * (past.mean - current.mean)
    stacked = np.concatenate([sqrt(past_weight) * past.loadings, sqrt(current_weight) * current.loadings, [between]])
    out.mean = (past_weight * past.mean + current_weight * current.mean) / total
    out._factorise(stacked, past_weight * float(past.noise[0]) + current_weight * float(current.noise[0]), total)
    return out


class NaturalPPCA(Learner[PPCAParameters]):
    """PPCA on a stream by exact natural steps: no boundaries, no step to tune, no latent lag.

    Args:
        rows: the first rows, any number from 1; they set the start and are not learned. A single row has no scale.
        rank: ≥ 1; more than `dimension - 1` components are zeros.
        schedule: how fast old samples fade. The default counts all alike; drift asks for an exponent of 0.9, or 0.
        block: rows of a step, ≥ 1; rows are learned in blocks of this many, a shorter one last.
        sketch: ≥ 1; `sketch × rank` axes are kept and the leading `rank` reported. 2 costs as much memory as online EM.
        missing: read NaN as a missing value, whose expectation under the estimate before its block is learned, and its
            variance as noise: blocks of 16 rows do well. Else it is an error.

    >>> rows = np.random.default_rng(0).normal(size=(2000, 3)) * [3, 1, 1]
    >>> learner = NaturalPPCA(rows[:50], rank=1)
    >>> learner.learn(rows)
    >>> np.abs(learner.parameters.loadings).round(1), round(learner.parameters.noise, 1)
    (array([[2.9, 0. , 0. ]]), 1.0)
    """

    def __init__(
        self,
        rows: Any,
        rank: int,
        schedule: Schedule = Schedule(1.0),  # noqa: B008 - immutable
        *,
        block: int = 256,
        sketch: int = 1,
        missing: bool = False,
    ) -> None:
        for name, value in {"rank": rank, "block": block, "sketch": sketch}.items():
            if value < 1:
                raise ConfigError(f"{name}: got {value}, wanted at least 1")
        self.rank = rank
        self.schedule = schedule
        self.block = block
        self.missing = missing
        self.sketch = Sketch.of(checked_rows(rows, None, missing), rank * sketch)
        self._samples = 0

    @property
    def samples(self) -> int:
        return self._samples

    @property
    def parameters(self) -> PPCAParameters:
        whole = len(self.sketch.loadings) == self.rank
        return self.sketch.parameters() if whole else self.sketch.truncated(self.rank)

    @one_thread()
    def learn(self, batch: Any) -> None:
        rows = checked_rows(batch, self.sketch.mean.size, self.missing)
        if self.block == 1 and not self.missing:
            steps = self.schedule.steps(self._samples, len(rows))
            self.sketch.absorb_singly(rows, self._samples, (1 - steps) / steps)
            self._samples += len(rows)
            return
        for first in range(0, len(rows), self.block):
            block = rows[first : first + self.block]
            step, spread = self.schedule.step(self._samples, len(block)), 0.0
            if self.missing:
                block, spread = self.sketch.completed(block)
            self.sketch.absorb(block, len(block) * (1 - step) / step, spread)
            self._samples += len(block)

    def boundary(self) -> None:
        """Do nothing: the step form needs no boundaries."""

    def log_likelihood(self, batch: Any) -> Array:
        return log_likelihood(checked_rows(batch, self.sketch.mean.size, missing=True), self.parameters)

    def state(self) -> State:
        return pack(self.sketch, "sketch") | {"samples": np.array(self._samples)}

    def restore(self, state: State) -> None:
        self.sketch = unpack(Sketch, state, "sketch")
        self._samples = int(state["samples"])
