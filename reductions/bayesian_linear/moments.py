"""Moments of rows in their own units: what least squares needs of all rows so far, whatever their order.

A row x with the label y and the importance h counts in sums about means, in which the label is one column more:

    n' = n + h,   C += (n h / n') (x - m)(x - m)',   m += (h / n') (x - m)

Rows that have all columns share one n and one m. A row that lacks some counts in sums of pairs instead: for columns j
and k these are of the rows that have both, with n of the pair, and the mean of each column over these rows. `solution`
puts both together, so that a missing cell lies at the mean of all rows, of later ones too.

A column whose values are all 1 may be a word, which is absent where it is missing: then it counts there as 0.

Source: T. Chan, G. Golub and R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
1979.
"""

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.conformal import KEPT
from hutch.core.kernel.abi import float32s_at, float64s_at, int64s_at, record_of, uint32s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.reductions.bayesian_linear.state import enter, place_of_named, vector_at

MOMENTS = np.dtype(
    [
        ("totals", "u8"),  # address of TOTALS[submodels]
        # addresses of float64[submodels, room], by place; the place of the constant is the label's
        ("counts", "u8"),  # importance of the rows that have the column
        ("centres", "u8"),  # its mean over them
        ("squares", "u8"),  # its squares about the mean
        ("lows", "u8"),  # the least and the greatest of its values
        ("highs", "u8"),
        ("words", "u8"),  # 1: all its values are 1
        ("units", "u8"),  # in which `inverse` has the prior
        ("weights", "u8"),  # of columns about their means, after `inverse`
        ("focus", "u8"),  # where a prediction has the least variance: the label's place has it there
        ("whole_means", "u8"),  # of the rows in `whole`
        ("exact", "u8"),  # weights under the prior in present units
        # addresses of float64[submodels, room, room]
        ("whole", "u8"),  # C of the rows that have all columns, below the diagonal
        ("pair_counts", "u8"),  # n of pairs, below the diagonal
        ("pair_means", "u8"),  # (j, k): mean of column j over the rows that have both
        ("pairs", "u8"),  # C of pairs, below the diagonal
        ("inverse", "u8"),  # covariance of the weights over the noise, which each row changes
        ("scratch", "u8"),  # one matrix
        # addresses of numbers of the present row, by place
        ("present", "u8"),  # int64[room]: places that it has, the first of them the label's
        ("marks", "u8"),  # int64[room]: 1: it has the column
        ("away", "u8"),  # float64[room]: from the means
        ("along", "u8"),  # float64[room]: `inverse` times that
        ("residuals", "u8"),  # float64[submodels, KEPT]: how far the rows learned last were from what was predicted
        ("without", "u8"),  # int64[1]: numbers that found no place
        ("sites", "i8"),  # 1: a row counts by the precision that its label adds, in its columns' own means by itself
        ("unit", "f8"),  # precision that a label of importance 1 adds
        ("constant", "f8"),  # precision of the constant before anything is learned
        ("clip", "f8"),  # of sites: values farther from the mean, in deviations, become this
        ("reaches", "u8"),  # address of float64[reach_count], of which the likeliest decides; none: `reach`
        ("reach_count", "i8"),
        ("extrapolation", "f8"),  # of numbers: how far outside the values learned a prediction follows, in their widths
        ("far", "u8"),  # FAR
    ]
)
TOTALS = np.dtype(
    [
        ("rows", "f8"),  # learned
        ("since", "f8"),  # those since `inverse` was made
        ("whole", "f8"),  # importance of the rows in `whole`
        ("width", "i8"),  # number of places that these have
        ("paired", "i8"),  # 1: some rows are in sums of pairs
        ("stale", "i8"),  # 1: `inverse` must be made
        ("current", "i8"),  # 1: `exact` is of all rows so far
    ]
)
FAR = np.dtype(
    [
        ("values", "i8"),  # how many were farther away, in rows that were predicted without learning
        ("place", "i8"),  # of the first of them
        ("value", "f8"),
        ("low", "f8"),  # of the values learned by then
        ("high", "f8"),
    ]
)
moments_of, _totals_of, _far_of = record_of(MOMENTS), record_of(TOTALS), record_of(FAR)
_ENOUGH = 30.0  # rows that a column must have before its values say what is far outside
_TOTALS_SIZE = uint64(TOTALS.itemsize)


@inlined
def totals_at(m, number):
    """The TOTALS record of a sub-model."""
    return _totals_of(m.totals + number * _TOTALS_SIZE)


@inlined
def square_at(s, address, number):
    """The numbers of a matrix of a sub-model, room by room."""
    size = uint64(s.room) * uint64(s.room)
    return float64s_at(address + uint64(8) * number * size, size)


