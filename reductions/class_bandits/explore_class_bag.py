"""Bagging among classes: policies that are taught every example a random number of times vote for the best class.

The number of times comes from a Poisson distribution of mean 1 (online bootstrap). As in VW, the numbers are drawn
whenever probabilities are asked for, and a learned example has its own once more.

Source: VW 9.11.9, `--cb_explore K --cb_force_legacy --bag`; N. Oza, S. Russell, "Online bagging and boosting",
AISTATS 2001.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import (
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    state_of,
    submodel,
)
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.bandits.random import draw_poisson
from hutch.reductions.class_bandits.classes import ClassExplorer
from hutch.reductions.class_bandits.labels import conclude_classes, known_class

_0, _1 = np.float32(0), np.float32(1)


class ExploreClassBagParameters(Parameters):
    """Parameters of `explore_class_bag`.

    Attributes:
        policies: how many.
    """

    policies: Annotated[int, Within(ge=1, le=1024), ExampleValue(3)]


STATE = np.dtype([("classes", "u8"), ("room", "u8"), ("policies", "u8")])
own_of = state_of(STATE)


@helper
def _explore(layer, example, label, importance, offset):
    state, shared = own_of(layer), shared_of(example_of(example).shared)
    probabilities = float32s_at(state.room, state.classes)
    for k in range(state.classes):
        probabilities[k] = _0
    for i in range(state.policies):
        draw_poisson(shared)
        best = predict_next(layer, example, label, importance, submodel(layer, offset, i))
        probabilities[int64(best) - 1] += _1 / np.float32(state.policies)
    return conclude_classes(example, known_class(decision_of(example), state.classes), probabilities, importance)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the classes, the likeliest first."""
    return _explore(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then teach every policy its number of times."""
    d, e = decision_of(example), example_of(example)
    before, best = d.only_learns, _0
    if before == uint64(0):
        best = _explore(layer, example, label, importance, offset)
    shown = e.features, e.raw, e.loss
    d.only_learns = uint64(1)
    for i in range(own_of(layer).policies):
        for _ in range(draw_poisson(shared_of(e.shared))):
            learn_next(layer, example, label, importance, submodel(layer, offset, i))
    d.only_learns = before
    e.features, e.raw, e.loss = shown
    return best


class ExploreClassBag(ClassExplorer):
    """Several policies vote for the best class."""

    name: ClassVar[str] = "explore_class_bag"
    Parameters: ClassVar[type[Parameters]] = ExploreClassBagParameters
    known_failures = {"magnitudes": "the rate of a feature of 1e-20 is beyond float32 in `linear` below, as in VW"}

    def __init__(self, parameters: ExploreClassBagParameters, context: Context) -> None:
        super().__init__(parameters, context)
        room = np.zeros(self.class_count, np.float32)
        self.state = Record(STATE, classes=len(room), room=room, policies=parameters.policies)

    @classmethod
    def width(cls, parameters: ExploreClassBagParameters) -> int:
        """One sub-model per policy."""
        return parameters.policies

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register bagging among classes."""
    register(ExploreClassBag)
