"""Learning which action costs least when only the chosen action's cost is known.

With cost c of the chosen action a, probability p with which it was chosen, and q = max(p, clip):

* `mtr` (multi-task regression): a alone is learned, with label c and importance n / (q m), n the decisions and m the
  actions learned from so far. (Bietti, Agarwal, Langford, "A contextual bandit bake-off", JMLR 2021, section 3.)
* `ips` (inverse propensity scores): a costs c / q, all others 0.
* `dm` (direct method, VW's variant for actions with features): a costs c, all others 0.
* `dr` (doubly robust): a second model, trained on c of the chosen actions, importance 1 / p, predicts x; each action
  costs its x, a in addition (c - x) / q.
  (Dudík, Langford, Li, "Doubly robust policy evaluation and learning", ICML 2011.)
* `sm` (softmax): costs and importances follow the gradient of the cost of a softmax policy over the scores.

Source of rules and order of arithmetic: VW 9.11.9, `--cb_adf`.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.limits import COUNT, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    array_at,
    call,
    example_of,
    float32s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    state_of,
)
from hutch.core.kernel.decision import decision_of, ranked_of, show_action, values_of
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.passing import pass_sensitivity
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.learner.memory import Buffer
from hutch.core.parameters import Within
from hutch.reductions.bandits.metrics_below import refuse_metrics
from hutch.reductions.bandits.probabilities import softmax
from hutch.reductions.bandits.scratch import floats, make_columns, numbers

_0, _1 = np.float32(0), np.float32(1)
_HUNDRED = np.float32(100)
_LEAST_PROBABILITY = np.float32(1e-3)
_LEAST_WEIGHT = 1e-15
MTR, IPS, DM, DR, SM = range(5)
TYPES = {"mtr": MTR, "ips": IPS, "dm": DM, "dr": DR, "sm": SM}


class ContextualBanditParameters(Parameters):
    """Parameters of `contextual_bandit`.

    Attributes:
        type: how the cost of one action becomes a problem for all.
        clip: probabilities below this count as this.
        lists: outputs for a decision: `all` actions with their scores, or only the `best` one.
    """

    type: Literal["mtr", "ips", "dm", "dr", "sm"] = "mtr"
    clip: Annotated[float, Within(ge=0, le=1)] = 0.0
    lists: Literal["all", "best"] = "all"


STATE = np.dtype(
    [
        ("type", "i8"),
        ("width", "u8"),  # sub-models of the layer below for each of this one
        ("counts", "u8"),  # address of uint64[submodels, 2]: decisions and actions learned from
        ("scratch", "u8"),  # BUFFER
        ("clip", "f4"),
    ]
)
own_of = state_of(STATE)
_counts_at = array_at(np.uint64)


@helper
def regressor_below(layer):
    """The layer that the costs of single actions are learned with: the one below the layer below."""
    return layer_of(layer_of(layer).next).next


@helper
def regress(layer, example, k, offset, learns):
    """Return the regressor's prediction of an action's cost; train it if `learns` and the action is the chosen one."""
    d, below = decision_of(example), regressor_below(layer)
    show_action(example, d, k, False)
    if learns and d.chosen == int64(k):
        importance = float32s_at(d.importance, d.count)[k] / d.probability
        return call(layer_of(below).learn, below, example, d.cost, importance, offset)
    return call(layer_of(below).predict, below, example, UNLABELED, _1, offset)


@inlined
def _fill(costs, value):
    for k in range(len(costs)):
        costs[k] = value


@inlined
def _likely(probability):
    """A probability by which one can divide."""
    return _LEAST_PROBABILITY if probability <= _0 else probability


@helper
def _set_one_weight(state, d, offset, step):
    """mtr: only the chosen action has a cost; its importance depends on the average number of actions."""
    own = offset // (step * state.width)
    counts = _counts_at(state.counts + uint64(16) * own, uint64(2))
    counts[0] += uint64(1)
    counts[1] += d.count
    share = np.float32(counts[0]) / np.float32(counts[1])
    inverse = _1 / max(d.probability, state.clip)
    weights = float32s_at(d.weights, d.count)
    weights[d.chosen] = float32s_at(d.importance, d.count)[d.chosen] * (inverse * share)
    float32s_at(d.costs, d.count)[d.chosen] = d.cost


@helper
def _regress_all(layer, example, state, offset, estimates):
    """dr: train the regressor, and write its estimate of each action's cost."""
    d, step = decision_of(example), layer_of(layer).step
    costs = float32s_at(d.costs, d.count)
    for k in range(d.count):
        estimate = regress(layer, example, k, offset + step, True)
        estimates[k] = estimate
        if int64(k) == d.chosen:
            estimate += (d.cost - estimate) / max(d.probability, state.clip)
        costs[k] = estimate


