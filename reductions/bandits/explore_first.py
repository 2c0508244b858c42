"""Exploration first: the actions of the first decisions are chosen at random, later ones by score.

Source: VW 9.11.9, `--cb_explore_adf --first`.
"""

from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.kernel.abi import UNLABELED, kernel, predict_next, state_of
from hutch.core.kernel.decision import decision_of, values_of
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.explorer import Explorer, Probability
from hutch.reductions.bandits.probabilities import conclude, enforce_minimum, predict_own, teach_next
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1 = np.float32(0), np.float32(1)


class ExploreFirstParameters(Parameters):
    """Parameters of `explore_first`.

    Attributes:
        decisions: number of labelled decisions that are made at random.
        epsilon: later, probability of choosing at random.
    """

    decisions: Annotated[int, Within(ge=0), ExampleValue(10)]
    epsilon: Probability = 0.0


STATE = np.dtype([("left", "u8"), ("scratch", "u8"), ("epsilon", "f4")])
own_of = state_of(STATE)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the best first."""
    predict_next(layer, example, UNLABELED, importance, offset)
    state, d = own_of(layer), decision_of(example)
    values, columns = values_of(d), make_columns(state.scratch, d.count, 1)
    for k in range(len(values)):
        values[k] = _1 / np.float32(len(values)) if state.left > uint64(0) else (_1 if k == 0 else _0)
    if columns != uint64(0):
        enforce_minimum(state.epsilon, True, values, floats(columns, d.count, 0))
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then train the layer below; one decision less is left."""
    predict_own(layer, example, importance, offset)
    teach_next(layer, example, importance, offset)
    state = own_of(layer)
    if state.left > uint64(0):
        state.left -= uint64(1)
    return conclude(example, importance)


class ExploreFirst(Explorer):
    """Makes the first decisions at random."""

    name: ClassVar[str] = "explore_first"
    Parameters: ClassVar[type[Parameters]] = ExploreFirstParameters
    kernels = Kernels(learn, predict)
    dtype = STATE

    def __init__(self, parameters: ExploreFirstParameters, context: Context) -> None:
        super().__init__(parameters, context, left=parameters.decisions)
        self.keeps = {"left": Limits(most=parameters.decisions)}  # type: ignore[misc]
