"""Bandit tests on data with numbers as labels: the chain chooses a number and learns only what its choice cost.

The cost of a number is its distance from the label, in widths of the range: squared, absolute, or 1 beyond a tolerance.

* `simulate_number_bandit`: the layers below draw a number from a density.
* `simulate_part_bandit`: the range is cut into classes, one of which is drawn; the number is where it begins.

The prediction is the number; its scores are its cost and the density or probability it was drawn with.

Source: VW 9.11.9, `--cbify_reg`, and with `--cb_discrete`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
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
from hutch.core.parameters import ExampleValue, Within
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.bandits.random import draw_action
from hutch.reductions.class_bandits.bandit_per_class import label_of, put_label
from hutch.reductions.continuous_actions.grid import RangeParameters

_0, _1 = np.float32(0), np.float32(1)
COST, DENSITY = 0, 1
Distance = Literal["squared", "absolute", "zero_one"]
SQUARED, ABSOLUTE, ZERO_ONE = range(3)
KINDS = {"squared": SQUARED, "absolute": ABSOLUTE, "zero_one": ZERO_ONE}


class SimulateNumberBanditParameters(RangeParameters):
    """Parameters of `simulate_number_bandit`.

    Attributes:
        lowest: the smallest number that may be chosen.
        highest: the largest one.
        cost: how the distance between number and label becomes a cost.
        tolerance: of `zero_one`: the part of the range within which a number costs nothing.
        in_units: report costs in units of the label, not of the range; they are learned in those of the range.
    """

    lowest: Annotated[float, ExampleValue(0.0)]
    highest: Annotated[float, ExampleValue(1.0)]
    cost: Distance = "squared"
    tolerance: Annotated[float, Within(ge=0, le=1)] = 0.1
    in_units: bool = False


class SimulatePartBanditParameters(SimulateNumberBanditParameters):
    """Parameters of `simulate_part_bandit`.

    Attributes:
        classes: number of parts.
        lowest: the smallest number that may be chosen.
        highest: the end of the range.
        cost: how the distance between number and label becomes a cost.
        tolerance: of `zero_one`: the part of the range within which a number costs nothing.
        in_units: report costs in units of the label, not of the range; they are learned in those of the range.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 16), ExampleValue(3)]


