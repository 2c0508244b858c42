"""Softmax exploration: an action's probability is proportional to exp(-rate * score).

Source: VW 9.11.9, `--cb_explore_adf --softmax --lambda`.
"""

from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.kernel.abi import UNLABELED, kernel, predict_next, state_of
from hutch.core.kernel.decision import decision_of, values_of
from hutch.reductions.bandits.explorer import Explorer, NonNegative, Probability
from hutch.reductions.bandits.probabilities import conclude, enforce_minimum, predict_and_teach, softmax
from hutch.reductions.bandits.scratch import floats, make_columns


class ExploreSoftmaxParameters(Parameters):
    """Parameters of `explore_softmax`.

    Attributes:
        rate: how sharply the best action is preferred; 0 is uniform.
        epsilon: least probability of all actions together.
    """

    rate: NonNegative = 1.0
    epsilon: Probability = 0.0


STATE = np.dtype([("scratch", "u8"), ("rate", "f4"), ("epsilon", "f4")])
own_of = state_of(STATE)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the best first."""
    predict_next(layer, example, UNLABELED, importance, offset)
    state, d = own_of(layer), decision_of(example)
    values, columns = values_of(d), make_columns(state.scratch, d.count, 1)
    if columns != uint64(0):
        scratch = floats(columns, d.count, 0)
        for k in range(len(values)):
            scratch[k] = values[k]
        softmax(-state.rate, scratch, values)
        enforce_minimum(state.epsilon, True, values, scratch)
    return conclude(example, importance)


class ExploreSoftmax(Explorer):
    """Prefers actions by the exponential of their scores."""

    name: ClassVar[str] = "explore_softmax"
    Parameters: ClassVar[type[Parameters]] = ExploreSoftmaxParameters
    kernels = Kernels(predict_and_teach, predict)
    dtype = STATE
