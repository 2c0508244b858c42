"""The natural step for models without a closed form: a few EM steps on each block, held to the anchor's own data."""

from typing import Any, TypeVar

import numpy as np

from hutch.core.errors import ConfigError
from hutch.core.threads import one_thread
from hutch.em.base.learner import Learner, State, pack, unpack
from hutch.em.base.model import Array, MarginalModel
from hutch.em.base.schedule import Schedule

P = TypeVar("P")


class InnerEM(Learner[P]):
    """argmin N KL(p_θ* ‖ p_θ) - Σ log p_θ(x_i) on each block, by EM: θ* is the estimate before the block.

    The divergence is of the observed data, so the E-step is repeated on the anchor's data too, in expectation. A single
    inner step is *not* an approximation of the solution (and loses to plain online EM); ten come close.

    Args:
        model: a model that knows its marginal statistics, e.g. PPCA with missing values.
        parameters: where to start; counts as one sample.
        schedule: γ; the anchor weighs (1 - γ) / γ times the block.
        block: samples of a step, ≥ 1.
        iterations: inner EM steps, ≥ 1.
    """

    def __init__(
        self,
        model: MarginalModel[P],
        parameters: P,
        schedule: Schedule = Schedule(1.0),  # noqa: B008 - immutable
        *,
        block: int = 16,
        iterations: int = 10,
    ) -> None:
        for name, value in {"block": block, "iterations": iterations}.items():
            if value < 1:
                raise ConfigError(f"{name}: got {value}, wanted at least 1")
        self.model = model
        self.schedule = schedule
        self.block = block
        self.iterations = iterations
        self._current = parameters
        self._samples = 0

    @property
    def samples(self) -> int:
        return self._samples

    @property
    def parameters(self) -> P:
        return self._current

    @one_thread()
    def learn(self, batch: Any) -> None:
        batch = self.model.validate(batch)
        for first in range(0, len(batch), self.block):
            block = batch[first : first + self.block]
            step = self.schedule.step(self._samples, len(block))
            anchor = self._current
            for _ in range(self.iterations):
                old = self.model.marginal_statistics(self._current, anchor)
                new = self.model.statistics(block, self._current)
                self._current = self.model.maximise((1 - step) * old + step * new)
            self._samples += len(block)

    def boundary(self) -> None:
        """Do nothing: the step form needs no boundaries."""

    def log_likelihood(self, batch: Any) -> Array:
        return self.model.log_likelihood(self.model.validate(batch), self._current)

    def state(self) -> State:
        return {"samples": np.array(self._samples)} | pack(self._current, "current")

    def restore(self, state: State) -> None:
        self._samples = int(state["samples"])
        self._current = unpack(type(self._current), state, "current")
