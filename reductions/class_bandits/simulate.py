"""Bandit tests with a model per class, on data with the cost of every class.

As `simulate_bandit`, but the classes are those of the layers below, with separate weights: a class is drawn from the
probabilities of these layers, and they learn its cost.

Source: VW 9.11.9, `--cbify` and `--cbify_cs` with `--cb_force_legacy`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.errors import ConfigError
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
from hutch.core.kernel.decision import DECISION, decision_at
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.bandits.random import draw_action
from hutch.reductions.bandits.simulate_bandit import CLASS, COSTS, SimulateBanditParameters, cost_of
from hutch.reductions.class_bandits.bandit_per_class import OfClasses, label_of, put_label

_1 = np.float32(1)


class SimulateBanditPerClassParameters(SimulateBanditParameters):
    """Parameters of `simulate_bandit_per_class`.

    Attributes:
        classes: number of classes, counted from 1.
        right: cost of the right class.
        wrong: cost of every other class.
    """


class SimulateCostSensitiveBanditPerClassParameters(SimulateBanditPerClassParameters):
    """Parameters of `simulate_cost_sensitive_bandit_per_class`.

    Attributes:
        classes: number of classes, counted from 1.
        right: replaces a cost of 0.
        wrong: replaces a cost of 1.
    """


STATE = np.dtype(
    [
        ("kind", "i8"),  # of labels: CLASS or COSTS
        ("decision", "u8"),  # address of the DECISION
        ("cost", "u8"),  # address of float32[1]: that of the class drawn
        ("probabilities", "u8"),  # address of float32[classes]
        ("count", "u8"),
        ("seed", "u8"),
        ("draws", "u8"),
        ("right", "f4"),
        ("wrong", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def _draw(state, d):
    """Draw a class, from 0, of those listed; returns it and its probability."""
    ranked, values = uint32s_at(d.ranked, state.count), float32s_at(d.values, state.count)
    probabilities = float32s_at(state.probabilities, state.count)
    for k in range(state.count):
        probabilities[ranked[k]] = values[k]
    drawn, total = draw_action(probabilities, merand48(state.seed + state.draws)[1])
    state.draws += uint64(1)
    return int64(drawn), probabilities[drawn] / total


@helper
def _teach(layer, example, state, d, drawn, probability, cost, importance, offset):
    """Train the layers below on the cost of the class drawn."""
    e = example_of(example)
    outcome, right = outcome_of(e), state.right
    if state.kind == CLASS:
        d.cost = right if cost == np.float32(0) else state.wrong
    else:
        d.cost = right + (state.wrong - right) * cost
    uint32s_at(d.classes, uint64(1))[0] = uint32(drawn + 1)
    float32s_at(state.cost, uint64(1))[0] = d.cost
    d.chosen, d.probability = int64(0), probability
    put_label(e, (d.classes, state.cost, uint64(1)))
    learn_next(layer, example, d.cost, importance, offset)
    put_back(e, outcome)


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    d, before, known = decision_at(state.decision), e.decision, label_of(e)
    e.decision, e.cost_count, d.chosen = state.decision, uint64(0), int64(-1)
    predict_next(layer, example, UNLABELED, importance, offset)
    e.cost_count = known[2]
    drawn, probability = _draw(state, d)
    cost, least = cost_of(state, example, label, drawn)
    if learns:
        _teach(layer, example, state, d, drawn, probability, cost, importance, offset)
        put_label(e, known)
    e.decision = before
    is_known = label != UNLABELED if state.kind == CLASS else least != UNLABELED
    e.loss = np.float64(cost - least) * np.float64(importance) if is_known else 0.0
    return np.float32(drawn) + _1


@kernel
def predict(layer, example, label, importance, offset):
    """Draw a class."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Draw a class, and train the layers below on its cost and probability."""
    return _run(layer, example, label, importance, offset, True)


class _Simulation(OfClasses):
    """A layer at the top that draws its prediction."""

    asks = (Labels.LOGGED_CLASS, Predictions.ACTION_PROBABILITIES)
    predicts = Predictions.CLASS
    known_failures = {
        "predict_changes_nothing": "every prediction is a draw, and the next one continues from there",
        "shuffled_features": "rounding moves the boundary between two draws",
        "loss": "each prediction of the same example is drawn again",
    }
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"draws": COUNT}
    kind: ClassVar[int]

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got a layer above it, wanted it at the top")
        classes = parameters.classes
        self.state = Record(
            STATE,
            kind=self.kind,
            decision=Record(
                DECISION,
                count=1,
                classes=np.ones(1, np.uint32),
                ranked=np.zeros(classes, np.uint32),
                values=np.zeros(classes, np.float32),
            ),
            cost=np.zeros(1, np.float32),
            probabilities=np.zeros(classes, np.float32),
            count=classes,
            seed=hash_namespace("vw", 0, "all"),
            right=parameters.right,
            wrong=parameters.wrong,
        )

    @property
    def answers(self) -> Answers:
        """No scores."""
        return replace(super().answers, score_count=0)


class SimulateBanditPerClass(_Simulation):
    """Chooses a class and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_bandit_per_class"
    Parameters: ClassVar[type[Parameters]] = SimulateBanditPerClassParameters
    takes = Labels.MULTICLASS
    kind = CLASS


class SimulateCostSensitiveBanditPerClass(_Simulation):
    """Chooses a class and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_cost_sensitive_bandit_per_class"
    Parameters: ClassVar[type[Parameters]] = SimulateCostSensitiveBanditPerClassParameters
    takes = Labels.COST_SENSITIVE
    kind = COSTS
