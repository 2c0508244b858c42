"""Learning of `ppca`: a block of rows in one exact step, held near an anchor if a layer above asks for it."""

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import float64s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.em.constrained.alignment import align
from hutch.em.constrained.natural_kernel import absorb, dot, merge
from hutch.em.constrained.record import CLASS, COUNTS, constraint_of
from hutch.em.ppca.model import NOISE_FLOOR
from hutch.reductions.ppca.state import matrix_at, sketch_at, workspace_at

_ROUNDING = 1e-28  # of squares of float64


@helper
def prepare(s, e):
    """Before an example: act on a boundary, and learn a full block once the example of its last row is finished."""
    if s.last == e.number + uint64(1):
        return
    if s.constraint != uint64(0):
        boundaries = constraint_of(s.constraint).boundaries
        if boundaries != s.boundaries:
            s.boundaries = boundaries
            _end_class(s)
    if s.count >= (s.warm_up if s.samples == 0 else s.block):
        _learn_block(s)


@inlined
def _by_class(s):
    return s.constraint != uint64(0) and constraint_of(s.constraint).mode == CLASS


@helper
def _step(s):
    """The weight of the rows that wait, as if they had come one at a time; see `hutch.em.base.schedule.Schedule`."""
    kept, seen = 1.0, s.samples - s.past_samples
    for i in range(s.count):
        kept *= 1.0 - s.scale * np.float64(seen + 2 + i) ** -s.exponent
    return 1.0 - kept


@helper
def _anchor_weight(s):
    """Number of samples that the sketch represents beside the waiting rows."""
    step = _step(s)
    if s.constraint != uint64(0) and not _by_class(s):
        step /= 1.0 + constraint_of(s.constraint).beta
    return s.count * (1.0 - step) / step


@helper
def _start(s, rows):
    """Mean and variance of the first rows; 1 if they are all equal but for rounding."""
    count, dimension = rows.shape
    size = 0.0
    first = float64s_at(s.first_mean, uint64(dimension + 1))
    first[:] = 0.0
    for i in range(count):
        for t in range(dimension):
            first[t] += rows[i, t] / count
            size += rows[i, t] ** 2 / (count * dimension)
    for i in range(count):
        for t in range(dimension):
            first[dimension] += (rows[i, t] - first[t]) ** 2 / (count * dimension)
    if not first[dimension] > _ROUNDING * size:
        first[dimension] = 1.0
    _restart(s)


@helper
def _restart(s):
    """The current sketch is one pseudo-sample at the first rows' mean."""
    mean, loadings, noise = sketch_at(s, s.current)
    first = float64s_at(s.first_mean, uint64(s.dimension + 1))
    copy(first[: s.dimension], mean)
    loadings[:] = 0.0
    noise[0], noise[1] = first[s.dimension], NOISE_FLOOR * first[s.dimension]


@helper
def _learn_block(s):
    """Learn the rows that wait in one exact step."""
    rows = matrix_at(s.pending, s.count, s.dimension)
    if s.samples == 0:
        _start(s, rows)
    mean, loadings, noise = sketch_at(s, s.current)
    absorb(rows, mean, loadings, noise, noise[1], _anchor_weight(s), workspace_at(s))
    s.samples += s.count
    s.count = 0
    _show(s)


@helper
def _copy(s, source, target):
    size = uint64(2) + uint64(s.dimension * (1 + s.rank))
    copy(float64s_at(source, size), float64s_at(target, size))


@helper
def _merge(s, past, now, target):
    """The anchor and the current sketch at these weights; the latter alone before the first boundary."""
    if s.classes == 0:
        _copy(s, s.current, target)
        return
    floor, out = sketch_at(s, s.current)[2][1], sketch_at(s, target)
    out[2][1] = floor
    merge(sketch_at(s, s.past), past, sketch_at(s, s.current), now, out, floor, workspace_at(s))


@helper
def _show(s):
    """Update the map to the latent features: in class mode from the anchor and the current sketch, merged."""
    if s.report != s.current:
        now, beta = float(s.samples - s.past_samples), constraint_of(s.constraint).beta
        if beta != COUNTS:
            _merge(s, float(beta), 1.0, s.report)
        else:
            _merge(s, float(s.past_samples), now, s.report)
    _, loadings, noise = sketch_at(s, s.report)
    shown, turn = matrix_at(s.shown, s.rank, s.dimension), matrix_at(s.turn, s.rank, s.rank)
    align(loadings, noise[0], turn, shown, workspace_at(s))


@helper
def _end_class(s):
    """Learn the waiting rows, and move the anchor to the reported sketch. There is no anchor before the first block."""
    if s.samples == 0:
        return
    if s.count > 0:
        _learn_block(s)
    if not _by_class(s) or s.samples == s.past_samples:
        return
    if constraint_of(s.constraint).beta == COUNTS:
        _merge(s, float(s.past_samples), float(s.samples - s.past_samples), s.past)
        s.past_samples = s.samples
        _restart(s)
    else:
        _copy(s, s.report, s.past)
    s.classes += 1


@helper
def score_row(s):
    """Report, for finding boundaries, the log-likelihood of the row, not yet centred, under the current sketch."""
    if s.constraint == uint64(0) or constraint_of(s.constraint).scoring == 0:
        return
    constraint = constraint_of(s.constraint)
    if s.samples == 0:
        constraint.score = np.nan
        return
    mean, loadings, noise = sketch_at(s, s.current)
    row, workspace = float64s_at(s.row, uint64(s.dimension)), workspace_at(s)
    centred = workspace[64 : 64 + s.dimension]
    for t in range(s.dimension):
        centred[t] = row[t] - mean[t]
    determinant, explained = (s.dimension - s.rank) * np.log(noise[0]), 0.0
    for k in range(s.rank):
        variance = dot(loadings[k], loadings[k], workspace) + noise[0]
        latent = dot(loadings[k], centred, workspace) / variance
        determinant += np.log(variance)
        explained += latent * latent
        # Axes are orthogonal: the part that one explains is removed before the next.
        for t in range(s.dimension):
            centred[t] -= latent * loadings[k, t]
    residual = dot(centred, centred, workspace) / noise[0]
    constraint.score = -0.5 * (s.dimension * np.log(2.0 * np.pi) + determinant + residual + explained)
