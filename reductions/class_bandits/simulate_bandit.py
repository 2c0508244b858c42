"""Classes as a test of bandits: the chain chooses a class, and learns only from the cost of that choice.

The class is drawn from the probabilities that the explorer below gives. If it is the label's, or if the label names
its cost, the loss goes from `right` to `wrong`; that, and the probability of the draw, is all that the layers below
are told.

Source: VW 9.11.9, `--cbify` and `--cbify_cs`.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.batch import Batch
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import UNLABELED, example_of, kernel, learn_next, predict_next, state_of
from hutch.core.kernel.decision import decision_at, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.core.text.hashing import hash_namespace
from hutch.reductions.active.rules import merand48
from hutch.reductions.bandits.explorer import Finite
from hutch.reductions.bandits.random import draw_action
from hutch.reductions.bandits.simulation import Simulation
from hutch.reductions.class_bandits.copies import Copies, copies_of, end_copies, fill_importance, make_copies


class SimulateBanditParameters(Parameters):
    """Parameters of `simulate_bandit`.

    Attributes:
        classes: how many, counted from 1.
        right: cost of the right class.
        wrong: cost of every other class.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 16), ExampleValue(3)]
    right: Finite = 0.0
    wrong: Finite = 1.0


STATE = np.dtype([("copies", "u8"), ("seed", "u8"), ("draws", "u8"), ("right", "f4"), ("wrong", "f4")])
own_of = state_of(STATE)


@helper
def choose(layer, example, importance, offset):
    """Draw a class from the probabilities of the layer below; returns the action and the probability it had."""
    state = own_of(layer)
    d = decision_at(copies_of(state.copies).decision)
    fill_importance(d, importance)
    predict_next(layer, example, UNLABELED, importance, offset)
    place, total = draw_action(values_of(d), merand48(state.seed + state.draws)[1])
    return int64(ranked_of(d)[place]), values_of(d)[place] / total


@helper
def _judge(example, label, importance, action):
    """The class chosen, and whether it is wrong as the loss."""
    e, prediction = example_of(example), np.float32(action) + np.float32(1)
    e.features = e.length
    e.loss = np.float64(importance) if label != UNLABELED and label != prediction else 0.0
    return prediction


@kernel
def predict(layer, example, label, importance, offset):
    """The class drawn."""
    state = own_of(layer)
    if not make_copies(state.copies, example):
        return np.float32(1)
    action, _ = choose(layer, example, importance, offset)
    state.draws += uint64(1)
    end_copies(state.copies, example)
    return _judge(example, label, importance, action)


@kernel
def learn(layer, example, label, importance, offset):
    """The class drawn; the layers below are told its cost and its probability."""
    state = own_of(layer)
    if not make_copies(state.copies, example):
        return np.float32(1)
    action, probability = choose(layer, example, importance, offset)
    state.draws += uint64(1)
    d = decision_at(copies_of(state.copies).decision)
    right = np.float32(action) + np.float32(1) == label
    d.chosen, d.cost, d.probability = action, state.right if right else state.wrong, probability
    learn_next(layer, example, d.cost, importance, offset)
    end_copies(state.copies, example)
    return _judge(example, label, importance, action)


class SimulateBandit(Simulation):
    """Chooses a class and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_bandit"
    Parameters: ClassVar[type[Parameters]] = SimulateBanditParameters
    takes = Labels.MULTICLASS
    predicts = Predictions.CLASS
    asks = (Labels.LOGGED_ACTION, Predictions.ACTION_PROBABILITIES)
    known_failures = {
        "predict_changes_nothing": "every prediction is a draw, and the next one continues from there",
        "magnitudes": "the rate of a feature of 1e-20 is beyond float32 in `linear` below, as in VW",
        "shuffled_features": "rounding moves the boundary between two draws",
        "loss": "each prediction of the same example is drawn again",
    }

    def __init__(self, parameters: SimulateBanditParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self._copies = Copies(parameters.classes, context)
        self.state = Record(
            STATE,
            copies=self._copies,
            seed=hash_namespace("vw", 0, "all"),
            right=parameters.right,
            wrong=parameters.wrong,
        )

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Look at how features are named."""
        self._copies.look_at(batch)

    def doubts(self) -> str | None:
        """Of features that share their weights."""
        return self._copies.doubts()


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the test of bandits with classes."""
    register(SimulateBandit)
