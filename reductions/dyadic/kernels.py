"""The four kernels of the dyadic learner.

One example sees the model through U, V, X and w·x (see `core.dyad.curve`). With rates alpha and beta for the sides and
rates for the linear weights, a' = -alpha F b, b' = -beta F a: q a and b / q with q = (beta / alpha)^(1/4) move at the
common rate r = √(alpha beta), so the closed forms hold for t = r s with X / r in place of X. Several dyads whose r
differ learn at the geometric mean of theirs.

The offset of `learn` and `importance_to` may name two sub-models (see `Reduction.differences`): the prediction is
then the difference of theirs. The flow moves the second, the rival, by -s where it moves the first by s; that swaps
the rival's U and V, so that the difference is a dyadic model itself, of U + V', V + U' and X + X'.
"""

import math

import numpy as np
from numpy import uint64

from hutch.core.dyad.step import importance_to_
from hutch.core.kernel.abi import UNLABELED, call, call_loss, example_of, kernel, layer_of, loss_of, shared_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.learner.features import features_of, gather, scratch_of
from hutch.core.loss import kinds
from hutch.reductions.dyadic.rates import factor_rate, rate_of
from hutch.reductions.dyadic.state import (
    POSTERIOR,
    POWER,
    balance_of,
    compute_sides,
    dyadic_of,
    find_sides,
    first_of,
    gathered,
    learned_of,
    linear_score,
    metric_of,
    own_dyadic,
    ranges_of,
    rival_of,
    rival_offset,
    shrink_sides,
    side_of,
    storable,
    touch_sides,
    unit_of,
)

_0, _1, _NOTHING = np.float32(0), np.float32(1), np.uint64(0)


@helper
def _gather(state, example, offset):
    """Gather the features and find the sides."""
    gather(features_of(state.features), example, offset)
    find_sides(state, example)


@helper
def _score(state, example, offset):
    """Set w·x and the dyads' part of the prediction, both in standardised labels, and the sides; features gathered."""
    weights, stride, rows, values, n = gathered(state, example)
    state.linear = linear_score(weights, stride, rows, values, n)
    state.dyads = compute_sides(state, weights, stride, rows, values)


@helper
def _report(state, example, label, importance, offset):
    """Write the prediction in the labels' own unit and its loss into the example; returns it clipped."""
    e = example_of(example)
    mean, deviation = unit_of(state, offset)
    prediction = mean + deviation * (state.linear + state.dyads) + np.float64(e.base)
    e.raw = np.float32(prediction)
    if state.clip == 1:
        shared = shared_of(example_of(example).shared)
        prediction = min(max(prediction, np.float64(shared.min_label)), np.float64(shared.max_label))
    e.loss = 0.0
    if label != UNLABELED:
        value = loss_of(state.loss).value
        e.loss = np.float64(importance) * call_loss(value, prediction, np.float64(label), 0.0, 0.0, state.loss)
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    """a·b + w·x; features never seen have a factor of zeros."""
    state = own_dyadic(layer)
    _gather(state, example, offset)
    _score(state, example, offset)
    return np.float32(_report(state, example, label, importance, offset))


@helper
def _set_kind(state, label):
    """Kind of the loss at this label, and the label as the closed forms want it."""
    record = loss_of(state.loss)
    state.kind, state.label = record.kind, np.float64(label)
    if record.kind == kinds.LOGISTIC:
        if state.label != record.lower and state.label != record.upper:
            state.kind = kinds.GENERIC
        else:
            state.label = 1.0 if state.label == record.upper else -1.0


@helper
def _measure(state, example, importance):
    """Set `square`, `variance` and the metric of the sides; with power rates every feature has the rate 1."""
    if state.measure != _NOTHING:
        call(state.measure, state.self, example, _0, importance, state.offset)
        return
    _, _, _, values, n = gathered(state, example)
    ranges, metric = ranges_of(state), metric_of(state)
    state.square, state.variance = 0.0, 0.0
    for i in range(n):
        state.square += np.float64(values[i]) * np.float64(values[i])
    for k in range(2 * state.pair_count):
        metric[k] = 0.0
        for i in range(ranges[2 * k], ranges[2 * k + 1]):
            metric[k] += np.float64(values[i]) * np.float64(values[i])