@helper
def read_present(s, m, e, learn):
    """Write the row's columns, and the places of those that it has.

    Args:
        s, m: BAYESIAN and MOMENTS records.
        e: EXAMPLE record.
        learn: whether features that are met first get places.

    Returns:
        The number of columns that it has, with the label's; and the number of features that may still get a place.
    """
    room = uint64(s.room)
    row, marks, present = float64s_at(s.row, room), int64s_at(m.marks, room), int64s_at(m.present, room)
    row[:], marks[:] = 0.0, 0
    marks[s.constant], present[0], count, fresh, e.features = 1, s.constant, 1, 0, e.length
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    for j in range(e.namespace_count):
        if ids[j] != s.namespace or ids[j] == CONSTANT_NAMESPACE:
            continue
        for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
            place = enter(s, indices[i]) if learn else place_of_named(s, indices[i])
            if place <= 0:
                fresh += s.used < s.room
                if learn and values[i] != np.float32(0) and values[i] != np.float32(1):
                    int64s_at(m.without, uint64(1))[0] += 1
                continue
            row[place] += np.float64(values[i])
            if marks[place] == 0:
                marks[place], present[count] = 1, place
                count += 1
    return int64(count), fresh


@inlined
def precision_of(s, m, number):
    """What the rows learned count together."""
    return totals_at(m, number).whole + square_at(s, m.pair_counts, number)[0]


@helper
def _bounded(s, m, number, j, x):
    """A column's value, of sites not too far from its mean."""
    if m.sites == 0 or vector_at(s, m.words, number)[j] == 1.0:
        return x
    centre = vector_at(s, m.centres, number)[j]
    reach = m.clip * (vector_at(s, m.squares, number)[j] / vector_at(s, m.counts, number)[j]) ** 0.5
    return min(max(x, centre - reach), centre + reach)


@helper
def _nearest(s, m, number, j, x):
    """A value of a column for a prediction: one far outside those that were learned is the nearest of them.

    One cell that is wrong by a factor of ten would else decide the prediction.
    """
    counts = vector_at(s, m.counts, number)[j]
    low, high = vector_at(s, m.lows, number)[j], vector_at(s, m.highs, number)[j]
    if counts < _ENOUGH or not high > low:
        return x
    reach = m.extrapolation * (high - low)
    return low if x < low - reach else high if x > high + reach else x


@helper
def note_far(s, m, number):
    """Count the values of the row read last that are too far outside those learned, and keep the first of all."""
    room, far = uint64(s.room), _far_of(m.far)
    row, marks, words = float64s_at(s.row, room), int64s_at(m.marks, room), vector_at(s, m.words, number)
    for j in range(1, s.size):
        if marks[j] == 0 or words[j] == 1.0 or _nearest(s, m, number, j, row[j]) == row[j]:
            continue
        if far.values == 0:
            far.place, far.value = j, row[j]
            far.low, far.high = vector_at(s, m.lows, number)[j], vector_at(s, m.highs, number)[j]
        far.values += 1


@helper
def find_away(s, m, number, follows):
    """Write how far the row read last is from the focus; a column without a mean yet is at it.

    Args:
        s, m: BAYESIAN and MOMENTS records.
        number: of the sub-model.
        follows: whether values are taken as they are, however far they are outside those learned.

    Returns:
        Whether some are so far outside that they have been replaced.
    """
    replaced = False
    room = uint64(s.room)
    row, marks, away = float64s_at(s.row, room), int64s_at(m.marks, room), float64s_at(m.away, room)
    counts, centres = vector_at(s, m.counts, number), vector_at(s, m.centres, number)
    words, focus = vector_at(s, m.words, number), vector_at(s, m.focus, number)
    away[:] = 0.0
    if not counts[s.constant] > 0.0:
        return replaced
    for j in range(s.size):
        if counts[j] == 0.0:
            away[j] = 1.0 if marks[j] == 1 and row[j] == 1.0 else 0.0
        elif words[j] == 1.0:
            away[j] = row[j] - focus[j]
        elif marks[j] == 1:
            x = _bounded(s, m, number, j, row[j])
            if not follows and m.sites == 0:
                x = _nearest(s, m, number, j, x)
                replaced |= x != row[j]
            away[j] = x - focus[j]
        else:
            away[j] = centres[j] - focus[j]
    away[s.constant] = 0.0
    return replaced


@helper
def _find_focus(s, m, number):
    """Write the means of the rows as they count, and of the label, with what the prior of the constant adds.

    A row without a column, where it is no word, has it at the mean of all rows.
    """
    counts, centres = vector_at(s, m.counts, number), vector_at(s, m.centres, number)
    words, focus = vector_at(s, m.words, number), vector_at(s, m.focus, number)
    total, h, means = counts[0], totals_at(m, number).whole, vector_at(s, m.whole_means, number)
    for j in range(s.size):
        focus[j] = counts[j] / total if words[j] == 1.0 else centres[j]
    if m.sites == 0:
        return
    numbers, partners = square_at(s, m.pair_counts, number), square_at(s, m.pair_means, number)
    precision = h + numbers[0]
    for j in range(1, s.size):
        mine = 0.0 if words[j] == 1.0 else centres[j]
        moved = numbers[j * s.room] * (partners[j * s.room] - mine)
        moved += h * (means[j] - mine) - precision * (focus[j] - mine)
        focus[j] += moved / (precision + m.constant)
    focus[0] = (numbers[0] * partners[0] + h * means[0]) / (precision + m.constant)


