"""Bounds of a mean that hold at all times at once: a confidence sequence of numbers from 0 on with a mean up to 1.

A wealth that bets against a mean of at most mu grows with each number above it; where it exceeds 1 / alpha the mean is
larger, but for a probability alpha. The wealth is a mixture over rates, and the square of how far a number is from the
mean so far counts by size: below, up to 1 above, and farther above, where it lies between two powers of 1.5.

Source: P. Mineiro, "A lower confidence sequence for the changing mean of non-negative right heavy-tailed observations
with bounded mean", arXiv 2210.11133; VW 9.11.9, `--epsilon_decay`.
"""

import math

import numpy as np

from hutch.core.kernel.decorators import helper

BINS, RATES = 220, 512
"""Powers of 1.5 up to the largest importance that float32 has, and most rates of the mixture."""
TOTAL, LOW, MIDDLE, COUNT, FIRST = range(5)
"""Columns of a side: the sum, sums of squares, how many; from FIRST on BINS weights of powers, and BINS strong ones."""
SIDE = FIRST + 2 * BINS
_BASE, _FASTEST, _RATIO = 1.5, 0.5, 1.6
_LOG_RATIO, _LOG_REST = math.log1p(_RATIO - 1), math.log1p(_RATIO - 2.0)
_SCALE = 0.5 * (1.0 + 1.4406337970699393 / (float(np.float32(0.95)) * 1.6449340668482264))
_LOG_SCALE = math.log1p(_SCALE - 1.0)


@helper
def note(side, x):
    """Take a number into a side.

    Args:
        side: float64[SIDE].
        x: from 0 on.
    """
    error = x - min(1.0, (side[TOTAL] + 0.5) / (side[COUNT] + 1))
    if error <= 0.0:
        side[LOW] += error * error
    elif error <= 1.0:
        side[MIDDLE] += error * error
    else:
        n = min(int(math.floor(math.log(error) / math.log(_BASE))), BINS - 2)
        power = math.pow(_BASE, n)
        part = (_BASE * power - error) / ((_BASE - 1.0) * power)
        side[FIRST + n] += part
        side[FIRST + n + 1] += 1 - part
        side[FIRST + BINS + n] += -0.5 * part * (1 - part)
    side[TOTAL] += x
    side[COUNT] += 1


@helper
def _variance(side, rate):
    """What squares cost a bet of a rate, times the root of the count."""
    n = side[COUNT] + 1
    root, found = math.sqrt(n), 0.0
    for k in range(BINS):
        weak, strong = side[FIRST + k], side[FIRST + BINS + k]
        if weak == 0.0 and strong == 0.0:
            continue
        x = math.pow(_BASE, k) / root
        found += weak * (rate * x - math.log1p(rate * x))
        part = rate * (_BASE - 1) * x / (1 + rate * _BASE * x)
        found += strong * (part * part)
    return 0.5 * (rate * rate) * (side[LOW] / (n - root * rate) + side[MIDDLE] / n) + found


@helper
def _rate(side, j):
    """The j-th rate of the mixture, times the root of the count."""
    return _FASTEST * math.exp(-((j + 0.5) * _LOG_RATIO - 0.5 * math.log(side[COUNT] + 1)))


@helper
def _log_of_sum(a, b):
    top = max(a, b)
    return math.log(math.exp(a - top) + math.exp(b - top)) + top


@helper
def _log_wealth(side, mean, wanted, costs, known):
    """The logarithm of the wealth, or a bound of it on the same side of `wanted`; and how many `costs` are known."""
    root = math.sqrt(side[COUNT] + 1)
    gain, rates = side[TOTAL] / root - (side[COUNT] / root) * mean, known
    while True:
        most, before, last = -np.inf, -2147483648.0, 0.0
        for j in range(rates):
            last = _rate(side, j) * gain - costs[j]
            before = max(before, last) if j < rates - 1 else before
            most = max(most, last + (_LOG_SCALE + _LOG_REST - (1 + j) * _LOG_RATIO))
        total = 0.0
        for j in range(rates):
            each = _rate(side, j) * gain - costs[j] + (_LOG_SCALE + _LOG_REST - (1 + j) * _LOG_RATIO)
            total += math.exp(each - most)
        least = math.log(total) + most
        if least >= wanted or rates == RATES:
            return least, rates
        rest = last if last < before else _rate(side, rates) * gain
        largest = _log_of_sum(least, (_LOG_SCALE - rates * _LOG_RATIO) + rest)
        if largest < wanted:
            return largest, rates
        costs[rates] = _variance(side, _rate(side, rates))
        rates += 1


@helper
def lower_bound(side, level, tolerance, costs):
    """A number that the mean exceeds, but for a probability.

    Args:
        side: float64[SIDE].
        level: the probability.
        tolerance: how exact the bound is.
        costs: float64[RATES], which it writes to.
    """
    wanted = -math.log(level)
    for j in range(2):
        costs[j] = _variance(side, _rate(side, j))
    wealth, known = _log_wealth(side, 0.0, wanted, costs, 2)
    if wealth <= wanted:
        return 0.0
    wealth, known = _log_wealth(side, 1.0, wanted, costs, known)
    if wealth >= wanted:
        return 1.0
    below, above, middle = 0.0, 1.0, 0.0
    while above >= below + tolerance:
        middle = (below + above) / 2
        wealth, known = _log_wealth(side, middle, wanted, costs, known)
        if wealth == wanted:
            break
        if wealth < wanted:
            above = middle
        else:
            below = middle
    return middle
