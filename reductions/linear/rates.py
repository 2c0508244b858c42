"""Per-feature learning rates: adaptive (AdaGrad), normalised (NAG), both, or neither.

A row of the weight table is (w, G, N, rate): weight, sum of squared gradients, largest |x| seen, rate in the last
example. `measure` updates G and N for one example, and returns the change of the prediction per unit of update, which
the invariant update needs.

`measure_default` does the same for the default kind of rates, in three walks over the features. A feature may occur
twice, and VW's float32 sums require that terms be added in order; so only the walk in the middle, which has the roots
and divisions, may compute several at once.

Sources: J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", JMLR 2011; S. Ross, P. Mineiro and
J. Langford, "Normalized online learning", UAI 2013; VW 9.11.9 (gd.cc) for the arithmetic.
"""

import math

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import (
    example_of,
    float64s_at,
    no_unroll,
    prefetch,
    record_of,
    shared_of,
    uint32s_at,
    weights_of,
)
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.features import rows_of, scratch_of, squared_length, values_of

RATES = np.dtype(
    [
        ("norms", "u8"),  # address of float64[submodels, 2]: sum of importance · Σ (x/N)², sum of importance
        ("adaptive", "u8"),
        ("normalized", "u8"),
        ("square_root", "u8"),  # 1 if power_t is 0.5: square roots instead of powers
        ("power_t", "f4"),
        ("multiplier", "f4"),  # of the update: makes up for features that are mostly absent; kept from the last example
    ]
)

rates_of = record_of(RATES)

LEAST = np.float32(1.084202e-19)  # features count as at least this large
LEAST_SQUARE = LEAST * LEAST
MOST = np.float32(np.finfo(np.float32).max)
_0, _1 = np.float32(0), np.float32(1)


BLOCK = np.uint64(512)
"""Features that are walked over three times before the next; their rows stay in the nearest caches."""


DEFAULT = (True, True, True)
"""A kind of rates: whether adaptive, normalised, with square roots; known when kernels for it are compiled."""


@inlined
def _rescaled(w, least, most, kind, power):
    """A weight learned at scale `least`, as if its feature had always had the scale `most`."""
    adaptive, _, square_root = kind
    if square_root:
        ratio = least / most
        return w * (ratio if adaptive else ratio * ratio)
    ratio = most / least
    return w * (ratio * ratio) ** (power - _1)


@inlined
def _size_of(x):
    """x² and |x|, neither less than the least."""
    square = x * x
    if square < LEAST_SQUARE:
        return LEAST_SQUARE, LEAST
    return square, abs(x)


@inlined
def grown(weights, at, slot, size, commit, kind, power):
    """N of a feature, not less than |x|; where it grows, the weight is rescaled."""
    scale = weights[slot]
    if size > scale:
        if commit:
            if scale > _0:
                weights[at] = _rescaled(weights[at], scale, size, kind, power)
            weights[slot] = size
        scale = size
    return scale


@inlined
def touch(weights, at, x, square_gradient, commit, kind, power):
    """Update G and N of a feature; returns x², G and N."""
    adaptive, normalized, _ = kind
    square, size = _size_of(x)
    gradient, scale, slot = _0, _1, at + uint64(1)
    if adaptive:
        gradient = weights[slot] + square_gradient * square
        if commit:
            weights[slot] = gradient
        slot += uint64(1)
    if normalized:
        scale = grown(weights, at, slot, size, commit, kind, power)
    return square, gradient, scale


@inlined
def _rate(square, gradient, scale, kind, power):
    """Rate and (x / N)² of a feature, of any kind."""
    adaptive, normalized, square_root = kind
    rate, share = _1, _1
    if adaptive:
        rate = _1 / math.sqrt(gradient) if square_root else gradient**-power
    if normalized:
        if not square_root:
            rate *= (scale * scale) ** (power - _1)
        elif adaptive:
            rate *= _1 / scale
        else:
            rate *= (_1 / scale) * (_1 / scale)
        share = square / (scale * scale) if square <= MOST else _1
    return rate, share


@helper
def _visit(rates, weights, stride, rows, values, square_gradient, commit):
    """Set the rates of all features, of any kind; returns Σ rate x² and Σ (x / N)²."""
    total, norm, power = _0, _0, rates.power_t
    kind = rates.adaptive == 1, rates.normalized == 1, rates.square_root == 1
    for i in range(uint64(len(rows))):
        at = uint64(rows[i]) * stride
        square, gradient, scale = touch(weights, at, values[i], square_gradient, commit, kind, power)
        rate, share = _rate(square, gradient, scale, kind, power)
        total += square * rate
        norm += share
        if commit:
            weights[at + uint64(3)] = rate
    return total, norm


