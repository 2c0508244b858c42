"""Exploration as if many policies voted one after the other, each of which makes the choice of the one before dearer.

n policies vote in turn for the action of least score, and each raises the score of its choice by ψ / n. An action's
probability is its share of the votes. Scores are clipped to the range of the costs seen, 0 included.

Source: VW 9.11.9, `--cb_explore_adf --synthcover`.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.limits import FINITE, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.kernel.abi import UNLABELED, float32s_at, kernel, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.parameters import Within
from hutch.reductions.bandits.explorer import Explorer, Probability
from hutch.reductions.bandits.probabilities import conclude, enforce_minimum, predict_own, teach_next
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1 = np.float32(0), np.float32(1)


class ExploreSyntheticCoverParameters(Parameters):
    """Parameters of `explore_synthetic_cover`.

    Attributes:
        policies: number of votes.
        psi: by how much the votes of all policies together would raise a score.
        epsilon: least probability of all actions together.
    """

    policies: Annotated[int, Within(ge=1, le=1 << 20)] = 100
    psi: Annotated[float, Within(gt=0)] = 0.1
    epsilon: Probability = 0.0


STATE = np.dtype(
    [
        ("policies", "u8"),
        ("scratch", "u8"),  # BUFFER
        ("psi", "f4"),
        ("epsilon", "f4"),
        ("range", "u8"),  # address of float32[1, 2]: the least and the greatest of 0 and the costs seen
    ]
)
own_of = state_of(STATE)


@helper
def _vote(state, ranked, values, shares):
    """Let all policies vote; the shares are those of the entries of `ranked`."""
    share, voted = _1 / np.float32(state.policies), uint64(0)
    while voted < state.policies:
        best = second = -1
        for k in range(len(values)):
            if best < 0 or values[k] < values[best] or (values[k] == values[best] and ranked[k] < ranked[best]):
                best, second = k, best
            elif second < 0 or values[k] < values[second]:
                second = k
        while voted < state.policies and (second < 0 or not values[second] < values[best]):
            shares[best] += share
            values[best] += share * state.psi
            voted += uint64(1)


@helper
def _sort_down(ranked, values):
    """Sort in place: the likeliest action first, of equal ones the last."""
    for k in range(1, len(ranked)):
        j, action, value = k, ranked[k], values[k]
        while j > 0 and (values[j - 1] < value or (values[j - 1] == value and ranked[j - 1] < action)):
            ranked[j], values[j] = ranked[j - 1], values[j - 1]
            j -= 1
        ranked[j], values[j] = action, value


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the likeliest first."""
    predict_next(layer, example, UNLABELED, importance, offset)
    state, d = own_of(layer), decision_of(example)
    ranked, values, columns = ranked_of(d), values_of(d), make_columns(state.scratch, d.count, 2)
    if columns == uint64(0):
        return conclude(example, importance)
    shares, limits = floats(columns, d.count, 0), float32s_at(state.range, uint64(2))
    for k in range(len(values)):
        values[k], shares[k] = min(max(values[k], limits[0]), limits[1]), _0
    if len(values) > 1:
        _vote(state, ranked, values, shares)
    else:
        shares[0] = _1
    for k in range(len(values)):
        values[k] = shares[k]
    enforce_minimum(state.epsilon, True, values, floats(columns, d.count, 1))
    _sort_down(ranked, values)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then train the layer below, and note the cost."""
    predict_own(layer, example, importance, offset)
    teach_next(layer, example, importance, offset)
    state, d = own_of(layer), decision_of(example)
    if d.chosen >= 0:
        limits = float32s_at(state.range, uint64(2))
        limits[0], limits[1] = min(limits[0], d.cost), max(limits[1], d.cost)
    return conclude(example, importance)


class ExploreSyntheticCover(Explorer):
    """Shares the probability as votes that make the choice before dearer would."""

    name: ClassVar[str] = "explore_synthetic_cover"
    Parameters: ClassVar[type[Parameters]] = ExploreSyntheticCoverParameters
    kernels = Kernels(learn, predict)
    dtype = STATE
    keeps: ClassVar[Mapping[str, Limits]] = {"range": FINITE}

    def __init__(self, parameters: ExploreSyntheticCoverParameters, context: Context) -> None:
        super().__init__(parameters, context, range=np.zeros((1, 2), np.float32))
