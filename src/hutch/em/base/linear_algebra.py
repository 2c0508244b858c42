"""Leading axes of a tall or wide matrix: exact where it is small, subspace iteration from a good guess where not."""

import numpy as np

from hutch.em.base.model import Array, Rows

_EXACT = 160
"""Up to this many rows or columns the Gram matrix is decomposed outright."""
_EXTRA = 4
"""Random combinations of the new rows beside the guess: directions that the guess may lack."""
_TOLERANCE = 1e-3
"""Another round must capture at least this share of the remainder."""
_ITERATIONS = 100
_INDEPENDENT = 1e-3
"""Least eigenvalue of the Gram matrix of unit rows that it may make orthonormal; below it digits are lost."""


def is_small(rows: int, columns: int, count: int) -> bool:
    """Whether `leading` decomposes a matrix of this shape outright."""
    return min(rows, columns) <= max(_EXACT, 2 * count)


def leading(stacked: Rows, count: int) -> tuple[Array, Array, float]:
    """The `count` largest eigenvalues of stacked' stacked, descending, their unit eigenvectors as rows, and its trace.

    Args:
        stacked: (rows, columns), in single precision only where it is not small. The guess, where one is needed, is its
            first `count` rows.
        count: ≥ 0; no more than the rank of `stacked` are returned.
    """
    trace = float(np.einsum("ij,ij->i", stacked, stacked).sum(dtype=np.float64))
    if is_small(len(stacked), stacked.shape[1], count):
        return *_exact(stacked, count), trace
    energy, axes = _iterated(stacked, count, trace)
    return np.asarray(energy, np.float64), np.asarray(axes, np.float64), trace


def _exact(stacked: Rows, count: int) -> tuple[Array, Array]:
    rows, columns = stacked.shape
    if columns < rows:
        energy, vectors = np.linalg.eigh(stacked.T @ stacked)
        return np.maximum(energy[::-1][:count], 0.0), np.ascontiguousarray(vectors[:, ::-1][:, :count].T)
    energy, vectors = np.linalg.eigh(stacked @ stacked.T)
    energy, vectors = energy[::-1][:count], vectors[:, ::-1][:, :count]
    used = energy > rows * np.finfo(np.float64).eps * energy[:1]
    return energy[used], (vectors[:, used].T @ stacked) / np.sqrt(energy[used])[:, None]


def _iterated(stacked: Rows, count: int, trace: float) -> tuple[Rows, Rows]:
    """Subspace iteration with Rayleigh-Ritz; stops when another round would add little to the captured part."""
    random = np.random.default_rng(0).standard_normal((_EXTRA, len(stacked) - count), np.float32)
    basis = _orthonormal(np.concatenate([stacked[:count], random.astype(stacked.dtype) @ stacked[count:]]))
    before = 0.0
    for _ in range(_ITERATIONS):
        image = stacked @ basis.T
        energy, vectors = np.linalg.eigh(image.T @ image)
        energy, vectors = energy[::-1], vectors[:, ::-1]
        captured = float(energy[:count].sum(dtype=np.float64))
        if captured - before <= _TOLERANCE * (trace - captured):
            break
        before = captured
        basis = _orthonormal((image @ vectors).T @ stacked)
    return np.maximum(energy[:count], 0.0), vectors[:, :count].T @ basis


def _orthonormal(rows: Rows) -> Rows:
    """Orthonormal rows that span these; directions lost in rounding are replaced by those of QR."""
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if length.all():
        unit = rows / length[:, None]
        value, vectors = np.linalg.eigh(unit @ unit.T)
        if value[0] > _INDEPENDENT:
            return np.asarray((vectors / np.sqrt(value)).T @ unit)
    return np.asarray(np.linalg.qr(rows.T)[0].T)
