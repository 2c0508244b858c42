"""Eigenvalues and eigenvectors of a small symmetric matrix for kernels: no allocation, no LAPACK.

Householder reflections to a tridiagonal matrix, then implicit QL steps.
Source: C. Reinsch, J. Wilkinson and co-authors, Numerische Mathematik 11 (1968), pp. 181-195 and 293-306.
"""

import numpy as np

from hutch.core.kernel.decorators import helper

EPSILON = np.finfo(np.float64).eps
_TINY = np.finfo(np.float64).tiny
_STEPS = 60
"""QL steps for one eigenvalue, at most; two are usual."""


@helper
def symmetric_eigen(matrix, values, vectors, scratch):
    """Decompose a matrix; `values` ascend, row k of `vectors` is the unit eigenvector of value k.

    Args:
        matrix: float64 (n, n), symmetric; destroyed.
        values: out, float64 (n).
        vectors: out, float64 (n, n).
        scratch: float64 (2, n).
    """
    largest = 0.0
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            largest = max(largest, abs(matrix[i, j]))
    scale = largest if largest > 0.0 else 1.0
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            matrix[i, j] /= scale  # squares of large numbers would overflow
    _tridiagonal(matrix, values, vectors, scratch[0], scratch[1])
    _ql(values, scratch[0], vectors)
    _sort(values, vectors)
    for i in range(len(values)):
        values[i] *= scale


@helper
def _tridiagonal(a, diagonal, q, off, w):
    """q a q' is tridiagonal, with off[k] beside diagonal[k] and diagonal[k + 1]; `a` ends as the reflections."""
    n = len(a)
    for k in range(n - 2):
        v, square = a[k, k + 1 :], 0.0
        for x in v:
            square += x * x
        first = v[0]
        off[k] = -np.sqrt(square) if first > 0 else np.sqrt(square)
        # The reflection 1 - v v' / half takes row k to off[k] times the first axis.
        half = square - off[k] * first
        v[0] = first - off[k]
        diagonal[k] = half
        if not half > 0:
            continue
        rest, inner = a[k + 1 :, k + 1 :], 0.0
        for i in range(n - k - 1):
            total = 0.0
            for j in range(n - k - 1):
                total += rest[i, j] * v[j]
            w[i] = total / half
            inner += w[i] * v[i]
        for i in range(n - k - 1):
            w[i] -= 0.5 * inner / half * v[i]
        for i in range(n - k - 1):
            for j in range(n - k - 1):
                rest[i, j] -= v[i] * w[j] + w[i] * v[j]
    if n > 1:
        off[n - 2] = a[n - 2, n - 1]
    off[n - 1] = 0.0
    q[:] = 0.0
    for i in range(n):
        q[i, i] = 1.0
    for k in range(n - 3, -1, -1):
        v, half = a[k, k + 1 :], diagonal[k]
        if half > 0:
            for i in range(k + 1, n):
                total = 0.0
                for j in range(n - k - 1):
                    total += q[i, k + 1 + j] * v[j]
                total /= half
                for j in range(n - k - 1):
                    q[i, k + 1 + j] -= total * v[j]
    for i in range(n):
        diagonal[i] = a[i, i]


@helper
def _ql(d, e, z):
    """Diagonalise the tridiagonal matrix (d, e) by rotations, which the rows of z follow."""
    n = len(d)
    for low in range(n):
        for _ in range(_STEPS):
            high = low
            while high < n - 1 and abs(e[high]) > EPSILON * (abs(d[high]) + abs(d[high + 1])) + _TINY:
                high += 1
            if high == low:
                break
            shift = (d[low + 1] - d[low]) / (2.0 * e[low])
            root = np.hypot(shift, 1.0)
            g = d[high] - d[low] + e[low] / (shift + (root if shift >= 0 else -root))
            sine, cosine, moved, split = 1.0, 1.0, 0.0, False
            for i in range(high - 1, low - 1, -1):
                f, b = sine * e[i], cosine * e[i]
                e[i + 1] = r = np.hypot(f, g)
                if r == 0.0:
                    d[i + 1] -= moved
                    e[high], split = 0.0, True
                    break
                sine, cosine = f / r, g / r
                g = d[i + 1] - moved
                r = (d[i] - g) * sine + 2.0 * cosine * b
                moved = sine * r
                d[i + 1] = g + moved
                g = cosine * r - b
                for k in range(n):
                    below, above = z[i, k], z[i + 1, k]
                    z[i + 1, k] = sine * below + cosine * above
                    z[i, k] = cosine * below - sine * above
            if not split:
                d[low] -= moved
                e[low], e[high] = g, 0.0


@helper
def _sort(values, vectors):
    for i in range(len(values) - 1):
        least = i
        for j in range(i + 1, len(values)):
            if values[j] < values[least]:
                least = j
        if least != i:
            values[i], values[least] = values[least], values[i]
            for k in range(len(values)):
                vectors[i, k], vectors[least, k] = vectors[least, k], vectors[i, k]
