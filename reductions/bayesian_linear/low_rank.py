"""A covariance that is a diagonal less a few outer products, for rows of a thousand numbers and more.

S = diag(a)⁻¹ - W'W with at most 2 · rank rows in W. Each example adds a row. When there is no room, the precision
S⁻¹ = diag(a) + V'V keeps the `rank` axes of V that are longest against the diagonal, and the others are added to the
diagonal, so that the diagonal of the precision is exact. With W diag(a) W' = Q'ΛQ, V = (1 - Λ)^(-1/2) Q W diag(a).

The order of the numbers is: a (size), W (2 rank, size), number of rows of W.
Source: M. Lambert, S. Bonnabel and F. Bach, "The limited-memory recursive variational Gaussian approximation", 2023,
for the family; the compression is by the eigenvectors of V diag(a)⁻¹ V'.
"""

import math

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.errors import ModelError
from hutch.core.kernel.decorators import helper, inlined
from hutch.em.base.symmetric_eigen import symmetric_eigen
from hutch.em.constrained.natural_kernel import dot
from hutch.reductions.bayesian_linear.state import matrix_at, vector_at, workspace_of

_LEAST = 1e-15


def low_rank_size(size: int, rank: int) -> int:
    """Numbers of one covariance."""
    return size * (1 + 2 * rank) + 1


def check_low_rank(numbers: NDArray[np.float64], size: int, rank: int) -> None:
    """Check the invariants that kernels rely on: a diagonal above 0, and a count that W has room for.

    Args:
        numbers: float64 (covariances, numbers of one).
        size: dimensions of a row, with the constant's.
        rank: axes that a compression keeps.

    Raises:
        ModelError: a covariance is invalid.
    """
    for diagonal, count in zip(numbers[:, :size], numbers[:, -1], strict=True):
        if not 0 <= count < 2 * rank or count != int(count):
            raise ModelError(f"bayesian_linear.matrices: got {count:g} outer products, wanted 0 to {2 * rank - 1}")
        if not diagonal.min() > 0:
            raise ModelError(f"bayesian_linear.matrices: got a precision of {diagonal.min():g}, wanted one above 0")


def workspace_size(size: int, rank: int) -> int:
    """Numbers of room for one: sums, and V, two square matrices, eigenvalues, scratch of a compression."""
    rows = 2 * rank
    return 64 + rows * size + 2 * rows * rows + 3 * rows


@inlined
def _parts(s, number):
    """a, W, and the count of W's rows."""
    numbers, size, rows = matrix_at(s, number), s.size, 2 * s.rank
    end = size * (1 + rows)
    return numbers[:size], numbers[size:end].reshape(int64(rows), int64(size)), numbers[end:]


@helper
def begin_low_rank(s, number, group, variance):
    """Set the variances of a covariance that has seen no row."""
    diagonal = _parts(s, number)[0]
    for k in range(s.size):
        if k != s.constant:
            diagonal[k] = 1.0 / variance
    group.variance = variance


@helper
def _append(s, number, direction, spread, added):
    """Add to the covariance a precision along a row x, given S x and x'Sx."""
    _, outer, counter = _parts(s, number)
    row, scale = outer[int64(counter[0])], math.sqrt(added / (1.0 + added * spread))
    for k in range(uint64(s.size)):
        row[k] = scale * direction[k]
    counter[0] += 1.0


@helper
def _compress(s, number, group):
    """Keep the longest axes of V, add the others to the diagonal, and apply the forgetting of examples since then."""
    diagonal, outer, counter = _parts(s, number)
    numbers, size, rank, rows = workspace_of(s), s.size, s.rank, 2 * s.rank
    sums, squares = numbers[:64], numbers[64 + rows * size :]
    axes = numbers[64 : 64 + rows * size].reshape(int64(rows), int64(size))
    gram = squares[: rows * rows].reshape(int64(rows), int64(rows))
    vectors = squares[rows * rows : 2 * rows * rows].reshape(int64(rows), int64(rows))
    values, scratch = squares[2 * rows * rows :][:rows], squares[2 * rows * rows + rows :][: 2 * rows]
    scaled = axes[0]
    for i in range(rows):
        for k in range(uint64(size)):
            scaled[k] = diagonal[k] * outer[i, k]
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = dot(outer[j], scaled, sums)
    symmetric_eigen(gram, values, vectors, scratch.reshape(int64(2), int64(rows)))
    keep = (1.0 - s.forgetting) ** rank
    for m in range(rows):
        axis, length = axes[m], 1.0 / math.sqrt(max(1.0 - values[m], _LEAST))
        axis[:] = 0.0
        for i in range(rows):
            weight, source = vectors[m, i], outer[i]
            for k in range(uint64(size)):
                axis[k] += weight * source[k]
        for k in range(uint64(size)):
            axis[k] *= length * diagonal[k]
    for m in range(rank):
        for k in range(uint64(size)):
            diagonal[k] += axes[m, k] * axes[m, k]
    prior = 1.0 / group.variance if group.variance > 0.0 else 1.0
    for k in range(size if keep < 1.0 else 0):
        diagonal[k] = keep * diagonal[k] + (1.0 - keep) * (prior if k != s.constant else 1.0 / s.constant_variance)
    counter[0] = 0.0
    product = axes[0]
    for m in range(rank, rows):
        multiply_low_rank(s, number, axes[m], product)
        _append(s, number, product, dot(axes[m], product, sums), keep)


@helper
def multiply_low_rank(s, number, x, out):
    """The covariance, without the pending update, times x."""
    diagonal, outer, counter = _parts(s, number)
    for k in range(uint64(s.size)):
        out[k] = x[k] / diagonal[k]
    for i in range(int64(counter[0])):
        row = outer[i]
        weight = dot(row, x, workspace_of(s))
        for k in range(uint64(s.size)):
            out[k] -= weight * row[k]


@helper
def take_low_rank(s, number, group, x):
    """Apply the pending update to the covariance, and multiply it by x; the product becomes the direction."""
    added, direction = group.added / max(group.learners, 1), vector_at(s, s.directions, number)
    if added > 0.0:
        _append(s, number, direction, group.spread, added)
        if int64(_parts(s, number)[2][0]) == 2 * s.rank:
            _compress(s, number, group)
    multiply_low_rank(s, number, x, direction)
