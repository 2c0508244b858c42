"""A precision that is a diagonal plus a few outer products, for rows of a thousand numbers and more.

P = diag(a) + V'V with at most 2 · rank rows in V. Each example adds a row; when there is no room, the `rank` axes that
are longest against the diagonal stay, and the others are added to the diagonal, so that the diagonal of P is exact.
Covariances are found by Woodbury's formula from the factor L of L L' = 1 + V diag(a)⁻¹ V'.

The numbers lie as: a (size), V (2 rank, size), L (2 rank, 2 rank), how many rows V has.
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


def low_rank_size(size: int, rank: int) -> int:
    """Numbers of one covariance."""
    rows = 2 * rank
    return size * (1 + rows) + rows * rows + 1


def check_low_rank(numbers: NDArray[np.float64], size: int, rank: int) -> None:
    """Check what kernels rely on: a diagonal above 0, a count that V has room for, factors that can be divided by.

    Args:
        numbers: float64 (covariances, numbers of one).
        size: dimensions of a row, with the constant's.
        rank: of what a compression keeps.

    Raises:
        ModelError: a covariance is none.
    """
    rows = 2 * rank
    for diagonal, factor, count in zip(
        numbers[:, :size],
        numbers[:, size * (1 + rows) : -1].reshape(len(numbers), rows, rows),
        numbers[:, -1],
        strict=True,
    ):
        if not 0 <= count <= rows or count != int(count):
            raise ModelError(f"bayesian_linear.matrices: got {count:g} outer products, wanted 0 to {rows}")
        if not diagonal.min() > 0:
            raise ModelError(f"bayesian_linear.matrices: got a precision of {diagonal.min():g}, wanted one above 0")
        if not (factor.diagonal()[: int(count)] >= 1).all():
            raise ModelError("bayesian_linear.matrices: got a factor below 1 on the diagonal")


def workspace_size(size: int, rank: int) -> int:
    """Numbers of room for one: sums, a scaled row, two short columns, a compression."""
    rows = 2 * rank
    return 64 + size + 2 * rows + 2 * rows * rows + 3 * rows + rank * size


@inlined
def _parts(s, number):
    """a, V, L, and the count of V's rows."""
    numbers, size, rows = matrix_at(s, number), s.size, 2 * s.rank
    outer = numbers[size : size * (1 + rows)].reshape(int64(rows), int64(size))
    factor = numbers[size * (1 + rows) : size * (1 + rows) + rows * rows].reshape(int64(rows), int64(rows))
    return numbers[:size], outer, factor, numbers[size * (1 + rows) + rows * rows :]


@inlined
def _room(s):
    """Sums for `dot`, a scaled row, two columns, two square matrices, eigenvalues, scratch, rows of a compression."""
    numbers, rows, size = workspace_of(s), 2 * s.rank, s.size
    at = 64 + size
    squares = at + 2 * rows
    values = squares + 2 * rows * rows
    return (
        numbers[:64],
        numbers[64:at],
        numbers[at : at + rows],
        numbers[at + rows : squares],
        numbers[squares : squares + rows * rows].reshape(int64(rows), int64(rows)),
        numbers[squares + rows * rows : values].reshape(int64(rows), int64(rows)),
        numbers[values : values + rows],
        numbers[values + rows : values + 3 * rows].reshape(int64(2), int64(rows)),
        numbers[values + 3 * rows : values + 3 * rows + s.rank * size].reshape(int64(s.rank), int64(size)),
    )


@helper
def begin_low_rank(s, number, group, variance):
    """Set the variances of a covariance that has seen no row."""
    diagonal = _parts(s, number)[0]
    for k in range(s.size):
        if k != s.constant:
            diagonal[k] = 1.0 / variance
    group.variance = variance


@inlined
def _prior(s, group, k):
    """The precision of a mean before anything was learned."""
    if k == s.constant:
        return 1.0 / s.constant_variance
    return 1.0 / group.variance if group.variance > 0.0 else 1.0


