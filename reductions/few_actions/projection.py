"""Random projections of the features of actions to few numbers, and the singular vectors of these.

A feature with index i counts in column c by 0, 1 or -1: 0 if i + c has an even number of bits; else the number of bits
of i + c + seed says the sign. No matrix of random numbers is kept.

Source: VW 9.11.9, `--large_action_space`; after N. Halko, P. Martinsson, J. Tropp, "Finding structure with randomness",
SIAM Review 2011.
"""

import math

import numpy as np
from numpy import uint64

from hutch.core.kernel.decorators import helper, inlined

_0 = np.float32(0)
SLACK = np.uint64(10)
"""Columns of the projection beyond the number of singular vectors that are wanted."""
_SWEEPS, _SMALL, _SHARE = 60, 1e-30, 0.99
ONE = np.uint64(1)


@inlined
def _is_odd(number):
    """1 if a number has an odd number of bits, else 0."""
    number ^= number >> uint64(32)
    number ^= number >> uint64(16)
    number ^= number >> uint64(8)
    number ^= number >> uint64(4)
    return (uint64(0x6996) >> (number & uint64(15))) & uint64(1)


@helper
def project(rows, values, stride, mask, seed, scale, out):
    """Write the projection of an action.

    Args:
        rows, values: of its features: uint32 (features), float32 (features).
        stride: an index is a row times this.
        mask: of indices.
        seed: of the signs.
        scale: two factors of all numbers.
        out: float32 (columns).
    """
    for column in range(uint64(len(out))):
        out[column] = _0
    for i in range(uint64(len(rows))):
        first = uint64(rows[i]) * stride & mask
        for column in range(uint64(len(out))):
            counts, negative = _is_odd(first + column), _is_odd(first + column + seed)
            out[column] += values[i] * (np.float32(counts) - np.float32(uint64(2) * (counts & negative)))
    for column in range(uint64(len(out))):
        out[column] = out[column] * scale[0] * scale[1]


@helper
def products(matrix, n, gram):
    """Write the products of all pairs of the n columns of a matrix: float32 [rows · n] into float64 [n · n]."""
    for i in range(n * n):
        gram[i] = 0.0
    for k in range(0, uint64(len(matrix)), n):
        for i in range(n):
            x = np.float64(matrix[k + i])
            if x != 0.0:
                for j in range(i + ONE):
                    gram[i * n + j] += x * np.float64(matrix[k + j])
    for i in range(n):
        for j in range(i):
            gram[j * n + i] = gram[i * n + j]


@inlined
def _turn(numbers, first, second, cosine, sine):
    """Rotate a pair of numbers."""
    a, b = numbers[first], numbers[second]
    numbers[first], numbers[second] = cosine * a - sine * b, sine * a + cosine * b


@helper
def _rotate(gram, vectors, n, i, j):
    """Make an entry beside the diagonal 0 by a rotation of two columns."""
    theta = (gram[j * n + j] - gram[i * n + i]) / (2.0 * gram[i * n + j])
    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    t = -t if theta < 0 else t
    cosine = 1.0 / math.sqrt(t * t + 1.0)
    sine = t * cosine
    for k in range(n):
        _turn(gram, k * n + i, k * n + j, cosine, sine)
    for k in range(n):
        _turn(gram, i * n + k, j * n + k, cosine, sine)
        _turn(vectors, k * n + i, k * n + j, cosine, sine)


@helper
def diagonalise(gram, vectors, n):
    """Jacobi's method: leave the eigenvalues of a symmetric matrix on its diagonal, and its eigenvectors as columns."""
    for i in range(n):
        for j in range(n):
            vectors[i * n + j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        beside, on = 0.0, 0.0
        for i in range(n):
            on += gram[i * n + i] * gram[i * n + i]
            for j in range(i):
                beside += gram[i * n + j] * gram[i * n + j]
        if beside <= _SMALL * on:
            return
        for i in range(n):
            for j in range(i + ONE, n):
                if gram[i * n + j] != 0.0:
                    _rotate(gram, vectors, n, i, j)


@helper
def singular_values(gram, n, values, order):
    """Write the roots of the eigenvalues, the greatest first, and their places: float64 [n], uint32 [n]."""
    for i in range(n):
        value, j = math.sqrt(max(gram[i * n + i], 0.0)), uint64(i)
        while j > uint64(0) and values[j - ONE] < value:
            values[j], order[j] = values[j - ONE], order[j - ONE]
            j -= ONE
        values[j], order[j] = value, i


@helper
def count_leading(values, most):
    """How many singular values, at most so many, are more than 0.99 of the sum of all; 0 if all are 0."""
    total, run, count = 0.0, 0.0, uint64(0)
    for value in values:
        total += value
    while total > 0.0 and count < most and run <= _SHARE * total:
        run += values[count]
        count += ONE
    return count


@helper
def left_vectors(matrix, n, vectors, order, values, count, out):
    """Write the left singular vectors of the greatest singular values, so many: float64 [rows · count]."""
    for k in range(uint64(len(matrix)) // n):
        for j in range(count):
            total = 0.0
            for i in range(n):
                total += np.float64(matrix[k * n + i]) * vectors[i * n + uint64(order[j])]
            out[k * count + j] = total / values[j]
