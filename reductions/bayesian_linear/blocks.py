"""Covariances in blocks, for features of any namespaces and kinds: the noise is estimated, the prior chosen.

With y the label, h its importance, x the features, b the running mean of labels, and for each of several priors the
mean m of the weights for labels as they are, g for labels that are all 1, a covariance S in units of the noise, and the
noise variance v:

    u = b + (m - b g)·x        q = x' S x        e = y - u
    v = (r² + Σ h e² / (1 + h q)) / (1 + Σ h)        b = (r₀ + Σ h y) / (1 + Σ h)
    m += S x (y - m·x) h / (1 + h q)        g += S x (1 - g·x) h / (1 + h q)        S -= S x x' S h / (1 + h q)
    log evidence += -h/2 (log v (1 + q) + e² / (v (1 + q)))

r₀ is the middle of the range of labels, r half its width; m - b g is the mean for labels less b, whatever b was when
they were learned. A weight has under prior t the variance t / r at first, with r the largest n x² learned, x the value
of its feature and n the features of the example: at first no prediction has more variance than t. When r grows by d,
the prior of weight j is taken to have been narrower all along, as by a label 0 of importance d / t:

    m -= S_j m_j c         g -= S_j g_j c         S -= S_j S_j' c         c = d / (t + d S_jj)

All priors learn; the one with the greatest evidence predicts. Features that are met first in one example share a block
of S; between blocks covariances are 0. The table of weights holds the number of each feature's place.

With forgetting f, the weights walk back to what was expected at first (G. Uhlenbeck, L. Ornstein, Physical Review 36,
1930): each label of importance h brings all of S nearer to S₀, its first, diagonal one, and all of m and g nearer to 0.

    S = keep S + (1 - keep) S₀        m = √keep m        g = √keep g        keep = (1 - f)^h

A block is brought up to date when an example has features of it: `since` is the importance learned by then.

Source: recursive least squares with a ridge prior is the Kalman filter of a constant state (R. E. Kalman, 1960); one
step ahead the prediction errors give the likelihood (F. Schweppe, "Evaluation of likelihood functions", 1965).
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float64s_at,
    int64s_at,
    kernel,
    record_of,
    shared_of,
    weights_of,
    widen,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.learner.memory import reserve
from hutch.em.constrained.natural_kernel import dot
from hutch.reductions.bayesian_linear.full import multiply_full
from hutch.reductions.bayesian_linear.kernels import judge
from hutch.reductions.bayesian_linear.state import bayesian_of, matrix_at, vector_at, workspace_of
from hutch.reductions.linear.kernels import clip

MOST_PRIORS = 8
_LEAST, _LARGEST = 1e-24, 1e300
_GROWN = 1.0 + 1e-9  # more than what rounding leaves
_0 = np.float32(0)
_8 = uint64(8)

SUMS = np.dtype(
    [
        ("importance", "f8"),  # sum over the labels seen
        ("labels", "f8"),  # importance-weighted sum
        ("low", "f8"),
        ("high", "f8"),
        ("residuals", "f8", MOST_PRIORS),  # Σ h e² / (1 + h q) by prior
        ("evidence", "f8", MOST_PRIORS),
    ]
)
_sums_of = record_of(SUMS)
_SUMS_SIZE = np.uint64(SUMS.itemsize)


@inlined
def _sums_at(s, offset):
    return _sums_of(s.groups + offset * _SUMS_SIZE)


@inlined
def _row(s, buffer, j):
    """Row j of a buffer of float64[…, dimension]."""
    return vector_at(s, reserve(buffer, uint64(0)), uint64(j))


@inlined
def _block(s, j):
    """The j-th block of the example."""
    return int64s_at(reserve(s.found, uint64(0)), uint64(j) + uint64(1))[j]


@inlined
def _number(s, j, k):
    """The number of the moments of the example's j-th block under prior k."""
    return uint64(_block(s, j) * s.prior_count + k)


@inlined
def _keep(s, sums, block):
    """What a block's covariance keeps of itself, since it was brought up to date."""
    return (1.0 - s.forgetting) ** max(sums.importance - float64s_at(s.since, uint64(s.blocks))[block], 0.0)


@inlined
def _firsts(s, block):
    """The first variances of a block's features, for a prior of 1."""
    return vector_at(s, s.firsts, uint64(block))


@inlined
def _best(s, sums):
    """The prior with the greatest evidence; at first one in the middle."""
    best = s.prior_count // 2
    for k in range(s.prior_count):
        if sums.evidence[k] > sums.evidence[best]:
            best = k
    return best


@inlined
def _noise(sums, k):
    """The noise variance; 1 as long as all labels are the same."""
    half = 0.5 * (sums.high - sums.low)
    return (half * half + sums.residuals[k]) / (1.0 + sums.importance) if half > 0.0 else 1.0


