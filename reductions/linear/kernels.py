"""The kernels of the linear learner: predict, learn, and the sensitivity for active learning."""

import math

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import (
    UNLABELED,
    call_loss,
    example_of,
    float32s_at,
    float64s_at,
    kernel,
    loss_of,
    no_unroll,
    prefetch,
    shared_of,
    state_of,
    uint32s_at,
    weights_of,
    widen,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.features import (
    features_of,
    fetch_rest,
    gather,
    rows_of,
    scratch_at,
    scratch_of,
    squared_length,
    values_of,
)
from hutch.core.learner.memory import buffer_of
from hutch.core.learner.terms import fill_wildcards, have_wildcards_of_vw
from hutch.core.loss import kinds
from hutch.core.loss.flow import budget_to
from hutch.core.loss.kernels import square_gradient_of, update_of, value_of
from hutch.reductions.linear.rates import measure, measure_default, rates_of

LINEAR = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("rates", "u8"),  # address of the RATES record
        ("regularization", "u8"),  # address of float64[2]: contraction and gravity
        ("updates", "i8"),  # number of changes of the weights
        ("learning_rate", "f4"),
        ("power_t", "f4"),
        ("adaptive", "u4"),
        ("normalized", "u4"),
        ("invariant", "u4"),
        ("l1", "f4"),
        ("l2", "f4"),
        ("sparse_l2", "f4"),
        ("by_values", "u8"),  # 1: adaptive rates follow values alone
    ]
)
linear_of = state_of(LINEAR)

_LEAST_UPDATE = 1e-8
_AHEAD = uint64(128)  # features: rows are asked for so far ahead, as memory needs the time that so many take
_0, _1 = np.float32(0), np.float32(1)
_MOST = np.float32(np.finfo(np.float32).max)


@inlined
def _shrunk(w, gravity):
    """A weight after its part of l1 regularisation."""
    if not gravity < abs(w):
        return _0
    return w - gravity if w > _0 else w + gravity


@helper
def _dot(state, features, shared, p):
    """p + w·x for the features gathered last."""
    n, stride, weights = features.length, shared.stride, weights_of(shared)
    rows, values = rows_of(features, n), values_of(features, n)
    if state.l1 > _0:
        gravity = np.float32(float64s_at(state.regularization, uint64(2))[1])
        for i in range(n):
            p += _shrunk(weights[uint64(rows[i]) * stride], gravity) * values[i]
    else:
        for i in range(n):
            no_unroll()
            p += weights[uint64(rows[i]) * stride] * values[i]
    return p


@inlined
def _is_simple(features, e):
    """Whether the features are those of the example itself, and there is room for their rows."""
    return features.expand == uint64(0) and e.length <= features.room


@inlined
def _take_features(features, e):
    """Take the features of the example itself; their rows are not gathered yet."""
    n = e.length
    features.values, features.rows = e.values, buffer_of(features.table).address
    e.features, features.length, features.ahead_length = n, n, uint64(0)
    return rows_of(features, n), values_of(features, n), uint32s_at(e.indices, n)


@inlined
def _gather_and_dot(features, e, shared, offset, stride):
    """w·x for the features of the example itself, whose rows are gathered on the way."""
    p, weights = e.base, weights_of(shared)
    rows, values, indices = _take_features(features, e)
    multiplier, mask = shared.multiplier, shared.mask
    if multiplier == uint64(1) and offset == uint64(0):
        largest, ahead = uint64(0), uint32s_at(e.indices + uint64(4) * min(e.behind, _AHEAD), e.length)
        for i in range(uint64(len(rows))):
            no_unroll()
            prefetch(shared.weights + uint64(ahead[i]) * stride * uint64(4))
            row = uint64(indices[i])
            largest |= row
            p += weights[(row & mask) * stride] * values[i]
        if largest <= mask:
            features.rows = e.indices
            return p
        p = e.base
    for i in range(uint64(len(rows))):
        no_unroll()
        row = (uint64(indices[i]) * multiplier + offset) & mask
        rows[i] = row
        p += weights[row * stride] * values[i]
    return p


@inlined
def _score(state, features, example, offset, stride):
    """Gather the features; returns the prediction before clipping."""
    e = example_of(example)
    shared = shared_of(e.shared)
    if _is_simple(features, e) and not state.l1 > _0:
        p = _gather_and_dot(features, e, shared, offset, stride)
    else:
        gather(features, example, offset)
        p = _dot(state, features, shared, e.base)
    return p * np.float32(float64s_at(state.regularization, uint64(2))[0])


@inlined
def clip(shared, raw):
    """A prediction within the range of the labels; 0 for NaN."""
    if math.isnan(raw):
        return _0
    return min(max(raw, shared.min_label), shared.max_label)


