"""Boundaries of a stream: from a column that names the class, or from a test that sees the likelihood fall."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ConfigError, DataError
from hutch.em.base.learner import Learner
from hutch.em.base.model import Array

WARM_UP = 8
REFERENCE = 8
MEMORY = 256
ALLOWANCE = 1.5
CLIP = 5.0


class DriftDetector:
    """One-sided CUSUM of how far each sample's log-likelihood lies below the usual.

    c ← max(0, c + min(5, (median - log-likelihood) / MAD) - 1.5); a boundary where c exceeds the threshold. Median and
    median absolute deviation (MAD) are those of the last 256 samples of the segment, its first 8 left out; the test
    starts when there are 8.

    Args:
        threshold: > 0; lower finds more boundaries, true and false.
    """

    def __init__(self, threshold: float = 6.0) -> None:
        if not threshold > 0:
            raise ConfigError(f"threshold: got {threshold}, wanted a positive number")
        self.threshold = threshold
        self._sum = 0.0
        self._seen = 0
        self._reference = np.zeros(MEMORY)

    def drifted(self, log_likelihood: float) -> bool:
        """Take in one sample, scored *before* it is learned; True: a new segment starts with it."""
        known = max(self._seen - WARM_UP, 0)
        if known >= REFERENCE:
            reference = self._reference[: min(known, MEMORY)]
            median = np.median(reference)
            spread = np.median(np.abs(reference - median)) or 1.0
            self._sum = max(0.0, self._sum + min(CLIP, float((median - log_likelihood) / spread)) - ALLOWANCE)
            if self._sum > self.threshold:
                self._sum, self._seen = 0.0, 1
                return True
        if self._seen >= WARM_UP:
            self._reference[known % MEMORY] = log_likelihood
        self._seen += 1
        return False


def learn_classes(learner: Learner[Any], rows: NDArray[Any], classes: NDArray[Any]) -> int:
    """Learn rows in their order with a boundary wherever the class changes.

    Args:
        learner: of any kind.
        rows: (samples, ...).
        classes: (samples), of any type.

    Returns:
        How many boundaries there were.

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
    block: int = 1,
    score: Callable[[NDArray[Any]], Array] | None = None,
) -> list[int]:
    """Learn rows in their order with a boundary wherever the detector sees one.

    Args:
        learner: of any kind.
        rows: (samples, ...).
        detector: sees the likelihood of each row under what was learned before its block.
        block: rows scored at a time, ≥ 1.
        score: log-likelihood of each row; by default under the learner's estimate.

    Returns:
        The first rows of the new segments.
    """
    cuts, first = [], 0
    while first < len(rows):
        ahead = rows[first : first + block]
        scores = (score or learner.log_likelihood)(ahead)
        drift = next((i for i, value in enumerate(scores) if detector.drifted(float(value))), None)
        if drift is None:
            learner.learn(ahead)
            first += len(ahead)
            continue
        if drift:
            learner.learn(ahead[:drift])
        learner.boundary()
        first += drift
        cuts.append(first)
        learner.learn(rows[first : first + 1])  # the detector has already counted it into the new segment
        first += 1
    return cuts
