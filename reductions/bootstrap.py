"""Online bootstrap: several models, each trained on every example a random number of times, predict together.

The importance of an example is multiplied by a number drawn for each model from a Poisson distribution of mean 1. The
prediction is the mean of the models' own, or the whole number that most of them are nearest to; their spread shows how
sure it is.

Source: N. Oza, S. Russell, "Online bagging and boosting", AISTATS 2001; VW 9.11.9, `--bootstrap`.
"""

import math
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy import uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.reduction import Context, Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    shared_of,
    state_of,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.loss.kernels import value_of
from hutch.core.loss.losses import LossChoice
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.reductions.bandits.random import draw_poisson

_0, _1, _HALF = np.float32(0), np.float32(1), np.float32(0.5)


class BootstrapParameters(Parameters):
    """Parameters of `bootstrap`.

    Attributes:
        models: number of models.
        type: `mean` of the models' predictions, or `vote`: the whole number that most are nearest to.
    """

    models: Annotated[int, Within(ge=1, le=1024), ExampleValue(3)]
    type: Literal["mean", "vote"] = "mean"


STATE = np.dtype([("models", "u8"), ("vote", "u8"), ("predictions", "u8"), ("loss", "u8")])
own_of = state_of(STATE)


@helper
def _most_voted(predictions):
    """The whole number that most predictions are nearest to; ties go as in VW."""
    lead, kinds, first = 0, 1, math.floor(predictions[0] + _HALF)
    best = first
    for p in predictions:  # a majority, or one of two kinds, is left at the end
        vote = math.floor(p + _HALF)
        if first != best and vote != best and vote != first:
            kinds = 3
        if lead == 0:
            best = vote
        lead += 1 if vote == best else -1
    most = 0
    for p in predictions:
        most += math.floor(p + _HALF) == best
    if kinds < 3 or 2 * most > len(predictions):
        return np.float32(best)
    most = 1
    for p in predictions:
        vote, count, larger = math.floor(p + _HALF), 0, 0
        for other in predictions:
            count += math.floor(other + _HALF) == vote
            larger += math.floor(other + _HALF) > vote
        if larger > 0 and (count > most or (count == most > 1 and vote < best)):
            best, most = vote, count
    return np.float32(best)


@helper
def _run(layer, example, label, importance, offset, learns):
    state, e = own_of(layer), example_of(example)
    predictions, total = float32s_at(state.predictions, state.models), 0.0
    e.is_predicted = uint64(0)  # a layer above knows only their mean: each model learns from its own
    for k in range(state.models):
        share = importance * np.float32(draw_poisson(shared_of(e.shared)))
        at = offset + k * layer_of(layer).step
        if learns:
            predictions[k] = learn_next(layer, example, label, share, at)
        else:
            predictions[k] = predict_next(layer, example, label, share, at)
        total += np.float64(predictions[k])
        if e.score_count == state.models and e.scores != uint64(0):
            float32s_at(e.scores, state.models)[k] = predictions[k]
    found = np.float32(total) / np.float32(state.models)
    known = label != UNLABELED and importance > _0
    if state.vote == 1:
        found = _most_voted(predictions)
        e.loss = np.float64(importance) if known and found != label else 0.0
    else:
        e.loss = np.float64(value_of(state.loss, found, label) * importance) if known else 0.0
    e.raw = found
    return found


@kernel
def predict(layer, example, label, importance, offset):
    """The models' joint prediction."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, and train each model its number of times."""
    return _run(layer, example, label, importance, offset, True)


class Bootstrap(Reduction):
    """Several models that have learned from different draws of the data predict together."""

    name: ClassVar[str] = "bootstrap"
    Parameters: ClassVar[type[Parameters]] = BootstrapParameters
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict)

    def __init__(self, parameters: BootstrapParameters, context: Context) -> None:
        super().__init__(parameters, context)
        self.state = Record(
            STATE,
            models=parameters.models,
            vote=parameters.type == "vote",
            predictions=np.zeros(parameters.models, np.float32),
            loss=context.loss(self.answers.loss or LossChoice(name="squared")),
        )

    @classmethod
    def width(cls, parameters: BootstrapParameters) -> int:
        """One sub-model per model."""
        return parameters.models

    @property
    def answers(self) -> Answers:
        """A score for each model: its prediction."""
        return replace(super().answers, score_count=self.parameters.models)
