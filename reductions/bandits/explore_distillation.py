"""Random network distillation: actions whose features were seen rarely get a bonus, as optimism does.

Beside the policy, N sub-models learn at every decision to predict noise about a fixed random linear function of the
features. How far they are from that function on an action tells how little of it is known: with errors d_1, …, d_N the
bonus is the root of the mean d², and the greatest bonus is b, 0.001 at least. Of costs c the probabilities are in
proportion to exp(-(c - γ (bonus - b)) / b), with Euler's constant γ.

Source: VW 9.11.9, `--cb_explore_adf --rnd`; after Y. Burda, H. Edwards, A. Storkey, O. Klimov, "Exploration by random
network distillation", ICLR 2019.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    layer_of,
    predict_next,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import actions_at, decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.parameters import Within
from hutch.reductions.bandits.explorer import Explorer, Probability
from hutch.reductions.bandits.probabilities import conclude, enforce_minimum, softmax, teach_next
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_LEAST, _LEAST_SQUARE = np.float32(1e-3), np.float32(1e-12)
_ONE = np.uint64(1)
_EULER = np.float32(0.57721566490153286)

Positive = Annotated[float, Within(gt=0)]


class ExploreDistillationParameters(Parameters):
    """Parameters of `explore_distillation`.

    Attributes:
        models: number of sub-models that learn noise.
        noise: standard deviation of the noise: more explores what has been seen often.
        prior: variance of the random function: more explores what is new.
        epsilon: least probability of all actions together.
    """

    models: Annotated[int, Within(ge=1, le=1024)] = 1
    noise: Positive = 0.1
    prior: Positive = 0.1
    epsilon: Probability = 0.0


STATE = np.dtype([("models", "u8"), ("scratch", "u8"), ("noise", "f4"), ("root", "f4"), ("epsilon", "f4")])
own_of = state_of(STATE)


@helper
def _gaussian(state):
    """The next state of VW's generator, and a number from the standard normal distribution, by the polar method."""
    x, square = _0, _0
    while not _0 < square < _1:
        state, x = merand48(state)
        state, y = merand48(state)
        x, y = _2 * x - _1, _2 * y - _1
        square = x * x + y * y
    logarithm = np.float32(math.log(np.float64(square)))
    return state, x * np.float32(math.sqrt(np.float64(-_2 * logarithm / square)))


@helper
def _target(layer, example, action, i):
    """The random function of sub-model i for an action."""
    d, shared, state = decision_of(example), shared_of(example_of(example).shared), own_of(layer)
    a = actions_at(d.actions, d.count)[uint64(action)]
    indices, x, square, total = uint32s_at(a.indices, a.length), float32s_at(a.values, a.length), _0, _0
    first = layer_of(layer).step * (_ONE + state.models) * i
    starts, ids = int64s_at(a.namespaces, a.namespace_count + _ONE), uint32s_at(a.namespace_ids, a.namespace_count)
    for j in range(a.namespace_count):
        is_constant = ids[j] == CONSTANT_NAMESPACE
        for k in range(starts[j] - starts[0], starts[j + _ONE] - starts[0]):
            index = uint64(CONSTANT_INDEX) if is_constant else uint64(indices[k])  # of the constant all bits, as in VW
            square += x[k] * x[k]
            total += x[k] * _gaussian(shared.stride * (index * shared.multiplier + first))[1]
    return state.root * total / np.float32(math.sqrt(np.float64(_2 * max(_LEAST_SQUARE, square))))


@helper
def _teach_noise(layer, example, importance, target, at):
    """Let a sub-model learn noise about its target as the cost of the chosen action."""
    d, shared = decision_of(example), shared_of(example_of(example).shared)
    cost, probability = d.cost, d.probability
    shared.random_state, draw = _gaussian(shared.random_state)
    d.cost, d.probability = own_of(layer).noise * draw + target, _1
    teach_next(layer, example, importance, at)
    d.cost, d.probability = cost, probability


@helper
def _explore(layer, example, importance, offset, learning):
    """Probabilities of the actions; `learning`: all sub-models learn, each before the next one predicts."""
    state, d = own_of(layer), decision_of(example)
    ranked, values, columns = ranked_of(d), values_of(d), make_columns(state.scratch, d.count, 3)
    if columns == uint64(0):
        return
    bonuses, targets, scratch = floats(columns, d.count, 0), floats(columns, d.count, 1), floats(columns, d.count, 2)
    for k in range(d.count):
        bonuses[k] = _0
    for i in range(_ONE, state.models + _ONE):
        at = offset + i * layer_of(layer).step
        for k in range(d.count):
            targets[k] = _target(layer, example, k, i)
        predict_next(layer, example, UNLABELED, importance, at)
        for k in range(d.count):
            error = values[k] - targets[ranked[k]]
            bonuses[ranked[k]] += error * error
        if learning:
            _teach_noise(layer, example, importance, targets[uint64(d.chosen)], at)
    greatest = _LEAST
    for k in range(d.count):
        bonuses[k] = np.float32(math.sqrt(np.float64(bonuses[k] / np.float32(state.models))))
        greatest = max(greatest, bonuses[k])
    predict_next(layer, example, UNLABELED, importance, offset)
    if learning:
        teach_next(layer, example, importance, offset)
    for k in range(d.count):
        scratch[k] = values[k] - _EULER * (bonuses[ranked[k]] - greatest)
    softmax(-_1 / greatest, scratch, values)
    enforce_minimum(state.epsilon, True, values, scratch)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the cheapest first."""
    _explore(layer, example, importance, offset, False)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and train the policy and all that learn noise."""
    _explore(layer, example, importance, offset, decision_of(example).chosen >= 0)
    return conclude(example, importance)


class ExploreDistillation(Explorer):
    """Explores actions with features that were seen rarely, as sub-models tell that learn noise."""

    name: ClassVar[str] = "explore_distillation"
    Parameters: ClassVar[type[Parameters]] = ExploreDistillationParameters
    known_failures: ClassVar[Mapping[str, str]] = {
        "probabilities": "its actions are listed by their cost, as in VW, not by their probability",
        "magnitudes": "errors about noise may be so small that, with features of 1e-20, a learner below has no rate",
    }
    kernels = Kernels(learn, predict)
    dtype = STATE

    def __init__(self, parameters: ExploreDistillationParameters, context: Context) -> None:
        super().__init__(parameters, context, root=np.sqrt(np.float32(parameters.prior)))

    @classmethod
    def width(cls, parameters: ExploreDistillationParameters) -> int:
        """The policy, and one sub-model per random function."""
        return 1 + parameters.models
