"""Kernels of votes on pairs: objective, gradient, curvature, conjugate gradients, the matrix behind the intervals.

A vote of worker w on players i, j in the contexts v of its features has the scores left z/2, right -z/2, tie t with

    z = (1 + a_w) sum_l (s[left_l] - s[right_l]) + b + b_w
    t = c + c_w + sum_v c_v + sum_l (g[left_l] + g[right_l])

where l runs over the units of a side: the player, and the player in each context. Davidson's model (Journal of the
American Statistical Association 65, 1970) is z = s_i - s_j, t = c. All numbers stand in one vector x:
b, c, s (units), g (units), c_v (values), a (workers), b_w (workers), c_w (workers).
"""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper

LEFT, RIGHT, TIE = 0, 1, 2


@helper
def _scores(x, units, value_count, worker_count, left, right, values, worker, side_by_side):
    """z, t and the difference of strengths of one vote."""
    difference, tie = 0.0, x[1]
    for level in range(len(left)):
        difference += x[2 + left[level]] - x[2 + right[level]]
        tie += x[2 + units + left[level]] + x[2 + units + right[level]]
    for k in range(len(values)):
        tie += x[2 + 2 * units + values[k]]
    at = 2 + 2 * units + value_count + worker
    z = (1.0 + x[at]) * difference + x[0] + x[at + worker_count]
    return z, tie + x[at + 2 * worker_count] if side_by_side else -math.inf, difference


@helper
def _probabilities(z, t):
    """P(left), P(right), P(tie) and the logarithm of their normaliser over e^top."""
    top = max(abs(z) / 2, t)
    a, b, c = math.exp(z / 2 - top), math.exp(-z / 2 - top), math.exp(t - top)
    total = a + b + c
    return a / total, b / total, c / total, top + math.log(total)


@compiled
def predict(x, units, value_count, worker_count, left, right, values, workers, with_ties, out):
    """P(left), P(right), P(tie) of votes (votes, 3)."""
    for n in range(len(workers)):
        z, t, _ = _scores(x, units, value_count, worker_count, left[n], right[n], values[n], workers[n], with_ties)
        out[n, 0], out[n, 1], out[n, 2], _ = _probabilities(z, t)


@compiled
def evaluate(
    x, precision, units, value_count, worker_count, left, right, values, workers, outcomes, weights, with_ties,
    gradient, diagonal, curvature,
):  # fmt: skip
    """Minus the logarithm of the posterior, with its derivatives.

    Args:
        x: the parameters.
        precision: of their priors, whose means are 0.
        left, right: int32 (votes, levels), units of each side.
        values: int32 (votes, features).
        workers, outcomes, weights: int32, uint8, float64 (votes).
        with_ties: ties are a third outcome; otherwise half a win of each side.
        gradient, diagonal: out, of x: derivative, and Fisher's information on the diagonal.
        curvature: out (votes, 4): the information of z, of z with t and of t, and the difference of strengths.

    Returns:
        the objective.
    """
    objective = 0.0
    for k in range(len(x)):
        objective += 0.5 * precision[k] * x[k] * x[k]
        gradient[k], diagonal[k] = precision[k] * x[k], precision[k]
    for n in range(len(workers)):
        worker = workers[n]
        z, t, difference = _scores(x, units, value_count, worker_count, left[n], right[n], values[n], worker, with_ties)
        a, b, c, log_total = _probabilities(z, t)
        y = 0.5 if outcomes[n] == LEFT else (-0.5 if outcomes[n] == RIGHT else 0.0)
        tied = 1.0 if outcomes[n] == TIE and with_ties else 0.0
        weight = weights[n]
        objective += weight * (log_total - y * z - (t if tied > 0 else 0.0))
        mean = (a - b) / 2
        slope, slope_tie = weight * (mean - y), weight * (c - tied)
        zz, zt, tt = weight * ((a + b) / 4 - mean * mean), weight * (-mean * c), weight * (c * (1 - c))
        curvature[n, 0], curvature[n, 1], curvature[n, 2], curvature[n, 3] = zz, zt, tt, difference
        at = 2 + 2 * units + value_count + worker
        scale = 1.0 + x[at]
        gradient[0] += slope
        diagonal[0] += zz
        gradient[at] += slope * difference
        diagonal[at] += zz * difference * difference
        gradient[at + worker_count] += slope
        diagonal[at + worker_count] += zz
        for level in range(left.shape[1]):
            i, j = 2 + left[n, level], 2 + right[n, level]
            gradient[i] += slope * scale
            gradient[j] -= slope * scale
            diagonal[i] += zz * scale * scale
            diagonal[j] += zz * scale * scale
        if with_ties:
            gradient[1] += slope_tie
            diagonal[1] += tt
            gradient[at + 2 * worker_count] += slope_tie
            diagonal[at + 2 * worker_count] += tt
            for level in range(left.shape[1]):
                i, j = 2 + units + left[n, level], 2 + units + right[n, level]
                gradient[i] += slope_tie
                gradient[j] += slope_tie
                diagonal[i] += tt
                diagonal[j] += tt
            for k in range(values.shape[1]):
                v = 2 + 2 * units + values[n, k]
                gradient[v] += slope_tie
                diagonal[v] += tt
    return objective


