"""Classes as a test of bandits by class: the chain draws a class, and learns only from the cost of that draw.

As `simulate_bandit`, above layers that choose among classes with weights of their own: an explorer over
`class_bandit`.

Source: VW 9.11.9, `--cbify K --cb_force_legacy`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import UNLABELED, example_of, float32s_at, kernel, learn_next, predict_next, state_of
from hutch.core.kernel.decision import DECISION, decision_at, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.active.rules import merand48
from hutch.reductions.bandits.explorer import Finite
from hutch.reductions.bandits.random import draw_action
from hutch.reductions.bandits.simulation import Simulation
from hutch.reductions.class_bandits.classes import require_classes


class SimulateClassBanditParameters(Parameters):
    """Parameters of `simulate_class_bandit`.

    Attributes:
        classes: how many, counted from 1; as many as the layers below have.
        right: cost of the right class.
        wrong: cost of every other class.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 16), ExampleValue(3)]
    right: Finite = 0.0
    wrong: Finite = 1.0


STATE = np.dtype(
    [
        ("decision", "u8"),  # address of a DECISION of one line
        ("room", "u8"),  # address of float32[classes]: probabilities by class
        ("classes", "u8"),
        ("seed", "u8"),
        ("draws", "u8"),
        ("right", "f4"),
        ("wrong", "f4"),
    ]
)
own_of = state_of(STATE)


@helper
def show_no_label(state, example):
    """Let the example be one whose label is to come; returns what it showed before."""
    e, d = example_of(example), decision_at(state.decision)
    shown = e.decision, e.cost_count, e.scores
    e.decision, e.cost_count, e.scores = state.decision, uint64(0), uint64(0)
    d.chosen, d.only_learns = int64(-1), uint64(0)
    return shown


@helper
def show_again(example, shown):
    """Let the example be what it was."""
    e = example_of(example)
    e.decision, e.cost_count, e.scores = shown
    e.features = e.length


@helper
def choose_class(layer, example, importance, offset):
    """Draw a class from the probabilities of the layer below; it and its probability are the label from now on."""
    state = own_of(layer)
    d = decision_at(state.decision)
    d.count = state.classes
    predict_next(layer, example, UNLABELED, importance, offset)
    probabilities, ranked, values = float32s_at(state.room, state.classes), ranked_of(d), values_of(d)
    for k in range(state.classes):
        probabilities[ranked[k]] = values[k]
    place, total = draw_action(probabilities, merand48(state.seed + state.draws)[1])
    state.draws += uint64(1)
    d.probability = probabilities[place] / total
    return int64(place)


@helper
def teach_class(layer, example, place, cost, importance, offset):
    """Let the layers below learn the cost of the class drawn."""
    d = decision_at(own_of(layer).decision)
    d.chosen, d.cost, d.only_learns = place, cost, uint64(1)
    learn_next(layer, example, cost, importance, offset)


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    shown = show_no_label(state, example)
    place = choose_class(layer, example, importance, offset)
    prediction = np.float32(place) + np.float32(1)
    if learns:
        cost = state.right if prediction == label else state.wrong
        teach_class(layer, example, place, cost, importance, offset)
    show_again(example, shown)
    e.loss = np.float64(importance) if label != UNLABELED and label != prediction else 0.0
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    """The class drawn."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The class drawn; the layers below are told its cost and its probability."""
    return _run(layer, example, label, importance, offset, True)


class SimulateClassBandit(Simulation):
    """Chooses a class and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_class_bandit"
    Parameters: ClassVar[type[Parameters]] = SimulateClassBanditParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.LOGGED_CLASS, Predictions.ACTION_PROBABILITIES)
    known_failures = {
        "predict_changes_nothing": "every prediction is a draw, and the next one continues from there",
        "magnitudes": "the rate of a feature of 1e-20 is beyond float32 in `linear` below, as in VW",
        "loss": "each prediction of the same example is drawn again",
    }

    def __init__(self, parameters: SimulateClassBanditParameters, context: Context) -> None:
        super().__init__(parameters, context)
        classes = parameters.classes
        require_classes(self.name, classes, context)
        self.state = Record(
            STATE,
            decision=Record(
                DECISION,
                classes=np.arange(1, classes + 1, dtype=np.uint32),
                importance=np.ones(classes, np.float32),
                costs=np.zeros(classes, np.float32),
                ranked=np.zeros(classes, np.uint32),
                values=np.zeros(classes, np.float32),
                count=classes,
            ),
            room=np.zeros(classes, np.float32),
            classes=classes,
            seed=hash_namespace("vw", 0, "all"),
            right=parameters.right,
            wrong=parameters.wrong,
        )

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    @property
    def answers(self) -> Answers:
        """It has no scores: the classes are drawn."""
        return replace(super().answers, score_count=0)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the test of bandits by class."""
    register(SimulateClassBandit)
