"""Weights from moments: the prior comes in when they are solved for, in the units that the columns have by then.

With C the squares and products about the means of all rows, b those with the label, u the deviations of columns (of a
word, and where there is none: 1), U = diag(u), and reach r of d columns,

    w = U⁻¹ (U⁻¹ C U⁻¹ + λ I)⁻¹ U⁻¹ b,   λ = d / 2 r;   p = mean of y + w·(x - m)

so that the constant needs no prior, and all is linear in labels. Of several reaches the one with the greatest evidence
decides, with n rows and y their labels about the mean, the noise's variance being integrated out:

    log P = -1/2 log |I + U⁻¹ C U⁻¹ / λ| - (n - 1) / 2 log (y'y - w·b)

Between two solutions each row moves the inverse
S = (C + λ U²)⁻¹ and w by a step of recursive least squares, exact but for u and for cells that are missing.
Source of the evidence: D. MacKay, "Bayesian interpolation", 1992.
"""

import math

from numpy import uint64

from hutch.core.kernel.abi import float64s_at
from hutch.core.kernel.decorators import helper
from hutch.em.constrained.natural_kernel import dot
from hutch.reductions.bayesian_linear.moments import precision_of, square_at, totals_at
from hutch.reductions.bayesian_linear.state import vector_at, workspace_of

_FAR = 1.21  # square of the change of a unit at which the inverse is made anew


@helper
def ridge(s, m, number):
    """λ of the reach that rows are learned with."""
    return _ridge_of(s, m, number, s.reach)


@helper
def _ridge_of(s, m, number, reach):
    """λ: what the prior adds to the squares of a column in its unit; words count by their number in a row."""
    if s.prior_variance > 0.0:
        return 1.0 / (m.unit * s.prior_variance)
    counts, words, columns = vector_at(s, m.counts, number), vector_at(s, m.words, number), 0.0
    for j in range(s.size):
        if j != s.constant and counts[j] > 0.0:
            columns += counts[j] / counts[s.constant] if words[j] == 1.0 else 1.0
    return (columns if columns > 0.0 else 1.0) / (m.unit * reach)


@helper
def _unit(counts, squares, j):
    return (squares[j] / counts[j]) ** 0.5 if squares[j] > 0.0 else 1.0


@helper
def _gather(s, m, number, out, units):
    """Write the products of all columns about the means of all rows in their units, below the diagonal.

    The label keeps its own unit; its place is 0, so that the first column is that of its products.
    """
    totals, whole, pairs = totals_at(m, number), square_at(s, m.whole, number), square_at(s, m.pairs, number)
    numbers, partners = square_at(s, m.pair_counts, number), square_at(s, m.pair_means, number)
    counts, centres = vector_at(s, m.counts, number), vector_at(s, m.centres, number)
    squares, words = vector_at(s, m.squares, number), vector_at(s, m.words, number)
    means, focus, total, h = vector_at(s, m.whole_means, number), vector_at(s, m.focus, number), counts[0], totals.whole
    precision = precision_of(s, m, number) + m.constant
    for i in range(1, s.size):
        units[i] = _unit(counts, squares, i)
        mine = 0.0 if words[i] == 1.0 else centres[i]
        share = counts[i] / total if words[i] == 1.0 else 0.0
        for j in range(i + 1):
            at, other = i * s.room + j, 0.0 if words[j] == 1.0 else centres[j]
            if j == 0:
                other = focus[0]
            found = 0.0
            if h > 0.0:
                found += whole[at] + h * (means[i] - mine) * (means[j] - other)
            if totals.paired == 1 and numbers[at] > 0.0:
                left, right = partners[at] - mine, partners[j * s.room + i] - other
                found += pairs[at] + numbers[at] * left * right
            if j == 0:
                out[at] = (found - m.constant * focus[0] * share) / units[i]
                continue
            found -= precision * (focus[i] - mine) * (focus[j] - other)
            if share > 0.0 and words[j] == 1.0:
                found += m.constant * share * (counts[j] / total)
            out[at] = found / units[i] / units[j]


@helper
def _decompose(s, matrix, added):
    """Turn the matrix plus `added` on the diagonal, places from 1, into its Cholesky factor, in place."""
    for i in range(1, s.size):
        mine = matrix[i * s.room + 1 : i * s.room + i + 1]
        for j in range(1, i):
            other = matrix[j * s.room + 1 : j * s.room + j + 1]
            mine[j - 1] = (mine[j - 1] - dot(mine[: j - 1], other[: j - 1], workspace_of(s))) / other[j - 1]
        pivot = mine[i - 1] + added - dot(mine[: i - 1], mine[: i - 1], workspace_of(s))
        mine[i - 1] = max(pivot, 1e-12 * added) ** 0.5


@helper
def _solve(s, factor, weights):
    """Turn the right side in `weights`, places from 1, into the solution, by the Cholesky factor."""
    for i in range(1, s.size):
        line = factor[i * s.room + 1 : i * s.room + i + 1]
        weights[i] = (weights[i] - dot(line[: i - 1], weights[1:i], workspace_of(s))) / line[i - 1]
    for i in range(s.size - 1, 0, -1):
        line = factor[i * s.room + 1 : i * s.room + i + 1]
        weights[i] /= line[i - 1]
        value = weights[i]
        for j in range(uint64(i - 1)):
            weights[uint64(1) + j] -= value * line[j]