@helper
def _product(
    v, x, precision, free, units, value_count, worker_count, left, right, values, workers, with_ties, curvature, out
):
    """Fisher's information of all parameters that are free, times v."""
    for k in range(len(v)):
        out[k] = precision[k] * v[k]
    for n in range(len(workers)):
        at = 2 + 2 * units + value_count + workers[n]
        scale, difference = 1.0 + x[at], curvature[n, 3]
        change, tie = 0.0, 0.0
        for level in range(left.shape[1]):
            change += v[2 + left[n, level]] - v[2 + right[n, level]]
        z = scale * change + v[at] * difference + v[0] + v[at + worker_count]
        if with_ties:
            tie = v[1] + v[at + 2 * worker_count]
            for level in range(left.shape[1]):
                tie += v[2 + units + left[n, level]] + v[2 + units + right[n, level]]
            for k in range(values.shape[1]):
                tie += v[2 + 2 * units + values[n, k]]
        along = curvature[n, 0] * z + curvature[n, 1] * tie
        along_tie = curvature[n, 1] * z + curvature[n, 2] * tie
        out[0] += along
        out[at] += along * difference
        out[at + worker_count] += along
        for level in range(left.shape[1]):
            out[2 + left[n, level]] += along * scale
            out[2 + right[n, level]] -= along * scale
        if with_ties:
            out[1] += along_tie
            out[at + 2 * worker_count] += along_tie
            for level in range(left.shape[1]):
                out[2 + units + left[n, level]] += along_tie
                out[2 + units + right[n, level]] += along_tie
            for k in range(values.shape[1]):
                out[2 + 2 * units + values[n, k]] += along_tie
    for k in range(len(v)):
        if not free[k]:
            out[k] = 0.0


@compiled
def newton_step(
    x, precision, free, units, value_count, worker_count, left, right, values, workers, with_ties, gradient, diagonal,
    curvature, iterations, tolerance, step,
):  # fmt: skip
    """Solve information * step = -gradient by conjugate gradients, preconditioned by the diagonal.

    Args:
        free: bool, of x; the others stay where they are.
        iterations: at most.
        tolerance: of the residual's norm, relative to the first.
        step: out.
    """
    size = len(x)
    residual, scaled, along, image = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    first = 0.0
    for k in range(size):
        step[k] = 0.0
        residual[k] = -gradient[k] if free[k] else 0.0
        scaled[k] = residual[k] / diagonal[k]
        along[k] = scaled[k]
        first += residual[k] * scaled[k]
    now = first
    for _ in range(iterations):
        if now <= tolerance * tolerance * first or now <= 0.0:
            break
        _product(
            along, x, precision, free, units, value_count, worker_count, left, right, values, workers, with_ties,
            curvature, image,
        )  # fmt: skip
        bent = 0.0
        for k in range(size):
            bent += along[k] * image[k]
        length, after = now / bent, 0.0
        for k in range(size):
            step[k] += length * along[k]
            residual[k] -= length * image[k]
            scaled[k] = residual[k] / diagonal[k]
            after += residual[k] * scaled[k]
        for k in range(size):
            along[k] = scaled[k] + after / now * along[k]
        now = after


