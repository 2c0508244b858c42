"""Probabilities of actions from their scores: each score through a sigmoid, divided by their sum.

    p(a) = s(a) / Σ s,   s(a) = 1 / (1 + exp(score of a))

The lower the score, the likelier the action is the cheapest; scores mean that where the layer below classifies, with
logistic loss.

Source: VW 9.11.9, `--csoaa_ldf mc --probabilities`.
"""

import math
from typing import ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.reduction import Kernels, Labels, Predictions, Reduction
from hutch.core.kernel.abi import float32s_at, kernel, learn_next, predict_next
from hutch.core.kernel.decision import decision_of, place_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper

_0, _1 = np.float32(0), np.float32(1)


@helper
def _normalise(example):
    """Turn the scores of all actions, which become the raw ones, into probabilities, summed in the actions' order."""
    d, total = decision_of(example), _0
    ranked, values = ranked_of(d), values_of(d)
    d.has_raw = uint64(d.raw != uint64(0))
    for k in range(len(values)):
        if d.has_raw == uint64(1):
            float32s_at(d.raw, d.count)[ranked[k]] = values[k]
        values[k] = _1 / (_1 + math.exp(values[k]))
    for action in range(int64(d.count)):
        total += values[place_of(d, action)]
    for k in range(len(values)):
        values[k] = values[k] / total if total > _0 else _1 / np.float32(len(values))


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the actions, the likeliest first."""
    best = predict_next(layer, example, label, importance, offset)
    _normalise(example)
    return best


@kernel
def learn(layer, example, label, importance, offset):
    """The same, and let the layer below learn."""
    best = learn_next(layer, example, label, importance, offset)
    if decision_of(example).only_learns == uint64(0):
        _normalise(example)
    return best


class ActionProbabilities(Reduction):
    """Turns scores of actions into probabilities of being the cheapest."""

    name: ClassVar[str] = "action_probabilities"
    takes = Labels.ACTION_COSTS
    predicts = Predictions.ACTION_PROBABILITIES
    asks = (Labels.ACTION_COSTS, Predictions.ACTION_SCORES)
    kernels = Kernels(learn, predict)
