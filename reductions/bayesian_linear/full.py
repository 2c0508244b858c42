"""A full covariance: the pending update and the product with the next row, in one walk over the matrix."""

from numpy import uint64

from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper
from hutch.reductions.bayesian_linear.state import matrix_at, vector_at


@helper
def begin_full(s, number, group, variance):
    """Set the variances of a covariance that has seen no row; its other numbers are still 0."""
    matrix = matrix_at(s, number)
    for k in range(s.room):
        if k != s.constant:
            matrix[k * s.room + k] = variance
    group.variance = variance


@helper
def take_full(s, number, group, x):
    """Apply the pending update to the covariance, and multiply it by x; the product becomes the direction."""
    direction, size = vector_at(s, s.directions, number), s.size
    out = vector_at(s, s.probe_directions, number)
    out[:] = 0.0
    added = group.added / max(group.learners, 1)
    factor, matrix = added / (1.0 + added * group.spread), matrix_at(s, number)
    keep = 1.0 - s.forgetting if group.learners > 0 else 1.0
    for i in range(size):
        row, share, value = matrix[i * s.room : i * s.room + size], factor * direction[i], x[i]
        if keep < 1.0:
            for j in range(uint64(size)):
                row[j] = keep * (row[j] - share * direction[j])
            row[i] += (1.0 - keep) * (group.variance if i != s.constant else s.constant_variance)
            for j in range(uint64(size)):
                out[j] += value * row[j]
        elif share != 0.0:
            for j in range(uint64(size)):
                entry = row[j] - share * direction[j]
                row[j] = entry
                out[j] += value * entry
        else:
            for j in range(uint64(size)):
                out[j] += value * row[j]
    copy(out, direction)


@helper
def multiply_full(s, number, x, out):
    """The covariance, without the pending update, times x."""
    matrix, size = matrix_at(s, number), s.size
    out[:] = 0.0
    for i in range(size):
        row, value = matrix[i * s.room : i * s.room + size], x[i]
        if value != 0.0:
            for j in range(uint64(size)):
                out[j] += value * row[j]
