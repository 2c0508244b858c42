"""The drift test of `hutch.em.constrained.drift.DriftDetector`, in a record that kernels change."""

import numpy as np
from numpy import int64

from hutch.core.kernel.abi import record_of
from hutch.core.kernel.decorators import helper
from hutch.em.constrained.drift import ALLOWANCE, CLIP, MEMORY, REFERENCE, WARM_UP

DRIFT = np.dtype(
    [
        ("threshold", "f8"),
        ("sum", "f8"),  # c of the CUSUM
        ("seen", "i8"),  # samples of the segment
        ("reference", "f8", (MEMORY,)),  # their latest log-likelihoods
        ("sorted", "f8", (MEMORY,)),
    ]
)
drift_of = record_of(DRIFT)


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
    """Take in one sample, scored before it is learned; True: a new segment starts with it."""
    d = drift_of(address)
    known = max(d.seen - WARM_UP, int64(0))
    if known >= REFERENCE:
        count = min(known, int64(MEMORY))
        d.sorted[:count] = d.reference[:count]
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
