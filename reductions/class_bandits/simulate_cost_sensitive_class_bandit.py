"""Costs by class as a test of bandits by class: the chain draws a class, and learns only from the cost of that draw.

As `simulate_class_bandit`, with the label's cost c of the class drawn in place of right or wrong: the layers below are
told right + (wrong - right) c. A class that the label does not name costs 0.

Source: VW 9.11.9, `--cbify K --cbify_cs --cb_force_legacy`.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from hutch.core.chain.reduction import Kernels, Labels, Parameters
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import kernel
from hutch.core.kernel.decorators import helper
from hutch.reductions.class_bandits.labels import judge_costs
from hutch.reductions.class_bandits.simulate_class_bandit import (
    SimulateClassBandit,
    SimulateClassBanditParameters,
    choose_class,
    own_of,
    show_again,
    show_no_label,
    teach_class,
)


class SimulateCostSensitiveClassBanditParameters(SimulateClassBanditParameters):
    """Parameters of `simulate_cost_sensitive_class_bandit`.

    Attributes:
        classes: how many, counted from 1; as many as the layers below have.
        right: what a cost of 0 becomes.
        wrong: what a cost of 1 becomes.
    """


@helper
def _run(layer, example, importance, offset, learns):
    state = own_of(layer)
    shown = show_no_label(state, example)
    place = choose_class(layer, example, importance, offset)
    show_again(example, shown)
    cost = state.right + (state.wrong - state.right) * judge_costs(example, importance, place)
    if learns:
        shown = show_no_label(state, example)
        teach_class(layer, example, place, cost, importance, offset)
        show_again(example, shown)
        judge_costs(example, importance, place)
    return np.float32(place) + np.float32(1)


@kernel
def predict(layer, example, label, importance, offset):
    """The class drawn."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The class drawn; the layers below are told its cost and its probability."""
    return _run(layer, example, importance, offset, True)


class SimulateCostSensitiveClassBandit(SimulateClassBandit):
    """Chooses a class and learns from the cost of the choice alone."""

    name: ClassVar[str] = "simulate_cost_sensitive_class_bandit"
    Parameters: ClassVar[type[Parameters]] = SimulateCostSensitiveClassBanditParameters
    takes = Labels.COST_SENSITIVE

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register the test of bandits by class with costs."""
    register(SimulateCostSensitiveClassBandit)
