"""Several policies over classes, of which the later ones learn costs lowered where those before them seldom go.

The first policy is the layer that learns from the log. Policy i of the others learns, of class k, the cost
x_k - ψ ε / (max(p_k, ε) / Z) + 1: x are doubly robust estimates of the costs, p the shares of the policies before, ε
the least probability of a class and Z the norm of p.

Source: VW 9.11.9, `--cb_explore --cover` with `--cb_force_legacy`.
"""

import math

import numpy as np
from numpy import uint32, uint64

from hutch.core.kernel.abi import UNLABELED, call, example_of, float32s_at, layer_of, uint32s_at
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.reductions.class_bandits.bandit_per_class import (
    class_in,
    label_of,
    put_label,
    regress,
    regressor_at,
)

_0, _1 = np.float32(0), np.float32(1)


@helper
def least_probability(state):
    """The least probability of a class.

    Args:
        state: record with `epsilon`, `decays`, `decisions` and `classes`.
    """
    least = state.epsilon / np.float32(state.classes)
    if state.decays == uint64(1) and state.decisions > uint64(0):
        root = np.float32(math.sqrt(np.float64(state.decisions * state.classes)))
        least = min(least, state.epsilon / root)
    return least


@helper
def _show_costs(e, classes_at, costs_at, count):
    """Make all classes, with these costs, the label of the example; returns the label that it had."""
    before, classes = label_of(e), uint32s_at(classes_at, count)
    for k in range(count):
        classes[k] = uint32(k + 1)
    put_label(e, (classes_at, costs_at, count))
    return before


@helper
def _policy_at(layer, offset, i):
    """The layer that policies are sub-models of, and the offset of policy i: the second place has the estimates."""
    bandit = layer_of(layer).next
    place = uint64(i) + uint64(1) if i > 0 else uint64(0)
    return layer_of(bandit).next, offset + place * layer_of(bandit).step


@helper
def vote(layer, example, state, offset, classes_at, costs_at, preferred_at, probabilities):
    """Write the class that each policy prefers, and the share of the policies for each class."""
    e, costs = example_of(example), float32s_at(costs_at, state.classes)
    share, preferred = _1 / np.float32(state.policies), uint32s_at(preferred_at, state.policies)
    for k in range(state.classes):
        costs[k] = UNLABELED
    before = _show_costs(e, classes_at, costs_at, state.classes)
    for i in range(state.policies):
        below, at = _policy_at(layer, offset, i)
        best = call(layer_of(below).predict, below, example, UNLABELED, _1, at)
        preferred[i] = class_in(best, state.classes) - uint32(1)
        probabilities[preferred[i]] += share
    put_label(e, before)


@helper
def estimate_all(layer, example, state, offset, estimates):
    """Write the predicted cost of each class."""
    for k in range(state.classes):
        estimates[k] = regress(
            layer_of(layer).next, example, UNLABELED, _1, regressor_at(layer_of(layer).next, offset, k)
        )


@helper
def teach_policies(
    layer, example, state, importance, offset, classes_at, costs_at, preferred_at, estimates, shares, least
):
    """Let the policies after the first learn.

    Args:
        layer, example, state, importance, offset: of the layer that explores.
        classes_at, costs_at: room for a label of all classes.
        preferred_at: the class that each policy prefers.
        estimates: predicted costs.
        shares: room for a number per class.
        least: the least probability of a class.
    """
    e, d, costs = example_of(example), decision_of(example), float32s_at(costs_at, state.classes)
    share, preferred = _1 / np.float32(state.policies), uint32s_at(preferred_at, state.policies)
    norm = least * np.float32(state.classes)
    chosen = uint32s_at(d.classes, d.count)[d.chosen] if d.chosen >= 0 else uint32(0)
    for k in range(state.classes):
        shares[k] = _0
    before = _show_costs(e, classes_at, costs_at, state.classes)
    for i in range(state.policies):
        for k in range(state.classes):
            cost = estimates[k]
            if uint32(k + 1) == chosen:
                cost += (d.cost - cost) / d.probability
            costs[k] = cost - state.psi * least / (max(shares[k], least) / norm) + _1
        if i > 0:
            below, at = _policy_at(layer, offset, i)
            call(layer_of(below).learn, below, example, UNLABELED, importance, at)
        p = shares[preferred[i]]
        norm += max(_0, share - (least - p)) if p < least else share
        shares[preferred[i]] = p + share
    put_label(e, before)
