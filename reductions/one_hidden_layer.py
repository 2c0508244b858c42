"""A neural network with one hidden layer: its units are sub-models of the linear learner below, its output is another.

With x the features of an example, w_i the weights of unit i, and v those of the output

    h_i = w_i · x, from -3 to 3        p = v_0 + Σ v_i tanh(h_i)

The output learns the label. Each unit then learns, by squared loss, the number h_i - v_i tanh'(h_i) L'(p) / 2, with L
the loss of the learner below. An output weight of 0, from which no gradient flows, first learns a random number.

Sources: VW 9.11.9, `--nn`, to the bit; G. Hinton et al., "Improving neural networks by preventing co-adaptation of
feature detectors", 2012, for dropout.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE
from hutch.core.chain.limits import ANY, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    call_loss,
    example_of,
    float32s_at,
    kernel,
    layer_of,
    learn_next,
    learn_predicted_next,
    loss_of,
    predict_next,
    shared_of,
    state_of,
    submodel,
    uint32s_at,
    uint64s_at,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back, show, shown_by
from hutch.core.learner.memory import Buffer, append
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.reductions.linear.kernels import clip

_0, _1, _2, _3, _HALF = np.float32(0), np.float32(1), np.float32(2), np.float32(3), np.float32(0.5)
_ONE = uint64(1)
_FIRST = uint64(533357803)
"""Row of the first output weight, before sub-models."""


class OneHiddenLayerParameters(Parameters):
    """Parameters of `one_hidden_layer`.

    Attributes:
        units: number of hidden units.
        skip_connection: the output sees the features of the example, too.
        share_hidden: sub-models for layers above, such as classes, share their hidden units.
        dropout: each example trains two networks, one with a random half of the units and one with the others;
            predictions without training use all units.
    """

    units: Annotated[int, Within(ge=1, le=1 << 10), ExampleValue(3)]
    skip_connection: bool = False
    share_hidden: bool = False
    dropout: bool = False


NETWORK = np.dtype(
    [
        ("units", "u8"),
        ("skip_connection", "u8"),
        ("share_hidden", "u8"),
        ("dropout", "u8"),
        ("loss_at", "u8"),  # where the learner below has the address of its LOSS record
        ("squared", "u8"),  # address of the LOSS record of squared loss
        ("bias", "u8"),  # row of a weight for each unit, which VW sets first; beyond the table if there is no constant
        ("hidden", "u8"),  # address of float32[units]
        ("dropped", "u8"),  # address of uint32[units]: 1 where a unit is left out
        ("random", "u8"),  # address of uint64[1]: of the draws of dropout
        ("single", "u8"),  # BUFFER of a single feature
        ("inputs", "u8"),  # BUFFER of the features that the output sees
    ]
)
network_of = state_of(NETWORK)


@helper
def _tanh(h):
    """VW's approximation of tanh, for |h| ≤ 3."""
    x = np.float32(1.442695040) * (-_2 * h)
    z = x - np.float32(int64(x)) + (_1 if x < _0 else _0)
    power = x + np.float32(121.2740575) + np.float32(27.7280233) / (np.float32(4.84252568) - z)
    bits = int64(np.float32(1 << 23) * (power - np.float32(1.49012907) * z))  # of a float32 near 2^x, below 2^9
    return -_1 + _2 / (_1 + np.float32(bits & 0x7FFFFF | 0x800000) / np.float32(int64(1) << 150 - (bits >> 23)))


@inlined
def _borrow(s, shared, most):
    """Let the learner below learn numbers from -most to most by squared loss; returns what `_give_back` restores."""
    loss = uint64s_at(s.loss_at, _ONE)
    own = loss[0], shared.min_label, shared.max_label, shared.fixed_range
    loss[0], shared.min_label, shared.max_label, shared.fixed_range = s.squared, -most, most, _ONE
    return own


@inlined
def _give_back(s, shared, own):
    loss = uint64s_at(s.loss_at, _ONE)
    loss[0], shared.min_label, shared.max_label, shared.fixed_range = own


@helper
def _weight(layer, example, row, offset, spread):
    """A single weight, 0 beyond the table; where it is 0 it then learns a random number / spread, if that is not 0."""
    s, e = network_of(layer), example_of(example)
    shared, read, base = shared_of(e.shared), shown_by(e), e.base
    multiplier, e.base, e.length, e.namespace_count = shared.multiplier, _0, uint64(0), uint64(0)
    indices, values = append(s.single, e, CONSTANT_NAMESPACE, uint64(row <= shared.mask))
    for i in range(len(indices)):
        indices[i], values[i] = row, _1
    shared.multiplier = _ONE
    weight = predict_next(layer, example, UNLABELED, _1, offset)
    if weight == _0 and spread != _0:
        shared.random_state, u = merand48(shared.random_state)
        learn_next(layer, example, (u - _HALF) / spread, _1, offset)
    show(e, read)
    e.base, shared.multiplier = base, multiplier
    return weight