@helper
def _collect(s, features, shared):
    """Write the features gathered last, one row per block that holds any of them.

    Returns:
        The number of these blocks, -1 if there is no memory; and the share of the features that have no place.
    """
    n, count, without, failed = features.length, int64(0), 0, False
    rows, values, weights, size = rows_of(features, n), values_of(features, n), weights_of(shared), uint64(s.room)
    numbers, most = int64s_at(s.numbers, uint64(s.blocks)), np.float32(s.used * s.room)
    for i in range(n):
        x, place = np.float64(values[i]), weights[uint64(rows[i])]
        if not np.float32(1) <= place <= most:
            without += x != 0.0
            continue
        at = int64(place) - 1
        block = at // s.room
        if numbers[block] == 0:
            more = uint64(count + 1)
            room, found = _8 * more * size, reserve(s.found, _8 * more)
            if found == uint64(0) or reserve(s.parts, room) == uint64(0) or reserve(s.products, room) == uint64(0):
                failed = True
                break
            int64s_at(found, more)[count] = block
            _row(s, s.parts, count)[:] = 0.0
            count = int64(more)
            numbers[block] = count
        _row(s, s.parts, numbers[block] - 1)[at - block * s.room] += x
    for j in range(count):
        numbers[_block(s, j)] = 0
    return int64(-1) if failed else count, np.float64(without) / np.float64(n) if without > 0 else 0.0


@helper
def _fullest(s, count):
    """Of the example's blocks with a free place, return the one that holds most of its features; -1 without one."""
    best, most, taken = int64(-1), 0, int64s_at(s.taken, uint64(s.blocks))
    for j in range(count):
        held, row = 0, _row(s, s.parts, j)
        for x in row:
            held += x != 0.0
        if held > most and taken[_block(s, j)] < s.room:
            best, most = _block(s, j), held
    return best