@helper
def _invert(m):
    """The inverse of a symmetric matrix of 3 rows, in place."""
    a, b, c, d, e, f = m[0, 0], m[0, 1], m[0, 2], m[1, 1], m[1, 2], m[2, 2]
    p, q, r = d * f - e * e, c * e - b * f, b * e - c * d
    s = 1 / (a * p + b * q + c * r)
    m[0, 0], m[0, 1], m[0, 2] = p * s, q * s, r * s
    m[1, 0], m[1, 1], m[1, 2] = q * s, (a * f - c * c) * s, (b * c - a * e) * s
    m[2, 0], m[2, 1], m[2, 2] = r * s, m[1, 2], (a * d - b * b) * s


@compiled
def information(
    x, precision, free, units, value_count, worker_count, left, right, values, workers, order, with_ties, curvature,
    matrix,
):  # fmt: skip
    """The information about everything but the workers, after eliminating them: a Schur complement.

    Args:
        order: votes sorted by worker.
        matrix: out (size, size), size = 2 + 2 units + values; the lower triangle.
    """
    size = 2 + 2 * units + value_count
    for k in range(size):
        matrix[k, k] = precision[k] if free[k] else 1.0
    levels, features = left.shape[1], values.shape[1]
    most = 2 + 4 * levels + features
    places, weights, ties = np.empty(most, np.int64), np.empty(most), np.empty(most)
    cross, touched, seen = np.zeros((3, size)), np.empty(size, np.int64), np.zeros(size, np.bool_)
    own, packed = np.zeros((3, 3)), np.empty((3, size))
    count, start = 0, 0
    while start < len(order):
        worker = workers[order[start]]
        at = size + worker
        own[:] = 0.0
        for k in range(3):
            own[k, k] = precision[at + k * worker_count]
        end = start
        while end < len(order) and workers[order[end]] == worker:
            n = order[end]
            end += 1
            scale, difference = 1.0 + x[at], curvature[n, 3]
            used = 0
            places[0], weights[0], ties[0] = 0, 1.0, 0.0
            used = 1
            for level in range(levels):
                places[used], weights[used], ties[used] = 2 + left[n, level], scale, 0.0
                places[used + 1], weights[used + 1], ties[used + 1] = 2 + right[n, level], -scale, 0.0
                used += 2
            if with_ties:
                places[used], weights[used], ties[used] = 1, 0.0, 1.0
                used += 1
                for level in range(levels):
                    places[used], weights[used], ties[used] = 2 + units + left[n, level], 0.0, 1.0
                    places[used + 1], weights[used + 1], ties[used + 1] = 2 + units + right[n, level], 0.0, 1.0
                    used += 2
                for k in range(features):
                    places[used], weights[used], ties[used] = 2 + 2 * units + values[n, k], 0.0, 1.0
                    used += 1
            zz, zt, tt = curvature[n, 0], curvature[n, 1], curvature[n, 2]
            for p in range(used):
                k = places[p]
                if not free[k]:
                    continue
                seen[k] = True
                along, along_tie = zz * weights[p] + zt * ties[p], zt * weights[p] + tt * ties[p]
                for q in range(used):
                    if places[q] <= k and free[places[q]]:
                        matrix[k, places[q]] += along * weights[q] + along_tie * ties[q]
                cross[0, k] += along * difference
                cross[1, k] += along
                cross[2, k] += along_tie
            own[0, 0] += zz * difference * difference
            own[0, 1] += zz * difference
            own[0, 2] += zt * difference
            own[1, 1] += zz
            own[1, 2] += zt
            own[2, 2] += tt
        start = end
        for p in range(3):
            if not free[at + p * worker_count]:
                own[p, :], own[:, p] = 0.0, 0.0
                own[p, p] = 1.0
                cross[p, :] = 0.0
            for q in range(p):
                own[p, q] = own[q, p]
        count = 0
        for k in range(size):
            if seen[k]:
                seen[k] = False
                touched[count] = k
                for r in range(3):
                    packed[r, count] = cross[r, k]
                    cross[r, k] = 0.0
                count += 1
        _invert(own)
        for p in range(count):
            a, b, c = packed[0, p], packed[1, p], packed[2, p]
            u = own[0, 0] * a + own[0, 1] * b + own[0, 2] * c
            v = own[1, 0] * a + own[1, 1] * b + own[1, 2] * c
            w = own[2, 0] * a + own[2, 1] * b + own[2, 2] * c
            row = matrix[touched[p]]
            for q in range(p + 1):
                row[touched[q]] -= u * packed[0, q] + v * packed[1, q] + w * packed[2, q]


