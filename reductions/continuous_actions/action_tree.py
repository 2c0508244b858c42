"""Logged classes that stand in a row, by a tree of choices between halves: log2 of them cost less than all.

As in `action_density`, each node learns which side holds the cheapest class, here from the class alone.

Source: VW 9.11.9, `--cats_tree`.
"""

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from numpy import uint32, uint64

from hutch.core.chain.declarations import Answers, Parallel
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import example_of, float32s_at, kernel, state_of, uint32s_at
from hutch.core.kernel.decision import decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.kernel.shown import outcome_of, put_back
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.class_bandits.bandit_per_class import OfClasses, chosen_class, label_of, put_label
from hutch.reductions.continuous_actions.tree import descend, teach, tree_at, tree_of

_0, _1 = np.float32(0), np.float32(1)


class ActionTreeParameters(Parameters):
    """Parameters of `action_tree`.

    Attributes:
        classes: number of classes, counted from 1, a power of two.
        reach: classes on either side of the best one that are chosen as well: the outermost nodes do not choose.
    """

    classes: Annotated[int, Within(ge=2, le=1 << 16), ExampleValue(4)]
    reach: Annotated[int, Within(ge=0, le=1 << 15)] = 0


STATE = np.dtype([("tree", "u8"), ("classes", "u8")])
own_of = state_of(STATE)


@helper
def _show(d, best, classes):
    """List the classes, the best one first, with 1 for it and 0 for the others."""
    ranked, values = uint32s_at(d.ranked, classes), float32s_at(d.values, classes)
    ranked[0], values[0], place = uint32(best), _1, 1
    for k in range(classes):
        if k != uint64(best):
            ranked[place], values[place] = uint32(k), _0
            place += 1


@helper
def _run(layer, example, importance, offset, learns):
    state, e, d = own_of(layer), example_of(example), decision_of(example)
    tree, label, chosen = tree_at(state.tree), label_of(e), chosen_class(d, state.classes)
    e.cost_count = uint64(0)
    leaf = descend(layer, example, importance, offset, tree)
    outcome = outcome_of(e)
    if d.only_learns == uint64(0):
        _show(d, leaf, state.classes)
    if learns and chosen > 0:
        teach(layer, example, importance, offset, tree, chosen - 1, chosen - 1, d.cost / d.probability)
    put_back(e, outcome)
    put_label(e, label)
    e.loss = np.float64(d.cost / d.probability * importance) if chosen == leaf + 1 else 0.0
    return np.float32(leaf + 1)


@kernel
def predict(layer, example, label, importance, offset):
    """The class to which the nodes lead."""
    return _run(layer, example, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """The same, then train the nodes above the logged class."""
    return _run(layer, example, importance, offset, True)


class ActionTree(OfClasses):
    """Chooses among classes in a row by a tree."""

    name: ClassVar[str] = "action_tree"
    Parameters: ClassVar[type[Parameters]] = ActionTreeParameters
    takes = Labels.LOGGED_CLASS
    predicts = Predictions.CLASS
    asks = (Labels.SIMPLE, Predictions.SCALAR)
    parallel = Parallel(merging={})
    kernels = Kernels(learn, predict)
    known_failures = {
        "loss": "the estimated cost of another class than the chosen one is 0",
        "learns": "an untrained tree leads to the last class, and a cost of the first one only leads away from that",
    }

    def __init__(self, parameters: ActionTreeParameters, context: Context) -> None:
        super().__init__(parameters, context)
        try:
            tree = tree_of(parameters.classes, parameters.reach)
        except ConfigError as error:
            raise ConfigError(f"{self.name}.classes: {error}") from None
        self.state = Record(STATE, tree=tree, classes=parameters.classes)

    @classmethod
    def width(cls, parameters: ActionTreeParameters) -> int:
        """A sub-model per inner node."""
        return parameters.classes - 1

    @property
    def answers(self) -> Answers:
        """A score per class; labels are classes."""
        return replace(super().answers, loss=None, labels=None)
