"""Exploration first among classes: early predictions are uniform, later ones give all to the best class.

What was chosen with certainty is not learned. As in VW, a labelled example counts twice towards the early ones: once
when it is predicted, once when it is learned.

Source: VW 9.11.9, `--cb_explore K --cb_force_legacy --first`.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import example_of, float32s_at, kernel, learn_next, predict_next, shared_of, state_of
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.class_bandits.classes import ClassExplorer
from hutch.reductions.class_bandits.labels import conclude_classes, known_class

_0, _1 = np.float32(0), np.float32(1)


class ExploreClassFirstParameters(Parameters):
    """Parameters of `explore_class_first`.

    Attributes:
        examples: how many predictions are uniform; the one before an example is learned counts, and so does learning.
    """

    examples: Annotated[int, Within(ge=0), ExampleValue(10)]


STATE = np.dtype([("classes", "u8"), ("room", "u8"), ("left", "u8")])
own_of = state_of(STATE)


@helper
def _explore(state, example, importance, best):
    """Set the probabilities; the uniform ones grow less by one, unless nothing may change."""
    probabilities = float32s_at(state.room, state.classes)
    for k in range(state.classes):
        probabilities[k] = _1 / np.float32(state.classes) if state.left > uint64(0) else _0
    if state.left == uint64(0):
        probabilities[int64(best) - 1] = _1
    elif shared_of(example_of(example).shared).testing == uint64(0):
        state.left -= uint64(1)
    return conclude_classes(example, known_class(decision_of(example), state.classes), probabilities, importance)


@kernel
def predict(layer, example, label, importance, offset):
    """Probabilities of the classes, the likeliest first."""
    return _explore(own_of(layer), example, importance, predict_next(layer, example, label, importance, offset))


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then let the layer below learn."""
    state, d = own_of(layer), decision_of(example)
    if d.probability < _1:
        best = learn_next(layer, example, label, importance, offset)
    else:
        best = predict_next(layer, example, label, importance, offset)
    if d.only_learns == uint64(0):
        best = _explore(state, example, importance, best)
    if state.left > uint64(0):
        state.left -= uint64(1)
    return best


class ExploreClassFirst(ClassExplorer):
    """Makes the first predictions at random."""

    name: ClassVar[str] = "explore_class_first"
    Parameters: ClassVar[type[Parameters]] = ExploreClassFirstParameters

    def __init__(self, parameters: ExploreClassFirstParameters, context: Context) -> None:
        super().__init__(parameters, context)
        room = np.zeros(self.class_count, np.float32)
        self.state = Record(STATE, classes=len(room), room=room, left=parameters.examples)

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    def saved(self) -> dict[str, NDArray[Any]]:
        """Uniform predictions still to be made."""
        return {"left": self.state["left"]}

    def limits(self) -> Mapping[str, Limits]:
        """No more than there were at first."""
        return {"left": Limits(most=self.parameters.examples)}


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register exploration first among classes."""
    register(ExploreClassFirst)
