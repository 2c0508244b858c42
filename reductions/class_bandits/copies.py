"""A decision made of one example: its features once for each of K classes, at rows of the weight table of their own.

The rows of class a are those of the example with the low bits cleared, as many as K sub-models of the layers below
need, plus a times the width of those layers. Interactions are made from the rows. That is how VW 9.11.9 makes actions
of `--cb`, `--cb_explore` and `--cbify`; neighbouring hashes fall together, so the table acts as if it were that much
smaller.
"""

import numpy as np
from numpy import uint32, uint64

from hutch.core.chain.reduction import Context
from hutch.core.kernel.abi import example_of, float32s_at, record_of, shared_of, uint32s_at
from hutch.core.kernel.decision import ACTION, DECISION, actions_at, decision_at
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.reductions.linear.memory import Buffer, reserve

COPIES = np.dtype(
    [
        ("decision", "u8"),  # address of the DECISION
        ("indices", "u8"),  # BUFFER of uint32[classes, features]
        ("classes", "u8"),
        ("width", "u8"),  # sub-models of the layers below
        ("multiplier", "u8"),  # rows per feature
        ("cleared", "u8"),  # low bits that are cleared
        ("before", "u8"),  # what EXAMPLE.decision was
    ]
)
copies_of = record_of(COPIES)


@helper
def make_copies(copies, example):
    """Let the example be a decision of as many actions as there are classes; False if there is no memory."""
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
    d.count, d.weights, d.chosen = c.classes, uint64(0), np.int64(-1)
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
    """Let the example belong again to the decision that it belonged to before."""
    example_of(example).decision = copies_of(copies).before


class Copies:
    """The decision of a layer that makes one of a single example.

    Args:
        classes: how many actions it has.
        context: of the layer, which must be the top one: the table's rows then go by its copies alone.

    Attributes:
        record: the COPIES; kernels get its address.
    """

    def __init__(self, classes: int, context: Context) -> None:
        self.record = Record(
            COPIES,
            decision=Record(
                DECISION,
                actions=np.zeros(classes, ACTION),
                classes=np.arange(1, classes + 1, dtype=np.uint32),
                importance=np.ones(classes, np.float32),
                costs=np.zeros(classes, np.float32),
                ranked=np.zeros(classes, np.uint32),
                values=np.zeros(classes, np.float32),
            ),
            indices=Buffer(),
            classes=classes,
            width=context.step,
            multiplier=int(context.shared["multiplier"][0]),
            cleared=(classes * context.step).bit_length(),
        )
        context.shared["multiplier"] = 1  # the copies' indices are rows

    @property
    def address(self) -> int:
        """Of the record."""
        return self.record.address