@helper
def _invert(s, factor, out):
    """Write the inverse of the factor, then of the matrix, places from 1; the factor is lost."""
    for i in range(1, s.size):
        line, mine = factor[i * s.room + 1 : i * s.room + i + 1], out[i * s.room + 1 : i * s.room + i + 1]
        mine[:] = 0.0
        for k in range(1, i):
            value, other = line[k - 1], out[k * s.room + 1 : k * s.room + k + 1]
            for t in range(uint64(k)):
                mine[t] -= value * other[t]
        mine[i - 1] = 1.0
        for t in range(uint64(i)):
            mine[t] /= line[i - 1]
    for i in range(1, s.size):
        factor[i * s.room + 1 : i * s.room + i + 1] = 0.0
    for k in range(1, s.size):
        other = out[k * s.room + 1 : k * s.room + k + 1]
        for i in range(k):
            line, value = factor[(i + 1) * s.room + 1 : (i + 1) * s.room + i + 2], other[i]
            for t in range(uint64(i + 1)):
                line[t] += value * other[t]


@helper
def _solve_under(s, m, number, reach):
    """Solve for the weights in units of columns under a prior; returns the logarithm of its evidence."""
    scratch, exact = square_at(s, m.scratch, uint64(0)), vector_at(s, m.exact, number)
    _gather(s, m, number, scratch, float64s_at(m.along, uint64(s.size)))
    for i in range(1, s.size):
        exact[i] = scratch[i * s.room]
    added = _ridge_of(s, m, number, reach)
    _decompose(s, scratch, added)
    _solve(s, scratch, exact)
    whole = vector_at(s, m.squares, number)[s.constant]
    evidence, rest = 0.0, whole
    for i in range(1, s.size):
        evidence -= math.log(scratch[i * s.room + i]) - 0.5 * math.log(added)
        rest -= exact[i] * scratch[i * s.room]
    rows = vector_at(s, m.counts, number)[s.constant]
    return evidence - 0.5 * (rows - 1.0) * math.log(max(rest, 1e-12 * whole, 1e-300))


@helper
def find_exact(s, m, number):
    """Solve for the weights under the likeliest prior, in present units."""
    reaches = float64s_at(m.reaches, uint64(m.reach_count))
    likeliest, highest = s.reach, -math.inf
    if totals_at(m, number).rows > 2.0:
        for k in range(m.reach_count):
            evidence = _solve_under(s, m, number, reaches[k])
            if evidence > highest:
                likeliest, highest = reaches[k], evidence
    _solve_under(s, m, number, likeliest)
    exact, units = vector_at(s, m.exact, number), float64s_at(m.along, uint64(s.size))
    for i in range(1, s.size):
        exact[i] /= units[i]
    exact[0] = 0.0
    totals_at(m, number).current = 1


@helper
def make_inverse(s, m, number):
    """Make the inverse and the weights anew."""
    scratch, inverse = square_at(s, m.scratch, uint64(0)), square_at(s, m.inverse, number)
    weights, units, totals = vector_at(s, m.weights, number), vector_at(s, m.units, number), totals_at(m, number)
    _gather(s, m, number, scratch, units)
    for i in range(1, s.size):
        weights[i] = scratch[i * s.room]
    _decompose(s, scratch, ridge(s, m, number))
    _solve(s, scratch, weights)
    _invert(s, scratch, inverse)
    for i in range(1, s.size):
        weights[i] /= units[i]
        for j in range(1, i + 1):
            value = scratch[i * s.room + j] / units[i] / units[j]
            inverse[i * s.room + j], inverse[j * s.room + i] = value, value
    totals.since, totals.stale = 0.0, 0


@helper
def is_due(s, m, number):
    """Whether so many rows have come since, or a unit has changed so much, that the inverse should be made anew."""
    totals, counts = totals_at(m, number), vector_at(s, m.counts, number)
    squares, units = vector_at(s, m.squares, number), vector_at(s, m.units, number)
    if totals.stale == 1 or totals.since >= max(min(float(s.size - 1), 0.5 * totals.rows), 1.0):
        return True
    for j in range(1, s.size):
        found, used = squares[j], counts[j] * units[j] * units[j]
        if found > 0.0 and not (used < _FAR * found and found < _FAR * used):
            return True
    return False


@helper
def multiply_inverse(s, m, number):
    """Write the inverse times the distance found last; returns x'Sx of that."""
    inverse, size = square_at(s, m.inverse, number), s.size
    away, along = float64s_at(m.away, uint64(size)), float64s_at(m.along, uint64(size))
    along[:] = 0.0
    for i in range(size):
        value, line = away[i], inverse[i * s.room : i * s.room + size]
        if value != 0.0:
            for j in range(uint64(size)):
                along[j] += value * line[j]
    return max(dot(away, along, workspace_of(s)), 0.0)


@helper
def follow_row(s, m, number, spread, error, h):
    """Move the inverse and the weights by the row whose product was written last.

    Args:
        s, m: BAYESIAN and MOMENTS records.
        number: of the sub-model.
        spread: x'Sx of the row about the means.
        error: label less prediction.
        h: what the row counts.
    """
    inverse, size, along = square_at(s, m.inverse, number), s.size, float64s_at(m.along, uint64(s.size))
    before, weights = precision_of(s, m, number) + m.constant, vector_at(s, m.weights, number)
    share = h * (before / (before + h))
    gain = share / (1.0 + share * spread)
    for i in range(size):
        factor = gain * along[i]
        if factor != 0.0:
            weights[i] += error * factor
            line = inverse[i * s.room : i * s.room + size]
            for j in range(uint64(size)):
                line[j] -= factor * along[j]
