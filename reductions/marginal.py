"""Marginals: the mean label of an id so far takes the place of the id, so that one weight serves all ids of a kind.

In the namespaces named, features come in pairs: the first says what kind of id it is, the second is the id. A pair
becomes one feature, with the index of the first and the value n / d. After each labelled example with the label y and
the importance h

    n' = (1 - decay) n + h y,   d' = (1 - decay) d + h

With `compete`, the prediction is a mean of n / d of each id and of the layer below, each as often as there are ids,
whose weights follow from their losses by AdaNormalHedge: 2 R e^(R² / 3 C) / 3 C, where R > 0 is the sum of the losses
of the mean less its own, and C the sum of the squares of these differences.

Source: H. Luo, R. Schapire, "Achieving all with no parameters: AdaNormalHedge", COLT 2015; VW 9.11.9, `--marginal`.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    float64s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
    widen,
)
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.loss.kernels import value_of
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import Parameters, Within
from hutch.core.text.hashing import namespace_id

_0, _1, _2, _3 = np.float32(0), np.float32(1), np.float32(2), np.float32(3)
_STEEPEST, _MOST = np.float32(80), np.float32(1e30)  # weights above are beyond float32, or their sums are


class MarginalParameters(Parameters):
    """Parameters of `marginal`.

    Attributes:
        namespaces: whose features are pairs of a kind and an id.
        numerator: n of a new id.
        denominator: d of a new id.
        decay: how fast earlier labels are forgotten.
        weighted: labels count with the importance of their example.
        update_first: the label of an example counts before the layer below learns it.
        compete: mix the means and the prediction of the layer below.
    """

    namespaces: Annotated[tuple[str, ...], Within(min_length=1)]
    numerator: float = 0.5
    denominator: Annotated[float, Within(gt=0)] = 1.0
    decay: Annotated[float, Within(ge=0, lt=1)] = 0.0
    weighted: bool = True
    update_first: bool = False
    compete: bool = False


STATE = np.dtype(
    [
        ("names", "u8"),  # address of uint32[name_count]
        ("name_count", "u8"),
        ("means", "u8"),  # address of float64[rows, 3]: 1 if the id was met, n, d
        ("experts", "u8"),  # address of float32[rows, 6]: R, C and weight of the mean, and of the layer below
        ("numerator", "f8"),
        ("denominator", "f8"),
        ("decay", "f4"),
        ("weighted", "u4"),
        ("update_first", "u4"),
        ("compete", "u4"),
        ("loss", "u8"),  # address of the LOSS record of the layer below
        ("built", "u8"),  # BUFFER of the example with means: starts int64, indices uint32, values float32
        ("mean", "f4"),  # sum of the means by their weights
        ("weight", "f4"),  # sum of the weights of means
        ("trust", "f4"),  # sum of the weights of the layer below
        ("mixed", "f4"),  # loss of the mixture
    ]
)
own = state_of(STATE)


@helper
def _is_named(state, name):
    found = False
    for k in range(state.name_count):
        found |= uint32s_at(state.names, state.name_count)[k] == name
    return found


@helper
def _row_of(e, index, offset):
    shared = shared_of(e.shared)
    return (uint64(index) * shared.multiplier + offset) & shared.mask


@helper
def _mean(state, row):
    """n / d of an id."""
    known = float64s_at(state.means + uint64(24) * row, uint64(3))
    if known[0] == 0.0:
        return np.float32(state.numerator / state.denominator)
    return np.float32(known[1] / known[2])


@helper
def _expert(state, row):
    """R, C and weight of an id's mean, and of the layer below beside it; weights are 1 at first."""
    expert = float32s_at(state.experts + uint64(24) * row, uint64(6))
    if float64s_at(state.means + uint64(24) * row, uint64(3))[0] == 0.0:
        return expert, _1, _1
    return expert, expert[2], expert[5]


@helper
def _weigh(state, row, mean, label):
    """Take an id into the mixture."""
    _, weight, trust = _expert(state, row)
    state.mean += weight * mean
    state.weight += weight
    state.trust += trust
    if label != UNLABELED:
        state.mixed += weight * value_of(state.loss, mean, label)


@helper
def _substitute(state, e, label, offset):
    """Make the example show means in place of pairs; returns how many features went. Without memory nothing changes."""
    state.mean = state.weight = state.trust = state.mixed = _0
    spaces, length = e.namespace_count, e.length
    address = reserve(state.built, uint64(8) * (spaces + uint64(1) + length))
    if address == uint64(0):
        return uint64(0)
    old, starts = int64s_at(e.namespaces, spaces + uint64(1)), int64s_at(address, spaces + uint64(1))
    place = address + uint64(8) * (spaces + uint64(1))
    indices, x = uint32s_at(e.indices, length), float32s_at(e.values, length)
    new, values = uint32s_at(place, length), float32s_at(place + uint64(4) * length, length)
    n = 0
    for j in range(int64(spaces)):
        starts[j] = n
        first, last = old[j] - old[0], old[j + 1] - old[0]
        if not _is_named(state, uint32s_at(e.namespace_ids, spaces)[j]):
            copy(indices[first:last], new[n : n + last - first])
            copy(x[first:last], values[n : n + last - first])
            n += last - first
            continue
        for i in range(first, last - 1, 2):
            if x[i] == _1 and x[i + 1] == _1:
                row = _row_of(e, indices[i + 1], offset)
                new[n], values[n] = indices[i], _mean(state, row)
                if state.compete == 1:
                    _weigh(state, row, values[n], label)
                n += 1
    starts[spaces] = n
    show(e, (place, place + uint64(4) * length, uint64(n), address, e.namespace_ids, spaces))
    return length - uint64(n)


