"""The first of two stages: where the delimiters are.

Knowing all of them beforehand, the second stage need not finish one token to find the next (the idea of simdjson:
G. Langdale, D. Lemire, "Parsing gigabytes of JSON per second", 2019). A superset is found: every byte up to 0x20,
colons and bars.
"""

from numpy import int64, uint32, uint64

from hutch.core.kernel.abi import uint32s_at
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.raw_bytes import bit_count, delimiters_at, trailing_zeros
from hutch.core.text.state import SPARE, state_at


@inlined
def write_some(positions, found, block, mask, count):
    """Write the places of the `count` lowest bits and clear them; if there are fewer, the rest is garbage.

    What comes next overwrites it. A loop over only the set bits would exit at an unpredictable point.
    """
    for i in range(count):
        positions[found + uint64(i)] = uint32(block + trailing_zeros(mask))
        mask &= mask - uint64(1)
    return mask


@helper
def scan(state, size):
    """Write the delimiters' distances from the beginning of the text of `size` bytes.

    Returns:
        How many there are; -1 if there is no room for all, so that the arrays must grow.
    """
    s = state_at(state)[0]
    room, text = s.room - SPARE, s.text
    positions = uint32s_at(s.positions, s.room)
    found = uint64(0)
    for block in range(0, size, 64):
        mask = delimiters_at(text + block)
        if size - block < 64:
            mask &= (uint64(1) << uint64(size - block)) - uint64(1)
        if int64(found) + 64 > room:
            return int64(-1)
        count = bit_count(mask)
        mask = write_some(positions, found, block, mask, 8)
        if count > 8:
            mask = write_some(positions, found + uint64(8), block, mask, 4)
        if count > 12:
            mask = write_some(positions, found + uint64(12), block, mask, 4)
        for i in range(found + uint64(16), found + count):
            positions[i] = uint32(block + trailing_zeros(mask))
            mask &= mask - uint64(1)
        found += count
    for i in range(found, found + uint64(SPARE)):
        positions[i] = uint32(size - 1)
    return int64(found)
