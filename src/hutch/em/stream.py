"""Learning a stream class by class: boundaries from a column that names the class, or from a drift test."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import DataError
from hutch.em.base.learner import Learner
from hutch.em.base.model import Array
from hutch.em.constrained.drift import DriftDetector


def learn_classes(learner: Learner[Any], rows: NDArray[Any], classes: NDArray[Any]) -> int:
    """Learn rows in their order with a boundary wherever the class changes.

    Args:
        learner: of any kind.
        rows: (samples, ...).
        classes: (samples), of any type.

    Returns:
        The number of boundaries.

    Raises:
        DataError: not as many classes as rows.
    """
    if len(classes) != len(rows):
        raise DataError(f"classes: got {len(classes)}, wanted {len(rows)}, one for each row")
    cuts = np.flatnonzero(classes[1:] != classes[:-1]) + 1
    for number, segment in enumerate(np.split(rows, cuts)):
        if number:
            learner.boundary()
        learner.learn(segment)
    return len(cuts)


def learn_drifting(
    learner: Learner[Any],
    rows: NDArray[Any],
    detector: DriftDetector,
    score: Callable[[NDArray[Any]], Array] | None = None,
) -> list[int]:
    """Learn rows in their order with a boundary wherever the detector sees one.

    Args:
        learner: of any kind.
        rows: (samples, ...).
        detector: sees the likelihood of each row under what was learned before it.
        score: log-likelihood of each row; by default under the learner's estimate.

    Returns:
        The first rows of the new segments.
    """
    cuts = []
    for first in range(len(rows)):
        row = rows[first : first + 1]
        if detector.first((score or learner.log_likelihood)(row)) is not None:
            learner.boundary()
            cuts.append(first)
        learner.learn(row)
    return cuts
