"""The greatest class of a block: lines are classified one after the other, and the greatest class is the answer.

A block whose greatest class is missed costs `cost` / `weight`, one for which a greater class is predicted costs 1.

Source: VW 9.11.9, `--search_task argmax`.
"""

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Context
from hutch.core.kernel.abi import kernel, record_of
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within
from hutch.reductions.search.base import Search, SearchParameters
from hutch.reductions.search.record import (
    ask,
    classes_of_lines,
    condition_on,
    declare,
    put,
    search_of,
    set_oracle,
)

_0, _1, _P = np.float32(0), np.float32(1), ord("p")

MAXIMUM = np.dtype([("cost", "f4"), ("only_greatest", "u4")])
maximum_of = record_of(MAXIMUM)


class SearchMaximumParameters(SearchParameters):
    """Parameters of `search_maximum`.

    Attributes:
        cost: of a block whose greatest class is not predicted.
        weight: of blocks for which a greater class is predicted: the cost is divided by it.
        only_greatest: the right class of every line is the greatest of its block, and no line is told of others.
    """

    cost: float = 10.0
    weight: Annotated[float, Within(gt=0)] = 1.0
    only_greatest: bool = False


@kernel
def find_greatest(layer, example, label, importance, offset):
    """Ask for the class of each line; the loss is that of the greatest."""
    s = search_of(layer)
    own = maximum_of(s.own)
    classes, greatest, found = classes_of_lines(example), uint64(1), uint64(1)
    for i in range(s.count):
        greatest = max(greatest, uint64(classes[i]))
    s.learner = s.allowed_count = uint64(0)
    for i in range(s.count):
        s.line, s.tag, s.on_count = i, i + uint64(1), uint64(0)
        set_oracle(s, greatest if own.only_greatest == 1 else uint64(classes[i]))
        condition_on(s, i, _P)
        found = max(found, uint64(ask(layer, example, offset)))
    declare(s, own.cost if greatest > found else (_1 if found > greatest else _0))
    for i in range(s.count):
        put(s, example, i, found)
    return _0


class SearchMaximum(Search):
    """Predicts the greatest class of a block."""

    name: ClassVar[str] = "search_maximum"
    Parameters: ClassVar[type[Parameters]] = SearchMaximumParameters
    hamming = False
    of_blocks = True
    task = find_greatest

    def __init__(self, parameters: Any, context: Context) -> None:
        cost = np.float32(parameters.cost) / np.float32(parameters.weight)
        own = Record(MAXIMUM, cost=cost, only_greatest=parameters.only_greatest)
        super().__init__(parameters, context, own=own)
        if parameters.only_greatest:
            self.state["conditions"] = 0