@helper
def _set_scale(state, offset):
    """Set the common factor of all rates, of both records if there are two; both have been measured."""
    state.scale = 1.0
    if state.rates == POSTERIOR:
        learned = learned_of(state, first_of(offset))
        noise, variance = learned.noise, state.variance
        if rival_offset(offset) >= 0:
            rival = rival_of(state)
            noise = 0.5 * (noise + learned_of(state, uint64(rival_offset(offset))).noise)
            variance += rival.variance
        state.scale = learned.pace / (noise + variance)
    if rival_offset(offset) >= 0:
        rival_of(state).scale = state.scale


@helper
def _see(state):
    """Set U and V as the pairs' balanced sides have them, and the product of the pairs' rates."""
    metric, balance = metric_of(state), balance_of(state)
    U, V, product, present = 0.0, 0.0, 1.0, 0
    for d in range(state.pair_count):
        alpha, beta = metric[2 * d], metric[2 * d + 1]
        if not (alpha > 0.0 and beta > 0.0):
            continue
        present += 1
        product *= math.sqrt(alpha) * math.sqrt(beta) if alpha != beta else alpha
        q = math.sqrt(math.sqrt(beta / alpha)) if alpha != beta else 1.0
        balance[d] = q
        a, b = side_of(state, 2 * d), side_of(state, 2 * d + 1)
        for j in range(state.rank):
            u, v = q * a[j] + b[j] / q, q * a[j] - b[j] / q
            U += u * u
            V += v * v
    state.U, state.V, state.product, state.present = U, V, product, present


@helper
def _join(state, example, deviation, offset):
    """Set U, V, X and w·x as the step sees them, those of the difference if there is a rival."""
    score = state.linear + state.dyads + np.float64(example_of(example).base) / deviation
    square, product, present = state.square, state.product, state.present
    if rival_offset(offset) >= 0:
        rival = rival_of(state)
        score -= rival.linear + rival.dyads
        state.U, state.V = state.U + rival.V, state.V + rival.U
        square, product, present = square + rival.square, product * rival.product, present + rival.present
    state.common = state.scale * (product if present <= 1 else product ** (1.0 / present))
    state.X = state.scale * square / state.common
    state.wx = score - 0.25 * (state.U - state.V)


@helper
def _move(state, example, keep):
    """Move the weights by the step; all of them are multiplied by `keep` before and after it."""
    weights, stride, rows, values, n = gathered(state, example)
    linear_rates = scratch_of(features_of(state.features), 0)
    learned, power = learned_of(state, state.offset), state.rates == POWER
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
def learn(layer, example, label, importance, offset):
    """Predict, then make the importance-aware step."""
    state = own_dyadic(layer)
    e, shared = example_of(example), shared_of(example_of(example).shared)
    if state.clip == 1 and shared.fixed_range == 0:
        shared.min_label, shared.max_label = min(shared.min_label, label), max(shared.max_label, label)
    prediction = call(layer_of(layer).predict, layer, example, label, importance, first_of(offset))
    if rival_offset(offset) >= 0:
        raw = e.raw
        call(layer_of(layer).predict, layer, example, UNLABELED, importance, uint64(rival_offset(offset)))
        e.raw = raw - e.raw + e.base
        prediction = e.raw
    _set_kind(state, label)
    e.updated = e.raw
    if not (importance > _0 and abs(state.label) < math.inf):
        return prediction
    if state.kind == kinds.HINGE and state.undecayed == 1 and state.label * np.float64(e.raw) >= 1.0:
        return prediction
    _train(layer, example, label, importance, offset)
    return prediction


@helper
def _begin(state, example, label, importance):
    """Everything before the regularisation of a step, for one sub-model."""
    offset = state.offset
    _gather(state, example, offset)
    state.rate = rate_of(state, shared_of(example_of(example).shared).examples)
    weights, stride, rows, _, _ = gathered(state, example)
    touch_sides(state, weights, stride, rows)
    if state.see != _NOTHING:
        call(state.see, state.self, example, label, importance, offset)
    _measure(state, example, importance)


@helper
def _regularise(state, example, importance, keep, again):
    """Half of the decay of a sub-model's features before the step; afterwards all that the step must know is set."""
    weights, stride, rows, values, n = gathered(state, example)
    if state.decay != _NOTHING:
        call(state.decay, state.self, example, _0, importance, state.offset)
    if again or state.decay != _NOTHING:
        state.linear = linear_score(weights, stride, rows, values, n)
    state.dyads = compute_sides(state, weights, stride, rows, values)
    if keep != 1.0:
        state.linear, state.dyads = keep * state.linear, shrink_sides(state, keep)
    _see(state)


