"""Epsilon-greedy exploration among classes: the best one, but with probability epsilon any of them.

Each of K classes gets epsilon / K, the best one 1 - epsilon in addition.

Source: VW 9.11.9, `--cb_explore K --cb_force_legacy --epsilon`.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy import int64

from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import float32s_at, kernel, learn_next, predict_next, state_of
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.reductions.bandits.explorer import Probability
from hutch.reductions.class_bandits.classes import ClassExplorer
from hutch.reductions.class_bandits.labels import conclude_classes, known_class

_1 = np.float32(1)


class ExploreClassEpsilonParameters(Parameters):
    """Parameters of `explore_class_epsilon`.

    Attributes:
        epsilon: probability of choosing at random.
    """

    epsilon: Probability = 0.05


STATE = np.dtype([("classes", "u8"), ("room", "u8"), ("epsilon", "f4")])
own_of = state_of(STATE)


@helper
def _explore(layer, example, importance, best):
    state = own_of(layer)
    probabilities = float32s_at(state.room, state.classes)
    for k in range(state.classes):
        probabilities[k] = state.epsilon / np.float32(state.classes)
    probabilities[int64(best) - 1] += _1 - state.epsilon
    return conclude_classes(example, known_class(decision_of(example), state.classes), probabilities, importance)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the classes, the likeliest first."""
    return _explore(layer, example, importance, predict_next(layer, example, label, importance, offset))


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then let the layer below learn."""
    return _explore(layer, example, importance, learn_next(layer, example, label, importance, offset))


class ExploreClassEpsilon(ClassExplorer):
    """Chooses the best class, or any with probability epsilon."""

    name: ClassVar[str] = "explore_class_epsilon"
    Parameters: ClassVar[type[Parameters]] = ExploreClassEpsilonParameters

    def __init__(self, parameters: ExploreClassEpsilonParameters, context: Context) -> None:
        super().__init__(parameters, context)
        room = np.zeros(self.class_count, np.float32)
        self.state = Record(STATE, classes=len(room), room=room, epsilon=parameters.epsilon)

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register epsilon-greedy exploration among classes."""
    register(ExploreClassEpsilon)
