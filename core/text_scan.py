"""The first of two stages: where the delimiters are.

Knowing all of them beforehand, the second stage need not finish one token to find the next (the idea of simdjson:
G. Langdale, D. Lemire, "Parsing gigabytes of JSON per second", 2019). A superset is found: every byte up to 0x20,
colons and bars.
"""

from numba import int64, njit, uint32, uint64

from hutch.core.abi import uint32s_at
from hutch.core.raw_bytes import delimiters_at, trailing_zeros
from hutch.core.text_state import state_at


@njit
def scan(state, size):  # type: ignore[no-untyped-def]
    """Write the delimiters' distances from the beginning of the text of `size` bytes.

    Returns:
        How many there are; -1 if there is no room for all, so that the arrays must grow.
    """
    s = state_at(state)[0]
    room, text = s.room - 2, s.text
    positions = uint32s_at(s.positions, s.room)
    found = uint64(0)
    for block in range(0, size, 64):
        mask = delimiters_at(text + block)
        if size - block < 64:
            mask &= (uint64(1) << uint64(size - block)) - uint64(1)
        if int64(found) + 64 > room:
            return int64(-1)
        while mask != 0:
            positions[found] = uint32(block + trailing_zeros(mask))
            found += uint64(1)
            mask &= mask - uint64(1)
    return int64(found)