@helper
def _train_hidden(layer, example, label, importance, offsets, prediction, rows, activations, scale):
    """Train the units that are not left out by the gradient of the loss; `offsets`: of the units, of the output."""
    s, e = network_of(layer), example_of(example)
    shared, loss, hidden = shared_of(e.shared), uint64s_at(s.loss_at, _ONE)[0], float32s_at(s.hidden, s.units)
    slope = call_loss(loss_of(loss).derivative, np.float64(prediction), np.float64(label), 0.0, 0.0, loss)
    gradient, own = np.float32(slope), _borrow(s, shared, _3)
    for i in range(min(s.units, uint64(len(rows))) if abs(gradient) > _0 else uint64(0)):
        if uint32s_at(s.dropped, s.units)[i] == 0:
            activation = activations[i] / scale
            half = _HALF * _weight(layer, example, rows[i], offsets[1], _0)
            target = clip(shared, hidden[i] - half * gradient * (scale * (_1 - activation * activation)))
            if target != hidden[i]:
                at = submodel(layer, offsets[0], i)
                learn_predicted_next(layer, example, target, importance, at, hidden[i], 1)
    _give_back(s, shared, own)


@helper
def _output(layer, example, label, importance, offsets, learns, spread):
    """Predict from the units, and train the output and them."""
    s, e = network_of(layer), example_of(example)
    shared, read, scale = shared_of(e.shared), shown_by(e), _2 if learns and s.dropout == _ONE else _1
    multiplier, own, skips = shared.multiplier, _borrow(s, shared, _1), s.skip_connection
    length, e.length, e.namespace_count = e.length * skips, e.length * skips, e.namespace_count * skips
    rows, activations = append(s.inputs, e, CONSTANT_NAMESPACE, s.units + _ONE - skips)
    features = uint32s_at(e.indices, length if len(rows) > 0 else uint64(0))
    for i in range(len(features)):
        features[i] = uint32(uint64(features[i]) * multiplier & shared.mask)
    shared.multiplier = _ONE
    for i in range(uint64(len(rows))):
        rows[i], activations[i] = uint32(_FIRST + i * layer_of(layer).step & shared.mask), _1
        if i < s.units:
            kept = uint32s_at(s.dropped, s.units)[i] == 0
            activations[i] = scale * _tanh(float32s_at(s.hidden, s.units)[i]) if kept else _0
            _weight(layer, example, rows[i], offsets[1], spread)
    _give_back(s, shared, own)
    if learns:
        prediction = learn_next(layer, example, label, importance, offsets[1])
    else:
        prediction = predict_next(layer, example, label, importance, offsets[1])
    show(e, read)
    shared.multiplier, outcome = multiplier, outcome_of(e)
    if learns:
        _train_hidden(layer, example, label, importance, offsets, prediction, rows, activations, scale)
    put_back(e, outcome)
    return prediction


@helper
def _run(layer, example, label, importance, offset, learns):
    s, e = network_of(layer), example_of(example)
    shared, hidden, dropped = shared_of(e.shared), float32s_at(s.hidden, s.units), uint32s_at(s.dropped, s.units)
    trains, random = shared.testing == uint64(0), uint64s_at(s.random, _ONE)
    learns = learns and trains and label != UNLABELED and importance > _0
    drops, spread = learns and s.dropout == _ONE, np.float32(math.sqrt(np.float32(s.units))) if trains else _0
    offsets = (uint64(0) if s.share_hidden == _ONE else offset, submodel(layer, offset, s.units))
    e.is_predicted, own = uint64(0), _borrow(s, shared, _3)  # a layer above knows only the output
    for i in range(s.units if trains else uint64(0)):
        _weight(layer, example, s.bias, submodel(layer, offsets[0], i), _1)
    for i in range(s.units):
        hidden[i] = predict_next(layer, example, UNLABELED, importance, submodel(layer, offsets[0], i))
        dropped[i] = 0
        if drops:
            random[0], u = merand48(random[0])
            dropped[i] = u < _HALF
    _give_back(s, shared, own)
    features = e.features
    prediction = _output(layer, example, label, importance, offsets, learns, spread)
    outcome = outcome_of(e)
    if drops:
        for i in range(s.units):
            dropped[i] = 1 - dropped[i]
        _output(layer, example, label, importance, offsets, learns, spread)
    put_back(e, outcome)
    e.features = features
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    """Predict with all units; in a run that learns, weights of 0 learn random numbers, as in VW."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then train the output and the hidden units."""
    return _run(layer, example, label, importance, offset, True)


class OneHiddenLayer(Reduction):
    """A neural network with one hidden layer, whose units are sub-models of a linear learner.

    Raises:
        ConfigError: another layer below.
    """

    name: ClassVar[str] = "one_hidden_layer"
    Parameters: ClassVar[type[Parameters]] = OneHiddenLayerParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"random": ANY}
    known_failures = {"magnitudes": "the rate of a feature of 1e-20 from which little is learned is beyond float32"}

    def __init__(self, parameters: OneHiddenLayerParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, below = parameters, context.below
        if below is None or not below.shortcuts.loss_at:
            got = f"got {below.name if below else 'nothing'} below"
            raise ConfigError(f"one_hidden_layer: {got}, wanted linear, ftrl_proximal or pistol")
        self.state = Record(
            NETWORK,
            **asdict(p),
            loss_at=below.shortcuts.loss_at,
            squared=context.loss(LossChoice(name="squared")),
            hidden=np.zeros(p.units, np.float32),
            dropped=np.zeros(p.units, np.uint32),
            random=np.array([context.seed], np.uint64),
            bias=CONSTANT_INDEX // below.stride & (1 << context.bits) - 1
            if context.parser.constant
            else 1 << context.bits,
            single=Buffer(),
            inputs=Buffer(),
        )

    @classmethod
    def width(cls, parameters: OneHiddenLayerParameters) -> int:
        """A sub-model for each unit, and one for the output."""
        return parameters.units + 1
