"""The scale on which a regressor learns its targets, which follows them as they come."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.chain.capabilities import Rescales, has


class TargetScale:
    """Targets are learned as (y - centre) / scale.

    Attributes:
        centre, scale: mean and deviation of the targets when they last left the allowed range: the
            deviation between half and twice the scale, the mean no more than the scale away from the centre.

    >>> target, chain = TargetScale(), Chain.from_config({"chain": ["linear"]})
    >>> for targets in ([5.0, 5.0], [5.0, 11.0, 5.0]):
    ...     for rows in target.follow(np.array(targets), chain):
    ...         print(rows, round(target.centre, 2), round(target.scale, 2))
    slice(0, 2, None) 5.0 1.0
    slice(0, 1, None) 5.0 1.0
    slice(1, 3, None) 6.5 2.6
    """

    def __init__(self) -> None:
        self.centre, self.scale = 0.0, 1.0
        self._origin, self._sums = 0.0, np.zeros(3)  # rows, sums of y - origin and of its square

    def of(self, y: NDArray[np.float64]) -> NDArray[np.float32]:
        """Targets in the scale in which they are learned."""
        return ((y - self.centre) / self.scale).astype(np.float32)

    def settle(self, y: NDArray[np.float64]) -> None:
        """Take the mean and the deviation of all targets."""
        means, deviations = self._add(y)
        self.centre, self.scale = float(means[-1]), float(deviations[-1]) or 1.0

    def strays(self, y: NDArray[np.float64]) -> bool:
        """Whether the targets, with these further ones, leave the allowed range of centre and scale."""
        means, deviations = self._add(y)
        return bool(self._astray(means[-1:], deviations[-1:])[0])

    @contextmanager
    def forgetting_refused(self) -> Iterator[None]:
        """Forget the targets of a block that ends in an error; centre and scale stay those of the chain."""
        origin, sums = self._origin, self._sums
        try:
            yield
        except Exception:
            self._origin, self._sums = origin, sums
            raise

    def follow(self, y: NDArray[np.float64], chain: Chain, by_row: bool = False) -> Iterator[slice]:
        """Set the scale from the first targets, and cut further ones where it must change, however calls divide them.

        Args:
            y: targets (rows), at least one.
            chain: it is re-expressed on each new scale.
            by_row: the first targets are one, so that it does not matter how many the first call has; of all of them
                else, for chains that are re-expressed with loss.

        Yields:
            Rows that have one scale, in order.
        """
        start = 0
        if not self._sums[0]:
            start = 1 if by_row else len(y)
            self.settle(y[:start])
            yield slice(0, start)
            if start == len(y):
                return
        nothing = np.zeros(start)
        means, deviations = (np.concatenate([nothing, each]) for each in self._add(y[start:]))
        while True:
            found = np.flatnonzero(self._astray(means[start:], deviations[start:]))
            stop = start + int(found[0]) if len(found) else len(y)
            if stop > start:
                yield slice(start, stop)
            if stop == len(y):
                return
            centre, scale = float(means[stop]), float(deviations[stop])
            rescale(chain, self.scale / scale, (self.centre - centre) / scale)
            self.centre, self.scale, start = centre, scale, stop

    def _add(self, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean and the deviation of all targets so far, after each of these."""
        if not self._sums[0]:
            self._origin = float(y[0])
        away = y - self._origin
        sums = np.cumsum(np.vstack([self._sums, np.column_stack([np.ones(len(y)), away, away * away])]), axis=0)[1:]
        self._sums = sums[-1]
        means = sums[:, 1] / sums[:, 0]
        variances = np.maximum(sums[:, 2] / sums[:, 0] - means * means, 0.0)
        return means + self._origin, np.sqrt(variances)

    def _astray(self, means: NDArray[np.float64], deviations: NDArray[np.float64]) -> NDArray[np.bool_]:
        far = np.abs(means - self.centre) > self.scale
        return (deviations > 0) & (far | (deviations > 2 * self.scale) | (2 * deviations < self.scale))


def can_rescale(chain: Chain) -> bool:
    """Whether `TargetScale.follow` can re-express it: the chain ends in one linear model with a constant."""
    base = chain.layers[-1]
    alone = int(chain.shared["multiplier"][0]) == 1
    return has(base, Rescales) and base.can_rescale and alone and chain.parser.constant


def rescale(chain: Chain, ratio: float, shift: float) -> None:
    """Let a chain predict ratio p + shift where it predicted p, with all that it has learned on the new scale."""
    base = chain.layers[-1]
    assert has(base, Rescales), "as `can_rescale` says"
    base.rescale(chain.weights, ratio, shift)
