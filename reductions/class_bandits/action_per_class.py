"""Logged classes as decisions: of one example and K classes, the class that was chosen has a cost and a probability.

Every class becomes an action with the features of the example, at rows of the weight table of its own (see `copies`);
the layers below learn and explore among them.

Source: VW 9.11.9, `--cb` and `--cb_explore`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Answers
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Reduction
from hutch.core.errors import ConfigError
from hutch.core.hooks import hookimpl
from hutch.core.kernel.abi import kernel, learn_next, predict_next, state_of, uint32s_at
from hutch.core.kernel.decision import decision_at, decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import ExampleValue, Within
from hutch.reductions.class_bandits.copies import Copies, copies_of, end_copies, fill_importance, make_copies


class ActionPerClassParameters(Parameters):
    """Parameters of `action_per_class`.

    Attributes:
        classes: how many, counted from 1.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 16), ExampleValue(3)]


STATE = np.dtype([("copies", "u8")])
own_of = state_of(STATE)


@helper
def _run(layer, example, label, importance, offset, learns):
    copies, known = own_of(layer).copies, decision_of(example)
    if not make_copies(copies, example):
        return np.float32(0)
    d = decision_at(copies_of(copies).decision)
    d.ranked, d.values = known.ranked, known.values
    fill_importance(d, importance)
    if known.chosen >= 0:
        chosen = int64(uint32s_at(known.classes, known.count)[known.chosen])
        if 1 <= chosen <= int64(d.count):
            d.chosen, d.cost, d.probability = chosen - 1, known.cost, known.probability
    if learns and d.chosen >= 0:
        best = learn_next(layer, example, label, importance, offset)
    else:
        best = predict_next(layer, example, label, importance, offset)
    end_copies(copies, example)
    return best


@kernel
def predict(layer, example, label, importance, offset):
    """Let the layers below decide."""
    return _run(layer, example, label, importance, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layers below decide, and learn from the cost of the chosen class."""
    return _run(layer, example, label, importance, offset, True)


class ActionPerClass(Reduction):
    """Makes a decision of an example, with an action per class."""

    name: ClassVar[str] = "action_per_class"
    Parameters: ClassVar[type[Parameters]] = ActionPerClassParameters
    takes = Labels.LOGGED_CLASS
    asks = (Labels.LOGGED_ACTION, None)

    def __init__(self, parameters: ActionPerClassParameters, context: Context) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1:
            raise ConfigError("action_per_class: got a layer above it, wanted it at the top")
        self._copies = Copies(parameters.classes, context)
        self.state = Record(STATE, copies=self._copies)

    @property
    def kernels(self) -> Kernels:
        """The layer's compiled functions."""
        return Kernels(learn, predict)

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Look at how features are named."""
        self._copies.look_at(batch)

    def doubts(self) -> str | None:
        """Of features that share their weights."""
        return self._copies.doubts()

    @property
    def answers(self) -> Answers:
        """A score or a probability per class."""
        return replace(super().answers, score_count=self.parameters.classes)


@hookimpl
def hutch_register_reductions(register: Callable[..., None]) -> None:
    """Register actions of classes."""
    register(ActionPerClass)
