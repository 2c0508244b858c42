"""Barycentric spanners: rows of a matrix by which all others can be written with coefficients up to a constant.

Source: B. Awerbuch, R. Kleinberg, "Adaptive routing with end-to-end feedback: distributed learning and geometric
approaches", STOC 2004, figure 2; in the form of VW 9.11.9, with inverses updated by rank one.
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.decorators import helper


@helper
def _largest(rows, n, inverse, i):
    """The row that makes the volume largest in place of row i of the spanner, and that volume."""
    found, most = uint64(0), -1.0
    for row in range(uint64(len(rows)) // n):
        k, volume = uint64(row), 0.0
        for j in range(n):
            volume += rows[k * n + j] * inverse[i * n + j]
        if abs(volume) > most:
            found, most = k, abs(volume)
    return found, most


@helper
def _replace(rows, scales, n, state, i, choice, logarithm):
    """Put a row in place of row i of the spanner; returns the new logarithm of the scale.

    Args:
        rows, scales, n, state: as of `span`.
        i: the row to replace.
        choice: the row that takes its place, and the volume then.
        logarithm: of the scale before.
    """
    spanner, inverse, change, chosen = state
    found, most = choice
    factor = np.float64(scales[found]) * math.exp(logarithm)
    for j in range(n):
        change[j] = rows[found * n + j] / factor
    for j in range(n):
        moved = 0.0
        for k in range(n):
            moved += inverse[j * n + k] * (change[k] - spanner[i * n + k])
        change[n + j], change[n + n + j] = moved, inverse[i * n + j]
    part = 1.0 / (1.0 + change[n + i])
    step = (math.log(most) - logarithm) / np.float64(uint64(len(rows)) // n)
    scale = math.exp(step)
    for j in range(n):
        spanner[i * n + j] = change[j]
        for k in range(n):
            inverse[j * n + k] = (inverse[j * n + k] - part * change[n + j] * change[n + n + k]) * scale
    for j in range(n * n):
        spanner[j] /= scale
    chosen[i] = found
    return logarithm + step


@helper
def span(rows, scales, n, constant, state):
    """Choose as many rows as there are columns, such that the others have coefficients of about `constant` at most.

    Args:
        rows: float64 [rows · n].
        scales: float32 [rows], by which a row is divided once it is chosen.
        n: columns.
        constant: above 1.
        state: float64 [n · n] twice, float64 [3 n], and uint32 [n], which gets the rows.
    """
    spanner, inverse, _, _ = state
    logarithm, volume = 0.0, 0.0
    for i in range(n):
        for j in range(n):
            spanner[i * n + j] = inverse[i * n + j] = 1.0 if i == j else 0.0
    for i in range(n):
        choice = _largest(rows, n, inverse, i)
        logarithm = _replace(rows, scales, n, state, i, choice, logarithm)
        volume = choice[1]
    many = np.float64(n)
    for _ in range(int64(many * math.log(many) / math.log(constant))):
        grown = False
        for i in range(n):
            choice = _largest(rows, n, inverse, i)
            if choice[1] > constant * volume:
                logarithm = _replace(rows, scales, n, state, i, choice, logarithm)
                volume, grown = choice[1], True
                break
        if not grown:
            return