@helper
def _trust(r, c):
    """The weight of an expert by AdaNormalHedge."""
    if c == _0 or not r > _0:
        return _0
    return min(_2 * r * math.exp(min(r * r / (_3 * c), _STEEPEST)) / (_3 * c), _MOST)


@helper
def _judge(state, expert, k, loss, importance):
    """Note the loss of an expert."""
    regret = state.mixed - loss
    expert[k] += regret * importance
    expert[k + 1] += regret * regret * importance
    expert[k + 2] = _trust(expert[k], expert[k + 1])


@helper
def _update(state, e, label, importance, below, offset):
    """Let the label count for all ids of the example, which shows its own features."""
    indices, x = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    weight, keep = importance if state.weighted == 1 else _1, np.float64(_1 - state.decay)
    for j in range(int64(e.namespace_count)):
        if not _is_named(state, ids[j]):
            continue
        for i in range(starts[j] - starts[0], starts[j + 1] - starts[0] - 1, 2):
            if x[i] != _1 or x[i + 1] != _1:
                continue
            row = _row_of(e, indices[i + 1], offset)
            known = float64s_at(state.means + uint64(24) * row, uint64(3))
            if known[0] == 0.0:
                known[0], known[1], known[2] = 1.0, state.numerator, state.denominator
            if state.compete == 1:
                expert = float32s_at(state.experts + uint64(24) * row, uint64(6))
                _judge(state, expert, 0, value_of(state.loss, _mean(state, row), label), weight)
                _judge(state, expert, 3, value_of(state.loss, below, label), weight)
            known[1] = known[1] * keep + np.float64(label * weight)
            known[2] = known[2] * keep + np.float64(weight)


@helper
def _mix(state, e, below, label, importance):
    """The mixture of the means and the prediction of the layer below; writes its loss."""
    if state.compete == 0:
        return below
    total = state.weight + state.trust
    if total > _0:
        found = (state.mean + state.trust * below) * (_1 / total)
    else:
        state.trust, total, found = _1, state.weight + _1, below * (_1 / (state.weight + _1))
    if label != UNLABELED:
        state.mixed = (state.mixed + state.trust * value_of(state.loss, below, label)) * (_1 / total)
    e.raw = e.updated = found
    known = label != UNLABELED and importance > _0
    e.loss = np.float64(value_of(state.loss, found, label) * importance) if known else 0.0
    return found


@helper
def _predict(layer, example, label, importance, offset):
    state, e = own(layer), example_of(example)
    read = shown_by(e)
    gone = _substitute(state, e, label, offset)
    below = predict_next(layer, example, label, importance, offset)
    show(e, read)
    e.features += gone
    return _mix(state, e, below, label, importance)


@kernel
def predict(layer, example, label, importance, offset):
    """Predict with means in place of ids."""
    return _predict(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Learn with means in place of ids, and let the label count for these."""
    state, e = own(layer), example_of(example)
    if label == UNLABELED or not importance > _0 or shared_of(e.shared).testing == 1:
        return _predict(layer, example, label, importance, offset)
    widen(shared_of(e.shared), label)
    found, loss, raw, read = _0, 0.0, _0, shown_by(e)
    e.is_predicted = uint64(0)  # with the means of now
    if state.update_first == 1:
        _substitute(state, e, label, offset)
        below = predict_next(layer, example, label, importance, offset)
        show(e, read)
        found = _mix(state, e, below, label, importance)
        loss, raw = e.loss, e.raw
        _update(state, e, label, importance, below, offset)
    gone = _substitute(state, e, label, offset)
    below = learn_next(layer, example, label, importance, offset)
    show(e, read)
    e.features += gone
    if state.update_first == 1:
        e.loss, e.raw = loss, raw
        return found
    found = _mix(state, e, below, label, importance)
    _update(state, e, label, importance, below, offset)
    return found


class Marginal(Reduction):
    """Puts the mean label of an id so far in the place of the id."""

    name: ClassVar[str] = "marginal"
    Parameters: ClassVar[type[Parameters]] = MarginalParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    keeps: ClassVar[Mapping[str, Limits]] = {"means": FINITE, "experts": FINITE}
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: MarginalParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, rows = parameters, 1 << context.bits
        self.inputs = Inputs(namespaces=p.namespaces)
        names = [namespace_id(name, context.parser.namespaces) for name in p.namespaces]
        self.state = Record(
            STATE,
            names=np.array(names, np.uint32),
            name_count=len(names),
            means=np.zeros((rows, 3)),
            experts=np.zeros((rows if p.compete else 1, 6), np.float32),
            numerator=np.float32(p.numerator),
            denominator=np.float32(p.denominator),
            decay=p.decay,
            weighted=p.weighted,
            update_first=p.update_first,
            compete=p.compete,
            loss=context.loss(self.answers.loss or LossChoice(name="squared")),
            built=Buffer(),
        )
