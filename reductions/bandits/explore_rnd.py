"""Random network distillation: where models fitted to noise have not yet learned it, little is known about an action.

Beside the policy there are `models` that each learn a random function of the features plus noise of size `alpha`. What
a model has not learned yet of it is the bonus b of an action, the root of the mean square over the models; its score
is lowered by 0.577 (b - m), m the greatest bonus, and probabilities are those of a softmax at temperature m.

Source: Y. Burda, H. Edwards, A. Storkey, O. Klimov, "Exploration by random network distillation", ICLR 2019; VW 9.11.9,
`--cb_explore_adf --rnd`, whose random functions go by the places of weights that its table has no room for.
"""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.chain.vw_option import EXPLORING, VwLayer, new_float, new_int
from hutch.core.errors import ConfigError
from hutch.core.hooks import registering
from hutch.core.kernel.abi import UNLABELED, example_of, kernel, layer_of, predict_next, shared_of, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, show_action, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.explorer import Explorer, NonNegative, Probability
from hutch.reductions.bandits.probabilities import conclude, enforce_minimum, softmax, teach_next
from hutch.reductions.bandits.random import WALK, draw_gaussian, random_value
from hutch.reductions.bandits.scratch import floats, make_columns
from hutch.reductions.linear.layer import Linear

_0, _1 = np.float32(0), np.float32(1)
_LEAST_BONUS = np.float32(1e-3)
_EULER = np.float32(0.57721566490153286)


class ExploreRndParameters(Parameters):
    """Parameters of `explore_rnd`.

    Attributes:
        models: how many models of noise.
        alpha: size of the noise.
        scale: variance of the random functions (VW's inverse lambda).
        epsilon: least probability of all actions together.
    """

    models: Annotated[int, Within(ge=1, le=1024), ExampleValue(3)]
    alpha: NonNegative = 0.1
    scale: NonNegative = 0.1
    epsilon: Probability = 0.0


STATE = np.dtype(
    [
        ("models", "u8"),
        ("width", "u8"),  # of this layer: sub-models of the layer below
        ("walk", "u8"),  # address of a WALK record
        ("scratch", "u8"),  # BUFFER
        ("alpha", "f4"),
        ("scale", "f4"),
        ("epsilon", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def _set_targets(state, layer, example, i, targets):
    """The value of the random function of model i for each action."""
    d, e = decision_of(example), example_of(example)
    outcome = outcome_of(e)
    place = i * layer_of(layer).step * state.width  # the width counts twice, as in VW
    for k in range(d.count):
        show_action(example, d, k, False)
        targets[k] = random_value(state.walk, example, place, state.scale)
    put_back(e, outcome)


@helper
def _learn_noise(state, layer, example, importance, offset, target):
    """Teach a model its random function at the chosen action, with noise."""
    d, shared = decision_of(example), shared_of(example_of(example).shared)
    noise, shared.random_state = draw_gaussian(shared.random_state)
    cost, probability = d.cost, d.probability
    d.cost, d.probability = state.alpha * noise + target, _1
    teach_next(layer, example, importance, offset)
    d.cost, d.probability = cost, probability


@helper
def _set_bonuses(state, layer, example, importance, offset, targets, bonuses, learns):
    """How far the models of noise are from what they are to learn; returns the greatest."""
    d = decision_of(example)
    ranked, values = ranked_of(d), values_of(d)
    for k in range(d.count):
        bonuses[k] = _0
    for i in range(uint64(1), state.models + uint64(1)):
        at = offset + i * layer_of(layer).step
        _set_targets(state, layer, example, i, targets)
        predict_next(layer, example, UNLABELED, importance, at)
        if learns:
            _learn_noise(state, layer, example, importance, at, targets[d.chosen])
        for k in range(d.count):
            gap = values[k] - targets[ranked[k]]
            bonuses[ranked[k]] += gap * gap
    most = _LEAST_BONUS
    for k in range(d.count):
        bonuses[k] = math.sqrt(bonuses[k] / np.float32(state.models))
        most = max(most, bonuses[k])
    return most


@helper
def _explore(layer, example, importance, offset, learns):
    state, d = own_of(layer), decision_of(example)
    columns = make_columns(state.scratch, d.count, 3)
    if columns == uint64(0):
        return
    targets, bonuses, scratch = floats(columns, d.count, 0), floats(columns, d.count, 1), floats(columns, d.count, 2)
    most = _set_bonuses(state, layer, example, importance, offset, targets, bonuses, learns)
    predict_next(layer, example, UNLABELED, importance, offset)
    if learns:
        teach_next(layer, example, importance, offset)
    ranked, values = ranked_of(d), values_of(d)
    for k in range(d.count):
        scratch[k] = values[k] - _EULER * (bonuses[ranked[k]] - most)
    softmax(-_1 / most, scratch, values)
    enforce_minimum(state.epsilon, True, values, scratch)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, in the order of the policy's scores."""
    _explore(layer, example, importance, offset, False)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """The same; every model learns as soon as it has been asked."""
    _explore(layer, example, importance, offset, True)
    return conclude(example, importance)


class ExploreRnd(Explorer):
    """Prefers actions about which models of noise know little."""

    name: ClassVar[str] = "explore_rnd"
    Parameters: ClassVar[type[Parameters]] = ExploreRndParameters
    vw = VwLayer(
        learner="cb_explore_adf_rnd",
        options=(
            new_int("rnd", "Prefer actions about which N models of noise know little.", sets="models", needs=EXPLORING),
            new_float("rnd_alpha", "size of the noise.", default=0.1, sets="alpha", needs=("rnd",)),
            new_float(
                "rnd_invlambda",
                "variance of what the models of noise learn.",
                default=0.1,
                sets="scale",
                needs=("rnd",),
            ),
        ),
        beside=(("epsilon", "epsilon"),),
        explores=True,
    )
    known_failures = {"magnitudes": "the costs of noise are small: rates of features of 1e-20 are beyond float32"}
    kernels = Kernels(learn, predict)
    dtype = STATE

    def __init__(self, parameters: ExploreRndParameters, context: Context) -> None:
        base = context.below
        while base is not None and base.context.below is not None:
            base = base.context.below
        if not isinstance(base, Linear):
            raise ConfigError(f"explore_rnd needs the base learner linear: got {base.name if base else None!r}")
        walk = Record(WALK, features=base.features, shift=int(base.stride).bit_length() - 1)
        super().__init__(parameters, context, width=self.width(parameters), walk=walk)

    @classmethod
    def width(cls, parameters: ExploreRndParameters) -> int:
        """The policy and the models of noise."""
        return 1 + parameters.models


hutch_register_reductions = registering(ExploreRnd)
