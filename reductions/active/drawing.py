"""Drawing examples of a pool by their scores: which labels to ask for, and how likely that was."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.sampling.draws import choose, smallest

Numbers = NDArray[Any]


def draw(layer: Any, scores: Numbers, count: int, seed: Sequence[int]) -> tuple[NDArray[np.int64], Numbers]:
    """Draw examples by the rule of an `active` layer; the more easily a prediction changes, the likelier the example.

    Args:
        layer: whose rule has probabilities for a pool, or is `margin`, which draws the smallest scores for sure.
        scores: as its `trace` records them, float64 (examples); they are overwritten.
        count: examples wanted, up to all.
        seed: of the draw.

    Returns:
        The numbers of those drawn, ascending, and the probability with which each was.
    """
    if layer.parameters.rule == "margin":
        return smallest(scores, count), np.ones(count)
    layer.pool_probabilities(scores, count, out=scores)
    drawn = choose(scores, seed)
    return drawn, scores[drawn]
