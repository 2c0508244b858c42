"""Factors of a table of answers: logit P(row h is right in column j) = alpha_h + beta_j + A_h . B_j.

Rows are models, judges or raters; columns are questions. Three sweeps of Newton steps, all columns and then all rows,
find the most likely factors; the curvature of each side counts the uncertainty of the other one.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hutch.factors.logistic import Array, logit

Single = NDArray[np.float32]
RANK, SWEEPS = 64, 3
"""Most factors; sweeps of Newton steps."""
FARTHEST, LONGEST = 15.0, 3.0
"""Largest logit; largest entry of a Newton step."""
AT_ONCE = 512
"""Rows whose matrices are inverted at a time."""


@dataclass(frozen=True)
class Factors:
    """Factors of a table of answers.

    Attributes:
        ability: alpha, float64 (rows), 0 on average.
        rows: A, float64 (rows, rank), of mean 0 and covariance 1.
        ease: beta, float64 (columns).
        columns: B, float64 (columns, rank).
    """

    ability: Array
    rows: Array
    ease: Array
    columns: Array

    @cached_property
    def directions(self) -> Array:
        """(B_j, 1) of every column (columns, rank + 1): a row's logit is ease + directions @ (A, alpha)."""
        return np.ascontiguousarray(np.column_stack([self.columns, np.ones(len(self.ease))]))

    @cached_property
    def places(self) -> Array:
        """(A_h, alpha_h) of every row (rows, rank + 1)."""
        return np.column_stack([self.rows, self.ability])


def learn_factors(answers: NDArray[np.floating], rank: int = RANK, sweeps: int = SWEEPS, seed: int = 0) -> Factors:
    """The most likely factors of a table.

    Args:
        answers: from 0 to 1, NaN where unknown (rows, columns); at least one is known.
        rank: most factors, at least 1; few rows have fewer.
        sweeps: of Newton steps, at least 1.
        seed: of the first directions.

    Source: logistic factor analysis with normal priors whose variances are those of the factors (C. Spearman,
    American Journal of Psychology 15, 1904; M. Reckase, "Multidimensional item response theory", 2009).

    >>> random = np.random.default_rng(0)
    >>> odds = random.normal(size=(40, 1)) + random.normal(size=60)
    >>> found = learn_factors((random.random((40, 60)) < 1 / (1 + np.exp(-odds))).astype(np.float32), rank=2)
    >>> logits = found.ease + found.places @ found.directions.T
    >>> bool(np.corrcoef(logits.ravel(), odds.ravel())[0, 1] > 0.7)
    True
    """
    found = _Learner(np.ascontiguousarray(answers, np.float32), rank, seed)
    for _ in range(sweeps):
        found.step_columns()
        found.step_rows()
        found.turn()
    alpha, a, beta, b = (np.ascontiguousarray(each, np.float64) for each in (found.alpha, found.a, found.beta, found.b))
    return Factors(alpha, a, beta, b)