@helper
def _forward(factor, count, column):
    """column ← L⁻¹ column."""
    for i in range(count):
        total = column[i]
        for j in range(i):
            total -= factor[i, j] * column[j]
        column[i] = total / factor[i, i]


@helper
def _backward(factor, count, column):
    """column ← L'⁻¹ column."""
    for i in range(count - 1, -1, -1):
        total = column[i] / factor[i, i]
        column[i] = total
        for j in range(i):
            column[j] -= factor[i, j] * total


@helper
def _append(s, number, row, scale):
    """Add the row of V that lies behind the last, and its row of L; `row` is scaled on the way."""
    diagonal, outer, factor, counter = _parts(s, number)
    sums, scaled, column = _room(s)[:3]
    count = int64(counter[0])
    new = outer[count]
    for k in range(uint64(s.size)):
        new[k] = scale * row[k]
        scaled[k] = new[k] / diagonal[k]
    for i in range(count):
        column[i] = dot(outer[i], scaled, sums)
    _forward(factor, count, column)
    square = 1.0 + dot(new, scaled, sums)
    for i in range(count):
        factor[count, i] = column[i]
        square -= column[i] * column[i]
    factor[count, count] = math.sqrt(max(square, 1.0))
    counter[0] = count + 1


@helper
def _compress(s, number, group):
    """Keep the longest axes of V, add the others to the diagonal, and forget what the examples since then let go."""
    diagonal, outer, factor, counter = _parts(s, number)
    sums, scaled, _, _, gram, vectors, values, scratch, kept = _room(s)
    count, rank = int64(counter[0]), s.rank
    for i in range(count):
        for k in range(uint64(s.size)):
            scaled[k] = outer[i, k] / diagonal[k]
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = dot(outer[j], scaled, sums)
    symmetric_eigen(gram, values, vectors, scratch)
    first = count - rank
    kept[:] = 0.0
    for m in range(count):
        scaled[:] = 0.0
        for i in range(count):
            weight, source = vectors[m, i], outer[i]
            for k in range(uint64(s.size)):
                scaled[k] += weight * source[k]
        if m < first:
            for k in range(uint64(s.size)):
                diagonal[k] += scaled[k] * scaled[k]
        else:
            kept[m - first] = scaled
    keep = (1.0 - s.forgetting) ** rank
    if keep < 1.0:
        for k in range(s.size):
            diagonal[k] = keep * diagonal[k] + (1.0 - keep) * _prior(s, group, k)
    counter[0] = 0.0
    for m in range(rank):
        _append(s, number, kept[m], math.sqrt(keep))


@helper
def multiply_low_rank(s, number, x, out):
    """The covariance, without what waits, times x."""
    diagonal, outer, factor, counter = _parts(s, number)
    room = _room(s)
    sums, column, count = room[0], room[2], int64(counter[0])
    for k in range(uint64(s.size)):
        out[k] = x[k] / diagonal[k]
    for i in range(count):
        column[i] = dot(outer[i], out, sums)
    _forward(factor, count, column)
    _backward(factor, count, column)
    scaled = room[1]
    scaled[:] = 0.0
    for i in range(count):
        weight, row = column[i], outer[i]
        for k in range(uint64(s.size)):
            scaled[k] += weight * row[k]
    for k in range(uint64(s.size)):
        out[k] -= scaled[k] / diagonal[k]


@helper
def take_low_rank(s, number, group, x):
    """Let the precision take in what waits, and multiply the covariance by x; the product becomes the direction."""
    added = group.added / max(group.learners, 1)
    row = vector_at(s, s.rows, number)
    if added > 0.0:
        if s.rank == 0:
            diagonal = _parts(s, number)[0]
            for k in range(uint64(s.size)):
                diagonal[k] += added * row[k] * row[k]
                diagonal[k] += s.forgetting * (_prior(s, group, int64(k)) - diagonal[k])
        else:
            if int64(_parts(s, number)[3][0]) == 2 * s.rank:
                _compress(s, number, group)
            _append(s, number, row, np.sqrt(added))
    multiply_low_rank(s, number, x, vector_at(s, s.directions, number))
