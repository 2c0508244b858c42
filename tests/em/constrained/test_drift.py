import numpy as np
import pytest

from hutch.core.errors import ConfigError
from hutch.em.constrained.drift import ALLOWANCE, CLIP, MEMORY, REFERENCE, WARM_UP, DriftDetector


class Twin:
    """The test as its docstring says it, with NumPy's medians."""

    def __init__(self, threshold: float) -> None:
        self.threshold, self.sum, self.segment = threshold, 0.0, 0
        self.reference: list[float] = []

    def drifted(self, score: float) -> bool:
        if len(self.reference) >= REFERENCE:
            recent = np.array(self.reference[-MEMORY:])
            median = np.median(recent)
            spread = np.median(np.abs(recent - median)) or 1.0
            self.sum = max(0.0, self.sum + min(CLIP, float((median - score) / spread)) - ALLOWANCE)
            if self.sum > self.threshold:
                self.sum, self.segment, self.reference = 0.0, 1, []
                return True
        if self.segment >= WARM_UP:
            self.reference.append(score)
        self.segment += 1
        return False


def boundaries(detector: DriftDetector, scores: np.ndarray) -> list[int]:
    """All samples with which a segment starts."""
    found, start = [], 0
    while (first := detector.first(scores[start:])) is not None:
        found.append(start + first)
        start += first + 1
    return found


@pytest.mark.parametrize("level", [0.0, -70.0, 1e4])
def test_it_is_the_twin(level: float) -> None:
    random = np.random.default_rng(0)
    scores = np.concatenate([random.normal(size=n) - 9 * (k % 2) for k, n in enumerate((400, 90, 300, 12, 60, 20, 20))])
    scores[700:760] = 0.0  # no spread at all
    scores += level
    twin = Twin(6.0)
    wanted = [i for i, score in enumerate(scores) if twin.drifted(float(score))]
    assert boundaries(DriftDetector(6.0), scores) == wanted
    assert len(wanted) >= 3


def test_samples_may_come_in_parts() -> None:
    scores = np.random.default_rng(2).normal(size=300) - np.repeat([0.0, 9.0], 150)
    whole, parts = DriftDetector(), DriftDetector()
    found = [first for score in scores for first in [parts.first([score])] if first is not None]
    assert len(found) == len(boundaries(whole, scores)) == 1
    assert whole.record == parts.record


def test_the_reference_is_the_recent_past() -> None:
    detector = DriftDetector(15.0)
    random = np.random.default_rng(0)
    slow = -np.linspace(0, 10, 5000) + random.normal(size=5000)
    assert len(boundaries(detector, slow)) <= 2


def test_threshold_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="threshold"):
        DriftDetector(0.0)