@compiled
def learn(
    x, variance, units, value_count, worker_count, left, right, values, workers, outcomes, weights, with_ties, out
):
    """One pass, vote by vote: every parameter has a mean and a variance, and each vote updates its parameters.

    With V the prior variances of z and t and h their information at the mean, the vote's step is that of a
    Gaussian approximation (extended Kalman filter): x_k += v_k d_k (1 + h V)^-1 (-slope).

    Args:
        x, variance: in and out.
        weights: float64 (votes), how much each counts.
        out: out (votes, 3): the probabilities before each vote was learned.
    """
    for n in range(len(workers)):
        worker = workers[n]
        z, t, difference = _scores(x, units, value_count, worker_count, left[n], right[n], values[n], worker, with_ties)
        a, b, c, _ = _probabilities(z, t)
        out[n, 0], out[n, 1], out[n, 2] = a, b, c
        at = 2 + 2 * units + value_count + worker
        scale, spread = 1.0 + x[at], 0.0
        spread_tie = variance[1] + variance[at + 2 * worker_count]
        for level in range(left.shape[1]):
            i, j = left[n, level], right[n, level]
            spread += variance[2 + i] + variance[2 + j]
            spread_tie += variance[2 + units + i] + variance[2 + units + j]
        for k in range(values.shape[1]):
            spread_tie += variance[2 + 2 * units + values[n, k]]
        if not with_ties:
            spread_tie = 0.0
        unsure = variance[at]
        whole = (scale * scale + unsure) * spread + unsure * difference * difference
        whole += variance[0] + variance[at + worker_count]
        y = 0.5 if outcomes[n] == LEFT else (-0.5 if outcomes[n] == RIGHT else 0.0)
        mean = (a - b) / 2
        weight = weights[n]
        slope = weight * (mean - y)
        slope_tie = weight * (c - (1.0 if outcomes[n] == TIE else 0.0)) if with_ties else 0.0
        zz, zt, tt = weight * ((a + b) / 4 - mean * mean), weight * (-mean * c), weight * (c * (1 - c))
        # (1 + V h)^-1 of the two scores, and from it the step and the loss of variance along each
        m00, m01, m10, m11 = 1 + whole * zz, whole * zt, spread_tie * zt, 1 + spread_tie * tt
        divisor = m00 * m11 - m01 * m10
        along = -(m11 * slope - m10 * slope_tie) / divisor
        along_tie = -(m00 * slope_tie - m01 * slope) / divisor
        less = (zz * m11 - zt * m10) / divisor
        less_tie = (tt * m00 - zt * m01) / divisor
        _move(x, variance, 0, 1.0, along, less)
        for level in range(left.shape[1]):
            _move(x, variance, 2 + left[n, level], scale, along, less)
            _move(x, variance, 2 + right[n, level], -scale, along, less)
        _move(x, variance, at, difference, along, less)
        _move(x, variance, at + worker_count, 1.0, along, less)
        if with_ties:
            _move(x, variance, 1, 1.0, along_tie, less_tie)
            _move(x, variance, at + 2 * worker_count, 1.0, along_tie, less_tie)
            for level in range(left.shape[1]):
                _move(x, variance, 2 + units + left[n, level], 1.0, along_tie, less_tie)
                _move(x, variance, 2 + units + right[n, level], 1.0, along_tie, less_tie)
            for k in range(values.shape[1]):
                _move(x, variance, 2 + 2 * units + values[n, k], 1.0, along_tie, less_tie)


@helper
def _move(x, variance, k, derivative, along, less):
    """Step of one parameter from the derivative of the score."""
    v = variance[k]
    x[k] += v * derivative * along
    variance[k] = v * max(1.0 - v * derivative * derivative * less, 1e-3)