@helper
def _finish(state, example, importance, keep):
    """Take the step of one sub-model, and run the rates' kernels after it."""
    _move(state, example, keep)
    if state.decay != _NOTHING:
        call(state.decay, state.self, example, _0, importance, state.offset)
    if state.observe != _NOTHING:
        call(state.observe, state.self, example, _0, importance, state.offset)


@inlined
def _contestant(state, k):
    """The record of the sub-model itself, or for k = 1 of its rival."""
    return dyadic_of(state.self if k == 0 else state.rival)


@helper
def _name(state, offset):
    """Set the sub-model of each record; returns the number of records."""
    state.offset = first_of(offset)
    if rival_offset(offset) < 0:
        return 1
    rival_of(state).offset = uint64(rival_offset(offset))
    return 2


@helper
def _train(layer, example, label, importance, offset):
    """The step of one example: in standardised labels, around it half of its decay each."""
    state, e, h = own_dyadic(layer), example_of(example), np.float64(importance)
    count = _name(state, offset)
    alone = count == 1
    for k in range(count):
        _begin(_contestant(state, k), example, label if alone else UNLABELED, importance)
    _set_scale(state, offset)
    mean, deviation = unit_of(state, state.offset)
    state.label = (state.label - mean) / deviation if alone else state.label / deviation
    state.error = state.label - (np.float64(e.raw) - mean) / deviation
    keep = math.exp(-0.5 * state.rate * h * state.l2) if state.rates == POWER and state.l2 > 0.0 else 1.0
    for k in range(count):
        _regularise(_contestant(state, k), example, importance, keep, not alone)
    _join(state, example, deviation, offset)
    state.budget = state.rate * h * state.common
    step = state.generic_step if state.kind == kinds.GENERIC else state.step
    call(step, state.self, example, _0, importance, state.offset)
    if not alone:
        rival = rival_of(state)
        rival.t, rival.shrink, rival.grow, rival.error = -state.t, state.grow, state.shrink, state.error
        rival.common = state.common
    for k in range(count):
        _finish(_contestant(state, k), example, importance, keep)
    if state.undecayed == 1:
        shrink, grow = state.shrink, state.grow
        fall = state.t * state.X - state.U * shrink * (1.0 + shrink) + state.V * grow * (1.0 + grow)
        e.updated = e.raw - np.float32(deviation * fall)
    else:
        _look_again(layer, example, offset)


@helper
def _look_again(layer, example, offset):
    """Report the prediction after a step that decayed weights too."""
    e = example_of(example)
    outcome, other = outcome_of(e), rival_offset(offset)
    call(layer_of(layer).predict, layer, example, UNLABELED, _1, first_of(offset))
    updated = e.raw
    if other >= 0:
        call(layer_of(layer).predict, layer, example, UNLABELED, _1, uint64(other))
        updated += e.base - e.raw
    put_back(e, outcome)
    e.updated = updated


@helper
def _look(layer, example, offset):
    """Prepare the state that the step would see, without decay; returns mean and deviation of the labels."""
    state = own_dyadic(layer)
    count = _name(state, offset)
    for k in range(count):
        contestant = _contestant(state, k)
        _gather(contestant, example, contestant.offset)
        _score(contestant, example, contestant.offset)
        _measure(contestant, example, _1)
        _see(contestant)
    _set_scale(state, offset)
    mean, deviation = unit_of(state, state.offset)
    _join(state, example, deviation, offset)
    return mean if count == 1 else 0.0, deviation


@kernel
def importance_to(layer, example, label, importance, offset):
    """h_min of the loss step; `importance` carries the target prediction."""
    state = own_dyadic(layer)
    record, (mean, deviation) = loss_of(state.loss), _look(layer, example, offset)
    _set_kind(state, label)
    y, target = (state.label - mean) / deviation, (np.float64(importance) - mean) / deviation
    rate, loss = (
        rate_of(state, shared_of(example_of(example).shared).examples) * state.common,
        (record.derivative, state.loss),
    )
    needed = importance_to_(state.kind, target, y, rate, state.U, state.V, state.X, state.wx, record.parameter, loss)
    return np.float32(needed)


@kernel
def sensitivity(layer, example, label, importance, offset):
    """Change of the prediction per unit of importance and derivative: rate · (|a|² + |b|² + x·x)."""
    state = own_dyadic(layer)
    _, deviation = _look(layer, example, offset)
    rate = rate_of(state, shared_of(example_of(example).shared).examples) * state.common
    return np.float32(deviation * rate * (0.5 * (state.U + state.V) + state.X))
