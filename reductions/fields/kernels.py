"""Fields: a linear model, and a dyad of learned vectors for each pair of namespaces, by importance-aware updates.

A feature i has a linear weight and, for each other namespace g, a vector V_ig of `rank` numbers. For namespaces f and g

    p = w·x + Σ_f<g a_fg · b_fg,    a_fg = Σ_i∈f x_i V_ig,    b_fg = Σ_j∈g x_j V_jf

A vector serves one pair, so pairs share no side, and with rates D that stand still during a step each coordinate of a
pair moves alone: a' = -α b, b' = -β a with α = Σ_i∈f x_i² D_ig and β alike. With X = Σ D x², m = α b² + β a², K = Σ m,
A = Σ 4 α β a b and z² = Σ 4 α β m / K the prediction after the step s is

    p(s) = p - s X - K sinh(z s) / z + A (cosh(z s) - 1) / z²

to s³, and exactly where all α β are equal. That is the curve of one dyad (`core.dyad.curve`) in t = z s / 2, with
U = 2 (K + A / z) / z, V = 2 (K - A / z) / z and 2 X / z in place of X; by Cauchy's inequality |A| ≤ K z, so U, V ≥ 0.
So the steps, the h_min and the losses are those of `dyadic`.

The rates are the variances of a diagonal Gaussian: 1 / (P (1 + 1 / learning_rate) + I), I being the information of the
examples seen, Σ ∫ l'' dh (dp/dw)² along their steps; of a loss without curvature l'² stands for l''. Between passes I
is halved, so that it stays between the information of one pass and of two. A pass over examples seen before applies
the prior again, in parts: an example that adds ΔI decays a number by e^(-P rate ΔI / (I + ΔI)).

Sources: Y. Juan et al., "Field-aware factorization machines for CTR prediction", RecSys 2016, for the model;
P. Mineiro, "Machined Learnings", 20 May 2011, for the flow of a dyad.
"""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.dyad.curve import prediction_
from hutch.core.dyad.linear import loss_slope
from hutch.core.dyad.step import importance_to_
from hutch.core.kernel.abi import (
    UNLABELED,
    call,
    call_loss,
    example_of,
    int64s_at,
    kernel,
    loss_of,
    shared_of,
    uint32s_at,
    widen,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.loss import kinds
from hutch.reductions.dyadic.rates import see_label
from hutch.reductions.dyadic.state import dyadic_of, gathered, linear_score, storable
from hutch.reductions.fields.state import (
    add_up,
    fields_of,
    find_fields,
    learned_of,
    pair_of,
    places_of,
    sides_of,
    slots_of,
    touch_vectors,
    unit_of,
)

_0 = np.float32(0)
_NOISE_WEIGHT = 10.0  # of the first guess of the noise, in examples
_STEEP = 1.5  # what wants larger scores lifts the rate faster than the opposite lowers it
_HIGHEST = 700.0  # of an exponent
_FAR = 1e6  # a step to where l' is so much smaller ends at the optimum, as far as its digits tell
_LEAST_Z = 1e-5  # of the metric: below it U and V are so large that their difference loses digits


@inlined
def _measure_side(state, weights, values, slots, first, last, g, side, metric):
    """Sum up the vectors of some features for field g, and their squared values times their rates.

    Returns the number of vectors of zeros.
    """
    prior, k, fresh = state.prior, uint64(state.rank), 0
    for i in range(first, last):
        at, x = slots[i * state.count + g], np.float64(values[i])
        fresh += weights[at] == _0
        if i == first:
            for d in range(k):
                side[d] = x * np.float64(weights[at + d])
                metric[d] = x * x / (prior + np.float64(weights[at + k + d]))
        else:
            for d in range(k):
                side[d] += x * np.float64(weights[at + d])
                metric[d] += x * x / (prior + np.float64(weights[at + k + d]))
    return fresh


@helper
def _measure(state, example, offset):
    """Set score, rates, metric and what bends the curve of the example; returns the number of vectors of zeros."""
    weights, stride, rows, values, n = gathered(state, example)
    learned, k, fresh = learned_of(state, offset), uint64(state.rank), 0
    more = 1.0 + 1.0 / (state.learning_rate * math.exp(min(learned.lift, _HIGHEST)))
    state.prior, state.linear_prior = state.precision * more, state.linear_precision * more
    X, linear, prior, column = 0.0, 0.0, state.linear_prior, max(k, uint64(1))
    for i in range(n):
        at, x = uint64(rows[i]) * stride, np.float64(values[i])
        linear += x * np.float64(weights[at])
        X += x * x / (prior + np.float64(weights[at + column]))
    length, places, K, A, B, pairs, at = int64(example_of(example).length), places_of(state), 0.0, 0.0, 0.0, 0.0, 0
    slots, sides = slots_of(state, length), sides_of(state, length)
    for f in range(state.count):
        for g in range(f + 1, state.count):
            a, b, alpha, beta = pair_of(sides, at, k)
            at += uint64(4) * k
            fresh += _measure_side(state, weights, values, slots, places[2 * f], places[2 * f + 1], g, a, alpha)
            fresh += _measure_side(state, weights, values, slots, places[2 * g], places[2 * g + 1], f, b, beta)
            for d in range(k):
                m, q, dot = alpha[d] * b[d] * b[d] + beta[d] * a[d] * a[d], 4.0 * alpha[d] * beta[d], a[d] * b[d]
                pairs += dot
                K += m
                A += q * dot
                B += q * m
    state.linear, state.pairs, state.X, state.K, state.A, state.B = linear, pairs, X, K, A, B
    return fresh


@helper
def _report(state, example, label, importance, offset):
    """Write the prediction in the labels' own unit and its loss into the example; returns it clipped."""
    e = example_of(example)
    mean, deviation = unit_of(state, offset)
    prediction = mean + deviation * (state.linear + state.pairs) + np.float64(e.base)
    e.raw = np.float32(prediction)
    if state.in_units == 1:
        shared = shared_of(e.shared)
        prediction = min(max(prediction, np.float64(shared.min_label)), np.float64(shared.max_label))
    e.features += uint64(state.count * (state.count - 1) // 2 * state.rank)
    e.loss = 0.0
    if label != UNLABELED:
        value = loss_of(state.loss).value
        e.loss = np.float64(importance) * call_loss(value, prediction, np.float64(label), 0.0, 0.0, state.loss)
    return np.float32(prediction)


@kernel
def predict(layer, example, label, importance, offset):
    """w·x + Σ a·b; a feature never seen has vectors of zeros."""
    state = fields_of(layer)
    find_fields(state, example, offset)
    weights, stride, rows, values, n = gathered(state, example)
    length, places, k = int64(example_of(example).length), places_of(state), uint64(state.rank)
    slots, sides, pairs = slots_of(state, length), sides_of(state, length), 0.0
    for f in range(state.count):
        for g in range(f + 1, state.count):
            a, b, _, _ = pair_of(sides, 0, k)
            add_up(weights, values, slots[g:], state.count, places[2 * f], places[2 * f + 1], a)
            add_up(weights, values, slots[f:], state.count, places[2 * g], places[2 * g + 1], b)
            for d in range(k):
                pairs += a[d] * b[d]
    state.linear, state.pairs = linear_score(weights, stride, rows, values, n), pairs
    return _report(state, example, label, importance, offset)


@helper
def _join(state, example, offset, kind, label):
    """Set the noise, and the example as the step of one dyad sees it; returns the score in standardised labels."""
    learned, dyad, K = learned_of(state, offset), dyadic_of(state.dyad), state.K
    mean, deviation = unit_of(state, offset)
    state.noise = 1.0
    if state.in_units == 1:
        state.noise = (learned.error + _NOISE_WEIGHT) / (learned.error_weight + _NOISE_WEIGHT)
    z = max(math.sqrt(state.B / K), _LEAST_Z * (K + state.X)) if K > 0.0 else 2.0
    score = state.linear + state.pairs + np.float64(example_of(example).base) / deviation
    dyad.U, dyad.V, dyad.X = 2.0 * (K + state.A / z) / z, max(2.0 * (K - state.A / z) / z, 0.0), 2.0 * state.X / z
    dyad.wx = score - 0.25 * (dyad.U - dyad.V)
    dyad.kind, dyad.label, state.half_z = kind, (label - mean) / deviation, 0.5 * z
    return score


@helper
def _kind_of(state, label):
    """Kind of the loss at this label, and the label as the closed forms want it."""
    record = loss_of(state.loss)
    if record.kind != kinds.LOGISTIC:
        return record.kind, np.float64(label)
    if label == np.float32(record.upper) or label == np.float32(record.lower):
        return record.kind, 1.0 if label == np.float32(record.upper) else -1.0
    return int64(kinds.GENERIC), np.float64(label)


@helper
def _information(state, kind, h, s, before, after):
    """∫ l'' dh along the step s; `before` and `after` hold the score and l' there.

    With the mean metric of the step, ∫ l'' dh = ∫ dF / (K F). A loss without curvature counts ∫ l'² dh.
    """
    (p, slope), (q, slope_after) = before, after
    tau = loss_of(state.loss).parameter
    if kind == kinds.SQUARED or kind == kinds.CLASSIC:
        return h / state.noise
    if kind == kinds.EXPECTILE:
        return h * (tau if slope < 0.0 else 1.0 - tau) / state.noise
    if kind == kinds.LOGISTIC or kind == kinds.POISSON:
        ratio, way = slope / slope_after, p - q
        if ratio > 1.001 and ratio < _FAR and abs(way) > 0.0:
            return math.log(ratio) * s / way
        if kind == kinds.POISSON:
            return h * math.exp(min(q, _HIGHEST))
        return h / (2.0 + math.exp(p) + math.exp(-p)) if abs(p) < _HIGHEST else 0.0
    if kind == kinds.HINGE or kind == kinds.QUANTILE:
        return slope * s / state.noise
    return 0.5 * (slope + slope_after) * s / state.noise


@helper
def _constant(state, example):
    """The part of the score that the constant has, in standardised labels."""
    e, last = example_of(example), example_of(example).namespace_count - uint64(1)
    if e.namespace_count == uint64(0) or uint32s_at(e.namespace_ids, e.namespace_count)[last] != CONSTANT_NAMESPACE:
        return 0.0
    weights, stride, rows, values, _ = gathered(state, example)
    starts = int64s_at(e.namespaces, e.namespace_count + uint64(1))
    i = starts[last] - starts[0]
    return np.float64(weights[uint64(rows[i]) * stride]) * np.float64(values[i])


@inlined
def _cosh_and_sinh(q):
    """cosh √q - 1 and sinh √q / √q."""
    if q < 0.3:
        return q * (0.5 + q * (1.0 / 24.0 + q * (1.0 / 720.0))), 1.0 + q * (
            1.0 / 6.0 + q * (1.0 / 120.0 + q * (1.0 / 5040.0))
        )
    root = min(math.sqrt(q), 300.0)
    up = math.exp(root)
    return 0.5 * (up + 1.0 / up) - 1.0, 0.5 * (up - 1.0 / up) / root


@helper
def _lift(state, learned, gain):
    """Raise the learning rate while examples want larger scores than they get, and lower it while they do not."""
    if state.adaptation > 0.0 and abs(gain) > 0.0 and gain * gain < math.inf:
        learned.gains += gain * gain
        towards = gain * _STEEP if gain > 0.0 else gain
        lift = learned.lift + state.adaptation * towards / math.sqrt(learned.gains)
        learned.lift = min(max(lift, 0.0), _HIGHEST)


@inlined
def _decay(x):
    """e^-x to ten digits."""
    if x < 0.05:
        return 1.0 - x * (1.0 - x * (0.5 - x * ((1.0 / 6.0) - x * ((1.0 / 24.0) - x * (1.0 / 120.0)))))
    return math.exp(-x)


@inlined
def _put(weights, at, k, value, x, rate, decays, partner, partner_metric):
    """Write a coordinate, decayed, and its information; returns its part of the new sum."""
    l2, share, again, information = decays
    square, known = x * x, np.float64(weights[at + k])
    more = information * square * partner * partner
    fall = rate * (l2 + share * square * partner_metric + (again * more / (known + more) if again > 0.0 else 0.0))
    value = storable(value * _decay(fall), weights[at])
    weights[at] = value
    weights[at + k] = storable(known + more, weights[at + k])
    return x * np.float64(value)


@inlined
def _move_side(state, weights, values, slots, places, change, metric, partner, partner_metric, decays):
    """Move the vectors of some features for a field so that their sum moves by `change`, which becomes the new sum."""
    first, last = places
    k = uint64(state.rank)
    if last - first == 1:
        at, x = slots[uint64(first * state.count)], np.float64(values[uint64(first)])
        per_x, per_square = 1.0 / x, 1.0 / (x * x)
        for d in range(k):
            value, rate = np.float64(weights[at + d]) + change[d] * per_x, metric[d] * per_square
            change[d] = _put(weights, at + d, k, value, x, rate, decays, partner[d], partner_metric[d])
        return
    moved = change[k:]
    for d in range(k):
        change[d], moved[d] = change[d] / metric[d] if metric[d] > 0.0 else 0.0, 0.0
    for i in range(first, last):
        at, x = slots[uint64(i * state.count)], np.float64(values[uint64(i)])
        for d in range(k):
            rate = 1.0 / (state.prior + np.float64(weights[at + k + d]))
            value = np.float64(weights[at + d]) + x * rate * change[d]
            moved[d] += _put(weights, at + d, k, value, x, rate, decays, partner[d], partner_metric[d])
    for d in range(k):
        change[d] = moved[d]


@helper
def _move_pairs(state, example, s, information, h, again):
    """Move all vectors by the step s, and add up the information; returns the new Σ a·b."""
    weights, _, _, values, _ = gathered(state, example)
    length, places, k = int64(example_of(example).length), places_of(state), uint64(state.rank)
    slots, sides, at, total, count = slots_of(state, length), sides_of(state, length), uint64(0), 0.0, state.count
    last, bent = uint64(2 * count * (count - 1)) * k, state.gradient == 0
    decays = h * state.l2, state.partner_variance * information, again * state.precision, information
    change_a, change_b = sides[last : last + uint64(2) * k], sides[last + uint64(2) * k : last + uint64(4) * k]
    for f in range(count):
        for g in range(f + 1, count):
            a, b, alpha, beta = pair_of(sides, at, k)
            at += uint64(4) * k
            for d in range(k):
                C, S = _cosh_and_sinh(alpha[d] * beta[d] * s * s if bent else 0.0)
                change_a[d] = a[d] * C - alpha[d] * s * b[d] * S
                change_b[d] = b[d] * C - beta[d] * s * a[d] * S
            own, other = (places[2 * f], places[2 * f + 1]), (places[2 * g], places[2 * g + 1])
            _move_side(state, weights, values, slots[g:], own, change_a, alpha, b, beta, decays)
            _move_side(state, weights, values, slots[f:], other, change_b, beta, a, alpha, decays)
            for d in range(k):
                total += change_a[d] * change_b[d]
    return total


@helper
def _move_linear(state, example, s, information, again):
    """Move the linear weights by the step s; returns the new w·x."""
    weights, stride, rows, values, n = gathered(state, example)
    column = uint64(max(state.rank, 1))
    for i in range(n):
        at, x = uint64(rows[i]) * stride, np.float64(values[i])
        known, more = np.float64(weights[at + column]), information * x * x
        rate = 1.0 / (state.linear_prior + known)
        fall = rate * again * state.linear_precision * more / (known + more) if more > 0.0 else 0.0
        weights[at] = storable((np.float64(weights[at]) - s * x * rate) * _decay(fall), weights[at])
        weights[at + column] = storable(known + more, weights[at + column])
    return linear_score(weights, stride, rows, values, n)


@helper
def _train(state, example, label, importance, offset, fresh):
    """The step of one example, measured before; `fresh` is whether it has new vectors."""
    e, h = example_of(example), np.float64(importance)
    weights, stride, _, _, _ = gathered(state, example)
    learned, dyad, record = learned_of(state, offset), dyadic_of(state.dyad), loss_of(state.loss)
    if fresh:
        touch_vectors(state, example, weights, stride)
        _measure(state, example, offset)
    kind, target = _kind_of(state, label)
    if state.in_units == 1:
        see_label(learned, target, h)
    score = _join(state, example, offset, kind, target)
    slope = loss_slope(kind, score, dyad.label, record.parameter, (record.derivative, state.loss))
    if not 0.0 < abs(slope) < math.inf:
        return
    dyad.budget = h / state.noise * state.half_z
    call(state.generic_step if kind == kinds.GENERIC else state.step, state.dyad, example, _0, importance, offset)
    s = dyad.t / state.half_z
    if not abs(s) < math.inf:
        return
    reached = prediction_(dyad.t, dyad.U, dyad.V, dyad.X, dyad.wx)
    last = loss_slope(kind, reached, dyad.label, record.parameter, (record.derivative, state.loss))
    information = _information(state, kind, h, s, (score, slope), (reached, last))
    _lift(state, learned, -slope * (score - _constant(state, example)) * h / state.noise)
    if state.in_units == 1:
        gap = dyad.label - score
        learned.error += h * (-2.0 * gap * slope if kind == kinds.QUANTILE else gap * gap)
        learned.error_weight += h
    state.linear, state.pairs = (
        _move_linear(state, example, s, information, learned.again),
        _move_pairs(state, example, s, information, h, learned.again),
    )
    mean, deviation = unit_of(state, offset)
    e.updated = np.float32(mean + deviation * (state.linear + state.pairs) + np.float64(e.base))


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then make the importance-aware step."""
    state, e = fields_of(layer), example_of(example)
    widen(shared_of(e.shared), label)
    find_fields(state, example, offset)
    fresh = _measure(state, example, offset) > 0
    prediction = _report(state, example, label, importance, offset)
    e.updated = e.raw
    if importance > _0 and label != UNLABELED and abs(label) < math.inf:
        _train(state, example, label, importance, offset, fresh)
    return prediction


@kernel
def importance_to(layer, example, label, importance, offset):
    """h_min of the step, decay left out; `importance` carries the target prediction."""
    state = fields_of(layer)
    dyad, record = dyadic_of(state.dyad), loss_of(state.loss)
    mean, deviation = unit_of(state, offset)
    kind, y = _kind_of(state, label)
    find_fields(state, example, offset)
    _measure(state, example, offset)
    _join(state, example, offset, kind, y)
    target, rate = (np.float64(importance) - mean) / deviation, state.half_z / state.noise
    loss = (record.derivative, state.loss)
    U, V, X, wx = dyad.U, dyad.V, dyad.X, dyad.wx
    return np.float32(importance_to_(kind, target, dyad.label, rate, U, V, X, wx, record.parameter, loss))


@kernel
def sensitivity(layer, example, label, importance, offset):
    """Change of the prediction per unit of importance and derivative: X + K."""
    state = fields_of(layer)
    find_fields(state, example, offset)
    _measure(state, example, offset)
    _join(state, example, offset, int64(kinds.GENERIC), 0.0)
    _, deviation = unit_of(state, offset)
    return np.float32(deviation * (state.X + state.K) / state.noise)