@helper
def predicted(example, loss, label, importance, raw):
    """Write score, prediction and loss of the example, by a LOSS; returns the prediction."""
    e = example_of(example)
    prediction = clip(shared_of(e.shared), raw)
    e.raw, e.updated, e.loss = raw, prediction, 0.0
    if label != UNLABELED and importance > _0:
        e.loss = np.float64(value_of(loss, prediction, label) * importance)
    return prediction


@inlined
def _predict(layer, example, label, importance, offset, stride):
    """Gather the features and predict; returns the clipped prediction and its loss."""
    state, e = linear_of(layer), example_of(example)
    e.raw = _score(state, features_of(state.features), example, offset, stride)
    prediction = clip(shared_of(e.shared), e.raw)
    e.updated, e.loss = prediction, 0.0
    loss = _0
    if label != UNLABELED and importance > _0:
        loss = value_of(state.loss, prediction, label)
        e.loss = np.float64(loss * importance)
    return prediction, loss


@inlined
def _scale(state, shared, importance):
    """Learning rate times importance; without adaptive rates it falls with the importance seen so far."""
    scale = state.learning_rate * importance
    if state.adaptive == 0:
        time = shared.time + importance - shared.weighted_holdout - shared.weighted_unlabeled
        scale *= np.float32(time) ** -state.power_t
    return scale


@inlined
def _square(state, prediction, label, importance):
    """What adaptive rates take up: the squared gradient times the importance, or the importance alone."""
    return (
        importance if state.by_values == uint64(1) else importance * square_gradient_of(state.loss, prediction, label)
    )


@helper
def _materialise(weights, stride, regularization):
    """Write the pending regularisation into all weights."""
    contraction, gravity = np.float32(regularization[0]), np.float32(regularization[1])
    for at in range(0, len(weights), stride):
        weights[at] = _shrunk(weights[at], gravity) * contraction
    regularization[0], regularization[1] = 1.0, 0.0


@helper
def _regularized(state, update, prediction, label):
    """The update in terms of the weights before their lazy contraction; moves contraction and gravity on."""
    if not abs(update) > _LEAST_UPDATE:
        return update
    regularization, record = float64s_at(state.regularization, uint64(2)), loss_of(state.loss)
    slope = call_loss(record.derivative, np.float64(prediction), np.float64(label), 0.0, 0.0, state.loss)
    step = -np.float64(update) / slope if abs(slope) > _LEAST_UPDATE else 0.0
    regularization[0] *= 1.0 - np.float64(state.l2) * step
    regularization[1] += step * np.float64(state.l1)
    return update / np.float32(regularization[0])


@inlined
def _set_default_rates(rates, features, example, offset, importance, square):
    norm = measure_default(rates, features, shared_of(example_of(example).shared), offset, importance, square)
    return norm, square != _0 and abs(norm) < _MOST  # it is a sum with x² times the rate in it


@inlined
def _set_other_rates(rates, features, example, offset, importance, square):
    return measure(rates, features, example, features.length, offset, importance, square, True), False


@inlined
def _set_masked_rates(rates, features, example, offset, importance, square):
    """Set the rates of the features whose weight is not 0, which come first from here on; only they will move."""
    e, n = example_of(example), features.length
    shared, plain = shared_of(e.shared), rates.adaptive == 0 and rates.normalized == 0
    norm = squared_length(features, example) if plain else _1  # of all, as in VW
    weights, rows, values = weights_of(shared), rows_of(features, n), values_of(features, n)
    kept, kept_rows, m = scratch_of(features, uint64(2)), uint32s_at(scratch_at(features, uint64(1)), n), uint64(0)
    for i in range(n):
        if weights[uint64(rows[i]) * shared.stride] != _0:
            kept_rows[m], kept[m] = rows[i], values[i]
            m += uint64(1)
    features.rows, features.values, features.length = (
        scratch_at(features, uint64(1)),
        scratch_at(features, uint64(2)),
        m,
    )
    features.guessed = uint64(0)
    e.is_predicted = min(e.is_predicted, uint64(1))  # the prediction afterwards is that of `_update`
    return norm if plain else measure(rates, features, example, m, offset, importance, square, True), False


@inlined
def _update(state, features, example, prediction, loss, label, importance, offset, set_rates):
    """The update per unit of feature and rate, and whether all values are known to be finite; moves rates and norms."""
    e, rates, update, finite = example_of(example), rates_of(state.rates), _0, False
    shared = shared_of(e.shared)
    if loss > _0:
        square = _square(state, prediction, label, importance)
        norm, finite = set_rates(rates, features, example, offset, importance, square)
        scale = _scale(state, shared, importance)
        update = update_of(state.loss, prediction, label, scale, norm, state.invariant == 1)
        e.updated = prediction + norm * update
        if state.l1 != _0 or state.l2 != _0:
            update = _regularized(state, update, prediction, label)
    if state.sparse_l2 > _0:
        update -= state.sparse_l2 * prediction
    return _0 if math.isnan(update) else update, finite


