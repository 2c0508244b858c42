"""Digamma and log-gamma functions, powers and exponentials: exact, or Vowpal Wabbit's approximations.

The fast ones come from the bits of a float32: its exponent is the whole part of its base-2 logarithm, and a rational
function of its mantissa the rest. They are wrong by up to 1e-4. VW 9.11.9 has two forms, whose logarithms differ by
4.8e-5: one for numbers that its processor takes four at a time, which begin where memory is aligned to 16 bytes, and
one for those before and behind.

Sources: VW 9.11.9, `--math-mode`; P. Mineiro, "Fast approximate logarithm, exponential, power, and inverse root", 2011;
M. Abramowitz and I. Stegun, "Handbook of mathematical functions", 6.3.5 and 6.3.18.
"""

import math
from typing import Literal, get_args

import numpy as np
from numpy import float32, int32, uint32

from hutch.core.kernel.decorators import helper, inlined

Arithmetic = Literal["exact", "fast", "fast_in_fours"]
EXACT, FAST, FAST_IN_FOURS = range(len(get_args(Arithmetic)))
LEAST = float32(1e-10)
"""Exponentials of expected logarithms below it become it."""

_0, _1, _2, _3 = float32(0), float32(1), float32(2), float32(3)
_ALONE, _FOURS = float32(124.22544637), float32(124.22551499)
_LN2, _LOG2E = float32(0.69314718), float32(1.442695040)
_STEP, _STEPS = float32(2.0**-23), float32(2.0**23)


@inlined
def _log2(x, bias):
    bits = np.float32(x).view(np.uint32)
    mantissa = np.uint32((bits & uint32(0x7FFFFF)) | uint32(0x3F000000)).view(np.float32)
    whole = float32(int32(bits)) * _STEP - bias - float32(1.498030302) * mantissa
    return whole - float32(1.72587999) / (float32(0.3520887068) + mantissa)


@inlined
def _power_of_2(p):
    clipped = max(p, float32(-126))
    fraction = clipped - float32(int32(clipped)) + (_1 if p < _0 else _0)
    shifted = clipped + float32(121.2740838) + float32(27.7280233) / (float32(4.84252568) - fraction)
    return np.uint32(_STEPS * (shifted - float32(1.49012907) * fraction)).view(np.float32)


@inlined
def _digamma_alone(x):
    y = _2 + x
    last = (float32(13) + float32(6) * x) / (float32(12) * y * y)
    return -(_1 + _2 * x) / (x * (_1 + x)) - last + _LN2 * _log2(y, _ALONE)


@inlined
def _digamma_of_four(x):
    y = _2 + x
    above = float32(-48) + x * (float32(-157) + x * (float32(-127) - float32(30) * x))
    return above / (float32(12) * x * (_1 + x) * y * y) + _LN2 * _log2(y, _FOURS)


@helper
def _fast_log_gamma(x):
    y = _3 + x
    logarithm = _LN2 * _log2(x * (_1 + x) * (_2 + x), _ALONE)
    ends = float32(-2.081061466) - x + float32(0.0833333) / y
    return ends - logarithm + (float32(2.5) + x) * (_LN2 * _log2(y, _ALONE))


@helper
def _exact_digamma(x):
    """By recurrence up to 8, and then by the asymptotic series."""
    y, total = np.float64(x), 0.0
    while y < 8.0:
        total -= 1.0 / y
        y += 1.0
    z = 1.0 / (y * y)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132)))))
    return total + math.log(y) - 0.5 / y - series


@helper
def digamma(x, kind):
    """The derivative of log Γ at x > 0, float32."""
    return float32(_exact_digamma(x)) if kind == EXACT else _digamma_alone(float32(x))


@helper
def log_gamma(x, kind):
    """Log Γ(x) for x > 0, float32."""
    return float32(math.lgamma(np.float64(x))) if kind == EXACT else _fast_log_gamma(float32(x))


@helper
def power(x, exponent, kind):
    """x to the power of `exponent`, float32, for x > 0."""
    if kind == EXACT:
        return float32(math.pow(np.float64(float32(x)), np.float64(float32(exponent))))
    return _power_of_2(float32(exponent) * _log2(float32(x), _ALONE))


@helper
def exp_digamma(numbers, norms, start, kind, out):
    """Write exp(digamma(number) - norm) for each of some numbers above 0, but at least `LEAST`.

    Args:
        numbers: float32.
        norms: float32, as many, or a single one for all.
        start: where the first number would lie in memory, in floats from a multiple of 16 bytes.
        kind: of the arithmetic.
        out: float32, as many as numbers; may be the same.
    """
    count, each = len(numbers), 1 if len(norms) > 1 else 0
    if kind == EXACT:
        for k in range(count):
            out[k] = max(LEAST, float32(math.exp(np.float64(float32(_exact_digamma(numbers[k])) - norms[k * each]))))
        return
    first = min(-start & 3, count) if kind == FAST_IN_FOURS else count
    last = first + max(count - first - 1, 0) // 4 * 4
    for k in range(count):
        inside = first <= k < last
        found = _digamma_of_four(numbers[k]) if inside else _digamma_alone(numbers[k])
        out[k] = max(LEAST, _power_of_2(_LOG2E * (found - norms[k * each])))
