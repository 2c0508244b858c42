"""The four kernels of the dyadic learner.

One example sees the model through U, V, X and w·x (see `core.dyad_curve`). With rates alpha and beta for the sides and
rates for the linear weights, a' = -alpha F b, b' = -beta F a: q a and b / q with q = (beta / alpha)^(1/4) move at the
common rate r = √(alpha beta), so the closed forms hold for t = r s with X / r in place of X. Several dyads whose r
differ learn at the geometric mean of theirs.
"""

import math

import numpy as np
from numpy import uint64

from hutch.core.abi import UNLABELED, call, call_loss, example_at, kernel, layer_at, loss_at
from hutch.core.dyad_step import importance_to_
from hutch.core.kernel_helper import helper
from hutch.core.loss_kinds import KIND_GENERIC, KIND_HINGE, KIND_LOGISTIC
from hutch.reductions.dyadic_rates import POSTERIOR, POWER, factor_rate, rate_of
from hutch.reductions.dyadic_state import (
    balance_of,
    compute_sides,
    find_sides,
    gathered,
    learned_at,
    linear_score,
    metric_of,
    ranges_of,
    score_dyads,
    shared_of,
    shrink_sides,
    side_of,
    state_of,
    storable,
    touch_sides,
)
from hutch.reductions.linear_features import features_at, gather, scratch_of

_0, _1 = np.float32(0), np.float32(1)


@helper
def _unit(state):  # type: ignore[no-untyped-def]
    """Mean and standard deviation of the labels, by which they are standardised under posterior rates."""
    if state.rates != POSTERIOR:
        return 0.0, 1.0
    learned = learned_at(state.learned)[0]
    variance = learned.label_squares / learned.label_weight if learned.label_weight > 0.0 else 0.0
    return learned.label_mean, math.sqrt(variance) if variance > 0.0 else 1.0


@helper
def _score(layer, example, offset):  # type: ignore[no-untyped-def]
    """Gather the features and set w·x and the dyads' part of the prediction, both in standardised labels."""
    state = state_of(layer)
    gather(features_at(state.features)[0], example, offset)
    find_sides(state, example)
    if state.gather_bag != uint64(0):
        call(state.gather_bag, layer, example, _0, _0, uint64(0))
    weights, stride, rows, values, n = gathered(state, example)
    state.linear = linear_score(weights, stride, rows, values, n)
    state.dyads = score_dyads(state, weights, stride, rows, values)


@helper
def _report(state, example, label, importance):  # type: ignore[no-untyped-def]
    """Write the prediction in the labels' own unit and its loss into the example; returns it clipped."""
    e = example_at(example)[0]
    mean, deviation = _unit(state)
    prediction = mean + deviation * (state.linear + state.dyads) + np.float64(e.base)
    e.raw = np.float32(prediction)
    if state.clip == 1:
        shared = shared_of(example)
        prediction = min(max(prediction, np.float64(shared.min_label)), np.float64(shared.max_label))
    e.loss = 0.0
    if label != UNLABELED:
        value = loss_at(state.loss)[0].value
        e.loss = np.float64(importance) * call_loss(value, prediction, np.float64(label), 0.0, 0.0, state.loss)
    return prediction


@helper
def _set_kind(state, label):  # type: ignore[no-untyped-def]
    """Kind of the loss at this label, and the label as the closed forms want it."""
    record = loss_at(state.loss)[0]
    state.kind, state.label = record.kind, np.float64(label)
    if record.kind == KIND_LOGISTIC:
        if state.label != record.lower and state.label != record.upper:
            state.kind = KIND_GENERIC
        else:
            state.label = 1.0 if state.label == record.upper else -1.0


@helper
def _measure(layer, example, state, values, n):  # type: ignore[no-untyped-def]
    """Set `square`, `scale` and the metric of the sides; with power rates every feature has the rate 1."""
    if state.measure != uint64(0):
        call(state.measure, layer, example, _0, _0, uint64(0))
        return
    ranges, metric = ranges_of(state), metric_of(state)
    state.square, state.scale = 0.0, 1.0
    for i in range(n):
        state.square += np.float64(values[i]) * np.float64(values[i])
    for k in range(2 * state.pair_count):
        metric[k] = 0.0
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            metric[k] += np.float64(values[i]) * np.float64(values[i])


@helper
def _see(layer, example, state, score, dyads, values, n):  # type: ignore[no-untyped-def]
    """Set U, V, X and w·x as the dyads' common measure sees the sides, of which `dyads` is the sum of products."""
    _measure(layer, example, state, values, n)
    metric, balance = metric_of(state), balance_of(state)
    U, V, product, count = 0.0, 0.0, 1.0, 0
    for d in range(state.pair_count):
        alpha, beta = metric[2 * d], metric[2 * d + 1]
        if not (alpha > 0.0 and beta > 0.0):
            continue
        count += 1
        product *= math.sqrt(alpha) * math.sqrt(beta)
        q = math.sqrt(math.sqrt(beta / alpha)) if alpha != beta else 1.0
        balance[d] = q
        a, b = side_of(state, 2 * d), side_of(state, 2 * d + 1)
        for j in range(state.rank):
            u, v = q * a[j] + b[j] / q, q * a[j] - b[j] / q
            U += u * u
            V += v * v
    state.common = state.scale * (product if count <= 1 else product ** (1.0 / count))
    state.U, state.V, state.X = U, V, state.scale * state.square / state.common
    state.wx = score + (dyads - 0.25 * (U - V))