@helper
def _pair_whole(s, m, totals, number):
    """Count the rows that had all columns in the sums of pairs, as a further column has come."""
    whole, means = square_at(s, m.whole, number), vector_at(s, m.whole_means, number)
    counts, pairs = square_at(s, m.pair_counts, number), square_at(s, m.pairs, number)
    centres, h = square_at(s, m.pair_means, number), totals.whole
    for i in range(totals.width):
        for j in range(i + 1):
            at, back = i * s.room + j, j * s.room + i
            old, new = counts[at], counts[at] + h
            left, right = means[i] - centres[at], means[j] - centres[back]
            pairs[at] += whole[at] + old * h / new * left * right
            counts[at], whole[at] = new, 0.0
            centres[at] += left * (h / new)
            if i != j:
                centres[back] += right * (h / new)
    means[:] = 0.0
    totals.whole, totals.paired = 0.0, 1


@helper
def _add_pairs(s, m, number, count, h):
    """Count the row in the sums of the pairs of columns that it has."""
    room = uint64(s.room)
    row, present = float64s_at(s.row, room), int64s_at(m.present, room)
    counts, pairs = square_at(s, m.pair_counts, number), square_at(s, m.pairs, number)
    centres = square_at(s, m.pair_means, number)
    for u in range(count):
        for v in range(u + 1):
            i, j = max(present[u], present[v]), min(present[u], present[v])
            at, back = i * s.room + j, j * s.room + i
            old, new = counts[at], counts[at] + h
            left, right, part = row[i] - centres[at], row[j] - centres[back], h / new
            pairs[at] += old * part * left * right
            counts[at] = new
            centres[at] += left * part
            if i != j:
                centres[back] += right * part


@helper
def _add_whole(s, m, totals, number, h):
    """Count a row that has all columns."""
    row, whole = float64s_at(s.row, uint64(s.size)), square_at(s, m.whole, number)
    means, away = vector_at(s, m.whole_means, number), float64s_at(m.along, uint64(s.size))
    new = totals.whole + h
    share, part = totals.whole * h / new, h / new
    for i in range(s.size):
        away[i] = row[i] - means[i]
        means[i] += part * away[i]
    for i in range(s.size):
        line, factor = whole[i * s.room : i * s.room + i + 1], share * away[i]
        for j in range(uint64(i + 1)):
            line[j] += factor * away[j]
    totals.whole, totals.width = new, s.size


@helper
def _add_column(m, s, number, j, x, h):
    """Count a column's value in its own mean and squares."""
    counts, centres = vector_at(s, m.counts, number), vector_at(s, m.centres, number)
    squares, words = vector_at(s, m.squares, number), vector_at(s, m.words, number)
    lows, highs = vector_at(s, m.lows, number), vector_at(s, m.highs, number)
    if counts[j] == 0.0:
        words[j], lows[j], highs[j] = 1.0 if x == 1.0 else 0.0, x, x
    elif words[j] == 1.0 and x != 1.0:
        words[j] = 0.0
        totals_at(m, number).stale = 1
    lows[j], highs[j] = min(lows[j], x), max(highs[j], x)
    counts[j] += h
    away = x - centres[j]
    centres[j] += away * (h / counts[j])
    squares[j] += h * away * (x - centres[j])


@helper
def keep_residual(s, m, number, error, variance):
    """Keep how far the label was from its prediction, over the root of the label's variance in units of the noise."""
    rows = totals_at(m, number).rows
    if m.sites == 0 and rows > 0.0:
        kept = float64s_at(m.residuals + uint64(8 * KEPT) * number, uint64(KEPT))
        kept[int64(rows) % KEPT] = abs(error) / variance**0.5


@helper
def add_row(s, m, number, count, y, h, added):
    """Count the row read last, and its label, in all sums.

    Args:
        s, m: BAYESIAN and MOMENTS records.
        number: of the sub-model.
        count: of the columns that the row has, with the label's.
        y: label.
        h: what the row counts in the means and deviations of its columns.
        added: what it counts in products with the label and between columns.
    """
    totals, row = totals_at(m, number), float64s_at(s.row, uint64(s.room))
    present = int64s_at(m.present, uint64(s.room))
    row[s.constant] = y
    for u in range(count):
        _add_column(m, s, number, present[u], row[present[u]], h)
    vector_at(s, m.words, number)[s.constant] = 0.0
    for u in range(1, count):
        row[present[u]] = _bounded(s, m, number, present[u], row[present[u]])
    if totals.whole > 0.0 and totals.width < s.size:
        _pair_whole(s, m, totals, number)
    if added > 0.0 and count == s.size:
        _add_whole(s, m, totals, number, added)
    elif added > 0.0:
        _add_pairs(s, m, number, count, added)
        totals.paired = 1
    _find_focus(s, m, number)
    totals.rows += 1.0
    totals.since += 1.0
    totals.current = 0
