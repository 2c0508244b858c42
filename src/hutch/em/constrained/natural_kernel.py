"""The exact natural step of `hutch.em.constrained.natural` on a sketch, compiled, in memory allocated once.

A workspace is one float64 array of `workspace_size`; kernels neither allocate nor call LAPACK.
"""

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.em.base.symmetric_eigen import EPSILON, symmetric_eigen

_LANES = 64
_TRUSTED = 64
"""Single rows in which axes once made orthogonal are assumed to stay so."""


def workspace_size(rows: int, dimension: int) -> int:
    """Numbers that a step needs.

    Args:
        rows: of the sketch and of the block together; of two sketches and one more to merge them.
        dimension: of the data.
    """
    return rows * (dimension + 2 * rows + 3) + _LANES


@helper
def dot(x, y, workspace):
    """Inner product, in _LANES sums side by side, which the compiler keeps in vector registers.

    Args:
        x, y: float64 (n).
        workspace: float64, at least of `workspace_size(0, n)`.
    """
    size, sums = len(x), workspace[:_LANES]
    whole = size // _LANES * _LANES
    sums[:] = 0.0
    for first in range(0, whole, _LANES):
        left, right = x[first : first + _LANES], y[first : first + _LANES]
        for t in range(_LANES):
            sums[t] += left[t] * right[t]
    for t in range(whole, size):
        sums[t - whole] += x[t] * y[t]
    half = _LANES // 2
    while half >= 4:
        for t in range(half):
            sums[t] += sums[t + half]
        half //= 2
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


@helper
def _add_rows(factors, rows, out):
    """out += factors · rows, four rows at a time."""
    count, whole = len(rows), len(rows) // 4 * 4
    for m in range(0, whole, 4):
        a, b, c, d = factors[m], factors[m + 1], factors[m + 2], factors[m + 3]
        for t in range(len(out)):
            out[t] += (a * rows[m, t] + b * rows[m + 1, t]) + (c * rows[m + 2, t] + d * rows[m + 3, t])
    for m in range(whole, count):
        for t in range(len(out)):
            out[t] += factors[m] * rows[m, t]


@helper
def _add_rows_twice(factors, others, rows, out, other):
    """out += factors · rows and other += others · rows: the rows, too many for the nearest cache, are read once."""
    count, whole = len(rows), len(rows) // 4 * 4
    for m in range(0, whole, 4):
        a, b, c, d = factors[m], factors[m + 1], factors[m + 2], factors[m + 3]
        e, f, g, h = others[m], others[m + 1], others[m + 2], others[m + 3]
        for t in range(len(out)):
            p, q, r, s = rows[m, t], rows[m + 1, t], rows[m + 2, t], rows[m + 3, t]
            out[t] += (a * p + b * q) + (c * r + d * s)
            other[t] += (e * p + f * q) + (g * r + h * s)
    for m in range(whole, count):
        for t in range(len(out)):
            out[t] += factors[m] * rows[m, t]
            other[t] += others[m] * rows[m, t]


@helper
def _any(row):
    for x in row:
        if x != 0.0:
            return True
    return False


@helper
def _stacked(workspace, count, dimension):
    return workspace[: count * dimension].reshape(count, dimension)


@helper
def _factorise(count, orthogonal, isotropic, total, loadings, noise, floor, workspace):
    """The model of the moments (stacked' stacked + isotropic I) / total; `stacked` begins the workspace.

    Its first rows are the old axes, which keep their direction; so many of them are known to be orthogonal.
    """
    rank, dimension = loadings.shape
    kept = min(rank, dimension - 1)
    stacked, at = _stacked(workspace, count, dimension), count * dimension
    gram = workspace[at : at + count * count].reshape(count, count)
    at += count * count
    vectors = workspace[at : at + count * count].reshape(count, count)
    at += count * count
    energy, scratch = workspace[at : at + count], workspace[at + count : at + 3 * count].reshape(2, count)
    sums = workspace[at + 3 * count : at + 3 * count + _LANES]
    trace = 0.0
    for i in range(count):
        for j in range(i + 1):
            known = i < orthogonal and j < i
            gram[i, j] = gram[j, i] = 0.0 if known else dot(stacked[i], stacked[j], sums)
        trace += gram[i, i]
    symmetric_eigen(gram, energy, vectors, scratch)
    used, captured = 0, 0.0
    while used < min(kept, count) and energy[count - 1 - used] > count * EPSILON * energy[count - 1]:
        captured += energy[count - 1 - used]
        used += 1
    rest = max(trace - captured, 0.0) / (dimension - kept)
    noise[0] = max((isotropic + rest) / total, floor)
    for k in range(rank):
        axis, was = loadings[k], _any(loadings[k])
        axis[:] = 0.0
        if k < used:
            value, vector = energy[count - 1 - k], vectors[count - 1 - k]
            scale = np.sqrt(max(value - rest, 0.0) / (total * value))
            if was and vector[k] < 0.0:
                scale = -scale
            for m in range(count):
                vector[m] *= scale
            if k % 2 == 1:
                _add_rows_twice(vectors[count - k], vector, stacked, loadings[k - 1], axis)
            elif k == used - 1:
                _add_rows(vector, stacked, axis)