@helper
def _set_softmax_costs(layer, example, offset, columns):
    """sm: costs in the order of the ranks, as VW gives them to the actions in order; weights to the right ones."""
    d = decision_of(example)
    count, ranked_before, values_before = d.count, d.ranked, d.values
    d.ranked, d.values = columns + uint64(8) * count, columns + uint64(12) * count
    predict_next(layer, example, UNLABELED, _1, offset)
    ranked, scores, shares = numbers(columns, count, 2), floats(columns, count, 3), floats(columns, count, 4)
    softmax(-_1, scores, shares)
    size, sign = d.cost / _likely(d.probability), _1
    if d.cost < _0:
        size, sign = -size, -_1
    costs, weights = float32s_at(d.costs, count), float32s_at(d.weights, count)
    importance = float32s_at(d.importance, count)
    for i in range(count):
        if int64(ranked[i]) == d.chosen:
            size *= shares[i]
    for i in range(count):
        a, is_chosen = ranked[i], int64(ranked[i]) == d.chosen
        costs[i] = min(max(scores[i] + sign if is_chosen else scores[i] - sign, -_HUNDRED), _HUNDRED)
        weight = importance[a] * (size * (_1 - shares[i]) if is_chosen else size * shares[i])
        weights[a] = _0 if np.float64(weight) <= _LEAST_WEIGHT else weight
    d.ranked, d.values = ranked_before, values_before


@helper
def _teach(layer, example, state, offset):
    """Make a problem of all actions from the cost of one, and train the layers below on it; returns dr's estimates."""
    d, outcome = decision_of(example), outcome_of(example_of(example))
    columns = make_columns(state.scratch, d.count, 5)
    if columns == uint64(0):
        return columns
    costs = float32s_at(d.costs, d.count)
    d.weights = uint64(0)
    if state.type == MTR:
        d.weights = columns + uint64(4) * d.count
        _fill(costs, UNLABELED)
        _set_one_weight(state, d, offset, layer_of(layer).step)
    elif state.type == DR:
        _regress_all(layer, example, state, offset, floats(columns, d.count, 0))
    elif state.type == SM:
        d.weights = columns + uint64(4) * d.count
        _set_softmax_costs(layer, example, offset, columns)
    else:
        _fill(costs, _0)
        divisor = _likely(max(d.probability, state.clip)) if state.type == IPS else _1
        costs[d.chosen] = d.cost / divisor
    before, d.only_learns = d.only_learns, uint64(1)
    learn_next(layer, example, UNLABELED, _1, offset)
    d.only_learns, d.weights = before, uint64(0)
    put_back(example_of(example), outcome)
    return columns


@inlined
def _finish(example, estimate, importance):
    """Return the best action, and write score and loss: its estimated cost, corrected if it is the logged action."""
    e, d = example_of(example), decision_of(example)
    best, loss = ranked_of(d)[0], estimate
    if d.chosen == int64(best):
        loss = (d.cost - estimate) / d.probability + estimate
    e.raw, e.loss = values_of(d)[0], np.float64(loss * importance) if d.chosen >= 0 else 0.0
    return np.float32(best)


@kernel
def predict(layer, example, label, importance, offset):
    """Rank the actions by score."""
    state, d = own_of(layer), decision_of(example)
    e, estimate = example_of(example), _0
    predict_next(layer, example, UNLABELED, importance, offset)
    if state.type == DR and d.chosen >= 0:
        outcome = outcome_of(e)
        estimate = regress(layer, example, ranked_of(d)[0], offset + layer_of(layer).step, False)
        put_back(e, outcome)
    return _finish(example, estimate, importance)


@kernel
def learn(layer, example, label, importance, offset):
    """Rank the actions by score, then learn from the cost of the chosen one."""
    state, d = own_of(layer), decision_of(example)
    if d.only_learns == uint64(0):
        predict_next(layer, example, UNLABELED, importance, offset)
    columns, estimate = _teach(layer, example, state, offset), _0
    if state.type == DR and columns != uint64(0):
        estimate = floats(columns, d.count, 0)[ranked_of(d)[0]]
    return _finish(example, estimate, importance)


class ContextualBandit(Reduction):
    """Learns from the cost of the chosen action, and chooses the action with the lowest score."""

    name: ClassVar[str] = "contextual_bandit"
    Parameters: ClassVar[type[Parameters]] = ContextualBanditParameters
    takes = Labels.LOGGED_ACTION
    predicts = Predictions.ACTION_SCORES
    asks = (Labels.ACTION_COSTS, Predictions.ACTION_SCORES)
    kernels = Kernels(learn, predict, sensitivity=pass_sensitivity)
    keeps: ClassVar[Mapping[str, Limits]] = {"counts": COUNT}

    def __init__(self, parameters: ContextualBanditParameters, context: Context) -> None:
        super().__init__(parameters, context)
        if parameters.type != "mtr":
            refuse_metrics(f"contextual_bandit.type: {parameters.type}", context, "mtr")
        self.state = Record(
            STATE,
            type=TYPES[parameters.type],
            clip=parameters.clip,
            width=self.width(parameters),
            counts=np.zeros((context.submodels, 2), np.uint64),
            scratch=Buffer(),
        )

    @classmethod
    def width(cls, parameters: ContextualBanditParameters) -> int:
        """A policy, and a regressor where costs are estimated."""
        return 2 if parameters.type == "dr" else 1

    def judge_by_propensity(self) -> None:
        """Estimate the loss of `dr` as that of `ips`, in a chain that only predicts from here on."""
        self.state["type"] = IPS