STATE = np.dtype(
    [
        ("kind", "i8"),
        ("in_units", "i8"),
        ("outcome", "u8"),  # address of float32[2]: cost and density
        ("classes_of_costs", "u8"),  # address of uint32[2]
        ("decision", "u8"),  # address of the DECISION of a choice among parts
        ("probabilities", "u8"),  # address of float32[classes]
        ("classes", "u8"),
        ("seed", "u8"),
        ("draws", "u8"),
        ("lowest", "f4"),
        ("highest", "f4"),
        ("tolerance", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def cost_of(state, number, label):
    """The cost of a number in widths of the range."""
    distance, width = label - number, state.highest - state.lowest
    if state.kind == SQUARED:
        return distance * distance / (width * width)
    if state.kind == ABSOLUTE:
        return abs(distance) / width
    return _0 if abs(distance) <= state.tolerance * width else _1


@helper
def _report(state, e, scores, cost, density, known, importance):
    """Write the loss and the scores."""
    width = state.highest - state.lowest
    shown = cost
    if state.in_units == 1 and state.kind != ZERO_ONE:
        shown = cost * width * width if state.kind == SQUARED else cost * width
    e.loss = np.float64(shown) * np.float64(importance) if known else 0.0
    if scores != uint64(0):
        found = float32s_at(scores, uint64(2))
        found[COST], found[DENSITY] = shown, density


@helper
def _run_number(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    outcome, scores, count = float32s_at(state.outcome, uint64(2)), e.scores, e.score_count
    e.scores, e.score_count = state.outcome, uint64(1)
    number = predict_next(layer, example, UNLABELED, importance, offset)
    density, known, result = outcome[0], label != UNLABELED, outcome_of(e)
    cost = cost_of(state, number, label) if known else _0
    if learns:
        e.scores, e.score_count = uint64(0), uint64(0)
        before = label_of(e)
        outcome[0], outcome[1] = cost, density
        put_label(e, (state.classes_of_costs, state.outcome, uint64(2)))
        learn_next(layer, example, number, importance, offset)
        put_label(e, before)
        put_back(e, result)
    e.scores, e.score_count = scores, count
    _report(state, e, scores, cost, density, known, importance)
    return number


@kernel
def predict(layer, example, label, importance, offset):
    """Draw a number."""
    return _run_number(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Draw a number, and train the layers below on its cost and density."""
    return _run_number(layer, example, label, importance, offset, True)


@helper
def _run_part(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    d, before, scores, count, given = decision_at(state.decision), e.decision, e.scores, e.score_count, label_of(e)
    e.decision, e.cost_count, d.chosen = state.decision, uint64(0), int64(-1)
    e.scores, e.score_count = uint64(0), uint64(0)
    predict_next(layer, example, UNLABELED, importance, offset)
    result = outcome_of(e)
    chances, ranked = float32s_at(state.probabilities, state.classes), uint32s_at(d.ranked, state.classes)
    values = float32s_at(d.values, state.classes)
    for k in range(state.classes):
        chances[ranked[k]] = values[k]
    drawn, total = draw_action(chances, merand48(state.seed + state.draws)[1])
    state.draws += uint64(1)
    probability, known = chances[drawn] / total, label != UNLABELED
    number = state.lowest + np.float32(drawn) * (state.highest - state.lowest) / np.float32(state.classes)
    cost = cost_of(state, number, label) if known else _0
    if learns:
        uint32s_at(d.classes, uint64(1))[0] = uint32(drawn + 1)
        float32s_at(state.outcome, uint64(2))[0] = cost
        d.chosen, d.cost, d.probability = int64(0), cost, probability
        put_label(e, (d.classes, state.outcome, uint64(1)))
        learn_next(layer, example, cost, importance, offset)
        put_back(e, result)
    put_label(e, given)
    e.decision, e.scores, e.score_count = before, scores, count
    _report(state, e, scores, cost, probability, known, importance)
    return number


@kernel
def predict_part(layer, example, label, importance, offset):
    """Draw a part."""
    return _run_part(layer, example, label, importance, offset, False)


@kernel
def learn_part(layer, example, label, importance, offset):
    """Draw a part, and train the layers below on its cost and probability."""
    return _run_part(layer, example, label, importance, offset, True)


class _Simulation(Reduction):
    """A layer at the top that draws its prediction."""

    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    keeps: ClassVar[Mapping[str, Limits]] = {"draws": COUNT}
    known_failures = {
        "predict_changes_nothing": "every prediction is a draw, and the next one continues from there",
        "shuffled_features": "rounding moves the boundary between two draws",
        "loss": "each prediction of the same example is drawn again",
        "magnitudes": "the rate of a feature of 1e-20 is beyond float32 in `linear` below, as in VW",
        "raw": "the raw score is that of a choice between two sides",
    }

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got a layer above it, wanted it at the top")
        p = parameters
        self.state = self._record = Record(
            STATE,
            kind=KINDS[p.cost],
            in_units=p.in_units,
            outcome=np.zeros(2, np.float32),
            classes_of_costs=np.array([0, 1], np.uint32),
            seed=hash_namespace("vw", 0, "all"),
            **{name: getattr(p, name) for name in ("lowest", "highest", "tolerance")},
        )

    @property
    def answers(self) -> Answers:
        """Cost and density of the number drawn."""
        return replace(super().answers, score_count=2, classes=None, labels=None, loss=None)


class SimulateNumberBandit(_Simulation):
    """Draws a number and learns from its cost alone."""

    name: ClassVar[str] = "simulate_number_bandit"
    Parameters: ClassVar[type[Parameters]] = SimulateNumberBanditParameters
    asks = (Labels.LOGGED_NUMBER, Predictions.DRAWN_NUMBER)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: SimulateNumberBanditParameters, context: Context) -> None:
        super().__init__(parameters, context)
        there = context.below.answers.label_range if context.below else None
        if there is None:
            raise ConfigError(f"{self.name}: got layers below it that know no range, wanted action_density there")
        if there != (parameters.lowest, parameters.highest):
            got = f"{parameters.lowest:g} to {parameters.highest:g}"
            raise ConfigError(f"{self.name}: got a range from {got}, but that below is {there[0]:g} to {there[1]:g}")


class SimulatePartBandit(_Simulation):
    """Draws a part of a range and learns from its cost alone."""

    name: ClassVar[str] = "simulate_part_bandit"
    Parameters: ClassVar[type[Parameters]] = SimulatePartBanditParameters
    asks = (Labels.LOGGED_CLASS, Predictions.ACTION_PROBABILITIES)
    kernels = Kernels(learn_part, predict_part)

    def __init__(self, parameters: SimulatePartBanditParameters, context: Context) -> None:
        super().__init__(parameters, context)
        classes, below = parameters.classes, context.below
        if below is not None and below.answers.score_count != classes:
            there = below.answers.score_count
            raise ConfigError(f"{self.name}.classes: got {classes}, but the layer below has {there}")
        decision = Record(
            DECISION,
            count=1,
            classes=np.ones(1, np.uint32),
            ranked=np.zeros(classes, np.uint32),
            values=np.zeros(classes, np.float32),
        )
        self._record.set(decision=decision, probabilities=np.zeros(classes, np.float32), classes=classes)