@inlined
def _move(state, features, shared, update, finite, stride):
    """Move the weights of the features gathered last."""
    n, weights = features.length, weights_of(shared)
    rows, values = rows_of(features, n), values_of(features, n)
    if state.normalized == 1:
        update *= rates_of(state.rates).multiplier
    if finite:
        for i in range(n):
            no_unroll()
            at = uint64(rows[i]) * stride
            weights[at] += update * (values[i] * weights[at + uint64(3)])
    else:
        for i in range(n):
            no_unroll()
            x = values[i]
            if abs(x) < _MOST:
                at = uint64(rows[i]) * stride
                if stride > uint64(1):
                    x *= weights[at + uint64(3)]
                weights[at] += update * x
    state.updates += 1
    regularization = float64s_at(state.regularization, uint64(2))
    if regularization[0] < 1e-9 or regularization[1] > 1e3:
        _materialise(weights, np.int64(stride), regularization)


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    shared = shared_of(example_of(example).shared)
    if not importance > _0:
        widen(shared, label)
    prediction = _predict(layer, example, label, importance, offset, shared.stride)[0]
    fetch_rest(features_of(linear_of(layer).features), shared)
    return prediction


@inlined
def _neighbours(shared, k, last):
    """The weight tables as sub-models k to k + 3 see them through the rows of sub-model 0; no further than the last."""
    return (
        _seen_by(shared, k),
        _seen_by(shared, min(k + uint64(1), last)),
        _seen_by(shared, min(k + uint64(2), last)),
        _seen_by(shared, min(k + uint64(3), last)),
    )


@inlined
def _seen_by(shared, k):
    """The weight table as sub-model k sees it through the rows of sub-model 0."""
    rows = shared.mask + uint64(1) - k
    return float32s_at(shared.weights + uint64(4) * shared.stride * k, rows * shared.stride)


@inlined
def _four(features, shared, k, last, base):
    """base + w·x in sub-models k to k + 3, for features gathered for sub-model 0: each sum in its own order."""
    n, stride = features.length, shared.stride
    rows, values = rows_of(features, n), values_of(features, n)
    w0, w1, w2, w3 = _neighbours(shared, k, last)
    p0, p1, p2, p3 = base, base, base, base
    for i in range(n):
        no_unroll()
        at, x = uint64(rows[i]) * stride, values[i]
        p0, p1, p2, p3 = p0 + w0[at] * x, p1 + w1[at] * x, p2 + w2[at] * x, p3 + w3[at] * x
    return p0, p1, p2, p3


@inlined
def _gather_four(features, e, shared, offset, last):
    """The same in sub-models 0 to 3 for the features of the example itself, whose rows are gathered on the way."""
    rows, values, indices = _take_features(features, e)
    multiplier, mask, stride = shared.multiplier, shared.mask, shared.stride
    w0, w1, w2, w3 = _neighbours(shared, uint64(0), last)
    p0, p1, p2, p3 = e.base, e.base, e.base, e.base
    for i in range(uint64(len(rows))):
        no_unroll()
        row, x = (uint64(indices[i]) * multiplier + offset) & mask, values[i]
        rows[i] = row
        at = row * stride
        p0, p1, p2, p3 = p0 + w0[at] * x, p1 + w1[at] * x, p2 + w2[at] * x, p3 + w3[at] * x
    return p0, p1, p2, p3


@inlined
def _write_four(shared, predictions, k, last, four):
    low, high = shared.min_label, shared.max_label
    for j in range(3, -1, -1):  # those behind the last are the last again
        p = four[j]
        predictions[min(k + uint64(j), last)] = min(max(p, low), high) if p == p else _0


@kernel
def predict_many(layer, example, label, importance, offset):
    """Predict with neighbouring sub-models, four in a walk over the features, where there is neither l1 nor l2."""
    state, e = linear_of(layer), example_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    last, predictions = e.prediction_count - uint64(1), float32s_at(e.predictions, e.prediction_count)
    if _is_simple(features, e):
        four = _gather_four(features, e, shared, offset, last)
    else:
        gather(features, example, offset)
        four = _four(features, shared, uint64(0), last, e.base)
    _write_four(shared, predictions, uint64(0), last, four)
    for k in range(uint64(4), last + uint64(1), uint64(4)):
        _write_four(shared, predictions, k, last, _four(features, shared, k, last, e.base))
    e.raw, e.loss = predictions[0], 0.0
    return predictions[0]


