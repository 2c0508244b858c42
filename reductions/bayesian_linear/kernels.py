"""The kernels of `bayesian_linear`: predict, learn, and the sensitivity for active learning."""

import math

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    shared_of,
    uint32s_at,
    weights_of,
    widen,
)
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.loss.kernels import value_of
from hutch.core.loss.tilted import importance_for, posterior
from hutch.em.constrained.natural_kernel import dot
from hutch.reductions.bayesian_linear.full import begin_full, multiply_full, take_full
from hutch.reductions.bayesian_linear.low_rank import begin_low_rank, multiply_low_rank, take_low_rank
from hutch.reductions.bayesian_linear.state import (
    bayesian_of,
    covariance_of,
    group_at,
    has_place,
    is_sparse,
    read_row,
    same_row,
    vector_at,
    workspace_of,
)
from hutch.reductions.linear.kernels import clip

_0 = np.float32(0)
_LARGEST = 1e300
_LARGEST_SINGLE = 3e38


@helper
def walk_sparse(s, e, offset, shift, added):
    """Score and variance of the features outside the dense row; moves their weights if the shift is not 0.

    A row of the table is a weight and the precision that labels have added to it.

    Args:
        s: BAYESIAN record.
        e: EXAMPLE record.
        offset: of the sub-model.
        shift: change of the prediction over its variance.
        added: precision that the label adds along the example.
    """
    shared = shared_of(e.shared)
    weights = weights_of(shared)
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    indices, values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    score = spread = 0.0
    for j in range(e.namespace_count):
        if not is_sparse(s, ids[j]):
            continue
        for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
            if ids[j] == s.namespace and has_place(s, indices[i]):
                continue
            at = ((uint64(indices[i]) * shared.multiplier + offset) & shared.mask) * shared.stride
            x, gained = np.float64(values[i]), np.float64(weights[at + uint64(1)])
            if s.moments != uint64(0) and ids[j] == s.namespace and x != 1.0:
                continue  # a number in a unit of its own
            variance = 1.0 / (1.0 / s.sparse_variance + gained)
            score += weights[at] * x
            spread += x * x * variance
            if shift != 0.0 or added != 0.0:
                moved = weights[at] + x * variance * shift
                weights[at] = min(max(moved, -_LARGEST_SINGLE), _LARGEST_SINGLE)
                weights[at + uint64(1)] = min(gained + x * x * added, _LARGEST_SINGLE)
    return score, spread


@inlined
def _score(s, e, offset):
    """The prediction before clipping, of the row read last; and the variance of its sparse part."""
    row = float64s_at(s.row, uint64(s.size))
    sparse, spread = walk_sparse(s, e, offset, 0.0, 0.0)
    p = np.float64(e.base) + sparse + dot(vector_at(s, s.means, offset), row, workspace_of(s))
    return p, spread


@inlined
def judge(s, e, p, label, importance):
    """Write the score, prediction and loss of the example; returns the prediction."""
    prediction = clip(shared_of(e.shared), np.float32(p))
    e.raw, e.updated, e.loss = np.float32(p), prediction, 0.0
    if label != UNLABELED and importance > _0:
        e.loss = np.float64(value_of(s.loss, prediction, label) * importance)
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    s, e = bayesian_of(layer), example_of(example)
    if not importance > _0:
        widen(shared_of(e.shared), label)
    read_row(s, e, False)
    return judge(s, e, _score(s, e, offset)[0], label, importance)


@inlined
def _turn_to(s, offset, square, begin, take):
    """Make the row read last that of the covariance, unless it is already; for a later sub-model.

    Updates by sub-models that learn from one row, in the order of their numbers, are applied when another row comes, or
    when one of them comes again.
    """
    number = covariance_of(s, offset)
    group = group_at(s, number)
    row, kept = float64s_at(s.row, uint64(s.size)), vector_at(s, s.rows, number)
    if group.variance == 0.0 and square > 0.0:
        begin(s, number, group, s.prior_variance if s.prior_variance > 0.0 else min(s.reach / square, _LARGEST))
        group.probed = 0
    elif 0 < group.last <= np.int64(offset) and same_row(row, kept):
        return number
    take(s, number, group, row)
    copy(row, kept)
    group.spread = max(dot(row, vector_at(s, s.directions, number), workspace_of(s)), 0.0)
    group.added, group.learners, group.last, group.probed = 0.0, 0, 0, 0
    return number


