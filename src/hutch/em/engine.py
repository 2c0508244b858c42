"""Online EM: stochastic approximation of the mean sufficient statistics of any model.

Source: O. Cappé, E. Moulines, On-line expectation-maximization algorithm for latent data models, JRSS B 71 (2009).
"""

from typing import Any, TypeVar

import numpy as np

from hutch.core.errors import ConfigError
from hutch.core.threads import one_thread
from hutch.em.base.learner import Learner, State, pack, unpack
from hutch.em.base.model import Array, Model
from hutch.em.base.schedule import Schedule
from hutch.em.nat_oem import NatOEM

P = TypeVar("P")


class OnlineEM(Learner[P]):
    """S ← S + γ (s - S), then an M-step: EM on a stream, any model, any batch size.

    Args:
        model: the model.
        parameters: where to start; its expected statistics count as one sample.
        schedule: the step sizes γ.
        block: samples of a step, ≥ 1; samples are learned in blocks of this many, a shorter one last.
        burn_in: samples, ≥ 0, before the first M-step; the first statistics alone are nearly singular.
        average_from: samples, ≥ 0, after which the statistics are averaged; the estimate is then the M-step of
            their mean (Polyak-Ruppert averaging, in the statistics, whose mean is always valid). None: no averaging.
        constraint: holds the M-step near an anchor; one object serves one learner.

    Raises:
        ConfigError: a number is out of range, or the model lacks what the constraint needs.

    >>> from hutch.em.ppca.model import PPCA
    >>> rows = np.random.default_rng(0).normal(size=(500, 3)) * [3, 1, 1]
    >>> model = PPCA.of(rows[:50], rank=1)
    >>> learner = OnlineEM(model, model.start(seed=0), Schedule(0.8))
    >>> learner.learn(rows)
    >>> learner.samples
    500
    """

    def __init__(
        self,
        model: Model[P],
        parameters: P,
        schedule: Schedule = Schedule(),  # noqa: B008 - immutable
        *,
        block: int = 1,
        burn_in: int = 20,
        average_from: int | None = None,
        constraint: NatOEM[P] | None = None,
    ) -> None:
        for name, value, least in ("block", block, 1), ("burn_in", burn_in, 0), ("average_from", average_from or 0, 0):
            if value < least:
                raise ConfigError(f"{name}: got {value}, wanted at least {least}")
        if constraint is not None:
            constraint.check(model)
        self.model = model
        self.schedule = schedule
        self.block = block
        self.burn_in = burn_in
        self.average_from = average_from
        self.constraint = constraint
        self._current = parameters
        self._statistics = model.expected_statistics(parameters)
        self._average = np.zeros_like(self._statistics)
        self._averaged = 0
        self._samples = 0

    @property
    def samples(self) -> int:
        return self._samples

    @property
    def parameters(self) -> P:
        return self.model.maximise(self._average) if self._averaged else self._current

    @one_thread()
    def learn(self, batch: Any) -> None:
        batch = self.model.validate(batch)
        for first in range(0, len(batch), self.block):
            self._step(batch[first : first + self.block])

    def _step(self, batch: Any) -> None:
        count = len(batch)
        statistics = self.model.statistics(batch, self._current)
        self._statistics += self.schedule.step(self._samples, count) * (statistics - self._statistics)
        self._samples += count
        if self._samples > self.burn_in:
            self._current = self._maximised()
        if self.average_from is not None and self._samples > self.average_from:
            self._averaged += count
            self._average += count / self._averaged * (self._statistics - self._average)

    def _maximised(self) -> P:
        if self.constraint is None:
            return self.model.maximise(self._statistics)
        return self.constraint.maximise(self.model, self._statistics, self._current)

    def boundary(self) -> None:
        if self.constraint is not None:
            self.constraint.boundary(self._current)

    def log_likelihood(self, batch: Any) -> Array:
        return self.model.log_likelihood(self.model.validate(batch), self.parameters)

    def state(self) -> State:
        counts = np.array([self._samples, self._averaged])
        own = {"statistics": self._statistics.copy(), "average": self._average.copy(), "counts": counts}
        constraint = self.constraint.state() if self.constraint is not None else {}
        return own | pack(self._current, "current") | {f"constraint.{name}": v for name, v in constraint.items()}

    def restore(self, state: State) -> None:
        self._statistics = state["statistics"].copy()
        self._average = state["average"].copy()
        self._samples, self._averaged = (int(count) for count in state["counts"])
        self._current = unpack(type(self._current), state, "current")
        if self.constraint is not None:
            prefix = "constraint."
            inner = {name.removeprefix(prefix): v for name, v in state.items() if name.startswith(prefix)}
            self.constraint.restore(inner, type(self._current))
