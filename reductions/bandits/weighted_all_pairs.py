"""Costs of actions learned from pairs of actions: for each pair, whether one is cheaper than the other.

An example of a pair (i, j) has the features of action i less those of action j, label -1 if i is cheaper, else +1, and
importance |v(i) - v(j)|. With the costs in ascending order, v of the first is 0 and

    v_k = v_(k-1) + (c_k - c_(k-1)) / (k - 1)

so that a pair counts by what a mistake about it costs. What is chosen is the action with the lowest prediction. The
work grows with the square of the actions.

Source: A. Beygelzimer, V. Dani, T. Hayes, J. Langford, B. Zadrozny, "Error limiting reductions between classification
tasks", ICML 2005 (weighted all pairs); VW 9.11.9, `--wap_ldf`.
"""

from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.chain.vw_option import VwLayer, new_text
from hutch.core.errors import ConfigError
from hutch.core.hooks import registering
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    int64s_at,
    kernel,
    learn_next,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import decision_of, show_action
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.passing import pass_sensitivity
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.reductions.bandits.cost_sensitive_with_features import Lists, chosen, importance_of, rank_actions
from hutch.reductions.bandits.scratch import floats, make_columns, numbers
from hutch.reductions.linear.features import features_of, gather, rows_of, values_of
from hutch.reductions.linear.memory import Buffer, reserve

_0, _1 = np.float32(0), np.float32(1)
_LEAST_DIFFERENCE = 1e-6


class WeightedAllPairsParameters(Parameters):
    """Parameters of `weighted_all_pairs`.

    Attributes:
        lists: what is written of a decision: `all` actions with their scores, or only the `best` one.
    """

    lists: Lists = "all"


STATE = np.dtype(
    [
        ("features", "u8"),  # address of the base learner's FEATURES record
        ("scratch", "u8"),  # BUFFER: actions in the order of their costs, and v by action
        ("room", "u8"),  # BUFFER: the features of a pair
    ]
)
own_of = state_of(STATE)


@helper
def _set_values(d, order, v):
    """Set v of each action, with the actions whose cost is given in the order of their costs."""
    costs, count = float32s_at(d.costs, d.count), 0
    for k in range(d.count):
        if costs[k] == UNLABELED:
            continue
        j = count
        while j > 0 and costs[order[j - 1]] > costs[k]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = k
        count += 1
    for k in range(count):
        v[order[k]] = _0
        if k > 0:
            v[order[k]] = v[order[k - 1]] + (costs[order[k]] - costs[order[k - 1]]) / np.float32(k)


@helper
def _show_difference(state, example, d, i, j, offset):
    """Let the example be action i with all features of action j subtracted; False if there is no memory."""
    e, shared = example_of(example), shared_of(example_of(example).shared)
    features = features_of(state.features)
    show_action(example, d, j, False)
    n = uint64(gather(features, example, offset))
    their_rows, their_values = rows_of(features, n), values_of(features, n)
    show_action(example, d, i, False)
    length, spaces = e.length + n, e.namespace_count + uint64(1)
    at = reserve(state.room, uint64(8) * (spaces + uint64(1)) + uint64(8) * length + uint64(4) * spaces)
    if at == uint64(0):
        return False
    indices_at = at + uint64(8) * (spaces + uint64(1))
    values_at = indices_at + uint64(4) * length
    starts, ids = int64s_at(at, spaces + uint64(1)), uint32s_at(values_at + uint64(4) * length, spaces)
    indices, values = uint32s_at(indices_at, length), float32s_at(values_at, length)
    old, old_ids = int64s_at(e.namespaces, spaces), uint32s_at(e.namespace_ids, spaces)
    for k in range(e.namespace_count):
        starts[k], ids[k] = old[k] - old[0], old_ids[k]
    starts[e.namespace_count], starts[spaces] = e.length, length
    ids[e.namespace_count] = CONSTANT_NAMESPACE  # which no interaction has
    own, own_values = uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    for k in range(e.length):
        indices[k], values[k] = own[k], own_values[k]
    for k in range(n):
        row = (uint64(their_rows[k]) - offset) & shared.mask
        indices[e.length + k], values[e.length + k] = row // shared.multiplier, -their_values[k]
    e.indices, e.values, e.length = indices_at, values_at, length
    e.namespaces, e.namespace_ids, e.namespace_count = at, values_at + uint64(4) * length, spaces
    return True


@helper
def _teach(layer, example, offset):
    """Teach the layer below all pairs of actions whose cost is given."""
    state, d = own_of(layer), decision_of(example)
    columns = make_columns(state.scratch, d.count, 2)
    if columns == uint64(0):
        return
    v, costs = floats(columns, d.count, 1), float32s_at(d.costs, d.count)
    _set_values(d, numbers(columns, d.count, 0), v)
    for i in range(d.count):
        for j in range(i + uint64(1), d.count):
            if costs[i] == UNLABELED or costs[j] == UNLABELED:
                continue
            difference = abs(v[i] - v[j])
            if np.float64(difference) >= _LEAST_DIFFERENCE and _show_difference(state, example, d, i, j, offset):
                label = -_1 if costs[i] < costs[j] else _1
                learn_next(layer, example, label, difference * importance_of(d, i), offset)


@kernel
def predict(layer, example, label, importance, offset):
    """Rank the actions by their predictions."""
    rank_actions(layer, example, offset)
    return chosen(example)


@kernel
def learn(layer, example, label, importance, offset):
    """Rank the actions, then learn all pairs."""
    e, d = example_of(example), decision_of(example)
    if d.only_learns == uint64(0):
        rank_actions(layer, example, offset)
    outcome = outcome_of(e)
    _teach(layer, example, offset)
    if d.count > uint64(0):
        show_action(example, d, 0, False)
    put_back(e, outcome)
    return chosen(example)


class WeightedAllPairs(Reduction):
    """Chooses the action that wins against the others, in pairs weighed by what a mistake costs."""

    name: ClassVar[str] = "weighted_all_pairs"
    Parameters: ClassVar[type[Parameters]] = WeightedAllPairsParameters
    vw = VwLayer(
        learner="csoaa_ldf",
        options=(
            new_text(
                "wap_ldf",
                "m|mc",
                "Costs of actions that have features of their own, learned from pairs of actions.",
                choices=("m", "multiline", "mc", "multiline-classifier"),
            ),
        ),
    )
    takes = Labels.ACTION_COSTS
    predicts = Predictions.ACTION_SCORES
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    kernels = Kernels(learn, predict, sensitivity=pass_sensitivity)

    def __init__(self, parameters: WeightedAllPairsParameters, context: Context) -> None:
        super().__init__(parameters, context)
        base = context.below
        while base is not None and base.name == "link":
            base = base.context.below
        features = getattr(base, "features", None)
        if features is None:
            got = base.name if base else None
            raise ConfigError(f"weighted_all_pairs needs a learner of hashed features below it: got {got!r}")
        self.state = Record(STATE, features=features, scratch=Buffer(), room=Buffer())


hutch_register_reductions = registering(WeightedAllPairs)
