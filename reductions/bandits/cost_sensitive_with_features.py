"""Costs of actions from the features of each action: the cost of every action is predicted, the cheapest is chosen.

With the method `regression` the layer below learns the cost c(a) of each action. With `classification` it learns
whether an action is among the cheapest: label -1 and importance max c - min c if it is, else label +1 and importance
c(a) - min c. With `all_pairs` it learns from differences of actions, as `all_pairs.py` beside
this file says. The action with the lowest prediction, before clipping and link, is chosen.

Source: VW 9.11.9, `--csoaa_ldf multiline` and `multiline-classifier`; one against all with label-dependent features.
"""

from typing import ClassVar, Literal

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.kernel.abi import UNLABELED, example_of, float32s_at, kernel, learn_next, predict_next, state_of
from hutch.core.kernel.decision import decision_of, ranked_of, show_action, sort_actions, values_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.passing import pass_sensitivity
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.learner.memory import Buffer
from hutch.reductions.bandits.all_pairs import features_below, teach_pairs
from hutch.reductions.bandits.metrics_below import refuse_metrics

_0, _1 = np.float32(0), np.float32(1)
Lists = Literal["all", "best"]


class CostSensitiveWithFeaturesParameters(Parameters):
    """Parameters of `cost_sensitive_with_features`.

    Attributes:
        method: `regression` of the cost, `classification` into cheapest and others, or `all_pairs` of actions.
        lists: outputs for a decision: `all` actions with their scores, or only the `best` one.
    """

    method: Literal["regression", "classification", "all_pairs"] = "regression"
    lists: Lists = "all"


STATE = np.dtype(
    [
        ("classifies", "u8"),
        ("pairs", "u8"),  # 1: the layer below learns from pairs
        ("features", "u8"),  # address of the FEATURES record of a learner that makes interactions; else 0
        ("sorted", "u8"),  # BUFFERS for `teach_pairs`
        ("other", "u8"),
        ("both", "u8"),
    ]
)
own_of = state_of(STATE)


@helper
def rank_actions(layer, example, offset):
    """Predict every action with the layer below, and leave them ranked by score."""
    e, d = example_of(example), decision_of(example)
    ranked, values, features = ranked_of(d), values_of(d), uint64(0)
    for k in range(d.count):
        show_action(example, d, k, True)
        predict_next(layer, example, UNLABELED, _1, offset)
        ranked[k], values[k] = k, e.raw
        features += e.features
    sort_actions(ranked, values, int64(d.count))
    e.features = features


@inlined
def chosen(example):
    """Choose the first of the ranked actions; writes its score, and its cost as the loss where that is known."""
    e, d = example_of(example), decision_of(example)
    best = ranked_of(d)[0]
    cost = float32s_at(d.costs, d.count)[best] if d.chosen < 0 else UNLABELED
    e.raw, e.loss = values_of(d)[0], np.float64(cost * e.importance) if cost != UNLABELED else 0.0
    return np.float32(best)


@helper
def _cost_range(decision):
    """Lowest and highest of the given costs."""
    costs, low, high = float32s_at(decision.costs, decision.count), UNLABELED, -UNLABELED
    for k in range(decision.count):
        if costs[k] != UNLABELED:
            low, high = min(low, costs[k]), max(high, costs[k])
    return low, high


@helper
def _teach(layer, example, offset):
    """Train the layer below on the actions whose cost is given."""
    d = decision_of(example)
    costs, (low, high) = float32s_at(d.costs, d.count), _cost_range(d)
    weights = float32s_at(d.weights if d.weights != uint64(0) else d.importance, d.count)
    classifies = own_of(layer).classifies == uint64(1)
    for k in range(d.count):
        if costs[k] != UNLABELED:
            show_action(example, d, k, False)
            label, importance = costs[k], weights[k]
            if classifies:
                cheapest = costs[k] <= low
                importance *= high - low if cheapest else costs[k] - low
                label = -_1 if cheapest else _1
            learn_next(layer, example, label, importance, offset)


@kernel
def predict(layer, example, label, importance, offset):
    """Rank the actions by their predicted costs."""
    rank_actions(layer, example, offset)
    return chosen(example)


@kernel
def learn(layer, example, label, importance, offset):
    """Rank the actions, then learn all whose cost is given."""
    e, d = example_of(example), decision_of(example)
    if d.only_learns == uint64(0):
        rank_actions(layer, example, offset)
    outcome, s = outcome_of(e), own_of(layer)
    if s.pairs == uint64(1):
        teach_pairs(layer, example, offset, s.features, s.sorted, s.other, s.both)
    else:
        _teach(layer, example, offset)
    put_back(e, outcome)
    return chosen(example)


class CostSensitiveWithFeatures(Reduction):
    """Chooses the action whose predicted cost is lowest."""

    name: ClassVar[str] = "cost_sensitive_with_features"
    Parameters: ClassVar[type[Parameters]] = CostSensitiveWithFeaturesParameters
    takes = Labels.ACTION_COSTS
    predicts = Predictions.ACTION_SCORES
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict, sensitivity=pass_sensitivity)

    def __init__(self, parameters: CostSensitiveWithFeaturesParameters, context: Context) -> None:
        super().__init__(parameters, context)
        method = parameters.method
        if method != "regression":
            refuse_metrics(f"cost_sensitive_with_features.method: {method}", context, "regression")
        self._buffers = [Buffer() for _ in range(3)]
        self.state = Record(
            STATE,
            classifies=method == "classification",
            pairs=method == "all_pairs",
            features=features_below(context.below) if method == "all_pairs" else 0,
            **dict(zip(("sorted", "other", "both"), self._buffers, strict=True)),
        )
