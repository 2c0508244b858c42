"""PPCA with missing values: each row's posterior from its known entries, its statistics completed by expectation.

Exact EM when values are missing at random. Arguments as in `hutch.em.ppca.model`: rows (n, d) with NaN where
missing, mean (d), loadings (q, d), noise > 0.
"""

from math import log, pi

import numpy as np

from hutch.em.base.model import Array, Rows


def posterior(rows: Rows, mean: Array, loadings: Array, noise: float) -> tuple[Array, Array]:
    """Posterior means (n, q) and covariances (n, q, q) of z given the known entries of each row."""
    known = ~np.isnan(rows)
    rank = len(loadings)
    products = (loadings[:, None] * loadings[None]).reshape(rank * rank, -1)
    precision = (known @ products.T).reshape(-1, rank, rank) / noise + np.eye(rank)
    covariance = np.linalg.inv(precision)
    centred = np.asarray(np.where(known, rows - mean, 0.0), np.float64)
    return np.einsum("nij,nj->ni", covariance, centred @ loadings.T / noise), np.asarray(covariance, np.float64)


def log_likelihood(rows: Rows, mean: Array, loadings: Array, noise: float) -> Array:
    """Log-density of the known entries of each row, in nats (n)."""
    known = ~np.isnan(rows)
    latent, covariance = posterior(rows, mean, loadings, noise)
    residual = np.where(known, rows - mean - latent @ loadings, 0.0)
    quadratic = np.einsum("ij,ij->i", residual, residual) / noise + np.einsum("ij,ij->i", latent, latent)
    determinant = known.sum(axis=1) * (log(2 * pi) + log(noise)) - np.linalg.slogdet(covariance)[1]
    return np.asarray(-0.5 * (determinant + quadratic))


def moments(
    rows: Rows, mean: Array, loadings: Array, noise: float, centre: Array
) -> tuple[float, Array, Array, Array, Array]:
    """Means over rows of E|y|², E z y', E z z', E y, E z, with y = x - centre and missing entries integrated out."""
    known = ~np.isnan(rows)
    latent, covariance = posterior(rows, mean, loadings, noise)
    completed = np.where(known, rows, mean + latent @ loadings) - centre
    # Where x_j is missing, Cov(z, x_j) = Cov(z) W_j and Var(x_j) = W_j' Cov(z) W_j + noise.
    spread = covariance.reshape(len(rows), -1).T @ ~known  # (q q, d): covariance summed over rows that miss j
    spread = spread.reshape(len(loadings), len(loadings), -1)
    cross = np.einsum("ijd,jd->id", spread, loadings)
    square = np.vdot(completed, completed) + np.vdot(cross, loadings) + noise * np.count_nonzero(~known)
    count = len(rows)
    return (
        float(square) / count,
        (latent.T @ completed + cross) / count,
        (latent.T @ latent + covariance.sum(axis=0)) / count,
        completed.mean(axis=0),
        latent.mean(axis=0),
    )
