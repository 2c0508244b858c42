"""Intervals that hold a label with a given probability, where a chain knows how far off it is likely to be."""

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.chain.capabilities import KnowsNoise, has
from hutch.core.chain.engine import Engine, Outputs
from hutch.core.errors import ConfigError, UsageError
from hutch.core.run.decisions import tail


class Intervals:
    """Predictions with the ends of an interval.

    Args:
        engine: the chain.
        level: the probability with which an interval holds the label, above 0 and below 1.

    Raises:
        UsageError: another level.
        ConfigError: the chain does not know.
    """

    def __init__(self, engine: Engine, level: float) -> None:
        if not 0 < level < 1:
            raise UsageError(f"interval: got {level:g}, wanted a number between 0 and 1, such as 0.9")
        base = engine.layers[-1]
        known = base.numbers_posterior() if has(base, KnowsNoise) and len(engine.layers) == 1 else None
        if known is None:
            raise ConfigError(
                "interval: this chain keeps no moments of two rows or more; wanted `bayesian_linear` with `covariance: "
                "moments` alone"
            )
        self._known, self._level, self._engine = known, level, engine

    def ends(self, batch: Batch, outputs: Outputs) -> NDArray[np.float64]:
        """The lower and the upper end for each example, float64 (examples, 2)."""
        used = self._engine.uses(batch.namespace_id)
        half = self._known.half_widths(batch, self._engine.weights, self._level, used)
        centre = outputs.predictions.astype(np.float64)
        return np.column_stack([centre - half, centre + half])

    def lines(self, batch: Batch, outputs: Outputs) -> bytes:
        """A line `prediction lower upper` for each example, and its tag."""
        rows = np.column_stack([outputs.predictions, self.ends(batch, outputs)]).tolist()
        return b"".join(b"%.6g %.6g %.6g" % tuple(row) + tail(batch, i) for i, row in enumerate(rows))
