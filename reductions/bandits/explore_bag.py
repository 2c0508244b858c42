"""Bagging: several policies, each trained on every decision a random number of times, vote for the best action.

The number of times comes from a Poisson distribution of mean 1 (online bootstrap). A policy's vote goes to the actions
whose score equals its best one's up to 1e-4 of their size, in equal parts.

Source: VW 9.11.9, `--cb_explore_adf --bag`; N. Oza, S. Russell, "Online bagging and boosting", AISTATS 2001.
"""

from typing import Annotated, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.kernel.abi import UNLABELED, example_of, kernel, layer_of, predict_next, shared_of, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.explorer import Explorer, Probability
from hutch.reductions.bandits.probabilities import (
    conclude,
    enforce_minimum,
    leaders,
    predict_own,
    sort_by_probability,
    teach_next,
)
from hutch.reductions.bandits.random import draw_poisson
from hutch.reductions.bandits.scratch import floats, make_columns

_0, _1 = np.float32(0), np.float32(1)


class ExploreBagParameters(Parameters):
    """Parameters of `explore_bag`.

    Attributes:
        policies: number of policies.
        greedy_first: the first policy learns every decision once.
        first_only: a vote goes to the first of equally good actions.
        epsilon: least probability of all actions together.
    """

    policies: Annotated[int, Within(ge=1, le=1024), ExampleValue(3)]
    greedy_first: bool = False
    first_only: bool = False
    epsilon: Probability = 0.0


STATE = np.dtype(
    [("policies", "u8"), ("scratch", "u8"), ("greedy_first", "u4"), ("first_only", "u4"), ("epsilon", "f4")]
)
own_of = state_of(STATE)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the likeliest first."""
    state, d = own_of(layer), decision_of(example)
    ranked, values, columns = ranked_of(d), values_of(d), make_columns(state.scratch, d.count, 3)
    if columns == uint64(0):
        return conclude(example, importance)
    sums, votes, scratch = floats(columns, d.count, 0), floats(columns, d.count, 1), floats(columns, d.count, 2)
    for k in range(d.count):
        sums[k] = votes[k] = _0
    for i in range(state.policies):
        predict_next(layer, example, UNLABELED, importance, offset + i * layer_of(layer).step)
        count = 1 if state.first_only == 1 else leaders(values)
        for k in range(d.count):
            sums[ranked[k]] += values[k]
        for k in range(count):
            votes[ranked[k]] += _1 / np.float32(count)
    total = 0.0
    for vote in votes:
        total += np.float64(vote)
    scale = _1 / np.float32(total)
    for k in range(d.count):
        ranked[k], values[k] = k, votes[k] * scale
    enforce_minimum(state.epsilon, True, values, scratch)
    sort_by_probability(ranked, values, sums)
    return conclude(example, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then train every policy its number of times."""
    predict_own(layer, example, importance, offset)
    state, shared = own_of(layer), shared_of(example_of(example).shared)
    for i in range(state.policies):
        once = i == uint64(0) and state.greedy_first == 1
        for _ in range(1 if once else draw_poisson(shared)):
            teach_next(layer, example, importance, offset + i * layer_of(layer).step)
    return conclude(example, importance)


class ExploreBag(Explorer):
    """Several policies vote for the best action."""

    name: ClassVar[str] = "explore_bag"
    Parameters: ClassVar[type[Parameters]] = ExploreBagParameters
    kernels = Kernels(learn, predict)
    dtype = STATE

    @classmethod
    def width(cls, parameters: ExploreBagParameters) -> int:
        """One sub-model per policy."""
        return parameters.policies
