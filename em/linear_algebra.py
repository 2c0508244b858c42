"""Leading axes of a tall or wide matrix: exact where it is small, subspace iteration from a good guess where not."""

import numpy as np

from hutch.em.model import Array

_EXACT = 160
"""Up to this many rows or columns the Gram matrix is decomposed outright."""
_EXTRA = 4
"""Random combinations of the new rows beside the guess: what the guess cannot know."""
_TOLERANCE = 1e-3
"""Another round must capture at least this share of what is left out."""
_ITERATIONS = 100


def leading(stacked: Array, count: int) -> tuple[Array, Array, float]:
    """The `count` largest eigenvalues of stacked' stacked, descending, their unit eigenvectors as rows, and its trace.

    Args:
        stacked: (rows, columns). The guess, where one is needed, is its first `count` rows.
        count: ≥ 0; no more than the rank of `stacked` are returned.
    """
    trace = float(np.vdot(stacked, stacked))
    if min(stacked.shape) <= max(_EXACT, 2 * count):
        return *_exact(stacked, count), trace
    return *_iterated(stacked, count, trace), trace


def _exact(stacked: Array, count: int) -> tuple[Array, Array]:
    rows, columns = stacked.shape
    if columns < rows:
        energy, vectors = np.linalg.eigh(stacked.T @ stacked)
        return np.maximum(energy[::-1][:count], 0.0), np.ascontiguousarray(vectors[:, ::-1][:, :count].T)
    energy, vectors = np.linalg.eigh(stacked @ stacked.T)
    energy, vectors = energy[::-1][:count], vectors[:, ::-1][:, :count]
    used = energy > rows * np.finfo(np.float64).eps * energy[:1]
    return energy[used], (vectors[:, used].T @ stacked) / np.sqrt(energy[used])[:, None]


def _iterated(stacked: Array, count: int, trace: float) -> tuple[Array, Array]:
    """Subspace iteration with Rayleigh-Ritz; stops when another round would add little beside what is left out."""
    random = np.random.default_rng(0).standard_normal((_EXTRA, len(stacked) - count))
    basis = _orthonormal(np.concatenate([stacked[:count], random @ stacked[count:]]))
    before = 0.0
    for _ in range(_ITERATIONS):
        image = basis @ stacked.T
        energy, vectors = np.linalg.eigh(image @ image.T)
        energy, vectors = energy[::-1], vectors[:, ::-1]
        captured = float(energy[:count].sum())
        if captured - before <= _TOLERANCE * (trace - captured):
            break
        before = captured
        basis = _orthonormal(image @ stacked)
    return np.maximum(energy[:count], 0.0), vectors[:, :count].T @ basis


def _orthonormal(rows: Array) -> Array:
    """Orthonormal rows that span these; directions lost in rounding are replaced by what QR gives."""
    return np.linalg.qr(rows.T)[0].T
