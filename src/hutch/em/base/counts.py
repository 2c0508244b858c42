"""The natural constraint of categorical rows (a worker's confusion, a class prior): anchors that count as labels.

For counts the form `kl` is a Dirichlet prior at the anchor, p_reg = (n + τ p*) / (Σ n + τ). A boundary of a crowd voids
old counts (the worker changed), so the anchor never counts for more than a few labels: τ = min(N, 5), N the row's.

Deprecated: `crowd_em` keeps its own rows; this class goes in version 0.2, with the name `hutch.em.counts`.
"""

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ConfigError, DataError
from hutch.em.base.learner import State
from hutch.em.base.model import Array


class CountRows:
    """Rows of expected counts with an anchor each, exact under lazy updates: only the rows that get labels are touched.

    In class mode a boundary costs nothing: a row copies itself into its anchor when it is first touched afterwards.

    Args:
        rows: how many, ≥ 1.
        outcomes: values a label takes, ≥ 2.
        prior: pseudo-counts (outcomes), or one for all; > 0.
        cap: the most labels an anchor counts for, ≥ 0.

    >>> rows = CountRows(rows=1, outcomes=2)
    >>> for _ in range(98):
    ...     rows.add(0, np.array([1.0, 0.0]))
    >>> rows.probabilities()[0]
    array([0.99, 0.01])
    >>> rows.boundary()  # the worker may have changed: 98 labels now count as 5
    >>> rows.add(0, np.array([0.0, 1.0]))
    >>> rows.probabilities()[0].round(3)
    array([0.75, 0.25])
    """

    def __init__(self, rows: int, outcomes: int, prior: float | Array = 1.0, cap: float = 5.0) -> None:
        if rows < 1 or outcomes < 2:
            raise ConfigError(f"rows, outcomes: got {rows} and {outcomes}, wanted at least 1 and 2")
        self.prior = np.broadcast_to(np.asarray(prior, np.float64), outcomes).copy()
        if not (np.isfinite(self.prior) & (self.prior > 0)).all():
            raise ConfigError(f"prior: got {prior}, wanted positive numbers")
        if not cap >= 0:
            raise ConfigError(f"cap: got {cap}, wanted a number ≥ 0")
        self.cap = cap
        self._counts = np.zeros((rows, outcomes))
        self._anchor = np.zeros((rows, outcomes))  # τ p*, in labels
        self._epochs = np.zeros(rows, np.int64)
        self._epoch = 0

    def boundary(self) -> None:
        """Every row's estimate becomes its anchor and its counts start anew; done when the row is next touched."""
        self._epoch += 1

    def add(self, row: int, weights: Array) -> None:
        """Add expected counts of one label.

        Args:
            row: which.
            weights: (outcomes), ≥ 0.

        Raises:
            DataError: weights that are no counts.
        """
        if np.shape(weights) != self.prior.shape or not (np.isfinite(weights) & (np.asarray(weights) >= 0)).all():
            raise DataError(f"weights: got {weights}, wanted {self.prior.size} finite numbers ≥ 0")
        if self._epochs[row] != self._epoch:
            self._anchor[row] = self._renewed(np.array([row]))[0]
            self._counts[row] = 0.0
            self._epochs[row] = self._epoch
        self._counts[row] += weights

    def probabilities(self, rows: NDArray[np.int64] | None = None) -> Array:
        """The constrained estimate of some rows, or of all (rows, outcomes)."""
        chosen = np.arange(len(self._counts)) if rows is None else rows
        stale = (self._epochs[chosen] != self._epoch)[:, None]
        counts = np.where(stale, 0.0, self._counts[chosen])
        anchor = np.where(stale, self._renewed(chosen), self._anchor[chosen])
        total = counts + anchor + self.prior
        return np.asarray(total / total.sum(axis=1, keepdims=True))

    def _renewed(self, rows: NDArray[np.int64]) -> Array:
        """What the anchors of rows become at a boundary: their evidence, shrunk to at most `cap` labels."""
        evidence = self._counts[rows] + self._anchor[rows]
        labels = evidence.sum(axis=1, keepdims=True)
        return np.asarray(evidence * (np.minimum(labels, self.cap) / np.maximum(labels, np.finfo(np.float64).tiny)))

    def state(self) -> State:
        """A copy of all counts."""
        return {
            "counts": self._counts.copy(),
            "anchor": self._anchor.copy(),
            "epochs": self._epochs.copy(),
            "epoch": np.array(self._epoch),
        }

    def restore(self, state: State) -> None:
        """Continue from what `state` gave."""
        self._counts, self._anchor = state["counts"].copy(), state["anchor"].copy()
        self._epochs, self._epoch = state["epochs"].copy(), int(state["epoch"])