@helper
def _give_places(s, sums, features, shared, count):
    """Give each feature without a place one: in a block of the example, in a new one, or another feature's."""
    n, taken, block = features.length, int64s_at(s.taken, uint64(s.blocks)), _fullest(s, count)
    rows, values, weights = rows_of(features, n), values_of(features, n), weights_of(shared)
    priors = float64s_at(s.priors, uint64(s.prior_count))
    for i in range(n):
        row, x = uint64(rows[i]), np.float64(values[i])
        if x == 0.0 or np.float32(1) <= weights[row] <= np.float32(s.used * s.room):
            continue
        if (block < 0 or taken[block] == s.room) and s.used < s.blocks:
            block = s.used
            s.used += 1
            if s.forgetting > 0.0:
                float64s_at(s.since, uint64(s.blocks))[block] = sums.importance
        if block >= 0 and taken[block] < s.room:
            place = taken[block]
            taken[block] += 1
            s.size = max(s.size, taken[block])
            _firsts(s, block)[place] = 1.0 / (np.float64(n) * max(x * x, _LEAST))
            for k in range(s.prior_count):
                matrix = matrix_at(s, uint64(block * s.prior_count + k))
                matrix[place * (s.room + 1)] = priors[k] * _firsts(s, block)[place]
            weights[row] = np.float32(block * s.room + place + 1)
        else:
            other = int64(row) % s.blocks
            weights[row] = np.float32(other * s.room + (int64(row) // s.blocks) % taken[other] + 1)


@helper
def _score(s, sums, k, count):
    """Under prior k: the prediction less that of layers above; m·x and g·x."""
    score = response = 0.0
    for j in range(count):
        row, number = _row(s, s.parts, j), _number(s, j, k)
        root = math.sqrt(_keep(s, sums, _block(s, j))) if s.forgetting > 0.0 else 1.0
        score += root * dot(vector_at(s, s.means, number), row, workspace_of(s))
        response += root * dot(vector_at(s, s.responses, number), row, workspace_of(s))
    centre = (0.5 * (sums.low + sums.high) + sums.labels) / (1.0 + sums.importance)
    return centre * (1.0 - response) + score, score, response


@helper
def _spread(s, sums, k, count):
    """x' S x under prior k; the products S x stay."""
    q = 0.0
    for j in range(count):
        row, product = _row(s, s.parts, j), _row(s, s.products, j)
        multiply_full(s, _number(s, j, k), row, product)
        if s.forgetting > 0.0:
            keep, firsts = _keep(s, sums, _block(s, j)), _firsts(s, _block(s, j))
            prior = float64s_at(s.priors, uint64(s.prior_count))[k]
            for i in range(uint64(s.size)):
                product[i] = keep * product[i] + (1.0 - keep) * prior * firsts[i] * row[i]
        q += dot(row, product, workspace_of(s))
    return max(q, 0.0)


@helper
def _forget(s, sums, count):
    """Bring the moments of the example's blocks up to date."""
    priors, since = float64s_at(s.priors, uint64(s.prior_count)), float64s_at(s.since, uint64(s.blocks))
    for j in range(count):
        block = _block(s, j)
        keep, firsts = _keep(s, sums, block), _firsts(s, block)
        since[block] = sums.importance
        if keep < 1.0:
            for k in range(s.prior_count):
                matrix, root = matrix_at(s, _number(s, j, k)), math.sqrt(keep)
                mean, response = vector_at(s, s.means, _number(s, j, k)), vector_at(s, s.responses, _number(s, j, k))
                for i in range(s.size):
                    mean[i] *= root
                    response[i] *= root
                    line = matrix[i * s.room : i * s.room + s.size]
                    for t in range(uint64(s.size)):
                        line[t] *= keep
                    line[i] += (1.0 - keep) * priors[k] * firsts[i]


@helper
def _read(layer, example, offset):
    """Read the example; returns its blocks, the share of features without a place, and the score."""
    s, e = bayesian_of(layer), example_of(example)
    features, sums = features_of(s.gathered), _sums_at(s, offset)
    gather(features, example, offset)
    count, without = _collect(s, features, shared_of(e.shared))
    return count, without, e.base + _score(s, sums, _best(s, sums), count)[0]


@kernel
def predict_blocks(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    e = example_of(example)
    if not importance > _0:
        widen(shared_of(e.shared), label)
    return judge(bayesian_of(layer), e, _read(layer, example, offset)[2], label, importance)


@kernel
def sensitivity_blocks(layer, example, label, importance, offset):
    """The posterior variance of the prediction."""
    s, sums = bayesian_of(layer), _sums_at(bayesian_of(layer), offset)
    count, without, u = _read(layer, example, offset)
    judge(s, example_of(example), u, UNLABELED, _0)
    k = _best(s, sums)
    fresh = float64s_at(s.priors, uint64(s.prior_count))[k] * without
    return np.float32(_noise(sums, k) * (_spread(s, sums, k, count) + fresh))


@helper
def _update(s, number, along, gain, error, left):
    """Move mean and response along S x by their errors, and subtract `gain` times its square from the covariance."""
    mean, response = vector_at(s, s.means, number), vector_at(s, s.responses, number)
    matrix = matrix_at(s, number)
    for i in range(s.size):
        share = gain * along[i]
        if share != 0.0:
            mean[i] += error * share
            response[i] += left * share
            line = matrix[i * s.room : i * s.room + s.size]
            for t in range(uint64(s.size)):
                line[t] -= share * along[t]


@helper
def _narrow(s, n, count):
    """Narrow the priors of features whose values are the largest so far."""
    priors = float64s_at(s.priors, uint64(s.prior_count))
    for j in range(count):
        row, firsts, along = _row(s, s.parts, j), _firsts(s, _block(s, j)), _row(s, s.products, j)
        for i in range(s.size):
            reach = np.float64(n) * row[i] * row[i]
            if not _GROWN < reach * firsts[i] < _LARGEST:
                continue
            for k in range(s.prior_count):
                matrix, more = matrix_at(s, _number(s, j, k)), (reach - 1.0 / firsts[i]) / priors[k]
                mean, response = vector_at(s, s.means, _number(s, j, k)), vector_at(s, s.responses, _number(s, j, k))
                for t in range(s.size):
                    along[t] = matrix[i * s.room + t]
                left = 1.0 / (1.0 + more * along[i])
                held, answered = mean[i] * left, response[i] * left
                _update(s, _number(s, j, k), along, more * left, -mean[i], -response[i])
                mean[i], response[i] = held, answered
                for t in range(s.size):
                    matrix[i * s.room + t] = matrix[t * s.room + i] = along[t] * left
            firsts[i] = 1.0 / reach


@helper
def _learn_priors(s, sums, count, y, h):
    """Let all priors learn the label of an example whose features have places."""
    for k in range(s.prior_count):
        q, (u, score, response) = _spread(s, sums, k, count), _score(s, sums, k, count)
        error, gain = y - u, h / (1.0 + h * q)
        if not (q < _LARGEST and abs(error) < 1e150):
            continue
        if sums.high > sums.low:
            variance = _noise(sums, k) * (1.0 + q)
            sums.evidence[k] -= 0.5 * h * (math.log(variance) + error * error / variance)
        sums.residuals[k] += gain * error * error
        for j in range(count):
            _update(s, _number(s, j, k), _row(s, s.products, j), gain, y - score, 1.0 - response)


@kernel
def learn_blocks(layer, example, label, importance, offset):
    """Predict, then learn."""
    s, e = bayesian_of(layer), example_of(example)
    features, shared, sums = features_of(s.gathered), shared_of(e.shared), _sums_at(s, offset)
    count, without, u = _read(layer, example, offset)
    widen(shared, label)
    prediction = judge(s, e, u, label, importance)
    if label == UNLABELED or not importance > _0 or shared.testing == uint64(1) or count < 0:
        return prediction
    base = np.float64(e.base)
    y, h, first = np.float64(label) - base, np.float64(importance), sums.importance == 0.0
    sums.low, sums.high = y if first else min(sums.low, y), y if first else max(sums.high, y)
    if without > 0.0:
        _give_places(s, sums, features, shared, count)
        count = _collect(s, features, shared)[0]
    if s.forgetting > 0.0:
        _forget(s, sums, max(count, int64(0)))
    if count >= 0:
        _narrow(s, features.length, count)
        _learn_priors(s, sums, count, y, h)
    sums.importance += h
    sums.labels += h * y
    e.updated = clip(shared, np.float32(base + _score(s, sums, _best(s, sums), count)[0]))
    return prediction
