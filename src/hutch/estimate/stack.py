"""Cross-fitted predictions of outcomes: no prediction has seen the outcome of its own item."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FOLDS, REPEATS, RIDGE = 10, 3, 3.0
"""Folds; divisions into folds that are averaged; ridge of standardised features, in outcomes."""


def cross_fitted(
    features: Array,
    outcomes: Array,
    labelled: NDArray[np.int64],
    weight: Array | None = None,
    seed: int = 0,
    groups: NDArray[np.int64] | None = None,
) -> Array:
    """Ridge regression of outcomes on features, cross-fitted (items).

    A labelled item is predicted by the fits to the other folds, any other item by the mean of all fits.

    Args:
        features: NaN for unknown values, which become the feature's mean (items, features).
        outcomes: of the labelled items (n).
        labelled: their places (n).
        weight: of the labelled items in the fit (n).
        seed: of the division into folds.
        groups: codes of groups that stay together in a fold, from 0 (n); None: each item by itself.

    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> found = cross_fitted(x, x[::2, 0] * 2, np.arange(0, 50, 2))
    >>> bool(np.corrcoef(found, x[:, 0])[0, 1] > 0.99)
    True
    """
    items, n = len(features), len(outcomes)
    if n < 4 or not features.shape[1]:
        return np.zeros(items)
    known = ~np.isnan(features)
    mean = np.where(known, features, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    x = np.where(known, features, mean) - mean
    scale = x.std(axis=0)
    x = x[:, scale > 1e-12] / scale[scale > 1e-12]
    w = np.ones(n) if weight is None else weight / weight.mean()
    found = np.zeros(items)
    groups = np.arange(n) if groups is None else groups
    apart = int(groups.max()) + 1
    folds = min(FOLDS, apart)
    for repeat in range(REPEATS):
        fold = np.random.default_rng([seed, repeat]).permutation(apart)[groups] % folds
        everywhere, own = np.zeros(items), np.empty(n)
        for k in range(folds):
            used = fold != k
            fit = _ridge(x[labelled[used]], outcomes[used], w[used])
            everywhere += (fit[0] + x @ fit[1]) / folds
            own[~used] = fit[0] + x[labelled[~used]] @ fit[1]
        everywhere[labelled] = own
        found += everywhere / REPEATS
    return found


def _ridge(x: Array, y: Array, w: Array) -> tuple[float, Array]:
    """Intercept and slopes."""
    share = w / w.sum()
    centre, level = share @ x, float(share @ y)
    moved = x - centre
    gram = (moved * w[:, None]).T @ moved + RIDGE * np.eye(x.shape[1])
    slopes = np.linalg.solve(gram, (moved * w[:, None]).T @ (y - level))
    return level - float(centre @ slopes), slopes
