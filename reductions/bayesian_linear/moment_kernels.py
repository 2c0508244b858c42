"""The kernels of `bayesian_linear` with `covariance: moments` and `sites`; see `moments` and `solution`.

In a run that learns, predictions are those of the weights that each row moves; a run that only predicts solves for the
weights once, exactly, and leaves what has been learned as it is.
"""

import math

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import UNLABELED, example_of, float64s_at, int64s_at, kernel, loss_of, shared_of, widen
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.loss.kinds import SQUARED
from hutch.core.loss.tilted import importance_for, posterior
from hutch.em.constrained.natural_kernel import dot
from hutch.reductions.bayesian_linear.kernels import judge, walk_sparse
from hutch.reductions.bayesian_linear.moments import (
    add_row,
    find_away,
    keep_residual,
    moments_of,
    note_far,
    precision_of,
    read_present,
    square_at,
    totals_at,
)
from hutch.reductions.bayesian_linear.solution import (
    find_exact,
    follow_row,
    is_due,
    make_inverse,
    multiply_inverse,
    ridge,
)
from hutch.reductions.bayesian_linear.state import bayesian_of, vector_at, workspace_of
from hutch.reductions.linear.kernels import clip

_0 = np.float32(0)
_LARGEST, _LEAST = 1e300, 1e-12


@inlined
def _score(s, m, e, number, weights):
    """The prediction from the distance found last, and the score and the variance of the features outside the row."""
    sparse, spread = walk_sparse(s, e, number, 0.0, 0.0)
    about = dot(vector_at(s, weights, number), float64s_at(m.away, uint64(s.size)), workspace_of(s))
    return np.float64(e.base) + sparse + vector_at(s, m.focus, number)[s.constant] + about, sparse, spread


@helper
def _variance(s, m, number, spread, fresh):
    """Variance of a prediction, from x'Sx and the number of features that are still to get a place."""
    precision = precision_of(s, m, number) + m.constant
    if not vector_at(s, m.counts, number)[s.constant] > 0.0:
        return s.constant_variance if m.sites == 1 else s.constant_variance + s.reach
    return (1.0 / precision + spread + fresh / ridge(s, m, number)) / m.unit


@helper
def _predict(layer, example, label, importance, offset):
    s, e = bayesian_of(layer), example_of(example)
    m, number = moments_of(s.moments), uint64(offset)
    exact = shared_of(e.shared).testing == uint64(1)
    if exact and totals_at(m, number).current == 0:
        find_exact(s, m, number)
    read_present(s, m, e, False)
    if find_away(s, m, number, False) and exact:
        note_far(s, m, number)
    return judge(s, e, _score(s, m, e, number, m.exact if exact else m.weights)[0], label, importance)


@kernel
def predict_moments(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return _predict(layer, example, label, importance, offset)


@kernel
def sensitivity_moments(layer, example, label, importance, offset):
    """The variance of the prediction."""
    s, e = bayesian_of(layer), example_of(example)
    m, number = moments_of(s.moments), uint64(offset)
    fresh = read_present(s, m, e, False)[1]
    find_away(s, m, number, True)
    p, _, spread = _score(s, m, e, number, m.weights)
    judge(s, e, p, UNLABELED, _0)
    return np.float32(_variance(s, m, number, multiply_inverse(s, m, number), fresh) + spread)


@kernel
def importance_to_moments(layer, example, label, target, offset):
    """h_min: the importance with which the example, so labelled, moves the prediction to `target`."""
    s, e = bayesian_of(layer), example_of(example)
    m, number = moments_of(s.moments), uint64(offset)
    fresh = read_present(s, m, e, False)[1]
    find_away(s, m, number, True)
    p, _, spread = _score(s, m, e, number, m.weights)
    spread += _variance(s, m, number, multiply_inverse(s, m, number), fresh)
    judge(s, e, p, UNLABELED, _0)
    return np.float32(importance_for(p, spread, np.float64(target), np.float64(label), s.loss))


@helper
def _give_variances(s, m, number, count):
    """Give columns that the row has first the prior's variance and the unit 1."""
    present, counts = int64s_at(m.present, uint64(s.room)), vector_at(s, m.counts, number)
    inverse, units = square_at(s, m.inverse, number), vector_at(s, m.units, number)
    for u in range(1, count):
        place = present[u]
        if counts[place] == 0.0:
            inverse[place * (s.room + 1)], units[place] = 1.0 / ridge(s, m, number), 1.0


@kernel
def learn_moments(layer, example, label, importance, offset):
    """Predict, then learn."""
    s, e = bayesian_of(layer), example_of(example)
    m, number, shared = moments_of(s.moments), uint64(offset), shared_of(e.shared)
    learns = label != UNLABELED and importance > _0 and shared.testing == uint64(0)
    if not learns:
        widen(shared, label)
        return _predict(layer, example, label, importance, offset)
    count = read_present(s, m, e, True)[0]
    far = find_away(s, m, number, False)
    p, sparse, sparse_spread = _score(s, m, e, number, m.weights)
    widen(shared, label)
    prediction, error = judge(s, e, p, label, importance), np.float64(label) - p
    if far:  # it is learned as it is
        find_away(s, m, number, True)
        p = _score(s, m, e, number, m.weights)[0]
    h = np.float64(importance)
    if not math.isfinite(p):
        return prediction
    _give_variances(s, m, number, count)
    spread = multiply_inverse(s, m, number)
    q = _variance(s, m, number, spread, 0.0) + sparse_spread
    if not 0.0 < q < _LARGEST:
        return prediction
    after, added = posterior(p, q, h, np.float64(label), s.loss)
    y = np.float64(label)
    if m.sites == 1 and not added > _LEAST:
        added = 0.0
    elif m.sites == 1 and loss_of(s.loss).kind != SQUARED:
        y = p + (after - p) * (1.0 / q + added) / added
    if not (math.isfinite(y) and math.isfinite(after)):
        return prediction
    keep_residual(s, m, number, error, 1.0 + m.unit * q)
    if sparse_spread > 0.0:
        walk_sparse(s, e, number, (after - p) / q, added)
        sparse = walk_sparse(s, e, number, 0.0, 0.0)[0]
    y -= np.float64(e.base) + sparse
    about = dot(vector_at(s, m.weights, number), float64s_at(m.away, uint64(s.size)), workspace_of(s))
    counts = added if m.sites == 1 else h
    if precision_of(s, m, number) > 0.0 and counts > 0.0:
        follow_row(s, m, number, spread, y - vector_at(s, m.focus, number)[s.constant] - about, counts)
    # a sub-model of several classes is told the precision that a label adds to it, but a row of a table is one row
    own = 1.0 if m.sites == 1 and loss_of(s.loss).kind == SQUARED else h
    add_row(s, m, number, count, y, own, counts)
    if is_due(s, m, number):
        make_inverse(s, m, number)
    find_away(s, m, number, True)
    e.updated = clip(shared, np.float32(_score(s, m, e, number, m.weights)[0]))
    return prediction
