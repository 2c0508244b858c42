"""A baseline, learned of the constant alone, and what the other features add to it, learned of what it leaves.

With the score b of the constant and r of all other features the prediction is b + r. A label y is learned twice: the
constant learns it as an example of its own, and then the others learn it on top of b. So a constant that is far from 0
does not have to be found by steps that suit the other features.

Source: VW 9.11.9 (baseline.cc).
"""

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE
from hutch.core.chain.declarations import Parallel
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    learn_next,
    predict_next,
    sensitivity_next,
    shared_of,
    state_of,
    uint32s_at,
    widen,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back, show, shown_by
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.loss import kinds
from hutch.core.parameters import Parameters, Within

_0, _1 = np.float32(0), np.float32(1)
_LEAST, _MOST = np.float32(1e-4), np.float32(1000)
_BEFORE = 17
"""Of the constant of `global_only`, the index is this much smaller than that of the constant (VW's)."""


class BaselineParameters(Parameters):
    """Parameters of `baseline`.

    Attributes:
        multiplier: of the learning rate by which the constant learns; 0: the largest label so far, from 0.0001 to 1000.
            It does not count with logistic loss.
        global_only: the baseline is a constant of its own, and the features keep theirs.
    """

    multiplier: Annotated[float, Within(ge=0)] = 1.0
    global_only: bool = False


BASELINE = np.dtype(
    [
        ("rate", "u8"),  # address of the base learner's float32 rate; 0: it stays as it is
        ("multiplier", "f4"),
        ("global_only", "u4"),
        ("index", "u8"),  # address of uint32[1]: of the constant that is the baseline
        ("value", "u8"),  # address of float32[1]: 1
        ("starts", "u8"),  # address of int64[2]: 0 and 1
        ("space", "u8"),  # address of uint32[1]: id of its namespace
        (
            "built",
            "u8",
        ),  # BUFFER of the example without its constant: starts int64, indices and ids uint32, values float32
    ]
)
own = state_of(BASELINE)


@helper
def _show_constant(state, e):
    """Make the example show the baseline's constant alone; nothing if it has none."""
    one = uint64(1) if state.global_only == 1 or _has_constant(e) else uint64(0)
    show(e, (state.index, state.value, one, state.starts, state.space, one))


@helper
def _has_constant(e):
    ids = uint32s_at(e.namespace_ids, e.namespace_count)
    for j in range(int64(e.namespace_count)):
        if ids[j] == CONSTANT_NAMESPACE:
            return True
    return False


@helper
def _show_rest(state, e):
    """Make the example show its features without the constant; without memory it stays as it is."""
    count, length = int64(e.namespace_count), int64(e.length)
    address = reserve(state.built, uint64(8 * (count + 1) + 8 * length + 4 * count))
    if address == uint64(0):
        return
    behind, ids_at = address + uint64(8 * (count + 1)), address + uint64(8 * (count + 1) + 8 * length)
    starts, new, ids = int64s_at(address, count + 1), uint32s_at(behind, length), uint32s_at(ids_at, count)
    values, old = float32s_at(behind + uint64(4 * length), length), int64s_at(e.namespaces, count + 1)
    indices, x, names = uint32s_at(e.indices, length), float32s_at(e.values, length), uint32s_at(e.namespace_ids, count)
    n, made = 0, 0
    for j in range(count):
        if names[j] == CONSTANT_NAMESPACE:
            continue
        starts[made], ids[made] = n, names[j]
        made += 1
        for i in range(old[j] - old[0], old[j + 1] - old[0]):
            new[n], values[n] = indices[i], x[i]
            n += 1
    starts[made] = n
    show(e, (behind, behind + uint64(4 * length), uint64(n), address, ids_at, uint64(made)))


