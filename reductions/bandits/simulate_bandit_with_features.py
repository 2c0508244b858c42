"""Bandit tests on decisions with the cost of every action: one is drawn, and only its cost is learned.

The action is drawn from the probabilities that the explorer below gives. With the cost c of the drawn action, the
layers below learn right + (wrong - right) c and the probability of the draw.

Source: VW 9.11.9, `--cbify_ldf`.
"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import UNLABELED, example_of, float32s_at, kernel, learn_next, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.bandits.random import draw_first
from hutch.reductions.bandits.scratch import floats, make_columns, numbers


class SimulateBanditWithFeaturesParameters(Parameters):
    """Parameters of `simulate_bandit_with_features`.

    Attributes:
        right: replaces a cost of 0.
        wrong: replaces a cost of 1.
    """

    right: float = 0.0
    wrong: float = 1.0


STATE = np.dtype([("scratch", "u8"), ("seed", "u8"), ("draws", "u8"), ("right", "f4"), ("wrong", "f4")])
own_of = state_of(STATE)


@helper
def _teach(layer, example, columns, cost, importance, offset):
    """Train the layers below on the cost of the action listed first; the decision is restored afterwards."""
    state, d = own_of(layer), decision_of(example)
    ranked, values, costs = ranked_of(d), values_of(d), float32s_at(d.costs, d.count)
    known, listed, shares = floats(columns, d.count, 0), numbers(columns, d.count, 1), floats(columns, d.count, 2)
    for k in range(d.count):
        listed[k], shares[k] = ranked[k], values[k]
    d.chosen, d.probability = int64(ranked[0]), values[0]
    d.cost = state.right + (state.wrong - state.right) * cost
    learn_next(layer, example, d.cost, importance, offset)
    d.chosen = int64(-1)
    for k in range(d.count):
        costs[k], ranked[k], values[k] = known[k], listed[k], shares[k]


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    columns = make_columns(state.scratch, d.count, 3)
    if columns == uint64(0):
        return np.float32(0)
    known, costs = floats(columns, d.count, 0), float32s_at(d.costs, d.count)
    for k in range(d.count):
        known[k] = costs[k]
    d.chosen = int64(-1)
    predict_next(layer, example, UNLABELED, importance, offset)
    draw_first(d, merand48(state.seed + state.draws)[1])
    state.draws += uint64(1)
    drawn, features = ranked_of(d)[0], e.features
    cost = known[drawn]
    if learns and cost != UNLABELED:
        _teach(layer, example, columns, cost, importance, offset)
    for k in range(d.count):
        costs[k] = known[k]
    e.features = features
    e.loss = np.float64(cost * e.importance) if cost != UNLABELED else 0.0
    return np.float32(drawn)


@kernel
def predict(layer, example, label, importance, offset):
    """Draw an action, and list it first."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Draw an action, and train the layers below on its cost and probability."""
    return _run(layer, example, label, importance, offset, True)


class SimulateBanditWithFeatures(Reduction):
    """Draws an action and learns from its cost alone."""

    name: ClassVar[str] = "simulate_bandit_with_features"
    Parameters: ClassVar[type[Parameters]] = SimulateBanditWithFeaturesParameters
    takes = Labels.ACTION_COSTS
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    known_failures = {
        "predict_changes_nothing": "every prediction is a draw, and the next one continues from there",
        "magnitudes": "the rate of a feature of 1e-20 is beyond float32 in `linear` below, as in VW",
    }
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"draws": COUNT}

    def __init__(self, parameters: SimulateBanditWithFeaturesParameters, context: Context) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got a layer above it, wanted it at the top")
        seed, p = hash_namespace("vw", 0, "all"), parameters
        self.state = Record(STATE, scratch=Buffer(), seed=seed, right=p.right, wrong=p.wrong)
