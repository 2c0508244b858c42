"""Synthetic cover: probability goes to the cheapest action in small steps, each of which makes it look dearer.

There are `steps` steps of 1 / steps each. A step goes to the action whose score is lowest, and raises that score by
psi / steps. Scores are first cut to the range of the costs seen.

Source: VW 9.11.9, `--cb_explore_adf --synthcover`.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.limits import FINITE, Limits
from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.chain.vw_option import EXPLORING, VwLayer, new_flag, new_float, new_int
from hutch.core.hooks import registering
from hutch.core.kernel.abi import UNLABELED, kernel, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.parameters import Within
from hutch.reductions.bandits.explorer import Explorer, Probability
from hutch.reductions.bandits.probabilities import (
    conclude,
    enforce_minimum,
    predict_own,
    sort_by_probability,
    teach_next,
)
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1 = np.float32(0), np.float32(1)


class ExploreSyntheticCoverParameters(Parameters):
    """Parameters of `explore_synthetic_cover`.

    Attributes:
        steps: how many.
        psi: what all steps together add to a score.
        epsilon: least probability of all actions together.
    """

    steps: Annotated[int, Within(ge=1, le=100_000)] = 100
    psi: float = 0.1
    epsilon: Probability = 0.0


STATE = np.dtype(
    [("steps", "u8"), ("scratch", "u8"), ("psi", "f4"), ("epsilon", "f4"), ("lowest", "f4"), ("highest", "f4")]
)
own_of = state_of(STATE)


@helper
def _two_lowest(scores):
    """The actions with the lowest and the second lowest score, of equal ones the lower number."""
    first, second = 0, 1
    if scores[1] < scores[0]:
        first, second = 1, 0
    for k in range(2, len(scores)):
        if scores[k] < scores[first]:
            first, second = k, first
        elif scores[k] < scores[second]:
            second = k
    return first, second


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the likeliest first."""
    predict_next(layer, example, UNLABELED, importance, offset)
    state, d = own_of(layer), decision_of(example)
    ranked, values, columns = ranked_of(d), values_of(d), make_columns(state.scratch, d.count, 3)
    if columns == uint64(0):
        return conclude(example, importance)
    if d.count == uint64(1):
        values[0] = _1
        return conclude(example, importance)
    scores, order, scratch = floats(columns, d.count, 0), floats(columns, d.count, 1), floats(columns, d.count, 2)
    for k in range(d.count):
        scores[ranked[k]] = max(min(values[k], state.highest), state.lowest)
    for k in range(d.count):
        ranked[k], values[k], order[k] = k, _0, -np.float32(k)
    step, left = _1 / np.float32(state.steps), int64(state.steps)
    while left > 0:
        first, second = _two_lowest(scores)
        while left > 0:
            values[first] += step
            scores[first] += step * state.psi
            left -= 1
            if not scores[second] >= scores[first]:
                break
    enforce_minimum(state.epsilon, True, values, scratch)
    sort_by_probability(ranked, values, order)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, widen the range of costs, then let the layer below learn."""
    state, d = own_of(layer), decision_of(example)
    predict_own(layer, example, importance, offset)
    state.lowest, state.highest = min(state.lowest, d.cost), max(state.highest, d.cost)
    teach_next(layer, example, importance, offset)
    return conclude(example, importance)


class ExploreSyntheticCover(Explorer):
    """Gives probability to the cheapest action in small steps."""

    name: ClassVar[str] = "explore_synthetic_cover"
    Parameters: ClassVar[type[Parameters]] = ExploreSyntheticCoverParameters
    vw = VwLayer(
        learner="cb_explore_adf_synthcover",
        options=(
            new_flag("synthcover", "Give probability to the cheapest action in small steps.", needs=EXPLORING),
            new_int("synthcoversize", "number of steps.", default=100, sets="steps", needs=("synthcover",)),
            new_float(
                "synthcoverpsi",
                "what all steps add to a score.",
                default=0.1,
                sets="psi",
                needs=("synthcover",),
            ),
        ),
        beside=(("epsilon", "epsilon"),),
        explores=True,
    )
    kernels = Kernels(learn, predict)
    dtype = STATE
    keeps: ClassVar[Mapping[str, Limits]] = {"lowest": FINITE, "highest": FINITE}


hutch_register_reductions = registering(ExploreSyntheticCover)