@helper
def _learn_constant(state, layer, example, label, importance, offset):
    """Let the constant learn, at its own rate; returns its prediction made before."""
    if state.rate == uint64(0):
        return learn_next(layer, example, label, importance, offset)
    shared, rate = shared_of(example_of(example).shared), float32s_at(state.rate, uint64(1))
    multiplier = state.multiplier
    if multiplier == _0:
        multiplier = min(max(_LEAST, abs(shared.min_label), abs(shared.max_label)), _MOST)
    rate[0] *= multiplier
    prediction = learn_next(layer, example, label, importance, offset)
    rate[0] /= multiplier
    return prediction


@helper
def _predict(layer, example, label, importance, offset):
    """The prediction of all, made on top of the baseline where that is a constant of its own."""
    state, e = own(layer), example_of(example)
    if state.global_only == 1:
        read = shown_by(e)
        e.base = _0
        _show_constant(state, e)
        e.base = predict_next(layer, example, label, importance, offset)
        show(e, read)
    return predict_next(layer, example, label, importance, offset)


@kernel
def predict(layer, example, label, importance, offset):
    """The prediction of the constant and of all other features."""
    e = example_of(example)
    base = e.base
    prediction = _predict(layer, example, label, importance, offset)
    e.base = base
    return prediction


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, let the constant learn, and then all other features on top of it."""
    state, e = own(layer), example_of(example)
    base, known, read = e.base, e.is_predicted, shown_by(e)
    e.is_predicted = uint64(0)
    prediction = _predict(layer, example, label, importance, offset)
    outcome = outcome_of(e)
    widen(shared_of(e.shared), label)
    e.base = _0
    _show_constant(state, e)
    e.base = _learn_constant(state, layer, example, label, importance, offset)
    show(e, read)
    if state.global_only == 0:
        _show_rest(state, e)
    learn_next(layer, example, label, importance, offset)
    show(e, read)
    loss = e.loss  # in the range of labels that is known now
    put_back(e, outcome)
    e.loss = loss
    e.base, e.is_predicted = base, known
    return prediction


@kernel
def sensitivity(layer, example, label, importance, offset):
    """The sensitivity of the baseline, at the prediction of all, and that of the rest at its own, as in VW."""
    state, e = own(layer), example_of(example)
    base, known, read = e.base, (e.is_predicted, e.predicted), shown_by(e)
    if known[0] == uint64(0):
        e.predicted = _predict(layer, example, label, importance, offset)
    e.base, e.is_predicted = base, uint64(1)
    _show_constant(state, e)
    found = sensitivity_next(layer, example, label, importance, offset)
    show(e, read)
    e.is_predicted = uint64(0)
    if state.global_only == 0:
        _show_rest(state, e)
    found += sensitivity_next(layer, example, label, importance, offset)
    show(e, read)
    e.is_predicted, e.predicted = known
    return found


class Baseline(Reduction):
    """Learns the constant first, and all other features on top of it.

    Raises:
        ConfigError: a multiplier above a learner without a rate.
    """

    name: ClassVar[str] = "baseline"
    linear = True
    Parameters: ClassVar[type[Parameters]] = BaselineParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    parallel = Parallel(merging={})
    kernels = Kernels(learn, predict, sensitivity=sensitivity)

    def __init__(self, parameters: BaselineParameters, context: Context) -> None:
        super().__init__(parameters, context)
        base: Any = context.below
        while base.context.below is not None:
            base = base.context.below
        rated = "learning_rate" in (base.state.dtype.names or ())
        if not rated and parameters.multiplier != 1:
            raise ConfigError(f"baseline.multiplier: got {parameters.multiplier:g}, but {base.name!r} has no rate")
        scaled = rated and parameters.multiplier != 1 and self.answers.loss_kind != kinds.LOGISTIC
        index = CONSTANT_INDEX - (_BEFORE if parameters.global_only else 0)
        self.state = Record(
            BASELINE,
            rate=int(base.state["learning_rate"].ctypes.data) if scaled else 0,
            multiplier=parameters.multiplier,
            global_only=parameters.global_only,
            index=np.array([index & (1 << context.bits) - 1], np.uint32),
            value=np.ones(1, np.float32),
            starts=np.array([0, 1], np.int64),
            space=np.array([CONSTANT_NAMESPACE], np.uint32),
            built=Buffer(),
        )
