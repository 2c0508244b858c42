"""Classes that are degrees: numbers, shares, stars, and words of a usual scale, with their order."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

MOST = 12
"""Classes are taken for degrees up to so many."""
_EVEN = 1e-6
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s?(%|/\s?\d+)?")
_SCALES = tuple(
    {name: rank for rank, names in enumerate(scale.split(", ")) for name in names.split("|")}
    for scale in (
        "strongly disagree, disagree, somewhat disagree|slightly disagree, "
        "neutral|neither|neither agree nor disagree|undecided, somewhat agree|slightly agree, agree, strongly agree",
        "never, rarely|seldom, sometimes|occasionally, often|frequently, usually, always",
        "terrible|very poor|very bad, poor|bad, fair|average|acceptable|ok|okay, good, very good, excellent|great",
        "none|negligible, very low, low|minor|mild, medium|moderate, high|major|severe, very high, critical|extreme",
        "very negative, negative, neutral|mixed, positive, very positive",
        "very unlikely, unlikely, neutral|unsure, likely, very likely",
        "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
        "irrelevant|not relevant, partially relevant|somewhat relevant|marginally relevant, relevant, "
        "highly relevant|very relevant|perfectly relevant",
        "small, medium, large",
    )
)
"""Words from the least to the greatest; those of one degree are parted by bars."""


def numbers_of(names: Sequence[str]) -> list[float] | None:
    """The numbers that classes are, with a percent sign, out of one number (`3/5`), or as stars; None if one is none.

    >>> numbers_of(["0%", "100%"]), numbers_of(["1/5", "4/5"]), numbers_of(["*", "***"]), numbers_of(["1/4", "2/5"])
    ([0.0, 100.0], [1.0, 4.0], [1.0, 3.0], None)
    """
    found = [_NUMBER.fullmatch(name.strip()) for name in names]
    if names and all(found):
        values, units = [float(each[1]) for each in found if each], {each[2] for each in found if each}
        return values if len(units) == 1 else None
    texts = [name.strip() for name in names]
    if texts and all(texts) and len({*"".join(texts)}) == 1 and not texts[0][0].isalnum():
        return [float(len(text)) for text in texts]
    return None


def all_numbers(names: Sequence[str]) -> bool:
    """Whether classes are finite numbers as Python reads them.

    >>> all_numbers(["0.5", "1"]), all_numbers(["bad", "good"]), all_numbers(["25%"])
    (True, False, False)
    """
    try:
        return all(math.isfinite(float(name)) for name in names)
    except ValueError:
        return False


def ranks_of(names: Sequence[str]) -> list[int] | None:
    """The places of classes on a usual scale of words; None if it has not all of them, or fewer than three.

    >>> ranks_of(["high", "low", "medium"]), ranks_of(["high", "blue", "low"])
    ([4, 2, 3], None)
    """
    words = [" ".join(re.split(r"[\s_-]+", name.strip().lower())) for name in names]
    for scale in _SCALES:
        if len(words) > 2 and all(word in scale for word in words):
            found = [scale[word] for word in words]
            return found if len({*found}) == len(found) else None
    return None


def are_degrees(names: Sequence[str]) -> bool:
    """Classes are 3 to 12 numbers in ascending order that lie on an even grid, such as 1 to 5, halves, or percentages.

    >>> are_degrees(["1", "2", "3"]), are_degrees(["1", "1.5", "3"]), are_degrees(["1", "2.3", "7.1"])
    (True, True, False)
    """
    values = numbers_of(names) if 3 <= len(names) <= MOST else None
    if values is None or any(one >= other for one, other in pairwise(values)):
        return False
    whole = all(value.is_integer() for value in values)
    step = min(other - one for one, other in pairwise(values))
    return whole or all(abs((value - values[0]) / step - round((value - values[0]) / step)) < _EVEN for value in values)
