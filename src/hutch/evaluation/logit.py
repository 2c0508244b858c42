"""A conditional logit: which one of several alternatives is taken, from the features of each.

With features x_b of the alternatives b of a choice, b is taken with probability exp(w x_b) / Σ_c exp(w x_c). The
weights w minimise the negative log-likelihood plus Σ_j r_j w_j² / 2. Columns are in groups, and all of a group have one
penalty, which the data choose: a group that says nothing gets a great one, a group that matters a small one. With the
curvature h_j of the likelihood along w_j, r = Σ_j h_j / (h_j + r) / Σ_j w_j² over the columns of a group.

Sources: D. McFadden, "Conditional logit analysis of qualitative choice behavior", 1974; D. MacKay, "Bayesian
interpolation", Neural Computation 4, 1992, for the penalties, with the curvature's diagonal alone; for the minimiser
J. Nocedal, S. Wright, "Numerical Optimization", 2006, algorithm 7.4 (L-BFGS).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Value = Callable[[Floats], tuple[float, Floats]]
_MEMORY, _STEPS, _HALVINGS = 10, 200, 30
_NEAR = 1e-3
"""Length of the gradient at the end of a search; 1 is about what a standard deviation of one weight makes."""
_ROUNDS, _SAME, _LEAST, _GREATEST = 15, 2e-3, 1e-2, 1e6


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Choices among alternatives with sparse features; each choice has at least one alternative.

    Attributes:
        sizes: int64 (choices), number of alternatives of each.
        taken: int64 (choices), the alternative taken, counted from 0 within its choice.
        ends: int64 (alternatives + 1), where the features of each alternative begin and end.
        columns: int64 (features), below `width`.
        values: float64 (features).
        groups: int64 (columns), the number of each column's group.
    """

    sizes: NDArray[np.int64]
    taken: NDArray[np.int64]
    ends: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats
    groups: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.groups)

    def some(self, wanted: NDArray[np.bool_]) -> "Alternatives":
        """Some of the choices.

        Args:
            wanted: bool (choices).
        """
        alternatives = np.repeat(wanted, self.sizes)
        lengths = np.diff(self.ends)
        features = np.repeat(alternatives, lengths)
        ends = np.concatenate([[0], np.cumsum(lengths[alternatives])])
        columns, values = self.columns[features], self.values[features]
        return Alternatives(self.sizes[wanted], self.taken[wanted], ends, columns, values, self.groups)

    def probabilities(self, weights: Floats) -> Floats:
        """The probability of each alternative, float64 (alternatives).

        Args:
            weights: float64 (width).
        """
        return self._softmax(_sums(self._owner(), self.values * weights[self.columns], int(self.sizes.sum())))

    def likelihood(self, weights: Floats) -> float:
        """The log-likelihood of what was taken.

        Args:
            weights: float64 (width).
        """
        return float(np.log(np.maximum(self.probabilities(weights)[self._starts() + self.taken], 1e-300)).sum())

    def fit(self, ridge: Floats, start: Floats | None = None) -> Floats:
        """The weights, float64 (width), of the greatest likelihood with a penalty.

        Args:
            ridge: the penalty of each column, above 0, float64 (width).
            start: where the search begins, float64 (width); None: at 0.
        """
        owner, taken = self._owner(), np.zeros(int(self.sizes.sum()))
        at = self._starts() + self.taken
        taken[at] = 1
        even = 1 / np.repeat(self.sizes, self.sizes)
        curvature = _sums(self.columns, self.values**2 * (even * (1 - even))[owner], self.width)
        scale = np.sqrt(curvature + ridge)  # so that all directions are about as steep

        def value(scaled: Floats) -> tuple[float, Floats]:
            weights = scaled / scale
            share = self._softmax(_sums(owner, self.values * weights[self.columns], len(taken)))
            slope = _sums(self.columns, self.values * (share - taken)[owner], self.width)
            loss = -float(np.log(np.maximum(share[at], 1e-300)).sum())
            return loss + float(weights @ (ridge * weights)) / 2, (slope + ridge * weights) / scale

        begin = np.zeros(self.width) if start is None else start * scale
        return minimum(value, begin, _NEAR) / scale

    def penalties(self) -> tuple[Floats, Floats]:
        """The penalty of each column that the choices favour, and the weights under it, both float64 (width)."""
        ridge, weights, owner = np.ones(self.width), np.zeros(self.width), self._owner()
        count, before = int(self.groups.max(initial=-1)) + 1, np.zeros(len(self.ends) - 1)
        for _ in range(_ROUNDS):
            weights = self.fit(ridge, weights)
            share = self.probabilities(weights)
            if np.abs(share - before).max(initial=0) < _SAME:
                break
            before = share
            curvature = _sums(self.columns, self.values**2 * (share * (1 - share))[owner], self.width)
            known = _sums(self.groups, curvature / (curvature + ridge), count)
            squares = _sums(self.groups, weights**2, count)
            ridge = np.clip(known / np.maximum(squares, 1e-12), _LEAST, _GREATEST)[self.groups]
        return ridge, weights

    def _owner(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))

    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum(self.sizes) - self.sizes

    def _softmax(self, score: Floats) -> Floats:
        if not len(self.sizes):
            return score
        starts = self._starts()
        power = np.exp(score - np.repeat(np.maximum.reduceat(score, starts), self.sizes))
        found: Floats = power / np.repeat(np.add.reduceat(power, starts), self.sizes)
        return found


def _sums(number: NDArray[np.int64], values: Floats, count: int) -> Floats:
    """The sum of the values of each number, also where there are none."""
    found: Floats = np.bincount(number, values, count).astype(np.float64)
    return found


def minimum(value: Value, start: Floats, enough: float) -> Floats:
    """Where a convex function is least.

    Args:
        value: the function and its gradient.
        start: where the search begins.
        enough: the length of the gradient at which it ends.

    >>> minimum(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2), 1e-9)
    array([3., 3.])
    """
    x, (height, slope) = start, value(start)
    pairs: list[tuple[Floats, Floats, float]] = []
    for _ in range(_STEPS):
        if not float(slope @ slope) > enough * enough:
            break
        step = -_times_inverse_curvature(slope, pairs)
        downward = float(step @ slope)
        length = 1.0 if pairs else min(1.0, 1 / float(np.abs(slope).sum()))
        for _ in range(_HALVINGS):
            there, (found, slope_there) = x + length * step, value(x + length * step)
            if found <= height + 1e-4 * length * downward:
                break
            length /= 2
        else:
            break
        moved, bent = there - x, slope_there - slope
        if float(moved @ bent) > 0:
            pairs = [*pairs[-_MEMORY + 1 :], (moved, bent, 1 / float(moved @ bent))]
        x, height, slope = there, found, slope_there
    return x


def _times_inverse_curvature(slope: Floats, pairs: list[tuple[Floats, Floats, float]]) -> Floats:
    """The gradient times the approximate inverse of the second derivatives, from the latest steps."""
    found, shares = slope.copy(), []
    for moved, bent, share in reversed(pairs):
        shares.append(share * float(moved @ found))
        found -= shares[-1] * bent
    if pairs:
        moved, bent, _ = pairs[-1]
        found *= float(moved @ bent) / float(bent @ bent)
    for (moved, bent, share), before in zip(pairs, reversed(shares), strict=True):
        found += (before - share * float(bent @ found)) * moved
    return found