class _Learner:
    """The factors as they are, with the packed covariance of every row and column."""

    def __init__(self, answers: Single, rank: int, seed: int) -> None:
        rows, columns = answers.shape
        self.rank = max(1, min(rank, rows - 2, columns - 2))
        self.size = self.rank + 1
        self.known: NDArray[np.bool_] | None = ~np.isnan(answers)
        if self.known.all():
            self.known = None
        self.answers = answers if self.known is None else np.where(self.known, answers, np.float32(0))
        self.upper = np.triu_indices(self.size)
        self.diagonal = np.flatnonzero(self.upper[0] == self.upper[1])
        self.factors_only = (self.upper[1] < self.rank).astype(np.float32)
        counts = np.full(columns, float(rows)) if self.known is None else self.known.sum(axis=0, dtype=np.float64)
        right = self.answers.sum(axis=0, dtype=np.float64)
        share = np.clip((right + 2 * right.sum() / max(counts.sum(), 1)) / (counts + 2), 1e-3, 1 - 1e-3)
        self.beta, self.alpha = logit(share).astype(np.float32), np.zeros(rows, np.float32)
        self.a, self.b = self._first(share, seed)
        self.row_covariance = np.zeros((rows, len(self.upper[0])), np.float32)
        self.column_covariance = np.zeros((columns, len(self.upper[0])), np.float32)
        self.spread = np.append(np.full(self.rank, 0.3), 4.0)  # prior variances of b and beta
        self.misses, self.curvature = np.empty_like(answers), np.empty_like(answers)

    def _first(self, share: Array, seed: int) -> tuple[Single, Single]:
        """A singular value decomposition of the standardised residuals, by random projections.

        N. Halko, P. Martinsson, J. Tropp, SIAM Review 53, 2011.
        """
        rows, columns = self.answers.shape
        scale = np.sqrt(share * (1 - share) + 0.02).astype(np.float32)
        residuals = (self.answers - share.astype(np.float32)) / scale
        if self.known is not None:
            residuals *= self.known
        width = min(self.rank + 8, rows, columns)
        basis = np.random.default_rng(seed).normal(size=(columns, width)).astype(np.float32)
        for _ in range(3):
            basis = np.linalg.qr(residuals @ basis)[0]
            basis = np.linalg.qr(residuals.T @ basis)[0]
        left, values, right = np.linalg.svd(residuals @ basis, full_matrices=False)
        many = math.sqrt(rows)
        a = left[:, : self.rank] * many
        b = (basis @ right[: self.rank].T) * (values[: self.rank] / many) / scale[:, None]
        return a.astype(np.float32), (b * min(1.0, 2 / max(float(np.abs(b).max()), 1e-9))).astype(np.float32)

    def _predict(self) -> None:
        """Residuals and curvatures of all answers, 0 where unknown; in place, a few rows at a time."""
        for start in range(0, len(self.alpha), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            misses, curvature = self.misses[some], self.curvature[some]
            np.matmul(self.a[some], self.b.T, out=misses)
            misses += self.alpha[some, None]
            misses += self.beta
            np.clip(misses, -FARTHEST, FARTHEST, out=misses)
            np.negative(misses, out=misses)
            np.exp(misses, out=misses)
            misses += 1
            np.reciprocal(misses, out=misses)
            np.multiply(misses, misses, out=curvature)
            np.subtract(misses, curvature, out=curvature)
            np.subtract(self.answers[some], misses, out=misses)
            if self.known is not None:
                misses *= self.known[some]
                curvature *= self.known[some]

    def step_columns(self) -> None:
        """One Newton step of all b and beta."""
        self._predict()
        now = np.column_stack([self.b, self.beta])
        centre = np.zeros(self.size, np.float32)
        centre[-1] = self.beta.mean()
        moved, self.column_covariance = self._newton(
            self.misses.T, self.curvature.T, self.a, now, centre, self.row_covariance, (1 / self.spread)
        )
        self.b, self.beta = np.ascontiguousarray(moved[:, :-1]), np.ascontiguousarray(moved[:, -1])

    def step_rows(self) -> None:
        """One Newton step of all a and alpha."""
        self._predict()
        now = np.column_stack([self.a, self.alpha])
        precision = np.append(np.ones(self.rank), 1 / max(float(self.alpha.var()), 0.05))
        moved, self.row_covariance = self._newton(
            self.misses, self.curvature, self.b, now, np.zeros(self.size, np.float32), self.column_covariance, precision
        )
        self.a, self.alpha = np.ascontiguousarray(moved[:, :-1]), np.ascontiguousarray(moved[:, -1])

    def _newton(
        self, misses: Single, curvature: Single, others: Single, now: Single, centre: Single, covariance: Single,
        precision: Array,
    ) -> tuple[Single, Single]:  # fmt: skip
        """One side after a step, and its packed covariance, from the other side and its covariance."""
        unsure = covariance * self.factors_only
        x = np.column_stack([others, np.ones(len(others), np.float32)])
        pairs = x[:, self.upper[0]] * x[:, self.upper[1]] + unsure
        moved, packed = np.empty_like(now), np.empty((len(now), len(self.upper[0])), np.float32)
        for start in range(0, len(now), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            bent = curvature[some]
            matrix = self._full((bent @ pairs).astype(np.float64))
            matrix[:, range(self.size), range(self.size)] += precision
            gradient = (misses[some] @ x).astype(np.float64) - (now[some] - centre) * precision
            gradient -= np.einsum("nab,nb->na", self._full(bent @ unsure), now[some])
            inverse = np.linalg.inv(matrix)
            step = np.einsum("nab,nb->na", inverse, gradient)
            step *= np.minimum(1, LONGEST / np.maximum(np.abs(step).max(axis=1), 1e-9))[:, None]
            moved[some] = now[some] + step
            packed[some] = inverse[:, self.upper[0], self.upper[1]]
        return moved, packed

    def turn(self) -> None:
        """Centre and whiten the rows, turn them to the columns' main axes, and find the columns' variances anew."""
        self.beta = self.beta + self.alpha.mean()
        self.alpha = self.alpha - self.alpha.mean()
        mean = self.a.mean(axis=0)
        self.beta, self.a = self.beta + self.b @ mean, self.a - mean
        values, axes = np.linalg.eigh(((self.a.T @ self.a) / len(self.a)).astype(np.float64))
        root = np.sqrt(np.maximum(values, 1e-6))
        stretched = self.b @ (axes * root)
        main = np.linalg.eigh(stretched.T @ stretched / len(stretched))[1][:, ::-1]
        of_rows, of_columns = ((axes / root) @ main).astype(np.float32), ((axes * root) @ main).astype(np.float32)
        self.a, self.b = self.a @ of_rows, self.b @ of_columns
        self.row_covariance = self._turned(self.row_covariance, of_rows)
        self.column_covariance = self._turned(self.column_covariance, of_columns)
        squares = np.column_stack([self.b, self.beta - self.beta.mean()]) ** 2
        self.spread = np.maximum((squares + self.column_covariance[:, self.diagonal]).mean(axis=0), 1e-4)

    def _turned(self, packed: Single, turn: Single) -> Single:
        """Packed covariances of factors that are turned."""
        whole, found = np.eye(self.size, dtype=np.float32), np.empty_like(packed)
        whole[: self.rank, : self.rank] = turn
        for start in range(0, len(packed), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            found[some] = (whole.T @ self._full(packed[some]) @ whole)[:, self.upper[0], self.upper[1]]
        return found

    def _full(self, packed: NDArray[np.floating]) -> NDArray[np.floating]:
        """Symmetric matrices from their upper triangles."""
        matrix = np.empty((len(packed), self.size, self.size), packed.dtype)
        matrix[:, self.upper[0], self.upper[1]] = packed
        matrix[:, self.upper[1], self.upper[0]] = packed
        return matrix
