"""Logged classes as decisions: of one example and K classes, the class that was chosen has a cost and a probability.

Every class becomes an action with the features of the example; the layers below learn and explore among them. The rows
of class a in the weight table are those of the example with the low bits cleared, as many as K sub-models of the layers
below need, plus a times the width of those layers. Interactions are made from the rows. Neighbouring hashes fall
together, so the table acts as if it were that much smaller.

Source: VW 9.11.9, `--cb`, `--cb_explore` and `--cbify`.
"""

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.batch import Batch
from hutch.core.chain.declarations import Answers
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Reduction
from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import (
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    record_of,
    shared_of,
    state_of,
    uint32s_at,
)
from hutch.core.kernel.decision import ACTION, DECISION, actions_at, decision_at, decision_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, reserve
from hutch.core.parameters import ExampleValue, Within

_ENOUGH = 256
"""Features to examine before judging how features are named."""


class ActionPerClassParameters(Parameters):
    """Parameters of `action_per_class`.

    Attributes:
        classes: number of classes, counted from 1.
    """

    classes: Annotated[int, Within(ge=1, le=1 << 16), ExampleValue(3)]


COPIES = np.dtype(
    [
        ("decision", "u8"),  # address of the DECISION
        ("indices", "u8"),  # BUFFER of uint32[classes, features]
        ("classes", "u8"),
        ("width", "u8"),  # sub-models of the layers below
        ("multiplier", "u8"),  # rows per feature
        ("cleared", "u8"),  # low bits that are cleared
        ("before", "u8"),  # the previous EXAMPLE.decision
    ]
)
copies_of = record_of(COPIES)

STATE = np.dtype([("copies", "u8")])
own_of = state_of(STATE)


@helper
def make_copies(copies, example):
    """Turn the example into a decision with one action per class; False without memory."""
    c, e = copies_of(copies), example_of(example)
    d, shared, n = decision_at(c.decision), shared_of(e.shared), e.length
    address = reserve(c.indices, uint64(4) * c.classes * max(n, uint64(1)))
    if address == uint64(0):
        return False
    actions, old = actions_at(d.actions, c.classes), uint32s_at(e.indices, n)
    for a in range(c.classes):
        new_at = address + uint64(4) * n * a
        new = uint32s_at(new_at, n)
        for i in range(n):
            row = ((uint64(old[i]) * c.multiplier) >> c.cleared << c.cleared) + a * c.width
            new[i] = uint32(row & shared.mask)
        action = actions[a]
        action.indices, action.values, action.length = new_at, e.values, n
        action.namespaces, action.namespace_ids = e.namespaces, e.namespace_ids
        action.namespace_count = e.namespace_count
    d.count, d.weights, d.chosen = c.classes, uint64(0), int64(-1)
    c.before, e.decision = e.decision, c.decision
    return True


@helper
def fill_importance(decision, importance):
    """Let all actions have the importance of the example."""
    all_of_them = float32s_at(decision.importance, decision.count)
    for k in range(decision.count):
        all_of_them[k] = importance


@helper
def end_copies(copies, example):
    """Restore the decision that the example belonged to before."""
    example_of(example).decision = copies_of(copies).before


@helper
def logged_class(decision, classes):
    """The class, from 0, whose cost and probability are known; -1 without one."""
    if decision.chosen < 0:
        return int64(-1)
    found = int64(uint32s_at(decision.classes, decision.count)[decision.chosen]) - 1
    return found if found < int64(classes) else int64(-1)


@helper
def _run(layer, example, label, importance, offset, learns):
    copies, known = own_of(layer).copies, decision_of(example)
    if not make_copies(copies, example):
        return np.float32(0)
    d = decision_at(copies_of(copies).decision)
    d.ranked, d.values = known.ranked, known.values
    fill_importance(d, importance)
    d.chosen = logged_class(known, d.count)
    if d.chosen >= 0:
        d.cost, d.probability = known.cost, known.probability
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


class WithCopies(Reduction):
    """A layer at the top that makes a decision of an example, with an action per class.

    Args:
        parameters: with `classes`.
        context: of the layer, so that the table's rows depend on its copies alone.
        fields: further fields of its state.

    Attributes:
        dtype: of its state, with a field `copies`.

    Raises:
        ConfigError: there is a layer above it.
    """

    dtype: ClassVar[np.dtype[Any]] = STATE

    def __init__(self, parameters: Any, context: Context, **fields: Any) -> None:
        super().__init__(parameters, context)
        if context.submodels != 1:
            raise ConfigError(f"{self.name}: got a layer above it, wanted it at the top")
        self._seen, self._looks, self._rows = np.zeros(0, np.uint32), 0, int(context.shared["mask"][0]) + 1
        classes, rows = parameters.classes, context.step * self.width(parameters)
        self._cleared = (classes * rows).bit_length()
        decision = Record(
            DECISION,
            actions=np.zeros(classes, ACTION),
            classes=np.arange(1, classes + 1, dtype=np.uint32),
            importance=np.ones(classes, np.float32),
            costs=np.zeros(classes, np.float32),
            ranked=np.zeros(classes, np.uint32),
            values=np.zeros(classes, np.float32),
        )
        copies = Record(
            COPIES,
            decision=decision,
            indices=Buffer(),
            classes=classes,
            width=rows,
            multiplier=int(context.shared["multiplier"][0]),
            cleared=self._cleared,
        )
        context.shared["multiplier"] = 1  # the copies' indices are rows
        self.state = Record(self.dtype, copies=copies, **fields)

    def begin_batch(self, batch: Batch, learn: bool) -> None:
        """Look at how features are named, as long as few have been seen."""
        if self._looks < _ENOUGH:
            self._looks += len(batch.indices) + 1
            self._seen = np.union1d(self._seen, batch.indices[:_ENOUGH])

    def doubts(self) -> str | None:
        """Warning about features with adjacent indices, which share their weights; None if most are not adjacent."""
        neighbours = np.count_nonzero(np.diff(self._seen) == 1)
        if len(self._seen) < 4 or 2 * neighbours < len(self._seen) or 4 * len(self._seen) > self._rows:
            return None
        what = "most features have neighbouring indices, as names of digits and columns of matrices have"
        shared = f"{1 << self._cleared} share their weights"
        return f"{what}: {shared}; wanted names with letters, or hash: all (under input)"


class ActionPerClass(WithCopies):
    """Makes a decision of an example, with an action per class."""

    name: ClassVar[str] = "action_per_class"
    Parameters: ClassVar[type[Parameters]] = ActionPerClassParameters
    takes = Labels.LOGGED_CLASS
    asks = (Labels.LOGGED_ACTION, None)
    kernels = Kernels(learn, predict)

    @property
    def answers(self) -> Answers:
        """A score or a probability per class."""
        return replace(super().answers, score_count=self.parameters.classes)
