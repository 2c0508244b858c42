"""Latent features that keep their meaning while the model learns.

Principal axes turn: two of nearly equal length may change places in one step, and a learner above the latent features
would have to relearn. The model is the same for any rotation of its axes, so one can be chosen: the one whose latent
features are nearest, over the data, to those shown before (orthogonal Procrustes).
"""

import numpy as np

from hutch.core.kernel.decorators import helper
from hutch.em.base.symmetric_eigen import symmetric_eigen
from hutch.em.constrained.natural_kernel import dot

_INERTIA = 1e-3
"""Weight of the rotation before: it decides for axes that explain nothing yet."""
_LEAST = 1e-8
"""Least squared singular value; below it no turn is determined, and the rotation stays."""
_LANES = 64


def alignment_size(rank: int) -> int:
    """Numbers that `align` needs as its workspace."""
    return _LANES + 3 * rank * rank + 3 * rank


@helper
def align(loadings, noise, turn, shown, workspace):
    """Renew rotation and map after a step, so that z = shown (x - mean) is the posterior mean, turned.

    The old z and the new one have the covariance `shown` loadings', since (L'L + s I) L'(LL' + s I)⁻¹ = L'.

    Args:
        loadings: float64 (q, d) after the step, rows orthogonal.
        noise: variance.
        turn: float64 (q, q), orthogonal; changed.
        shown: float64 (q, d), the map from centred rows to latent features; changed.
        workspace: float64, at least `alignment_size(q)`.
    """
    rank, square, at = len(loadings), len(loadings) * len(loadings), _LANES
    cross = workspace[at : at + square].reshape(rank, rank)
    gram = workspace[at + square : at + 2 * square].reshape(rank, rank)
    vectors = workspace[at + 2 * square : at + 3 * square].reshape(rank, rank)
    at += 3 * square
    values, scratch = workspace[at : at + rank], workspace[at + rank : at + 3 * rank].reshape(2, rank)
    for i in range(rank):
        for j in range(rank):
            cross[i, j] = dot(shown[i], loadings[j], workspace) + _INERTIA * turn[i, j]
    for i in range(rank):
        for j in range(rank):
            gram[i, j] = 0.0
            for k in range(rank):
                gram[i, j] += cross[k, i] * cross[k, j]
    symmetric_eigen(gram, values, vectors, scratch)
    if values[0] > _LEAST:
        for i in range(rank):  # turn = cross (cross' cross)^-1/2
            turn[i] = 0.0
            for k in range(rank):
                along = 0.0
                for j in range(rank):
                    along += cross[i, j] * vectors[k, j]
                for j in range(rank):
                    turn[i, j] += along / np.sqrt(values[k]) * vectors[k, j]
    shown[:] = 0.0
    for j in range(rank):
        scale = 1.0 / (dot(loadings[j], loadings[j], workspace) + noise)
        for i in range(rank):
            factor = turn[i, j] * scale
            for t in range(loadings.shape[1]):
                shown[i, t] += factor * loadings[j, t]