@helper
def _apply(state, weights, stride, rows, values, n, keep, linear_rates):  # type: ignore[no-untyped-def]
    """Make the step; `keep` is what all weights are multiplied by before and after it."""
    learned, power = learned_at(state.learned)[0], state.rates == POWER
    reach = state.t * state.scale / state.common
    for i in range(n):
        at = uint64(rows[i]) * stride
        rate = 1.0 if power else np.float64(linear_rates[i])
        weights[at] = storable(
            (np.float64(weights[at]) * keep - reach * rate * np.float64(values[i])) * keep, weights[at]
        )
    ranges, metric, balance = ranges_of(state), metric_of(state), balance_of(state)
    for k in range(2 * state.pair_count):
        if not metric[k] * metric[k ^ 1] > 0.0:
            continue
        a, b, q = side_of(state, k & ~1), side_of(state, k | 1), balance[k >> 1]
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            at = uint64(rows[i]) * stride
            rate = 1.0 if power else factor_rate(state, learned, weights, at)
            share = rate * np.float64(values[i]) / metric[k]
            at += uint64(state.head)
            for j in range(state.rank):
                along, across = (q * a[j] + b[j] / q) * state.shrink, (q * a[j] - b[j] / q) * state.grow
                change = (along + across) / q if k & 1 == 0 else (along - across) * q
                slot = at + uint64(j)
                weights[slot] = storable((np.float64(weights[slot]) * keep + share * change) * keep, weights[slot])


@kernel
def predict(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """a·b + w·x; features never seen have a factor of zeros."""
    state = state_of(layer)
    _score(layer, example, offset)
    return np.float32(_report(state, example, label, importance))


@kernel
def learn(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Predict, then make the importance-aware step."""
    state = state_of(layer)
    e, shared = example_at(example)[0], shared_of(example)
    if state.clip == 1 and shared.fixed_range == 0:
        shared.min_label, shared.max_label = min(shared.min_label, label), max(shared.max_label, label)
    prediction = call(layer_at(layer)[0].predict, layer, example, label, importance, offset)
    _set_kind(state, label)
    if not (importance > _0 and abs(state.label) < math.inf):
        return prediction
    e.updated = e.raw
    if state.kind == KIND_HINGE and state.l2 == 0.0 and state.label * np.float64(e.raw) >= 1.0:
        return prediction
    _train(layer, example, importance)
    return prediction


@helper
def _train(layer, example, importance):  # type: ignore[no-untyped-def]
    """The step of one example: in standardised labels, around it half of its decay each."""
    state, e, h = state_of(layer), example_at(example)[0], np.float64(importance)
    weights, stride, rows, values, n = gathered(state, example)
    touch_sides(state, weights, stride, rows)
    if state.see != uint64(0):
        call(state.see, layer, example, np.float32(state.label), importance, uint64(0))
    mean, deviation = _unit(state)
    state.label, base = (state.label - mean) / deviation, np.float64(e.base) / deviation
    linear = state.linear
    state.error = state.label - (linear + state.dyads + base)
    state.rate = rate_of(state, shared_of(example).examples)
    keep = 1.0
    if state.decay != uint64(0):
        _measure(layer, example, state, values, n)
        call(state.decay, layer, example, _0, importance, uint64(0))
        linear = linear_score(weights, stride, rows, values, n)
    dyads = compute_sides(state, weights, stride, rows, values)
    if state.rates == POWER and state.l2 > 0.0:
        keep = math.exp(-0.5 * state.rate * h * state.l2)
    if keep != 1.0:
        linear, dyads = keep * linear, shrink_sides(state, keep)
    _see(layer, example, state, linear + base, dyads, values, n)
    state.budget = state.rate * h * state.common
    step = state.generic_step if state.kind == KIND_GENERIC else state.step
    call(step, layer, example, _0, importance, uint64(0))
    _apply(state, weights, stride, rows, values, n, keep, scratch_of(features_at(state.features)[0], 0))
    if state.move_bag != uint64(0):
        call(state.move_bag, layer, example, _0, importance, uint64(0))
    if state.decay != uint64(0):
        call(state.decay, layer, example, _0, importance, uint64(0))
    if state.observe != uint64(0):
        call(state.observe, layer, example, _0, importance, uint64(0))
    shrink, grow = state.shrink, state.grow
    fall = state.t * state.X - state.U * shrink * (1.0 + shrink) + state.V * grow * (1.0 + grow)
    e.updated = e.raw - np.float32(deviation * fall)


@helper
def _look(layer, example, offset):  # type: ignore[no-untyped-def]
    """Set what the step would see, nothing decayed; returns mean and deviation of the labels."""
    state = state_of(layer)
    _score(layer, example, offset)
    weights, stride, rows, values, n = gathered(state, example)
    compute_sides(state, weights, stride, rows, values)
    mean, deviation = _unit(state)
    _see(
        layer,
        example,
        state,
        state.linear + np.float64(example_at(example)[0].base) / deviation,
        state.dyads,
        values,
        n,
    )
    return mean, deviation


@kernel
def importance_to(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """h_min of the loss step; `importance` carries the target prediction."""
    state = state_of(layer)
    record, (mean, deviation) = loss_at(state.loss)[0], _look(layer, example, offset)
    _set_kind(state, label)
    y, target = (state.label - mean) / deviation, (np.float64(importance) - mean) / deviation
    rate, loss = rate_of(state, shared_of(example).examples) * state.common, (record.derivative, state.loss)
    needed = importance_to_(state.kind, target, y, rate, state.U, state.V, state.X, state.wx, record.parameter, loss)
    return np.float32(needed)


@kernel
def sensitivity(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Change of the prediction per unit of importance and derivative: rate · (|a|² + |b|² + x·x)."""
    state = state_of(layer)
    _, deviation = _look(layer, example, offset)
    rate = rate_of(state, shared_of(example).examples) * state.common
    return np.float32(deviation * rate * (0.5 * (state.U + state.V) + state.X))
