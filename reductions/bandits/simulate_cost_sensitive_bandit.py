"""Costs by class as a test of bandits: the chain chooses a class, and learns only from the cost of that choice.

As `simulate_bandit`, with the label's cost c of the class drawn in place of right or wrong: the layers below are told
right + (wrong - right) c. A class that the label does not name costs 0.

Source: VW 9.11.9, `--cbify_cs`.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.reduction import Kernels, Labels, Parameters
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import UNLABELED, example_of, float32s_at, kernel, learn_next, uint32s_at
from hutch.core.kernel.decision import decision_at
from hutch.core.kernel.decorators import helper
from hutch.reductions.bandits.copies import copies_of, end_copies, make_copies
from hutch.reductions.bandits.simulate_bandit import SimulateBandit, SimulateBanditParameters, choose, own_of


class SimulateCostSensitiveBanditParameters(SimulateBanditParameters):
    """Parameters of `simulate_cost_sensitive_bandit`.

    Attributes:
        classes: how many, counted from 1.
        right, wrong: what the costs 0 and 1 become.
    """


@helper
def _judge(example, importance, action):
    """The cost of the class chosen; writes what it costs above the cheapest as the loss."""
    e, cost, least = example_of(example), np.float32(0), UNLABELED
    classes, costs = uint32s_at(e.cost_classes, e.cost_count), float32s_at(e.costs, e.cost_count)
    known = False
    for j in range(len(costs)):
        if costs[j] != UNLABELED:
            least, known = min(least, costs[j]), True
            if int64(classes[j]) == action + 1:
                cost = costs[j]
    e.features = e.length
    e.loss = np.float64(cost - least) * np.float64(importance) if known else 0.0
    return cost


@kernel
def predict(layer, example, label, importance, offset):
    """The class drawn."""
    state = own_of(layer)
    if not make_copies(state.copies, example):
        return np.float32(1)
    action, _ = choose(layer, example, importance, offset)
    state.draws += uint64(1)
    end_copies(state.copies, example)
    _judge(example, importance, action)
    return np.float32(action + 1)


@kernel
def learn(layer, example, label, importance, offset):
    """The class drawn; the layers below are told its cost and its probability."""
    state = own_of(layer)
    if not make_copies(state.copies, example):
        return np.float32(1)
    action, probability = choose(layer, example, importance, offset)
    state.draws += uint64(1)
    d = decision_at(copies_of(state.copies).decision)
    cost = state.right + (state.wrong - state.right) * _judge(example, importance, action)
    d.chosen, d.cost, d.probability = action, cost, probability
    learn_next(layer, example, d.cost, importance, offset)
    end_copies(state.copies, example)
    _judge(example, importance, action)
    return np.float32(action + 1)


class SimulateCostSensitiveBandit(SimulateBandit):
    """Chooses a class and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_cost_sensitive_bandit"
    Parameters: ClassVar[type[Parameters]] = SimulateCostSensitiveBanditParameters
    takes = Labels.COST_SENSITIVE

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the test of bandits with costs."""
    register(SimulateCostSensitiveBandit)
