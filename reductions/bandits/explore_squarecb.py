"""SquareCB: an action's probability falls with the gap between its score and the best one.

With K actions and scores s, an action other than the best b has probability 1 / (K + gamma (s - s_b)), b has the rest;
gamma = scale * t^exponent grows with the t labelled decisions seen. With `eliminate` only actions that may be the best
have a probability at all: those whose cost may be below the highest that another one may have.

Source: D. Foster, A. Rakhlin, "Beyond UCB: optimal and efficient contextual bandits with regression oracles", ICML
2020; VW 9.11.9, `--cb_explore_adf --squarecb`. As there, the chosen action is learned as if its probability had been
1, unless it is the last of the decision.
"""

import math
from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.kernel.abi import UNLABELED, kernel, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.reductions.bandits.cost_ranges import RANGE_FIELDS, RangeExplorer, delta_of, learn_as_certain, set_ranges
from hutch.reductions.bandits.explorer import NonNegative, Probability
from hutch.reductions.bandits.probabilities import conclude, enforce_minimum
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1 = np.float32(0), np.float32(1)


class ExploreSquareCbParameters(Parameters):
    """Parameters of `explore_squarecb`.

    Attributes:
        scale: gamma after one decision.
        exponent: how gamma grows with the number of decisions.
        epsilon: least probability of all actions together; has no effect with `eliminate`.
        eliminate: never choose an action that cannot be the best.
        mellowness: how wide the ranges of costs are.
        lowest_cost: the least that a cost can be.
        highest_cost: the most that a cost can be.
    """

    scale: NonNegative = 10.0
    exponent: float = 0.5
    epsilon: Probability = 0.0
    eliminate: bool = False
    mellowness: NonNegative = 0.001
    lowest_cost: float = 0.0
    highest_cost: float = 1.0


STATE = np.dtype([*RANGE_FIELDS, ("eliminate", "u8"), ("scale", "f4"), ("exponent", "f4"), ("epsilon", "f4")])
own_of = state_of(STATE)


@helper
def _spread(values, gamma):
    """Probabilities of all actions from their scores, the best first."""
    best, total = values[0], _0
    many = np.float32(len(values))
    for k in range(1, len(values)):
        values[k] = _1 / (many + gamma * (values[k] - best))
        total += values[k]
    values[0] = _1 - total


@helper
def _spread_over_possible(values, ranked, gamma, low, high):
    """The same for actions that may be the best; counts those of them that are better than all before, as VW does."""
    least_high = high[0]
    for end in high:
        least_high = min(least_high, end)
    best, count, total = 0, 0, _0
    for k in range(len(values)):
        if low[ranked[k]] <= least_high and (count == 0 or values[k] < values[best]):
            best, count = k, count + 1
    best_score = values[best]
    for k in range(len(values)):
        if low[ranked[k]] > least_high:
            values[k] = _0
        elif k != best:
            values[k] = _1 / (np.float32(count) + gamma * (values[k] - best_score))
            total += values[k]
    values[best] = _1 - total


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the best first."""
    predict_next(layer, example, UNLABELED, importance, offset)
    state, d = own_of(layer), decision_of(example)
    values, columns = values_of(d), make_columns(state.scratch, d.count, 2)
    if columns == uint64(0):
        return conclude(example, importance)
    low, high = floats(columns, d.count, 0), floats(columns, d.count, 1)
    gamma = state.scale * np.float32(math.pow(np.float64(state.decisions), np.float64(state.exponent)))
    if state.eliminate == uint64(0):
        _spread(values, gamma)
        enforce_minimum(state.epsilon, True, values, low)
    else:
        set_ranges(state, layer, example, delta_of(state, d.count, state.decisions), low, high, offset)
        _spread_over_possible(values, ranked_of(d), gamma, low, high)
    return conclude(example, importance)


class ExploreSquareCb(RangeExplorer):
    """Prefers actions by the gap between their scores and the best."""

    name: ClassVar[str] = "explore_squarecb"
    Parameters: ClassVar[type[Parameters]] = ExploreSquareCbParameters
    dtype = STATE

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn_as_certain, predict, calls=("sensitivity",) if self.parameters.eliminate else ())
