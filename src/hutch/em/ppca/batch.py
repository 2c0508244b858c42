"""Maximum likelihood of PPCA on all rows at once, in closed form: the reference of the online forms."""

import numpy as np

from hutch.em.base.model import Rows
from hutch.em.ppca.model import NOISE_FLOOR, PPCA, PPCAParameters


def closed_form(rows: Rows, rank: int) -> PPCAParameters:
    """The maximum-likelihood parameters: the leading eigenvectors, the mean of the other eigenvalues as noise.

    Args:
        rows: (samples, dimension), no missing values.
        rank: ≥ 1; components that the rows cannot determine (`rank` ≥ `dimension`) are rows of zeros.

    Source: Tipping & Bishop (1999), equations 7 and 8.

    >>> rows = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> fitted = closed_form(rows, rank=1)
    >>> round(fitted.noise, 12), np.abs(fitted.loadings).round(12)
    (0.5, array([[2., 0.]]))
    """
    model = PPCA.of(rows, rank)
    rows = model.validate(rows)
    _, singular, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    variances = singular**2 / len(rows)
    kept = min(rank, model.dimension - 1, len(variances))
    noise = float(variances[kept:].sum()) / (model.dimension - kept)
    noise = max(noise, NOISE_FLOOR * model.variance)
    loadings = np.zeros((rank, model.dimension))
    loadings[:kept] = np.sqrt(np.maximum(variances[:kept, None] - noise, 0.0)) * axes[:kept]
    return PPCAParameters(rows.mean(axis=0), loadings, noise)
