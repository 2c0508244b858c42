"""A drift test: a segment of a stream ends where the likelihood of its samples falls."""

import numpy as np
from numpy import int64
from numpy.typing import ArrayLike

from hutch.core.errors import ConfigError
from hutch.core.kernel.abi import float64s_at, view
from hutch.core.kernel.cache import entry
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper

WARM_UP = 8
REFERENCE = 8
MEMORY = 256
ALLOWANCE = 1.5
CLIP = 5.0

DRIFT = np.dtype(
    [
        ("threshold", "f8"),
        ("sum", "f8"),  # c of the CUSUM
        ("seen", "i8"),  # samples of the segment
        ("reference", "f8", (MEMORY,)),  # their latest log-likelihoods
        ("sorted", "f8", (MEMORY,)),
    ]
)
drift_at = view(DRIFT)


class DriftDetector:
    """One-sided CUSUM of the distance of each sample's log-likelihood below the usual one.

    c ← max(0, c + min(5, (median - log-likelihood) / MAD) - 1.5); a boundary where c exceeds the threshold. Median and
    median absolute deviation (MAD) are those of the last 256 samples of the segment, its first 8 left out; the test
    starts when there are 8.

    Args:
        threshold: > 0; lower finds more boundaries, true and false.

    Attributes:
        record: DRIFT array of length 1, the state that kernels change.
    """

    def __init__(self, threshold: float = 6.0) -> None:
        if not threshold > 0:
            raise ConfigError(f"threshold: got {threshold}, wanted a positive number")
        self.record = np.zeros(1, DRIFT)
        self.record["threshold"] = threshold

    def first(self, log_likelihoods: ArrayLike) -> int | None:
        """Take in samples up to the first with which a new segment starts.

        Args:
            log_likelihoods: of the samples (n), scored *before* they are learned.

        Returns:
            The index of that sample, the last one taken in; None if all were taken in and no segment starts.
        """
        scores = np.ascontiguousarray(log_likelihoods, np.float64)
        found = int(_first(self.record.ctypes.data, scores.ctypes.data, scores.size))
        return None if found == scores.size else found


@helper
def _median(numbers, count):
    """Median of the first numbers, which are sorted in place: insertion, since they hardly change from call to call."""
    for i in range(1, count):
        value, j = numbers[i], i
        while j > 0 and numbers[j - 1] > value:
            numbers[j] = numbers[j - 1]
            j -= 1
        numbers[j] = value
    return 0.5 * (numbers[(count - 1) // 2] + numbers[count // 2])


@helper
def drifted(address, log_likelihood):
    """Take in one sample, scored before it is learned; True: a new segment starts with it.

    Args:
        address: of a DRIFT record.
        log_likelihood: of the sample.
    """
    d = drift_at(address)[0]
    known = max(d.seen - WARM_UP, int64(0))
    if known >= REFERENCE:
        count = min(known, int64(MEMORY))
        copy(d.reference[:count], d.sorted)
        median = _median(d.sorted, count)
        for i in range(count):
            d.sorted[i] = abs(d.sorted[i] - median)
        spread = _median(d.sorted, count)
        fall = (median - log_likelihood) / (spread if spread > 0.0 else 1.0)
        d.sum = max(0.0, d.sum + min(CLIP, fall) - ALLOWANCE)
        if d.sum > d.threshold:
            d.sum, d.seen = 0.0, 1
            return True
    if d.seen >= WARM_UP:
        d.reference[known % MEMORY] = log_likelihood
    d.seen += 1
    return False


@entry("int64(uint64, uint64, int64)")
def _first(address, scores, count):
    values = float64s_at(scores, count)
    for i in range(count):
        if drifted(address, values[i]):
            return i
    return count
