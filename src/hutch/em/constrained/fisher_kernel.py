"""The Fisher forms of Nat-oEM for PPCA, compiled: `hutch.em.ppca.fisher`, whose table this follows, in given memory."""

import numpy as np

from hutch.core.kernel.decorators import helper
from hutch.em.base.symmetric_eigen import symmetric_eigen
from hutch.em.constrained.natural_kernel import dot
from hutch.em.constrained.record import COMPLETE, IDENTITY, LITERAL

_LANES = 64
_NEGLIGIBLE = 1e-12


def fisher_workspace_size(rank: int, dimension: int) -> int:
    """Numbers that `pull` and `stiffness` need."""
    return _LANES + 3 * rank * rank + 3 * rank + (2 * rank + 1) * dimension


@helper
def _components(loadings, noise, workspace):
    """The thin SVD of the loadings without components that carry no direction.

    Returns:
        how many there are, their powers (q), their mixtures of latent variables (q, q) and directions (q, d), the
        largest power last; and the workspace that is left.
    """
    rank, dimension = loadings.shape
    square, at = rank * rank, _LANES
    gram, vectors = (
        workspace[at : at + square].reshape(rank, rank),
        workspace[at + square : at + 2 * square].reshape(rank, rank),
    )
    at += 2 * square
    powers, scratch = workspace[at : at + rank], workspace[at + rank : at + 3 * rank].reshape(2, rank)
    at += 3 * rank
    directions = workspace[at : at + rank * dimension].reshape(rank, dimension)
    for i in range(rank):
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = dot(loadings[i], loadings[j], workspace)
    symmetric_eigen(gram, powers, vectors, scratch)
    first = 0
    while first < rank and not powers[first] > _NEGLIGIBLE * max(powers[rank - 1], noise):
        first += 1
    for i in range(first, rank):
        directions[i] = 0.0
        for k in range(rank):
            for t in range(dimension):
                directions[i, t] += vectors[i, k] / np.sqrt(powers[i]) * loadings[k, t]
    return first, powers, vectors, directions, workspace[at + rank * dimension :]


@helper
def _scalar(metric, noise, dimension):
    """Eigenvalues of F⁻¹ for location and noise, where these are all."""
    if metric == IDENTITY:
        return 1.0, 1.0
    return noise, 2.0 * noise * noise / dimension


@helper
def _of_noise(first, powers, noise, dimension):
    """The eigenvalue of F⁻¹ for the noise, marginal."""
    total = (dimension - (len(powers) - first)) / noise**2
    for i in range(first, len(powers)):
        total += (powers[i] + noise) ** -2
    return 2.0 / total


@helper
def stiffness(loadings, noise, metric, workspace):
    """The largest eigenvalue of F⁻¹.

    Args:
        loadings, noise: of the anchor, float64 (q, d) and a number.
        metric: one of `hutch.em.constrained.record`.
        workspace: float64, of `fisher_workspace_size`.
    """
    dimension = loadings.shape[1]
    if metric == COMPLETE or metric == IDENTITY:
        location, variance = _scalar(metric, noise, dimension)
        return max(location, variance)
    first, powers, _, _, _ = _components(loadings, noise, workspace)
    largest = max(noise, _of_noise(first, powers, noise, dimension))
    for i in range(first, len(powers)):
        variance = powers[i] + noise
        largest = max(largest, variance, noise * variance / powers[i])
        for j in range(first, len(powers)):
            largest = max(largest, variance * (powers[j] + noise) / (powers[i] + powers[j]))
    return largest


@helper
def _weight(beta, form, eigenvalue):
    step = beta * eigenvalue
    return step if form == LITERAL else step / (1.0 + step)


@helper
def pull(mean, loadings, noise, anchor, beta, form, metric, workspace):
    """Pull parameters towards an anchor, along the inverse Fisher information there, in place.

    Args:
        mean, loadings, noise: float64 (d), (q, d), (1): what the M-step gave.
        anchor: the same of the anchor.
        beta: strength.
        form, metric: of `hutch.em.constrained.record`.
        workspace: float64, of `fisher_workspace_size`.
    """
    anchor_mean, anchor_loadings, anchor_noise = anchor
    rank, dimension = loadings.shape
    if metric == COMPLETE or metric == IDENTITY:
        location, variance = _scalar(metric, anchor_noise[0], dimension)
        weight = _weight(beta, form, location)
        for t in range(dimension):
            mean[t] -= weight * (mean[t] - anchor_mean[t])
            for k in range(rank):
                loadings[k, t] -= weight * (loadings[k, t] - anchor_loadings[k, t])
        noise[0] -= _weight(beta, form, variance) * (noise[0] - anchor_noise[0])
        return
    s = anchor_noise[0]
    first, powers, vectors, directions, left = _components(anchor_loadings, s, workspace)
    inside, left = left[: rank * rank].reshape(rank, rank), left[rank * rank :]
    change, rotated = left[:dimension], left[dimension : dimension * (1 + rank)].reshape(rank, dimension)
    isotropic = _weight(beta, form, s)
    for t in range(dimension):
        change[t] = mean[t] - anchor_mean[t]
        mean[t] -= isotropic * change[t]
    for i in range(first, rank):
        along = (_weight(beta, form, powers[i] + s) - isotropic) * dot(directions[i], change, workspace)
        for t in range(dimension):
            mean[t] -= along * directions[i, t]
    for j in range(first, rank):
        rotated[j] = 0.0
        for k in range(rank):
            for t in range(dimension):
                rotated[j, t] += vectors[j, k] * (loadings[k, t] - anchor_loadings[k, t])
        for i in range(first, rank):
            inside[i, j] = dot(directions[i], rotated[j], workspace)
    for j in range(first, rank):
        across = _weight(beta, form, s * (powers[j] + s) / powers[j])
        for t in range(dimension):
            change[t] = across * rotated[j, t]
        for i in range(first, rank):
            # On (Y_ij, Y_ji) only the direction (√l_j, √l_i) changes the covariance.
            total = powers[i] + powers[j]
            own, other = np.sqrt(powers[j] / total), np.sqrt(powers[i] / total)
            mapped = _weight(beta, form, (powers[i] + s) * (powers[j] + s) / total) * own
            mapped *= own * inside[i, j] + other * inside[j, i]
            for t in range(dimension):
                change[t] += (mapped - across * inside[i, j]) * directions[i, t]
        for k in range(rank):
            for t in range(dimension):
                loadings[k, t] -= vectors[j, k] * change[t]
    noise[0] -= _weight(beta, form, _of_noise(first, powers, s, dimension)) * (noise[0] - s)
