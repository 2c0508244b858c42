"""One class for a block, bit by bit: each step halves the classes that are left, by a model for the bits before it.

Only the first line of a block counts. Source: VW 9.11.9, `--search_task multiclasstask`.
"""

import math
from typing import Any, ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Context
from hutch.core.kernel.abi import kernel, record_of
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters
from hutch.reductions.search.base import Search, SearchParameters
from hutch.reductions.search.record import allow, ask, classes_of_lines, declare, put, search_of, set_oracle

_0, _1 = np.float32(0), np.float32(1)

BITS = np.dtype([("bits", "u8")])
bits_of = record_of(BITS)


class SearchBitsParameters(SearchParameters):
    """Parameters of `search_bits`: those of all layers that search."""


@kernel
def choose_bits(layer, example, label, importance, offset):
    """Ask for each bit of the class, the highest first: action 2 sets it."""
    s = search_of(layer)
    right, found = uint64(classes_of_lines(example)[0]), uint64(0)
    bits = bits_of(s.own).bits
    s.line = s.tag = s.learner = s.on_count = uint64(0)
    for k in range(bits):
        bit = uint64(1) << (bits - k - uint64(1))
        s.allowed_count = uint64(0)
        allow(s, 1)
        if found + bit + uint64(1) <= s.actions:
            allow(s, 2)
        set_oracle(s, uint64(2) if (right - uint64(1)) & bit != uint64(0) else uint64(1))
        action = uint64(ask(layer, example, offset))
        s.learner = (s.learner << uint64(1)) + action
        if action == uint64(2):
            found += bit
    declare(s, _0 if found + uint64(1) == right else _1)
    for i in range(s.count):
        put(s, example, i, found + uint64(1))
    return _0


class SearchBits(Search):
    """Predicts one class for a block, bit by bit."""

    name: ClassVar[str] = "search_bits"
    Parameters: ClassVar[type[Parameters]] = SearchBitsParameters
    conditioned = hamming = False
    of_blocks = True
    task = choose_bits

    def __init__(self, parameters: Any, context: Context) -> None:
        bits = math.ceil(math.log(parameters.classes) / math.log(2))
        super().__init__(parameters, context, own=Record(BITS, bits=bits))

    @classmethod
    def learners(cls, parameters: Any) -> int:
        """One for each way to a bit."""
        return 1 << int(parameters.classes - 1).bit_length()