@helper
def absorb(rows, mean, loadings, noise, floor, old, workspace, orthogonal=0):
    """One exact step, in place: `hutch.em.constrained.natural.Sketch.absorb`.

    Args:
        rows: float64 (n, d), n ≥ 1.
        mean: float64 (d).
        loadings: float64 (q, d), rows orthogonal.
        noise: float64 (1).
        floor: least noise, > 0.
        old: number of samples that the sketch represents, ≥ 0.
        workspace: for q + n rows.
        orthogonal: the first so many of `loadings` are so to the last bits, and their products are not computed.
    """
    rank, dimension = loadings.shape
    new, total = len(rows), old + len(rows)
    stacked = _stacked(workspace, rank + new, dimension)
    root, share = np.sqrt(old), 1.0 - np.sqrt(old / total)
    for j in range(rank):
        for t in range(dimension):
            stacked[j, t] = root * loadings[j, t]
    for t in range(dimension):
        shift = 0.0
        for i in range(new):
            stacked[rank + i, t] = rows[i, t] - mean[t]
            shift += stacked[rank + i, t]
        shift /= new
        # Less this share of their mean, the rows' scatter about zero is theirs, and the old mean's, about the new.
        for i in range(new):
            stacked[rank + i, t] -= share * shift
        mean[t] += new / total * shift
    _factorise(rank + new, orthogonal, old * noise[0], total, loadings, noise, floor, workspace)


@helper
def merge(past, past_weight, current, current_weight, out, floor, workspace):
    """The model of two sketches' moments: `hutch.em.constrained.natural.merged`.

    Args:
        past, current: (mean, loadings, noise) each, unchanged.
        past_weight, current_weight: ≥ 0, not both 0.
        out: the same of the result; may be `past`.
        floor: least noise, > 0.
        workspace: for 2q + 1 rows.
    """
    (mean, loadings, noise), (other_mean, other_loadings, other_noise) = past, current
    rank, dimension = loadings.shape
    total = past_weight + current_weight
    stacked = _stacked(workspace, 2 * rank + 1, dimension)
    isotropic = past_weight * noise[0] + current_weight * other_noise[0]
    between = np.sqrt(past_weight * current_weight / total)
    out_mean, out_loadings, out_noise = out
    for j in range(rank):
        for t in range(dimension):
            stacked[j, t] = np.sqrt(past_weight) * loadings[j, t]
            stacked[rank + j, t] = np.sqrt(current_weight) * other_loadings[j, t]
            out_loadings[j, t] = loadings[j, t]
    for t in range(dimension):
        stacked[2 * rank, t] = between * (mean[t] - other_mean[t])
        out_mean[t] = (past_weight * mean[t] + current_weight * other_mean[t]) / total
    _factorise(2 * rank + 1, 0, isotropic, total, out_loadings, out_noise, floor, workspace)


@compiled
def absorb_rows(rows, seen, mean, loadings, noise, floor, old, workspace):
    """Learn each row in turn as a whole block.

    Args:
        rows: float64 (n, d).
        seen: number of earlier rows.
        mean, loadings, noise, floor: as in `absorb`.
        old: float64 (n): number of samples that the sketch represents when row i comes.
        workspace: for q + 1 rows.
    """
    for i in range(len(rows)):
        # Rounding errors in the angles between axes grow from row to row unless they are corrected.
        orthogonal = len(loadings) if (seen + i) % _TRUSTED else 0
        absorb(rows[i : i + 1], mean, loadings, noise, floor, old[i], workspace, orthogonal)
