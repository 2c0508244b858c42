"""The four kernels of the dyadic learner.

One example sees the model through U, V, X and w·x (see `core.dyad_curve`). With rates alpha and beta for the sides and
rates for the linear weights, a' = -alpha F b, b' = -beta F a: q a and b / q with q = (beta / alpha)^(1/4) move at the
common rate r = √(alpha beta), so the closed forms hold for t = r s with X / r in place of X. Several dyads whose r
differ learn at the geometric mean of theirs.
"""

import math

import numpy as np
from numba import njit

from hutch.core.abi import UNLABELED, call_loss, example_at, kernel, layer_at, loss_at
from hutch.core.dyad_curve import growth_
from hutch.core.dyad_linear import slope_
from hutch.core.dyad_step import importance_to_, step_exact, step_fast
from hutch.core.loss_kinds import KIND_GENERIC, KIND_HINGE, KIND_LOGISTIC
from hutch.reductions.dyadic_rates import POSTERIOR, POWER, apply, decay, measure, observe, rate_of
from hutch.reductions.dyadic_state import (
    EXACT,
    GRADIENT,
    balance_of,
    compute_sides,
    dyadic_at,
    find_sides,
    learned_at,
    linear_score,
    metric_of,
    score_dyads,
    shared_of,
    shrink_sides,
    side_of,
    table,
    touch_linear,
    touch_sides,
)
from hutch.reductions.linear_features import features_at, gather, rows_of, scratch_of, values_of


@njit(inline="always")
def _state(layer):  # type: ignore[no-untyped-def]
    return dyadic_at(layer_at(layer)[0].state)[0]


@njit(error_model="numpy")
def _unit(state):  # type: ignore[no-untyped-def]
    """Mean and standard deviation of the labels, by which they are standardised under posterior rates."""
    if state.rates != POSTERIOR:
        return 0.0, 1.0
    learned = learned_at(state.learned)[0]
    variance = learned.label_squares / learned.label_weight if learned.label_weight > 0.0 else 0.0
    return learned.label_mean, math.sqrt(variance) if variance > 0.0 else 1.0


@njit(error_model="numpy")
def _see_label(state, label, importance):  # type: ignore[no-untyped-def]
    """Take a label into the running moments."""
    learned = learned_at(state.learned)[0]
    learned.label_weight += importance
    off = label - learned.label_mean
    learned.label_mean += off * importance / learned.label_weight
    learned.label_squares += importance * off * (label - learned.label_mean)


@njit
def _score(state, example, offset):  # type: ignore[no-untyped-def]
    """Gather the features; returns w·x, the dyads' part, both in standardised labels, and how many features."""
    shared = shared_of(example)
    weights, features = table(shared), features_at(state.features)[0]
    n = gather(features, example, offset)
    rows, values = rows_of(features, n), values_of(features, n)
    find_sides(state, example)
    linear = linear_score(weights, shared.stride, rows, values, n)
    return linear, score_dyads(state, weights, shared.stride, rows, values), n


@njit
def _sides(state, example, n):  # type: ignore[no-untyped-def]
    shared, features = shared_of(example), features_at(state.features)[0]
    compute_sides(state, table(shared), shared.stride, rows_of(features, n), values_of(features, n))


@njit
def _report(state, example, raw):  # type: ignore[no-untyped-def]
    """Write the prediction in the labels' own unit into the example; returns it clipped."""
    e = example_at(example)[0]
    mean, deviation = _unit(state)
    prediction = mean + deviation * raw + np.float64(e.base)
    e.raw = np.float32(prediction)
    if state.clip == 1:
        shared = shared_of(example)
        prediction = min(max(prediction, np.float64(shared.min_label)), np.float64(shared.max_label))
    return prediction


@njit
def _charge(state, example, prediction, label, importance):  # type: ignore[no-untyped-def]
    """The loss of a prediction, where the label is known."""
    if label == UNLABELED:
        return 0.0
    record = loss_at(state.loss)[0]
    return importance * call_loss(record.value, prediction, np.float64(label), 0.0, 0.0, state.loss)


@njit(error_model="numpy")
def _metric(state, example, n):  # type: ignore[no-untyped-def]
    """Rates, then U and V in the dyads' common measure; returns U, V, X, r and what the rates are multiplied by."""
    shared = shared_of(example)
    weights, features = table(shared), features_at(state.features)[0]
    rows, values, linear_rates = rows_of(features, n), values_of(features, n), scratch_of(features, 0)
    X, scale = measure(state, weights, shared.stride, rows, values, n, linear_rates)
    metric, balance = metric_of(state), balance_of(state)
    U, V, product, dyads = 0.0, 0.0, 1.0, 0
    for d in range(state.pair_count):
        alpha, beta = metric[2 * d], metric[2 * d + 1]
        if not (alpha > 0.0 and beta > 0.0):
            continue
        dyads += 1
        product *= math.sqrt(alpha) * math.sqrt(beta)
        q = math.sqrt(math.sqrt(beta / alpha)) if alpha != beta else 1.0
        balance[d] = q
        a, b = side_of(state, 2 * d), side_of(state, 2 * d + 1)
        for j in range(state.rank):
            u, v = q * a[j] + b[j] / q, q * a[j] - b[j] / q
            U += u * u
            V += v * v
    r = scale * (product if dyads <= 1 else product ** (1.0 / dyads))
    return U, V, scale * X / r, r, scale