@helper
def _multiplier(rates, total_norm, total_importance):
    if rates.square_root == 0:
        return (total_norm / total_importance) ** (rates.power_t - _1)
    mean = total_importance / total_norm
    return math.sqrt(mean) if rates.adaptive == 1 else mean


@helper
def _hypothetical_multiplier(rates, offset, importance, norm):
    """The multiplier of the update, had an example been added to the mean norm of its sub-model."""
    norms = float64s_at(rates.norms + uint64(16) * offset, uint64(2))
    return _multiplier(rates, np.float32(norms[0]) + importance * norm, np.float32(norms[1]) + importance)


@inlined
def average(rates, offset, importance, norm):
    """Add an example to the mean norm of its sub-model; returns it as the ratio of two sums, float32."""
    norms = float64s_at(rates.norms + uint64(16) * offset, uint64(2))
    norms[0] += np.float64(importance) * np.float64(norm)
    norms[1] += np.float64(importance)
    return np.float32(norms[0]), np.float32(norms[1])


@inlined
def last_average(rates, offset):
    """The present mean norm of a sub-model, for an update too small to be measured; 1 before any example."""
    norms = float64s_at(rates.norms + uint64(16) * offset, uint64(2))
    if norms[1] > 0.0:
        return np.float32(norms[0]), np.float32(norms[1])
    return _1, _1


@inlined
def measure_default(rates, features, shared, offset, importance, square_gradient):
    """`measure` for learning with the default kind of rates; fetches the rows of the next example on the way."""
    if square_gradient == _0:
        total_norm, total_importance = last_average(rates, offset)
        rates.multiplier = math.sqrt(total_importance / total_norm)
        return _1
    n, weights, ahead = features.length, weights_of(shared), uint32s_at(features.ahead, features.ahead_length)
    rows, values, asked = rows_of(features, n), values_of(features, n), min(n, features.ahead_length)
    squares, sums, sizes = scratch_of(features, 0), scratch_of(features, 1), scratch_of(features, 2)
    made, shares, total, norm = sums, sizes, _0, _0
    for first in range(uint64(0), n, BLOCK):
        last = min(first + BLOCK, n)
        for i in range(first, last):
            no_unroll()
            if i < asked:
                prefetch(shared.weights + uint64(ahead[i]) * uint64(16))
            at, k = uint64(rows[i]) * uint64(4), i - first
            squares[k], sums[k], sizes[k] = touch(weights, at, values[i], square_gradient, True, DEFAULT, _0)
        for k in range(last - first):  # apart and without branches: LLVM computes several at once
            scale = sizes[k]
            share = squares[k] / (scale * scale)
            made[k] = (_1 / math.sqrt(sums[k])) * (_1 / scale)
            shares[k] = share if squares[k] <= MOST else _1
        for i in range(first, last):
            no_unroll()
            k = i - first
            total += squares[k] * made[k]
            norm += shares[k]
            weights[uint64(rows[i]) * uint64(4) + uint64(3)] = made[k]
    features.ahead, features.ahead_length = features.ahead + uint64(4) * asked, features.ahead_length - asked
    total_norm, total_importance = average(rates, offset, importance, norm)
    rates.multiplier = math.sqrt(total_importance / total_norm)
    return total * rates.multiplier


@helper
def measure(rates, features, example, n, offset, importance, square_gradient, commit):
    """Update G and N of the features gathered last, and set their rates.

    Args:
        rates, features: RATES and FEATURES records.
        example: address of the EXAMPLE.
        n: number of features.
        offset: of the sub-model.
        importance: of the example, float32.
        square_gradient: of the loss, float32, times importance.
        commit: False changes nothing.

    Returns:
        Change of the prediction per unit of update, float32.
    """
    if rates.adaptive == 0 and rates.normalized == 0:
        return squared_length(features, example)
    if commit and square_gradient == _0:
        total_norm, total_importance = last_average(rates, offset)
        rates.multiplier = _multiplier(rates, total_norm, total_importance)
        return _1
    shared = shared_of(example_of(example).shared)
    weights = weights_of(shared)
    rows, values = rows_of(features, n), values_of(features, n)
    total, norm = _visit(rates, weights, shared.stride, rows, values, square_gradient, commit)
    if rates.normalized == 0:
        return total
    if not commit:
        return total * _hypothetical_multiplier(rates, offset, importance, norm)
    total_norm, total_importance = average(rates, offset, importance, norm)
    rates.multiplier = _multiplier(rates, total_norm, total_importance)
    return total * rates.multiplier
