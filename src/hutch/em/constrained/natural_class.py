"""The exact natural form with classes: one sketch of the classes before, one of the current class, merged to report."""

from typing import Any

import numpy as np

from hutch.core.errors import ConfigError
from hutch.core.threads import one_thread
from hutch.em.base.learner import Learner, State, pack, unpack
from hutch.em.base.model import Array
from hutch.em.constrained.natural import Sketch, merged
from hutch.em.ppca.model import PPCAParameters, checked_rows, log_likelihood

_CONFIDENCE = 10
"""Samples after which a new class has half of its balanced weight."""


class ClassPPCA(Learner[PPCAParameters]):
    """PPCA on a stream of classes: at each boundary the current sketch joins the past, and the anchor moves there.

    The report weighs the past by `plasticity`; the stored state never does, so nothing is lost by turning the dial.

    Args:
        rows: the first rows, any number from 1; they set the start and are not learned.
        rank: ≥ 1.
        block: rows of a step, ≥ 1.
        past: weight of the past in the report, > 0: 1 gives each sample its share, less follows the current class.
        balanced: weigh classes alike instead of samples alike; needs true boundaries.

    >>> random = np.random.default_rng(0)
    >>> learner = ClassPPCA(random.normal(size=(20, 4)), rank=2)
    >>> for centre in (0, 5):
    ...     learner.learn(centre + random.normal(size=(300, 4)))
    ...     learner.boundary()
    >>> learner.classes, bool(np.allclose(learner.parameters.mean, 2.5, atol=0.2))
    (2, True)
    """

    def __init__(self, rows: Any, rank: int, *, block: int = 256, past: float = 1.0, balanced: bool = False) -> None:
        for name, value in {"rank": rank, "block": block}.items():
            if value < 1:
                raise ConfigError(f"{name}: got {value}, wanted at least 1")
        if not 0 < past < np.inf:
            raise ConfigError(f"past: got {past}, wanted a positive number")
        self.rank = rank
        self.block = block
        self.past = past
        self.balanced = balanced
        self._start = Sketch.of(checked_rows(rows, None, missing=False), rank)
        self._past = self._start.copy()
        self._current = self._start.copy()
        self._counts = np.zeros(3)  # samples of the past, samples of the current class, classes of the past

    @property
    def samples(self) -> int:
        return int(self._counts[0] + self._counts[1])

    @property
    def classes(self) -> int:
        """The number of classes that have ended."""
        return int(self._counts[2])

    @property
    def parameters(self) -> PPCAParameters:
        return self._merged(self.past).parameters()

    def current_log_likelihood(self, batch: Any) -> Array:
        """Log-likelihood of each sample under the current class alone, the input for a drift test."""
        rows = checked_rows(batch, self._start.mean.size, missing=True)
        return log_likelihood(rows, self._current.parameters())

    def _merged(self, past: float) -> Sketch:
        before, now, classes = self._counts
        if classes == 0:
            return self._current
        if now == 0:
            return self._past
        if self.balanced:
            return merged(self._past, self._current, past * classes, now / (now + _CONFIDENCE))
        return merged(self._past, self._current, past * before, now)

    @one_thread()
    def learn(self, batch: Any) -> None:
        rows = checked_rows(batch, self._start.mean.size, missing=False)
        current, now = self._current, self._counts[1]
        if self.block == 1:
            current.absorb_singly(rows, int(now), now + np.arange(1.0, len(rows) + 1))
        else:
            for first in range(0, len(rows), self.block):
                current.absorb(rows[first : first + self.block], now + first + 1)
        self._counts[1] += len(rows)

    def boundary(self) -> None:
        """End the current class; a class without samples does not count."""
        before, now, classes = self._counts
        if now == 0:
            return
        if classes == 0:
            self._past = self._current
        elif self.balanced:
            self._past = merged(self._past, self._current, classes, 1.0)
        else:
            self._past = merged(self._past, self._current, before, now)
        self._current = self._start.copy()
        self._counts[:] = before + now, 0, classes + 1

    def log_likelihood(self, batch: Any) -> Array:
        return log_likelihood(checked_rows(batch, self._start.mean.size, missing=True), self.parameters)

    def state(self) -> State:
        sketches = {"start": self._start, "past": self._past, "current": self._current}
        out: State = {"counts": self._counts.copy()}
        for name, sketch in sketches.items():
            out |= pack(sketch, name)
        return out

    def restore(self, state: State) -> None:
        self._counts = state["counts"].copy()
        self._start, self._past, self._current = (unpack(Sketch, state, n) for n in ("start", "past", "current"))
