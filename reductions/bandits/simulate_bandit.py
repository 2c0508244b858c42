"""Bandit tests on data with the cost of every choice: the chain chooses, and learns only from the chosen one's cost.

A choice is drawn from the probabilities that the explorer below gives. The layers below learn its cost and the
probability of the draw. Two kinds of labels give the cost of a choice:

* a class (`simulate_bandit`): it costs `right`, every other class `wrong`.
* a cost c for each class (`simulate_cost_sensitive_bandit`): right + (wrong - right) c; a class without one has c = 0.

Classes become actions as in `action_per_class`, and the prediction is the class drawn.

Source: VW 9.11.9, `--cbify` and `--cbify_cs`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import ExampleValue, Within
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.bandits.action_per_class import WithCopies, end_copies, fill_importance, make_copies
from hutch.reductions.bandits.random import draw_first
from hutch.reductions.bandits.scratch import floats, make_columns, numbers

_0, _1 = np.float32(0), np.float32(1)
CLASS, COSTS = range(2)


class SimulateBanditParameters(Parameters):
    """Parameters of `simulate_bandit`.

    Attributes:
        classes: number of classes, counted from 1.
        right: cost of the right class.
        wrong: cost of every other class.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 16), ExampleValue(3)]
    right: float = 0.0
    wrong: float = 1.0


class SimulateCostSensitiveBanditParameters(SimulateBanditParameters):
    """Parameters of `simulate_cost_sensitive_bandit`.

    Attributes:
        classes: number of classes, counted from 1.
        right: replaces a cost of 0.
        wrong: replaces a cost of 1.
    """


STATE = np.dtype(
    [
        ("kind", "i8"),  # of labels: CLASS or COSTS
        ("copies", "u8"),  # address of the COPIES
        ("scratch", "u8"),  # BUFFER
        ("seed", "u8"),
        ("draws", "u8"),
        ("right", "f4"),
        ("wrong", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def _draw(layer, example, importance, offset):
    """Draw an action, and list it first; returns the probability it had."""
    state, d = own_of(layer), decision_of(example)
    d.chosen = int64(-1)
    predict_next(layer, example, UNLABELED, importance, offset)
    draw_first(d, merand48(state.seed + state.draws)[1])
    state.draws += uint64(1)
    return values_of(d)[0]


@helper
def cost_of(state, example, label, drawn):
    """The cost of an action according to the label, and the lowest cost of all."""
    e = example_of(example)
    if state.kind == CLASS:
        return _0 if np.float32(drawn) + _1 == label else _1, _0
    cost, least = _0, UNLABELED
    classes, costs = uint32s_at(e.cost_classes, e.cost_count), float32s_at(e.costs, e.cost_count)
    for j in range(len(costs)):
        if costs[j] != UNLABELED:
            least = min(least, costs[j])
            if int64(classes[j]) == drawn + 1:
                cost = costs[j]
    return cost, least


@helper
def _teach(layer, example, probability, drawn, cost, importance, offset):
    """Train the layers below on the cost of the drawn action; the decision is restored afterwards."""
    state, d = own_of(layer), decision_of(example)
    columns = make_columns(state.scratch, d.count, 3)
    if columns == uint64(0):
        return
    ranked, values, costs = ranked_of(d), values_of(d), float32s_at(d.costs, d.count)
    known, listed, shares = floats(columns, d.count, 0), numbers(columns, d.count, 1), floats(columns, d.count, 2)
    for k in range(d.count):
        known[k], listed[k], shares[k] = costs[k], ranked[k], values[k]
    d.chosen, d.probability = drawn, probability
    if state.kind == CLASS:
        d.cost = state.right if cost == _0 else state.wrong
    else:
        d.cost = state.right + (state.wrong - state.right) * cost
    learn_next(layer, example, d.cost, importance, offset)
    d.chosen = int64(-1)
    for k in range(d.count):
        costs[k], ranked[k], values[k] = known[k], listed[k], shares[k]


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    if not make_copies(state.copies, example):
        return _1
    fill_importance(decision_of(example), importance)
    probability = _draw(layer, example, importance, offset)
    drawn = int64(ranked_of(decision_of(example))[0])
    cost, least = cost_of(state, example, label, drawn)
    if learns:
        _teach(layer, example, probability, drawn, cost, importance, offset)
    end_copies(state.copies, example)
    e.features = e.length
    is_known = label != UNLABELED if state.kind == CLASS else least != UNLABELED
    e.loss = np.float64(cost - least) * np.float64(importance) if is_known else 0.0
    return np.float32(drawn + 1)


@kernel
def predict(layer, example, label, importance, offset):
    """Draw a choice."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Draw a choice, and train the layers below on its cost and probability."""
    return _run(layer, example, label, importance, offset, True)


class _Simulation(WithCopies):
    """A layer that draws its prediction."""

    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    known_failures = {
        "predict_changes_nothing": "every prediction is a draw, and the next one continues from there",
        "magnitudes": "the rate of a feature of 1e-20 is beyond float32 in `linear` below, as in VW",
    }
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"draws": COUNT}
    dtype = STATE
    kind: ClassVar[int]

    def __init__(self, parameters: Any, context: Context) -> None:
        seed, p = hash_namespace("vw", 0, "all"), parameters
        super().__init__(p, context, kind=self.kind, scratch=Buffer(), seed=seed, right=p.right, wrong=p.wrong)


class SimulateBandit(_Simulation):
    """Chooses a class and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_bandit"
    kind = CLASS
    Parameters: ClassVar[type[Parameters]] = SimulateBanditParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    known_failures = {
        **_Simulation.known_failures,
        "shuffled_features": "rounding moves the boundary between two draws",
        "loss": "each prediction of the same example is drawn again",
    }


class SimulateCostSensitiveBandit(_Simulation):
    """Chooses a class and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_cost_sensitive_bandit"
    kind = COSTS
    Parameters: ClassVar[type[Parameters]] = SimulateCostSensitiveBanditParameters
    takes = Labels.COST_SENSITIVE
    predicts = Predictions.CLASS
    known_failures = SimulateBandit.known_failures
