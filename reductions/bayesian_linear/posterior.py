"""The posterior of a model of moments in NumPy: how far off its predictions are likely to be.

Residuals are in units of what each row leaves uncertain, and intervals by what they were; see `hutch.core.conformal`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE, Batch
from hutch.core.conformal import reach_of
from hutch.core.intervals import quantile


def likeliest(
    ridges: Sequence[float], products: NDArray[np.float64], moment: NDArray[np.float64], whole: float, rows: float
) -> float:
    """The λ with the greatest evidence, as `solution` has it.

    Args:
        ridges: those to choose from; of two rows and less the first is taken.
        products: of columns about their means, in their units, float64 (columns, columns).
        moment: of columns with the label.
        whole: squares of the label about its mean.
        rows: importance of all rows.
    """
    if len(ridges) == 1 or rows <= 2:
        return ridges[0]
    roots, axes = np.linalg.eigh(products)
    roots, along = np.maximum(roots, 0.0), (axes.T @ moment) ** 2
    least = max(1e-12 * whole, 1e-300)
    rests = [max(whole - float(np.sum(along / (roots + ridge))), least) for ridge in ridges]
    found = [
        -0.5 * float(np.sum(np.log1p(roots / ridge))) - 0.5 * (rows - 1.0) * math.log(rest)
        for ridge, rest in zip(ridges, rests, strict=True)
    ]
    return ridges[int(np.argmax(found))]


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
        fresh: variance that a feature without a place adds, over the noise's; None: all places are taken.
        outside: variance of the weight of a word beyond the places, or of a feature of another namespace, before
            anything is learned, the noise's being 1/2.
        namespace: id of that whose features have places.
        residuals: of the rows learned last, in their order: label less prediction, over the root of the label's
            variance in units of the noise's.
    """

    features: NDArray[np.int64]
    means: NDArray[np.float64]
    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]
    noise: float
    rows: float
    freedom: float
    fresh: float | None
    outside: float
    namespace: int
    residuals: NDArray[np.float64]

    def variances(self, batch: Batch, weights: NDArray[np.float32]) -> NDArray[np.float64]:
        """The variance of the label of each row.

        Args:
            batch: rows.
            weights: the chain's table, which has the precision of words beyond the places.
        """
        return self.noise * self._relative(batch, weights)

    def half_widths(
        self, batch: Batch, weights: NDArray[np.float32], level: float, used: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Half the width of an interval about each row's prediction that holds its label with a probability.

        Args:
            batch, weights: as of `variances`.
            level: the probability, between 0 and 1.
            used: whether the chain uses each namespace of the batch; None: it uses all.
        """
        normal = quantile(level, self.freedom) * math.sqrt(self.noise)  # by Student's distribution
        return reach_of(self.residuals, level, normal) * np.sqrt(self._relative(batch, weights, used))

    def _relative(
        self, batch: Batch, weights: NDArray[np.float32], used: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """The variance of the label of each row, over the noise's."""
        ends, spaces = batch.row_ptr, slice(batch.row_namespaces[0], batch.row_namespaces[-1])
        sizes = np.diff(batch.namespace_ptr[spaces.start : spaces.stop + 1])
        namespaces = np.repeat(batch.namespace_id[spaces], sizes)
        taken = np.ones(len(namespaces), bool) if used is None else np.repeat(used[spaces], sizes)
        own = taken & (namespaces == self.namespace)
        rows = np.repeat(np.arange(len(batch)), np.diff(ends))
        indices, values = (array[ends[0] : ends[-1]] for array in (batch.indices, batch.values))
        order = np.argsort(self.features)
        at = np.minimum(np.searchsorted(self.features, indices, sorter=order), max(len(order) - 1, 0))
        places = order[at] if len(order) else at
        known = own & (self.features[places] == indices) if len(order) else np.zeros(len(indices), bool)
        away = np.tile(-self.shares, (len(batch), 1))
        np.add.at(away, (rows[known], places[known]), values[known] - self.means[places[known]])
        spread = np.maximum(np.einsum("ij,ij->i", away @ self.covariance, away), 0.0)
        beyond = taken & ~own & (namespaces != CONSTANT_NAMESPACE)
        if self.fresh is not None:
            spread += self.fresh * np.bincount(rows[own & ~known], minlength=len(batch))
        else:
            beyond |= own & ~known & (values == 1.0)
        gained = weights[indices[beyond] & np.uint32(len(weights) - 1), 1].astype(np.float64)
        sizes = 2.0 * values[beyond].astype(np.float64) ** 2 / (1.0 / self.outside + gained)
        spread += np.bincount(rows[beyond], sizes, minlength=len(batch))
        found: NDArray[np.float64] = 1.0 + 1.0 / self.rows + spread
        return found
