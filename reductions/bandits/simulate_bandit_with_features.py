"""Decisions whose costs are all known as a test of bandits: the chain draws an action, and learns only from its cost.

The action is drawn from the probabilities that the explorer below gives, and comes first in what is predicted. The
layers below are told right + (wrong - right) c, c being the cost of the action drawn, and the probability of the draw.

Source: VW 9.11.9, `--cbify_ldf`.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import UNLABELED, example_of, float32s_at, kernel, learn_next, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.active.rules import merand48
from hutch.reductions.bandits.explorer import Finite
from hutch.reductions.bandits.random import draw_action
from hutch.reductions.bandits.scratch import floats, make_columns, numbers
from hutch.reductions.bandits.simulation import Simulation
from hutch.reductions.linear.memory import Buffer


class SimulateBanditWithFeaturesParameters(Parameters):
    """Parameters of `simulate_bandit_with_features`.

    Attributes:
        right: what a cost of 0 becomes.
        wrong: what a cost of 1 becomes.
    """

    right: Finite = 0.0
    wrong: Finite = 1.0


STATE = np.dtype([("scratch", "u8"), ("seed", "u8"), ("draws", "u8"), ("right", "f4"), ("wrong", "f4")])
own_of = state_of(STATE)


@helper
def _choose(layer, example, importance, offset):
    """Draw an action, and list it first; returns the probability it had."""
    state, d = own_of(layer), decision_of(example)
    d.chosen = int64(-1)
    predict_next(layer, example, UNLABELED, importance, offset)
    ranked, values = ranked_of(d), values_of(d)
    place, total = draw_action(values, merand48(state.seed + state.draws)[1])
    state.draws += uint64(1)
    for k in range(len(values)):
        values[k] /= total
    ranked[0], ranked[place] = ranked[place], ranked[0]
    values[0], values[place] = values[place], values[0]
    return values[0]


@helper
def _judge(example, importance, cost):
    """Write the cost of the action drawn as the loss."""
    e, d = example_of(example), decision_of(example)
    e.raw, e.loss = values_of(d)[0], np.float64(cost * importance) if cost != UNLABELED else 0.0
    return np.float32(ranked_of(d)[0])


@kernel
def predict(layer, example, label, importance, offset):
    """Draw an action."""
    _choose(layer, example, importance, offset)
    d = decision_of(example)
    return _judge(example, importance, float32s_at(d.costs, d.count)[ranked_of(d)[0]])


@kernel
def learn(layer, example, label, importance, offset):
    """Draw an action; the layers below are told its cost and its probability."""
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    columns = make_columns(state.scratch, d.count, 3)
    if columns == uint64(0):
        return np.float32(0)
    probability = _choose(layer, example, importance, offset)
    ranked, values, costs = ranked_of(d), values_of(d), float32s_at(d.costs, d.count)
    known, listed, shares = floats(columns, d.count, 0), numbers(columns, d.count, 1), floats(columns, d.count, 2)
    for k in range(d.count):
        known[k], listed[k], shares[k] = costs[k], ranked[k], values[k]
    drawn, features = ranked[0], e.features
    d.chosen, d.probability = int64(drawn), probability
    d.cost = state.right + (state.wrong - state.right) * known[drawn]
    learn_next(layer, example, d.cost, importance, offset)
    d.chosen = int64(-1)
    for k in range(d.count):
        costs[k], ranked[k], values[k] = known[k], listed[k], shares[k]
    e.features = features
    return _judge(example, importance, known[drawn])


class SimulateBanditWithFeatures(Simulation):
    """Chooses an action and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_bandit_with_features"
    Parameters: ClassVar[type[Parameters]] = SimulateBanditWithFeaturesParameters
    takes = Labels.ACTION_COSTS
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    known_failures = {
        "predict_changes_nothing": "every prediction is a draw, and the next one continues from there",
        "magnitudes": "the rate of a feature of 1e-20 is beyond float32 in `linear` below, as in VW",
    }

    def __init__(self, parameters: SimulateBanditWithFeaturesParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(
            STATE,
            scratch=Buffer(),
            seed=hash_namespace("vw", 0, "all"),
            right=parameters.right,
            wrong=parameters.wrong,
        )

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the test of bandits with costs of actions."""
    register(SimulateBanditWithFeatures)
