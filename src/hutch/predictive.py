"""Deviations and intervals of predictions, of a regressor that keeps the moments of its rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from sklearn.utils.validation import check_is_fitted

from hutch.core.chain.capabilities import KnowsNoise, has
from hutch.frames import roles_of


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
        return (found, self._deviations(X)[0]) if return_std else found

    def predict_interval(self: Any, X: ArrayLike, level: float = 0.9) -> NDArray[np.float64]:
        """An interval for the target of each row, shape (rows, 2), by Student's distribution.

        Parameters
        ----------
        X : rows.
        level : the probability with which it holds the target, if targets are linear in the columns, with noise that is
            normal and the same everywhere.
        """
        if not 0 < level < 1:
            raise ValueError(f"level: got {level!r}, wanted a number between 0 and 1")
        deviations, freedom = self._deviations(X)
        half = stdtrit(freedom, 0.5 + 0.5 * level) * deviations
        centre = self._raw(X)
        return np.column_stack([centre - half, centre + half])

    def _deviations(self: Any, X: Any) -> tuple[NDArray[np.float64], float]:
        """The deviation of each row's target, and the degrees of freedom."""
        check_is_fitted(self)
        base, alone = self.chain_.layers[-1], len(self.chain_.layers) == 1
        known = base.numbers_posterior() if alone and has(base, KnowsNoise) else None
        if known is None:
            raise ValueError(
                "return_std: this model keeps no moments of two rows or more; wanted the default `layers` without a "
                "`loss` and the like, at most 512 columns"
            )
        if self._row[1] and len(known.features) >= self._row[0]:
            raise ValueError(f"return_std: got more than {self._row[0]} words and columns, wanted fewer")

        def variances() -> Iterator[NDArray[np.float64]]:
            for batch in self.chain_.batches(self._examples(X, reset=False), columns=roles_of(self.columns).optional()):
                yield known.variances(batch)

        return np.sqrt(np.concatenate(list(variances()))) * self._target.scale, known.freedom
