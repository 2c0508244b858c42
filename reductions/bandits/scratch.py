"""Numbers that a layer keeps while it works on one decision: columns with one entry per action of the decision."""

from numpy import uint64

from hutch.core.kernel.abi import float32s_at, uint32s_at
from hutch.core.kernel.decorators import inlined
from hutch.core.learner.memory import reserve


@inlined
def make_columns(buffer, count, columns):
    """Reserve so many columns in the BUFFER at an address; returns their address, 0 if there is no memory."""
    return reserve(buffer, uint64(4) * count * uint64(columns))


@inlined
def floats(columns, count, k):
    """Column k as float32[count]."""
    return float32s_at(columns + uint64(4) * count * uint64(k), count)


@inlined
def numbers(columns, count, k):
    """Column k as uint32[count]."""
    return uint32s_at(columns + uint64(4) * count * uint64(k), count)