@inlined
def _is_beyond_margin(state, e, label):
    """Whether a layer above knows the prediction, and its hinge loss is 0, so that there is no update."""
    hinge = e.is_predicted != uint64(0) and loss_of(state.loss).kind == kinds.HINGE
    return hinge and e.predicted * label >= _1 and state.sparse_l2 == _0


@inlined
def _learn(layer, example, label, importance, offset, stride, set_rates):
    state, e = linear_of(layer), example_of(example)
    shared, features = shared_of(e.shared), features_of(state.features)
    if e.is_predicted == uint64(0):
        prediction, loss = _predict(layer, example, label, importance, offset, stride)
    else:
        gather(features, example, offset)
        prediction = e.predicted
        loss = value_of(state.loss, prediction, label) if label != UNLABELED else _0
        e.updated, e.loss = prediction, np.float64(loss * importance)
    if label == UNLABELED or not importance > _0 or shared.testing == 1 or state.learning_rate == _0:
        return prediction
    update, finite = _update(state, features, example, prediction, loss, label, importance, offset, set_rates)
    if update != _0:
        _move(state, features, shared, update, finite, stride)
        if e.is_predicted == uint64(2):
            contraction = np.float32(float64s_at(state.regularization, uint64(2))[0])
            e.updated = clip(shared, _dot(state, features, shared, e.base) * contraction)
    return prediction


@helper
def _learn_by_default(layer, example, label, importance, offset):
    return _learn(layer, example, label, importance, offset, uint64(4), _set_default_rates)


@helper
def _learn_otherwise(layer, example, label, importance, offset):
    stride = shared_of(example_of(example).shared).stride
    return _learn(layer, example, label, importance, offset, stride, _set_other_rates)


@helper
def _learn_masked(layer, example, label, importance, offset):
    stride = shared_of(example_of(example).shared).stride
    return _learn(layer, example, label, importance, offset, stride, _set_masked_rates)


@inlined
def _learn_by(train, layer, example, label, importance, offset):
    """Learn by a function, unless no update is needed."""
    state, e = linear_of(layer), example_of(example)
    shared = shared_of(e.shared)
    widen(shared, label)
    if _is_beyond_margin(state, e, label):
        e.updated, e.loss = e.predicted, 0.0
        return e.predicted
    prediction = train(layer, example, label, importance, offset)
    fetch_rest(features_of(state.features), shared)
    return prediction


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then train if there is a label; for rates that are adaptive and normalised, with square roots."""
    return _learn_by(_learn_by_default, layer, example, label, importance, offset)


@kernel
def learn_otherwise(layer, example, label, importance, offset):
    """Predict, then train if there is a label; for rates of any kind."""
    return _learn_by(_learn_otherwise, layer, example, label, importance, offset)


@kernel
def learn_masked(layer, example, label, importance, offset):
    """Predict, then train the weights that are not 0 if there is a label; for rates of any kind."""
    return _learn_by(_learn_masked, layer, example, label, importance, offset)


@helper
def _hypothetical_norm(state, example, at, label, importance, offset):
    """Change of the prediction per unit of update, had the gradient at prediction `at` been learned."""
    features = features_of(state.features)
    square = _square(state, at, label, importance)
    return measure(rates_of(state.rates), features, example, features.length, offset, importance, square, False)


@kernel
def sensitivity(layer, example, label, importance, offset):
    """Change of the prediction per unit of importance, to first order, as VW's active learner asks for it."""
    state, e = linear_of(layer), example_of(example)
    shared, prediction = shared_of(e.shared), e.predicted
    if e.is_predicted == uint64(0):
        prediction, _ = _predict(layer, example, label, importance, offset, shared.stride)
    features, total = features_of(state.features), e.features
    without = features.terms != uint64(0) and have_wildcards_of_vw(features.terms)
    if without:  # as in VW, which fills wildcards only to predict and to learn
        fill_wildcards(features.terms, False)
        features.guessed = uint64(0)
    if without or e.is_predicted != uint64(0):
        gather(features, example, offset)
    norm = _hypothetical_norm(state, example, prediction, label, importance, offset)
    if without:
        fill_wildcards(features.terms, True)
        features.guessed = uint64(0)
    e.features = total
    return _scale(state, shared, _1) * norm


@kernel
def importance_to(layer, example, label, target, offset):
    """h_min: the importance with which the example, so labelled, moves the prediction to `target`; inf if none does.

    The adaptive rates are those after the gradient at the target has been added, at importance 1.
    """
    state, shared = linear_of(layer), shared_of(example_of(example).shared)
    prediction, _ = _predict(layer, example, label, _1, offset, shared.stride)
    norm = _hypothetical_norm(state, example, target, label, _1, offset)
    budget = budget_to(np.float64(prediction), np.float64(target), np.float64(label), state.loss)
    return np.float32(budget / np.float64(_scale(state, shared, _1) * norm)) if budget > 0.0 else _0
