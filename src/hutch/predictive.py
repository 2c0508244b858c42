"""Deviations and intervals of predictions, of a regressor that keeps the moments of its rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from hutch.core.batch import Batch
from hutch.core.chain.capabilities import KnowsNoise, has


class PredictsIntervals:
    """Predictions with their uncertainty; a mixin above a regressor that has the methods used here."""

    def predict(self: Any, X: ArrayLike, return_std: bool = False) -> Any:
        """The prediction for each row.

        Parameters
        ----------
        X : rows.
        return_std : also return the deviation of each row's target about its prediction: that of the noise, which is
            taken to be the same everywhere, and of what is not known of the weights. Of the default chain up to 512
            columns.
        """
        found = self._raw(X)
        if not return_std:
            return found
        weights = self.chain_.weights
        return found, self._of_posterior(X, lambda known, batch: np.sqrt(known.variances(batch, weights)))

    def predict_interval(self: Any, X: ArrayLike, level: float = 0.9) -> NDArray[np.float64]:
        """An interval for the target of each row, shape (rows, 2).

        It reaches as far as the targets of the rows learned last were from what had been predicted for them, in units
        of what each row leaves uncertain, and farther if intervals before would have held too few of them (adaptive
        conformal inference, of 400 rows); of less than 20 rows, by Student's distribution.

        Parameters
        ----------
        X : rows.
        level : the probability with which it holds the target, if rows are like those learned last.
        """
        if not 0 < level < 1:
            raise ValueError(f"level: got {level!r}, wanted a number between 0 and 1")
        weights, centre = self.chain_.weights, self._raw(X)
        half = self._of_posterior(X, lambda known, batch: known.half_widths(batch, weights, level))
        return np.column_stack([centre - half, centre + half])

    def _of_posterior(self: Any, X: Any, of: Callable[[Any, Batch], NDArray[np.float64]]) -> NDArray[np.float64]:
        """A length for each row, in units of the targets, made from the posterior and a batch."""
        check_is_fitted(self)
        base, alone = self.chain_.layers[-1], len(self.chain_.layers) == 1
        known = base.numbers_posterior() if alone and has(base, KnowsNoise) else None
        if known is None:
            raise ValueError(
                "deviations and intervals: this model keeps no moments of two rows or more; wanted two rows, and the "
                "default `layers` without a `loss` and the like, at most 512 columns"
            )
        batches = self.chain_.batches(self._examples(X, reset=False), columns=self._roles.optional())
        found: NDArray[np.float64] = np.concatenate([of(known, batch) for batch in batches]) * self._target.scale
        return found
