"""Sequence labels: the class of each line of a block, one after the other, with the classes before it.

The layer below, cost-sensitive and of several classes, learns the class of a line from what each would cost: a run
through the block that takes this class and goes on by what was learned, or by the labels.

Sources: H. Daumé III, J. Langford and D. Marcu, "Search-based structured prediction", Machine Learning 75, 2009;
S. Ross, G. Gordon and D. Bagnell, "A reduction of imitation learning and structured prediction to no-regret online
learning", AISTATS 2011; K.-W. Chang et al., "Learning to search better than your teacher", ICML 2015; VW 9.11.9,
`--search_task sequence` and `sequence_ctg`.
"""

from typing import Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Context
from hutch.core.kernel.abi import float32s_at, kernel
from hutch.core.parameters import Parameters
from hutch.reductions.search.base import Search, SearchParameters
from hutch.reductions.search.record import ask, classes_of_lines, condition_on_range, put, search_of, set_oracle

_0, _1, _P = np.float32(0), np.float32(1), ord("p")


class SearchSequenceParameters(SearchParameters):
    """Parameters of `search_sequence`.

    Attributes:
        cost_to_go: a label says what each class costs, and not which is right: ties between equal ones are drawn.
    """

    cost_to_go: bool = False


@kernel
def label_lines(layer, example, label, importance, offset):
    """Ask for the class of each line, with the classes of the lines before it."""
    s = search_of(layer)
    classes, prices = classes_of_lines(example), float32s_at(s.prices, s.room)
    s.learner = s.allowed_count = s.oracle_count = uint64(0)
    for i in range(s.count):
        s.line, s.tag, s.on_count = i, i + uint64(1), uint64(0)
        if s.priced == uint64(1):
            for k in range(s.actions):
                prices[k] = _0 if k + uint64(1) == uint64(classes[i]) else _1
        else:
            set_oracle(s, classes[i])
        condition_on_range(s, i, s.history, _P)
        put(s, example, i, ask(layer, example, offset))
    return _0


class SearchSequence(Search):
    """Labels the lines of a block as a sequence."""

    name: ClassVar[str] = "search_sequence"
    Parameters: ClassVar[type[Parameters]] = SearchSequenceParameters
    task = label_lines

    def __init__(self, parameters: Any, context: Context) -> None:
        super().__init__(parameters, context, priced=parameters.cost_to_go)
