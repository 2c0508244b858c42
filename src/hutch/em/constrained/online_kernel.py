"""Plain online EM of PPCA, compiled.

It does what `hutch.em.engine.OnlineEM` does with `hutch.em.ppca.model.PPCA`, in memory that it is given.
Statistics are one float64 vector: E |y|², E z y', E z z', E y, E z, for y = x - origin. Kernels neither allocate nor
call LAPACK.
"""

import numpy as np

from hutch.core.kernel.decorators import helper
from hutch.em.constrained.natural_kernel import dot

_LANES = 64


def statistics_size(rank: int, dimension: int) -> int:
    """Numbers of the statistics."""
    return 1 + rank * dimension + rank * rank + dimension + rank


def online_workspace_size(rank: int, dimension: int) -> int:
    """Numbers that an E-step and an M-step need."""
    return _LANES + rank * rank + 2 * rank + dimension


@helper
def parts_of(statistics, rank, dimension):
    """Views of the statistics: square (1), cross (q, d), latent (q, q), shift (d), latent mean (q)."""
    cross, latent = 1 + rank * dimension, 1 + rank * dimension + rank * rank
    return (
        statistics[:1],
        statistics[1:cross].reshape(rank, dimension),
        statistics[cross:latent].reshape(rank, rank),
        statistics[latent : latent + dimension],
        statistics[latent + dimension :],
    )


@helper
def cholesky(matrix):
    """Write the lower factor of a positive definite matrix over its lower half; returns log |matrix|."""
    determinant = 0.0
    for j in range(len(matrix)):
        for k in range(j):
            for i in range(j, len(matrix)):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
        pivot = np.sqrt(max(matrix[j, j], np.finfo(np.float64).tiny))
        determinant += 2.0 * np.log(pivot)
        for i in range(j, len(matrix)):
            matrix[i, j] /= pivot
    return determinant


@helper
def _solve(lower, x):
    """x ← A⁻¹ x for a vector x."""
    n = len(x)
    for i in range(n):
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] /= lower[i, i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= lower[j, i] * x[j]
        x[i] /= lower[i, i]


@helper
def posterior_precision(loadings, noise, out, workspace):
    """LL' / noise + I into `out` (q, q)."""
    for i in range(len(loadings)):
        for j in range(i + 1):
            out[i, j] = out[j, i] = dot(loadings[i], loadings[j], workspace) / noise + (1.0 if i == j else 0.0)


@helper
def latent_map(loadings, noise, out, workspace):
    """The map from centred rows to posterior means, (LL' + noise I)⁻¹ L, into `out`; returns log |LL' / noise + I|."""
    rank = len(loadings)
    lower = workspace[_LANES : _LANES + rank * rank].reshape(rank, rank)
    posterior_precision(loadings, noise, lower, workspace)
    determinant = cholesky(lower)
    for i in range(rank):
        for t in range(loadings.shape[1]):
            out[i, t] = loadings[i, t] / noise
    solve_rows(lower, out, workspace)
    return determinant


@helper
def solve_rows(lower, rows, workspace):
    """rows ← A⁻¹ rows; returns the squared length of what is half solved, tr(rows' A⁻¹ rows)."""
    square, count = 0.0, len(rows)
    for i in range(count):
        for j in range(i):
            for t in range(rows.shape[1]):
                rows[i, t] -= lower[i, j] * rows[j, t]
        for t in range(rows.shape[1]):
            rows[i, t] /= lower[i, i]
        square += dot(rows[i], rows[i], workspace)
    for i in range(count - 1, -1, -1):
        for j in range(i + 1, count):
            for t in range(rows.shape[1]):
                rows[i, t] -= lower[j, i] * rows[j, t]
        for t in range(rows.shape[1]):
            rows[i, t] /= lower[i, i]
    return square


@helper
def expectation(rows, origin, mean, loadings, noise, step, statistics, workspace):
    """E-step: S ← S + step (mean statistics of the rows - S).

    Args:
        rows: float64 (n, d), n ≥ 1.
        origin: float64 (d), about which statistics are.
        mean, loadings, noise: the parameters in force; float64 (d), (q, d), number.
        step: weight of the rows.
        statistics: float64, changed.
        workspace: float64, of `online_workspace_size`.
    """
    rank, dimension = loadings.shape
    at = _LANES + rank * rank
    lower = workspace[_LANES:at].reshape(rank, rank)
    z, column, y = workspace[at : at + rank], workspace[at + rank : at + 2 * rank], workspace[at + 2 * rank :]
    y = y[:dimension]
    posterior_precision(loadings, noise, lower, workspace)
    cholesky(lower)
    statistics *= 1.0 - step
    square, cross, latent, shift, latent_mean = parts_of(statistics, rank, dimension)
    weight = step / len(rows)
    for row in rows:
        for t in range(dimension):
            y[t] = row[t] - mean[t]
        for k in range(rank):
            z[k] = dot(loadings[k], y, workspace) / noise
        _solve(lower, z)
        for t in range(dimension):
            y[t] = row[t] - origin[t]
            shift[t] += weight * y[t]
        square[0] += weight * dot(y, y, workspace)
        for k in range(rank):
            latent_mean[k] += weight * z[k]
            for j in range(rank):
                latent[k, j] += weight * z[k] * z[j]
            for t in range(dimension):
                cross[k, t] += weight * z[k] * y[t]
    for k in range(rank):
        column[:] = 0.0
        column[k] = 1.0
        _solve(lower, column)
        for j in range(rank):
            latent[k, j] += step * column[j]


@helper
def maximisation(statistics, origin, floor, mean, loadings, noise, workspace):
    """M-step, mean and loadings jointly, into the parameters: `hutch.em.ppca.model.PPCA.maximise`.

    Args:
        statistics, origin, workspace: as for `expectation`.
        floor: least noise.
        mean, loadings, noise: out, float64 (d), (q, d), (1).
    """
    rank, dimension = loadings.shape
    square, cross, latent, shift, latent_mean = parts_of(statistics, rank, dimension)
    lower = workspace[_LANES : _LANES + rank * rank].reshape(rank, rank)
    for i in range(rank):
        for j in range(rank):
            lower[i, j] = latent[i, j] - latent_mean[i] * latent_mean[j]
        for t in range(dimension):
            loadings[i, t] = cross[i, t] - latent_mean[i] * shift[t]
    cholesky(lower)
    explained = solve_rows(lower, loadings, workspace)
    noise[0] = max((square[0] - dot(shift, shift, workspace) - explained) / dimension, floor)
    for t in range(dimension):
        mean[t] = origin[t] + shift[t]
    for k in range(rank):
        for t in range(dimension):
            mean[t] -= latent_mean[k] * loadings[k, t]


@helper
def add_expected(origin, mean, loadings, noise, weight, statistics, workspace):
    """statistics += weight times those that a model itself would produce: `PPCA.expected_statistics`."""
    rank, dimension = loadings.shape
    square, cross, latent, shift, _ = parts_of(statistics, rank, dimension)
    total = dimension * noise
    for k in range(rank):
        total += dot(loadings[k], loadings[k], workspace)
        latent[k, k] += weight
        for t in range(dimension):
            cross[k, t] += weight * loadings[k, t]
    for t in range(dimension):
        y = mean[t] - origin[t]
        total += y * y
        shift[t] += weight * y
    square[0] += weight * total
