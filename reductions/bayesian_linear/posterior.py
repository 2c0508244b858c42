"""The posterior of a model of moments in NumPy: how far off its predictions are likely to be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch


@dataclass(frozen=True)
class NumbersPosterior:
    """What moments say of the noise and of the weights.

    Attributes:
        features: int64 (places): index of the feature at each place.
        means: of the columns; 0 for words.
        shares: of words: the part of the rows that have one; 0 for numbers.
        covariance: of the weights, over the noise's variance.
        noise: variance of labels about the model.
        rows: importance of all rows.
        freedom: that less what the weights use of it.
        fresh: variance that a feature without a place adds, over the noise's.
    """

    features: NDArray[np.int64]
    means: NDArray[np.float64]
    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]
    noise: float
    rows: float
    freedom: float
    fresh: float

    def variances(self, batch: Batch) -> NDArray[np.float64]:
        """The variance of the label of each row.

        Args:
            batch: rows, each with the constant as its last feature.
        """
        ends = batch.row_ptr
        rows = np.repeat(np.arange(len(batch)), np.diff(ends))
        indices, values = (array[ends[0] : ends[-1]] for array in (batch.indices, batch.values))
        order = np.argsort(self.features)
        at = np.minimum(np.searchsorted(self.features, indices, sorter=order), max(len(order) - 1, 0))
        places = order[at] if len(order) else at
        known = self.features[places] == indices if len(order) else np.zeros(len(indices), bool)
        away = np.tile(-self.shares, (len(batch), 1))
        np.add.at(away, (rows[known], places[known]), values[known] - self.means[places[known]])
        spread = np.einsum("ij,ij->i", away @ self.covariance, away)
        new = np.bincount(rows[~known], minlength=len(batch)) - 1
        found: NDArray[np.float64] = self.noise * (1.0 + 1.0 / self.rows + np.maximum(spread, 0.0) + self.fresh * new)
        return found