@inlined
def _learn(layer, example, label, importance, offset, begin, take):
    s, e = bayesian_of(layer), example_of(example)
    shared = shared_of(e.shared)
    learns = label != UNLABELED and importance > _0 and shared.testing == uint64(0)
    square = read_row(s, e, learns)[0]
    p, sparse_spread = _score(s, e, offset)
    widen(shared, label)
    prediction = judge(s, e, p, label, importance)
    if not learns or not math.isfinite(p):
        return prediction
    number = _turn_to(s, offset, square, begin, take)
    group = group_at(s, number)
    spread = group.spread + sparse_spread
    if not 0.0 < spread < _LARGEST:
        return prediction
    after, added = posterior(p, spread, np.float64(importance), np.float64(label), s.loss)
    shift = (after - p) / spread
    if not math.isfinite(shift):
        return prediction
    mean, direction = vector_at(s, s.means, offset), vector_at(s, s.directions, number)
    for k in range(uint64(s.size)):
        mean[k] += shift * direction[k]
    if sparse_spread > 0.0:
        walk_sparse(s, e, offset, shift, added)
    group.added += min(added, _LARGEST)
    group.learners += 1
    group.last, group.probed = np.int64(offset) + 1, 0
    e.updated = clip(shared, np.float32(after))
    return prediction


@inlined
def _spread(s, offset, square, fresh, multiply):
    """Variance of the prediction of the row read last; changes nothing that is saved."""
    number = covariance_of(s, offset)
    group = group_at(s, number)
    row = float64s_at(s.row, uint64(s.size))
    probe, product = vector_at(s, s.probe_rows, number), vector_at(s, s.probe_directions, number)
    if group.probed == 0 or not same_row(row, probe):
        multiply(s, number, row, product)
        sums = workspace_of(s)
        spread = dot(row, product, sums)
        if group.learners > 0:
            added = group.added / group.learners
            along = dot(row, vector_at(s, s.directions, number), sums)
            spread -= along * along * (added / (1.0 + added * group.spread))
        copy(row, probe)
        group.probe_spread, group.probed = max(spread, 0.0), 1
    spread = group.probe_spread + group.variance * fresh
    if group.variance == 0.0 and square > 0.0:  # the prior is not set yet: use the one that learning from it would set
        spread += square * s.prior_variance if s.prior_variance > 0.0 else s.reach
    return spread


@inlined
def _importance_to(layer, example, label, target, offset, multiply):
    s, e = bayesian_of(layer), example_of(example)
    square, fresh = read_row(s, e, False)
    p, sparse_spread = _score(s, e, offset)
    spread = _spread(s, offset, square, fresh, multiply) + sparse_spread
    judge(s, e, p, UNLABELED, _0)
    return np.float32(importance_for(p, spread, np.float64(target), np.float64(label), s.loss))


@inlined
def _sensitivity(layer, example, offset, multiply):
    s, e = bayesian_of(layer), example_of(example)
    square, fresh = read_row(s, e, False)
    p, sparse_spread = _score(s, e, offset)
    judge(s, e, p, UNLABELED, _0)
    return np.float32(_spread(s, offset, square, fresh, multiply) + sparse_spread)


@kernel
def learn_full(layer, example, label, importance, offset):
    """Predict, then learn, with a full covariance."""
    return _learn(layer, example, label, importance, offset, begin_full, take_full)


@kernel
def importance_to_full(layer, example, label, target, offset):
    """h_min: the importance with which the example, so labelled, moves the prediction to `target`."""
    return _importance_to(layer, example, label, target, offset, multiply_full)


@kernel
def sensitivity_full(layer, example, label, importance, offset):
    """The variance of the prediction, which is its change per unit of importance and slope, to first order."""
    return _sensitivity(layer, example, offset, multiply_full)


@kernel
def learn_low_rank(layer, example, label, importance, offset):
    """Predict, then learn, with a precision of low rank."""
    return _learn(layer, example, label, importance, offset, begin_low_rank, take_low_rank)


@kernel
def importance_to_low_rank(layer, example, label, target, offset):
    """As `importance_to_full`, with a precision of low rank."""
    return _importance_to(layer, example, label, target, offset, multiply_low_rank)


@kernel
def sensitivity_low_rank(layer, example, label, importance, offset):
    """As `sensitivity_full`, with a precision of low rank."""
    return _sensitivity(layer, example, offset, multiply_low_rank)