@njit(inline="always")
def _kind_of(state, label):  # type: ignore[no-untyped-def]
    """Kind of the loss at this label, and the label as the closed forms want it."""
    record = loss_at(state.loss)[0]
    y = np.float64(label)
    if record.kind == KIND_LOGISTIC:
        if y != record.lower and y != record.upper:
            return KIND_GENERIC, y
        return record.kind, 1.0 if y == record.upper else -1.0
    return record.kind, y


@kernel
def predict(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """a·b + w·x; features never seen have a factor of zeros."""
    state = _state(layer)
    linear, dyads, _ = _score(state, example, offset)
    prediction = _report(state, example, linear + dyads)
    e = example_at(example)[0]
    e.loss = _charge(state, example, prediction, label, importance)
    return np.float32(prediction)


@kernel
def learn(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Predict, then make the importance-aware step."""
    state = _state(layer)
    e, shared = example_at(example)[0], shared_of(example)
    h = np.float64(importance)
    if state.clip == 1 and shared.fixed_range == 0:
        shared.min_label, shared.max_label = min(shared.min_label, label), max(shared.max_label, label)
    linear, dyads, n = _score(state, example, offset)
    raw = _report(state, example, linear + dyads)
    e.loss = _charge(state, example, raw, label, h)
    kind, y = _kind_of(state, label)
    if not (h > 0.0 and abs(y) < math.inf):
        return np.float32(raw)
    e.updated = e.raw
    if kind == KIND_HINGE and state.l2 == 0.0 and y * np.float64(e.raw) >= 1.0:
        return np.float32(raw)
    if state.rates == POSTERIOR:
        _see_label(state, y, h)
    mean, deviation = _unit(state)
    y, base = (y - mean) / deviation, np.float64(e.base) / deviation
    _train(state, example, kind, y, base, h, linear, dyads, n, deviation)
    return np.float32(raw)


@njit(error_model="numpy")
def _train(state, example, kind, y, base, h, linear, dyads, n, deviation):  # type: ignore[no-untyped-def]
    """The step of one example: in standardised labels, around it half of its decay each."""
    e, shared = example_at(example)[0], shared_of(example)
    weights, stride, features = table(shared), shared.stride, features_at(state.features)[0]
    rows, values, linear_rates = rows_of(features, n), values_of(features, n), scratch_of(features, 0)
    record, learned = loss_at(state.loss)[0], learned_at(state.learned)[0]
    touch_sides(state, weights, stride, rows)
    if state.rates == POSTERIOR:
        touch_linear(example, weights, stride, rows, n)
        error = y - (linear + dyads + base)
        learned.error += h * error * error
        learned.error_weight += h
    rate = rate_of(state, shared.examples)
    regularised = state.rates == POSTERIOR or state.l2 > 0.0
    keep = 1.0
    if state.rates == POWER:
        keep = math.exp(-0.5 * rate * h * state.l2) if regularised else 1.0
    elif regularised:
        _, scale = measure(state, weights, stride, rows, values, n, linear_rates)
        decay(state, weights, stride, rows, n, h, scale * rate, linear_rates)
        linear = linear_score(weights, stride, rows, values, n)
    dyads = compute_sides(state, weights, stride, rows, values)
    if keep != 1.0:
        linear, dyads = keep * linear, shrink_sides(state, keep)
    U, V, X, r, scale = _metric(state, example, n)
    wx = linear + base + (dyads - 0.25 * (U - V))
    slope = slope_(kind, 0.25 * (U - V) + wx, y, record.parameter, (record.derivative, state.loss))
    loss = (record.derivative, state.loss)
    if state.dynamics == GRADIENT:
        t = rate * h * r * slope if abs(slope) < math.inf else 0.0
        shrink, grow = -0.5 * t, 0.5 * t
    else:
        if state.dynamics == EXACT:
            t = step_exact(kind, rate * h * r, y, U, V, X, wx, record.parameter, loss)
        else:
            t = step_fast(kind, rate * h * r, y, U, V, X, wx, record.parameter, loss)
        shrink, grow = growth_(t)
    apply(state, weights, stride, rows, values, n, t * scale / r, shrink, grow, keep, linear_rates)
    if regularised and state.rates != POWER:
        decay(state, weights, stride, rows, n, h, scale * rate, linear_rates)
    observe(state, weights, stride, rows, values, n, h, slope)
    fall = t * X - U * shrink * (1.0 + shrink) + V * grow * (1.0 + grow)
    e.updated = e.raw - np.float32(deviation * fall)


@kernel
def importance_to(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """h_min of the loss step; `importance` carries the target prediction."""
    state = _state(layer)
    e, record = example_at(example)[0], loss_at(state.loss)[0]
    linear, dyads, n = _score(state, example, offset)
    _sides(state, example, n)
    mean, deviation = _unit(state)
    U, V, X, r, _ = _metric(state, example, n)
    wx = linear + np.float64(e.base) / deviation + (dyads - 0.25 * (U - V))
    kind, y = _kind_of(state, label)
    target = (np.float64(importance) - mean) / deviation
    rate = rate_of(state, shared_of(example).examples) * r
    y = (y - mean) / deviation
    loss = (record.derivative, state.loss)
    return np.float32(importance_to_(kind, target, y, rate, U, V, X, wx, record.parameter, loss))


@kernel
def sensitivity(layer, example, label, importance, offset):  # type: ignore[no-untyped-def]
    """Change of the prediction per unit of importance and derivative: rate · (|a|² + |b|² + x·x)."""
    state = _state(layer)
    _, _, n = _score(state, example, offset)
    _sides(state, example, n)
    U, V, X, r, _ = _metric(state, example, n)
    _, deviation = _unit(state)
    return np.float32(deviation * rate_of(state, shared_of(example).examples) * r * (0.5 * (U + V) + X))
