"""How much it would take to change a decision: the distance of the prediction from 0 over its sensitivity.

With s the change of the prediction per unit of importance of a label, |p| / s is about the importance that a label
needs to move the prediction p to 0. An example without a label is asked about with the one that p speaks against.

Source: VW 9.11.9, `--confidence`; N. Karampatziakis, J. Langford, "Online importance weight aware updates", UAI 2011.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.declarations import Answers
from hutch.core.chain.reduction import Kernels, Labels, Predictions
from hutch.core.declared.layer import Layer
from hutch.core.declared.state import State
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    sensitivity_next,
)
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.passing import pass_importance_to, pass_sensitivity
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import Parameters

_0, _1 = np.float32(0), np.float32(1)


class ConfidenceParameters(Parameters):
    """Parameters of `confidence`.

    Attributes:
        after: measure the sensitivity after the example was learned, not before.
    """

    after: bool = False


state = State(ConfidenceParameters)


@helper
def _sensitivity(layer, example, label, importance, offset, p):
    """The sensitivity to the label, or to the one that a prediction speaks against; the outcome stays as it was."""
    e = example_of(example)
    asked, outcome = label, outcome_of(e)
    if label == UNLABELED:
        asked = -_1 if p > _0 else _1
    e.is_predicted, e.predicted = uint64(1), p
    found = sensitivity_next(layer, example, asked, importance, offset)
    e.is_predicted = uint64(0)
    put_back(e, outcome)
    return found


@helper
def _run(layer, example, label, importance, offset, learns):
    e, after = example_of(example), state(layer, offset).after
    sensitivity = _0
    if not after:
        first = predict_next(layer, example, UNLABELED, importance, offset)
        sensitivity = _sensitivity(layer, example, label, importance, offset, first)
    if learns:
        p = learn_next(layer, example, label, importance, offset)
    else:
        p = predict_next(layer, example, label, importance, offset)
    if after:
        sensitivity = _sensitivity(layer, example, label, importance, offset, p)
    if e.scores != uint64(0) and e.score_count == uint64(1):
        float32s_at(e.scores, uint64(1))[0] = abs(p) / sensitivity
    return p


@kernel
def predict(layer, example, label, importance, offset):
    """Predict, and measure the confidence."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Learn, and measure the confidence."""
    return _run(layer, example, label, importance, offset, True)


class Confidence(Layer):
    """Tells how much importance would move each prediction to 0."""

    name: ClassVar[str] = "confidence"
    declares = state
    takes = Labels.SIMPLE
    predicts = Predictions.SCALAR
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict, pass_importance_to, pass_sensitivity, calls=("sensitivity",))

    @property
    def answers(self) -> Answers:
        """One score: the confidence."""
        return replace(super().answers, score_count=1)
