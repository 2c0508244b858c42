"""Maximum likelihood of PPCA on all rows at once, in closed form and by batch EM: references of the online forms."""

import numpy as np

from hutch.core.errors import ConfigError
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


def batch_em(
    rows: Rows, model: PPCA, start: PPCAParameters, *, tolerance: float | None = 1e-10, iterations: int = 10_000
) -> PPCAParameters:
    """EM on all rows until the mean log-likelihood changes by less than `tolerance` nats, or `iterations` are done.

    Args:
        rows: (samples, dimension); NaN where the model allows missing values.
        model: made by `PPCA.of`.
        start: see `PPCA.start`.
        tolerance: ≥ 0; None does all iterations.
        iterations: ≥ 1.
    """
    if iterations < 1:
        raise ConfigError(f"iterations: got {iterations}, wanted at least 1")
    rows = model.validate(rows)
    parameters, before = start, -np.inf
    for _ in range(iterations):
        parameters = model.maximise(model.statistics(rows, parameters))
        if tolerance is not None:
            now = float(model.log_likelihood(rows, parameters).mean())
            if now - before < tolerance:
                break
            before = now
    return parameters
