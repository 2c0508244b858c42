"""A new row of a table whose factors are known, from some answers: its posterior, and predictions of all its answers.

The prior is a mixture of normal distributions (`hutch.factors.neighbours`); each answer is a normal site
(`hutch.factors.sites`; T. Minka, "Expectation propagation for approximate Bayesian inference", 2001).
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hutch.factors import sites
from hutch.factors.logistic import Array, squash
from hutch.factors.neighbours import Part, prior_of
from hutch.factors.table import Factors

Places = NDArray[np.int64]
SURE = 0.003
"""Predictions stay this far from 0 and 1."""
DAMPING = 0.7
"""Share of the new site in a pass over all sites."""
HEAVIEST = 100
"""Components kept of the posterior of a part."""


@dataclass(frozen=True)
class Table:
    """What all new rows of a table have in common: its factors, and the prior that they give."""

    factors: Factors
    prior: tuple[Part, ...]

    @classmethod
    def of(cls, factors: Factors) -> "Table":
        """The table of some factors."""
        return cls(factors, prior_of(factors))

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """The directions in single precision, for variances."""
        return self.factors.directions.astype(np.float32)


@dataclass(frozen=True)
class _Components:
    """Normal components of one covariance after answers."""

    weights: Array
    means: Array
    covariance: Array


@dataclass(frozen=True)
class Posterior:
    """What is known of a row.

    Attributes:
        mean: of u (size).
        covariance: of u (size, size).
        parts: the heaviest components of the mixture.
    """

    mean: Array
    covariance: Array
    parts: tuple[_Components, ...]


@dataclass(frozen=True)
class Row:
    """A new row and its answers so far; it never changes, a new one replaces it.

    Attributes:
        table: the factors and the prior.
        asked: columns with an answer, in the order of the answers (n).
        answers: from 0 to 1 (n).
        precision, shift: of the answers' sites (n).
    """

    table: Table
    asked: Places = field(default_factory=lambda: np.zeros(0, np.int64))
    answers: Array = field(default_factory=lambda: np.zeros(0))
    precision: Array = field(default_factory=lambda: np.zeros(0))
    shift: Array = field(default_factory=lambda: np.zeros(0))

    def told(self, columns: Places, answers: Array) -> "Row":
        """The row after some more answers and a pass over all of them.

        Args:
            columns: that were not asked before (m).
            answers: from 0 to 1 (m).

        >>> from hutch.factors.table import learn_factors
        >>> table = Table.of(learn_factors(np.tril(np.ones((30, 30))), rank=1))
        >>> row = Row(table).told(np.array([3, 20]), np.array([1.0, 0.0]))
        >>> found = row.predictions()
        >>> bool(found[1] > 0.8), bool(found[28] < 0.2)
        (True, True)
        """
        if not len(columns):
            return self
        known = self.posterior
        size, n = len(known.mean), len(columns)
        precision, shift = np.empty(n), np.empty(n)
        sites.filter_new(
            self.table.factors.directions[columns], self.table.factors.ease[columns],
            np.ascontiguousarray(answers, np.float64), known.mean.copy(), known.covariance.copy(), sites.NODES,
            sites.WEIGHTS, precision, shift, np.empty(size),
        )  # fmt: skip
        asked, said = np.concatenate([self.asked, columns]), np.concatenate([self.answers, answers])
        more = np.concatenate([self.precision, precision]), np.concatenate([self.shift, shift])
        return Row(self.table, asked, said, *more).refined(1)

    def refined(self, passes: int) -> "Row":
        """The row after passes over all its sites, each from what the others say.

        Args:
            passes: at least 0.
        """
        row = self
        for _ in range(passes if len(self.asked) else 0):
            mean, variance = row.left_out()
            ease = row.table.factors.ease[row.asked]
            precision, shift = np.empty(len(mean)), np.empty(len(mean))
            sites.match(mean + ease, variance, row.answers, sites.NODES, sites.WEIGHTS, precision, shift)
            row = replace(
                row,
                precision=(1 - DAMPING) * row.precision + DAMPING * precision,
                shift=(1 - DAMPING) * row.shift + DAMPING * (shift - precision * ease),
            )
        return row

    @cached_property
    def _directions(self) -> Array:
        return self.table.factors.directions[self.asked]

    @cached_property
    def posterior(self) -> Posterior:
        """What the answers say of the row."""
        z, parts = self._directions, []
        told, towards = (z * self.precision[:, None]).T @ z, z.T @ self.shift
        for part in self.table.prior:
            whole = part.precision + told
            covariance = np.asarray(np.linalg.inv(whole), np.float64)
            pulled = part.means @ told
            moved = towards - pulled
            step = moved @ covariance
            log_weight = 0.5 * (step * moved).sum(axis=1) - 0.5 * (pulled * part.means).sum(axis=1)
            log_weight += part.means @ towards + part.log_weight
            log_weight += 0.5 * (part.log_determinant - float(np.linalg.slogdet(whole)[1]))
            parts.append((log_weight, part.means + step, covariance))
        top = max(float(each.max()) for each, _, _ in parts)
        total = sum(float(np.exp(each - top).sum()) for each, _, _ in parts)
        weighed = [_Components(np.exp(each - top) / total, means, whole) for each, means, whole in parts]
        mean: Array = np.sum([each.weights @ each.means for each in weighed], axis=0)
        spread = np.zeros((len(mean), len(mean)))
        for each in weighed:
            apart = each.means - mean
            spread += each.weights.sum() * each.covariance + (apart * each.weights[:, None]).T @ apart
        return Posterior(mean, spread, tuple(map(_heaviest, weighed)))

    def logits(self) -> tuple[Array, Array]:
        """Mean and variance of the logit of every column (columns)."""
        known, single = self.posterior, self.table.single
        factors = self.table.factors
        spread = np.einsum("nk,nk->n", single @ known.covariance.astype(np.float32), single)
        return factors.ease + factors.directions @ known.mean, np.maximum(spread.astype(np.float64), 0)

    def left_out(self) -> tuple[Array, Array]:
        """Mean and variance, less the ease, of the logit of each answered column without its own answer (n)."""
        z, found, top = self._directions, [], np.full(len(self.asked), -np.inf)
        for part in self.posterior.parts:
            keep = part.weights > 1e-9
            if not keep.any():
                continue
            spread = np.maximum(np.einsum("nk,nk->n", z @ part.covariance, z), 1e-12)
            variance = 1 / np.maximum(1 / spread - self.precision, 1e-8)
            mean = variance[:, None] * ((z @ part.means[keep].T) / spread[:, None] - self.shift[:, None])
            scale = 1 + self.precision * variance
            exponent = 0.5 * self.precision[:, None] * mean**2 - self.shift[:, None] * mean
            exponent = (exponent - 0.5 * (self.shift**2 * variance)[:, None]) / scale[:, None]
            log_weight = np.log(part.weights[keep]) + 0.5 * np.log(scale)[:, None] + exponent
            found.append((log_weight, mean, variance))
            top = np.maximum(top, log_weight.max(axis=1))
        total, first, second = np.zeros(len(top)), np.zeros(len(top)), np.zeros(len(top))
        for log_weight, mean, variance in found:
            weight = np.exp(log_weight - top[:, None])
            total += weight.sum(axis=1)
            first += (weight * mean).sum(axis=1)
            second += (weight * (mean**2 + variance[:, None])).sum(axis=1)
        first /= total
        return first, np.maximum(second / total - first * first, 1e-9)

    def predictions(self) -> Array:
        """The expected answer of every column, from the other answers where it has one (columns)."""
        found = squash(*self.logits())
        if len(self.asked):
            mean, variance = self.left_out()
            found[self.asked] = squash(mean + self.table.factors.ease[self.asked], variance)
        return np.clip(found, SURE, 1 - SURE)


def _heaviest(part: _Components) -> _Components:
    if len(part.weights) <= HEAVIEST:
        return part
    keep = np.sort(np.argpartition(-part.weights, HEAVIEST)[:HEAVIEST])
    return replace(part, weights=part.weights[keep], means=part.means[keep])
