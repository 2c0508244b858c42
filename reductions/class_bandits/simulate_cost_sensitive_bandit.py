"""Costs by class as a test of bandits: the chain chooses a class, and learns only from the cost of that choice.

As `simulate_bandit`, with the label's cost c of the class drawn in place of right or wrong: the layers below are told
right + (wrong - right) c. A class that the label does not name costs 0.

Source: VW 9.11.9, `--cbify_cs`.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Kernels, Labels, Parameters
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import kernel, learn_next
from hutch.core.kernel.decision import decision_at
from hutch.reductions.class_bandits.copies import copies_of, end_copies, make_copies
from hutch.reductions.class_bandits.labels import judge_costs
from hutch.reductions.class_bandits.simulate_bandit import SimulateBandit, SimulateBanditParameters, choose, own_of


class SimulateCostSensitiveBanditParameters(SimulateBanditParameters):
    """Parameters of `simulate_cost_sensitive_bandit`.

    Attributes:
        classes: how many, counted from 1.
        right: what a cost of 0 becomes.
        wrong: what a cost of 1 becomes.
    """


@kernel
def predict(layer, example, label, importance, offset):
    """The class drawn."""
    state = own_of(layer)
    if not make_copies(state.copies, example):
        return np.float32(1)
    action, _ = choose(layer, example, importance, offset)
    state.draws += uint64(1)
    end_copies(state.copies, example)
    judge_costs(example, importance, action)
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
    cost = state.right + (state.wrong - state.right) * judge_costs(example, importance, action)
    d.chosen, d.cost, d.probability = action, cost, probability
    learn_next(layer, example, d.cost, importance, offset)
    end_copies(state.copies, example)
    judge_costs(example, importance, action)
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
