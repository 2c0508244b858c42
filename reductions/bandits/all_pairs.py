"""Costs of actions from pairs of them: the layer below learns from the difference of the features of two actions.

The difference of actions a and b is a positive example (b is cheaper) or a negative one, with importance |v(a) - v(b)|,
where v adds up, over the costs in rising order, each step divided by the number of actions that are cheaper.

Source: A. Beygelzimer, V. Dani, T. Hayes, J. Langford, B. Zadrozny, "Error limiting reductions between classification
tasks", ICML 2005; VW 9.11.9, `--wap_ldf`.
"""

import numpy as np
from numpy import uint64

from hutch.core.batch import CONSTANT_NAMESPACE
from hutch.core.chain.reduction import Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    UNLABELED,
    example_of,
    float32s_at,
    learn_next,
    shared_of,
    uint32s_at,
)
from hutch.core.kernel.decision import decision_of, show_action
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.core.learner.memory import append, reserve

_1 = np.float32(1)
_LEAST = np.float32(1e-6)
"""Pairs whose values differ by less teach nothing."""


def features_below(below: Reduction | None) -> Record | int:
    """The FEATURES record of the learner below if it makes interactions or leaves out namespaces, else 0.

    Raises:
        ConfigError: a layer between makes features, which it would make of a difference, too.
    """
    while below is not None and not below.is_base:
        if below.kernels.rewrite is not None:
            wanted = "none that makes or leaves out features: pairs are of features as they are"
            raise ConfigError(
                f"cost_sensitive_with_features.method: all_pairs: got {below.name!r} below it, wanted {wanted}"
            )
        below = below.context.below
    found: Record | None = getattr(below, "features", None)
    return found if found is not None and found["expand"][0] else 0


@helper
def _sorted_values(costs, buffer):
    """Costs in rising order, and the value of each; both are empty without memory."""
    count = uint64(len(costs))
    address = reserve(buffer, uint64(8) * count)
    if address == uint64(0):
        count = uint64(0)
    ordered, values = float32s_at(address, count), float32s_at(address + uint64(4) * count, count)
    for k in range(len(ordered)):
        j = k
        while j > 0 and ordered[j - 1] > costs[k]:
            ordered[j] = ordered[j - 1]
            j -= 1
        ordered[j] = costs[k]
    for k in range(len(ordered)):
        values[k] = values[k - 1] + (ordered[k] - ordered[k - 1]) / np.float32(k) if k > 0 else np.float32(0)
    return ordered, values


@helper
def _value(ordered, values, cost):
    k = 0
    while k < len(ordered) and ordered[k] < cost:
        k += 1
    return values[k]


@helper
def _features_of_action(example, d, k, features_at):
    """Make the example show action k; returns its features, with interactions if the learner makes some."""
    show_action(example, d, k, False)
    e = example_of(example)
    if features_at == uint64(0):
        return uint32s_at(e.indices, e.length), float32s_at(e.values, e.length)
    shared, features = shared_of(e.shared), features_of(features_at)
    multiplier = shared.multiplier
    shared.multiplier, features.guessed = uint64(1), uint64(0)  # rows then are indices
    n = uint64(gather(features, example, uint64(0)))
    shared.multiplier, features.guessed = multiplier, uint64(0)
    return rows_of(features, n), values_of(features, n)


@helper
def teach_pairs(layer, example, offset, features_at, costs_at, other_at, both_at):
    """Train the layer below on all pairs of actions, if all their costs are known.

    Args:
        layer, example, offset: as for every kernel.
        features_at: address of the FEATURES record of a learner that makes interactions, else 0.
        costs_at, other_at, both_at: BUFFERS for sorted costs, for the features of the second action, and for both.
    """
    d = decision_of(example)
    e, costs = example_of(example), float32s_at(d.costs, d.count)
    for k in range(d.count):
        if costs[k] == UNLABELED:
            return
    ordered, values = _sorted_values(costs, costs_at)
    if len(ordered) == 0:
        return
    for i in range(d.count):
        for j in range(i + 1, int(d.count)):
            weight = abs(_value(ordered, values, costs[j]) - _value(ordered, values, costs[i]))
            if weight < _LEAST:
                continue
            indices, x = _features_of_action(example, d, j, features_at)
            n = uint64(len(indices))
            address = reserve(other_at, uint64(8) * n)
            if address == uint64(0) and n > uint64(0):
                return
            kept, minus = uint32s_at(address, n), float32s_at(address + uint64(4) * n, n)
            for k in range(n):
                kept[k], minus[k] = indices[k], -x[k]
            show_action(example, d, i, False)
            new, numbers = append(both_at, e, CONSTANT_NAMESPACE, n)
            if len(new) != len(kept):
                return
            for k in range(n):
                new[k], numbers[k] = kept[k], minus[k]
            learn_next(layer, example, -_1 if costs[i] < costs[j] else _1, weight, offset)
    show_action(example, d, 0, False)
