"""Step sizes of stochastic approximation, counted in samples whatever the batch size."""

from dataclasses import dataclass

import numpy as np

from hutch.core.errors import ConfigError
from hutch.em.base.model import Array


@dataclass(frozen=True, slots=True)
class Schedule:
    """γ_k = scale · (k + 2)^-exponent after k samples: the start counts as one sample already seen.

    Args:
        exponent: in [0, 1]; 1 averages all samples alike, 0 is a constant step, in between older samples fade.
            Convergence needs more than 1/2 (Cappé & Moulines 2009).
        scale: in (0, 1].

    >>> Schedule(1.0).step(8, 1)
    0.1
    >>> round(Schedule(1.0).step(9, 11), 5)  # 11 new samples beside the 9 seen and the start
    0.52381
    """

    exponent: float = 0.6
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.exponent <= 1:
            raise ConfigError(f"exponent: got {self.exponent}, wanted a number in [0, 1]")
        if not 0 < self.scale <= 1:
            raise ConfigError(f"scale: got {self.scale}, wanted a number in (0, 1]")

    def steps(self, seen: int, count: int) -> Array:
        """γ for each of the next `count` samples, after `seen`."""
        return np.asarray(self.scale * np.arange(seen + 2, seen + 2 + count, dtype=np.float64) ** -self.exponent)

    def step(self, seen: int, count: int) -> float:
        """The weight of the mean of the next `count` samples, 1 - Π(1 - γ_k): as if they had come one at a time.

        Args:
            seen: samples seen before, ≥ 0.
            count: samples in the batch, ≥ 1.
        """
        if count == 1:
            return float(self.scale * float(seen + 2) ** -self.exponent)
        return float(1 - np.prod(1 - self.steps(seen, count)))
