"""A range cut into parts of equal width, and the density around the middle of one of them, in VW's arithmetic."""

import math
from typing import Annotated

import numpy as np
from numpy import int64

from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import record_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.parameters import Parameters, Within

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
NAN = np.float32(np.nan)
SEGMENT = 3
"""Numbers of a segment: from, to, density."""
MOST_SEGMENTS = 3
LARGEST = 3.4e38

GRID = np.dtype(
    [
        ("parts", "i8"),
        ("reach", "i8"),  # parts on either side of an action that its cost is learned for
        ("lowest", "f4"),
        ("highest", "f4"),
        ("bandwidth", "f4"),
        ("epsilon", "f4"),
    ]
)
grid_at = record_of(GRID)

Finite = Annotated[float, Within(ge=-LARGEST, le=LARGEST)]


class RangeParameters(Parameters):
    """Parameters of a layer that knows a range of numbers.

    Attributes:
        lowest: the smallest number that may be chosen.
        highest: the largest one.
    """

    lowest: Finite
    highest: Finite

    def __post_init__(self) -> None:
        low, high = np.float32(self.lowest), np.float32(self.highest)
        if not low < high:
            raise ValueError(
                f"got lowest {self.lowest:g} and highest {self.highest:g}, wanted the first below the other"
            )
        if not self.highest - self.lowest < LARGEST:
            raise ValueError(f"got a range from {self.lowest:g} to {self.highest:g}, wanted one narrower than 3.4e38")


def grid_of(name: str, parts: int, lowest: float, highest: float, bandwidth: float | None, epsilon: float) -> Record:
    """The GRID record.

    Args:
        name: of the layer, for messages.
        parts: their number.
        lowest, highest: ends of the range.
        bandwidth: how far a density reaches from the middle of a part; None: to the ends of the part.
        epsilon: share of the uniform density.

    Raises:
        ConfigError: a bandwidth that makes every number as likely, or parts that float32 cannot tell apart.
    """
    low, high = np.float32(lowest), np.float32(highest)
    unit = (high - low) / np.float32(parts)
    if not low + unit > low or not high - unit < high:
        text = (
            f"{name}: got {parts} parts from {lowest:g} to {highest:g}, wanted fewer: their ends round to one float32"
        )
        raise ConfigError(text)
    reach, half = 0, unit / _2
    if bandwidth is not None:
        if np.float32(bandwidth) >= high - low:
            width = f"the width of the range, {high - low:g}: every number would be as likely as any other"
            raise ConfigError(f"{name}.bandwidth: got {bandwidth:g}, wanted less than {width}")
        if np.float32(bandwidth) > half:
            reach = int(np.float32(bandwidth) / unit) + (math.fmod(np.float32(bandwidth), unit) != 0)
    half = half if bandwidth is None else np.float32(bandwidth)
    return Record(GRID, parts=parts, reach=reach, lowest=low, highest=high, bandwidth=half, epsilon=epsilon)


@helper
def unit_of(grid):
    """Width of a part."""
    return (grid.highest - grid.lowest) / np.float32(grid.parts)


@helper
def part_of(grid, number):
    """The part that a number of the range is in, from 0."""
    return int64(min(grid.parts - 1, int64(math.floor((number - grid.lowest) / unit_of(grid)))))


@helper
def middle_of(grid, part):
    """The middle of a part."""
    unit = unit_of(grid)
    return grid.lowest + np.float32(part) * unit + unit / _2


@helper
def window_of(grid, middle):
    """The ends of the window around the middle of a part."""
    return max(grid.lowest, middle - grid.bandwidth), min(grid.highest, middle + grid.bandwidth)


@helper
def learned_parts(grid, number):
    """The first and the last part that learn the cost of a number, and the width of these, for the probability."""
    unit = unit_of(grid)
    part = part_of(grid, number)
    if not grid.lowest + np.float32(part) * unit <= number:
        part -= 1
    elif not number < grid.lowest + np.float32(part + 1) * unit:
        part += 1
    first, last = max(part - grid.reach, 0), min(part + grid.reach, grid.parts - 1)
    return min(first, grid.parts - 1), last


@helper
def probability_of_window(grid, density):
    """The probability of a number's window if its density there is this everywhere."""
    parts = np.float32(2 * grid.reach) if grid.reach > 0 else _1
    return density * parts * (grid.highest - grid.lowest) / np.float32(grid.parts)


@helper
def write_segments(grid, part, segments):
    """Write the density around the middle of a part: at most three segments, then NaN."""
    low, high = window_of(grid, middle_of(grid, part))
    rest = grid.epsilon / (grid.highest - grid.lowest)
    top = _1 / (high - low) * (_1 - grid.epsilon) + rest
    ends = (grid.lowest, low, high, grid.highest)
    at = 0
    for k in range(MOST_SEGMENTS):
        if ends[k] < ends[k + 1]:
            segments[at], segments[at + 1] = ends[k], ends[k + 1]
            segments[at + 2] = top if k == 1 else rest
            at += SEGMENT
    for k in range(at, SEGMENT * MOST_SEGMENTS):
        segments[k] = NAN


@helper
def density_at(segments, number):
    """The density of a number; 0 outside all segments."""
    for k in range(len(segments) // SEGMENT):
        if segments[SEGMENT * k] <= number <= segments[SEGMENT * k + 1]:
            return segments[SEGMENT * k + 2]
    return _0
