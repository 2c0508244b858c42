"""Per-feature learning rates: adaptive (AdaGrad), normalised (NAG), both, or neither.

A row of the weight table is (w, G, N, rate): weight, sum of squared gradients, largest |x| seen, rate in the last
example. `measure` updates G and N for one example, and returns what the invariant update needs, the change of the
prediction per unit of update; `measure_default` does it for the default kind of rates. VW's float32 sums require that
terms be added in the order of the features, whatever else is done for many at once.

Sources: J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", JMLR 2011; S. Ross, P. Mineiro and
J. Langford, "Normalized online learning", UAI 2013; VW 9.11.9 (gd.cc) for the arithmetic.
"""

import math
from typing import Any

import numpy as np
from numpy import uint64

from hutch.core.kernel.abi import example_of, float32s_at, float64s_at, no_unroll, record_of, shared_of
from hutch.core.kernel.decorators import helper, inlined, intrinsic
from hutch.core.kernel.lanes import Lanes, load, places, store
from hutch.reductions.linear.features import (
    LANES,
    fetch_one,
    fetch_some,
    rows_of,
    scratch_of,
    squared_length,
    values_of,
)

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

_LEAST = np.float32(1.084202e-19)  # features are taken to be at least this large
_LEAST_SQUARE = _LEAST * _LEAST
_MOST = np.float32(np.finfo(np.float32).max)
_0, _1 = np.float32(0), np.float32(1)


@intrinsic
def default_sizes(typing_context: Any, values: Any, squares: Any, sizes: Any, i: Any) -> Any:
    """Write x² and |x| of LANES features from the i-th on, neither less than the least."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, squares, sizes = places(context, builder, signature.args[:3], arguments[:3], arguments[3])
        value = load(builder, values, ir.FloatType(), int(LANES))
        square = value * value
        small = square.compare("<", float(_LEAST_SQUARE))
        store(builder, small.choose(float(_LEAST_SQUARE), square), squares)
        store(builder, small.choose(float(_LEAST), value.called("fabs")), sizes)
        return context.get_dummy_value()

    return types.void(values, squares, sizes, i), generate


@intrinsic
def default_rates(typing_context: Any, squares: Any, gradients: Any, scales: Any, i: Any) -> Any:
    """Turn x², G and N of LANES features from the i-th on into x² times the rate, the rate and (x / N)², all at once.

    Every operation is rounded as IEEE 754 asks, so the lanes get what `_default_rate` gives.
    """
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = places(context, builder, signature.args[:3], arguments[:3], arguments[3])
        square, gradient, scale = (load(builder, place, ir.FloatType(), int(LANES)) for place in found)
        rate = 1 / gradient.called("sqrt")
        finite = square.compare("<=", float(_MOST))

        def finish(rate: Lanes, share: Lanes) -> None:
            for place, lanes in zip(found, (square * rate, rate, finite.choose(share, 1)), strict=True):
                store(builder, lanes, place)

        plain = builder.icmp_unsigned("==", scale.compare("==", 1).bits(), ir.IntType(64)((1 << int(LANES)) - 1))
        with builder.if_else(plain) as (then, otherwise):
            with then:  # as with all features that are there or not: the same without divisions by 1
                finish(rate, square)
            with otherwise:
                finish(rate * (1 / scale), square / (scale * scale))
        return context.get_dummy_value()

    return types.void(squares, gradients, scales, i), generate


_DEFAULT = (True, True, True)
"""A kind of rates: whether adaptive, normalised, with square roots; known when kernels for it are compiled."""


@inlined
def _kind(rates):
    return rates.adaptive == 1, rates.normalized == 1, rates.square_root == 1


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
    if square < _LEAST_SQUARE:
        return _LEAST_SQUARE, _LEAST
    return square, abs(x)


@inlined
def _advance(weights, at, square, size, square_gradient, commit, kind, power):
    """Update G and N of a feature with known x² and |x|; returns G and N."""
    adaptive, normalized, _ = kind
    gradient, scale, slot = _0, _1, at + uint64(1)
    if adaptive:
        gradient = weights[slot] + square_gradient * square
        if commit:
            weights[slot] = gradient
        slot += uint64(1)
    if normalized:
        scale = weights[slot]
        if size > scale:
            if commit:
                if scale > _0:
                    weights[at] = _rescaled(weights[at], scale, size, kind, power)
                weights[slot] = size
            scale = size
    return gradient, scale


@inlined
def _touch(weights, at, x, square_gradient, commit, kind, power):
    """Update G and N of a feature; returns x², G and N."""
    square, size = _size_of(x)
    gradient, scale = _advance(weights, at, square, size, square_gradient, commit, kind, power)
    return square, gradient, scale


@inlined
def _default_rate(square, gradient, scale):
    """Rate and (x / N)² of a feature, adaptive and normalised, with square roots."""
    if scale == _1:  # as with all features that are there or not: the same without divisions by 1
        return _1 / math.sqrt(gradient), square
    return (_1 / math.sqrt(gradient)) * (_1 / scale), square / (scale * scale) if square <= _MOST else _1


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
        share = square / (scale * scale) if square <= _MOST else _1
    return rate, share


@helper
def _visit(rates, weights, stride, rows, values, square_gradient, commit):
    """Set the rates of all features, of any kind; returns Σ rate x² and Σ (x / N)²."""
    total, norm, kind, power = _0, _0, _kind(rates), rates.power_t
    for i in range(uint64(len(rows))):
        at = uint64(rows[i]) * stride
        square, gradient, scale = _touch(weights, at, values[i], square_gradient, commit, kind, power)
        rate, share = _rate(square, gradient, scale, kind, power)
        total += square * rate
        norm += share
        if commit:
            weights[at + uint64(3)] = rate
    return total, norm


@inlined
def _visit_few(weights, rows, values, square_gradient):
    """The same for the default kind."""
    total, norm = _0, _0
    for i in range(uint64(len(rows))):
        at = uint64(rows[i]) * uint64(4)
        square, gradient, scale = _touch(weights, at, values[i], square_gradient, True, _DEFAULT, _0)
        rate, share = _default_rate(square, gradient, scale)
        total += square * rate
        norm += share
        weights[at + uint64(3)] = rate
    return total, norm


@inlined
def _visit_many(features, shared, weights, rows, values, square_gradient):
    """The same in four walks: two are all arithmetic, one updates G and N in the table, and the last one sums."""
    n = uint64(len(rows))
    squares, gradients, scales = scratch_of(features, 0), scratch_of(features, 1), scratch_of(features, 2)
    whole = n & ~(LANES - uint64(1))
    for i in range(uint64(0), whole, LANES):
        no_unroll()
        default_sizes(values, squares, scales, i)
    for i in range(whole, n):  # nothing may be read behind the last value
        no_unroll()
        squares[i], scales[i] = _size_of(values[i])
    ahead = fetch_some(features, shared, n)
    for i in range(n):
        no_unroll()
        fetch_one(ahead, i)
        at = uint64(rows[i]) * uint64(4)
        gradients[i], scales[i] = _advance(weights, at, squares[i], scales[i], square_gradient, True, _DEFAULT, _0)
    for i in range(uint64(0), n, LANES):
        no_unroll()
        default_rates(squares, gradients, scales, i)
    total, norm = _0, _0
    for i in range(n):
        no_unroll()
        total += squares[i]
        norm += scales[i]
        weights[uint64(rows[i]) * uint64(4) + uint64(3)] = gradients[i]
    return total, norm


@helper
def _multiplier(rates, total_norm, total_importance):
    if rates.square_root == 0:
        return (total_norm / total_importance) ** (rates.power_t - _1)
    mean = total_importance / total_norm
    return math.sqrt(mean) if rates.adaptive == 1 else mean


@helper
def recall_multiplier(rates, offset):
    """Set the multiplier to that of the sub-model's own last update, for one too small to be measured."""
    norms = float64s_at(rates.norms + uint64(16) * offset, uint64(2))
    rates.multiplier = _multiplier(rates, np.float32(norms[0]), np.float32(norms[1])) if norms[1] > 0.0 else _1


@helper
def _hypothetical_multiplier(rates, offset, importance, norm):
    """The multiplier of the update, had an example been added to the mean norm of its sub-model."""
    norms = float64s_at(rates.norms + uint64(16) * offset, uint64(2))
    return _multiplier(rates, np.float32(norms[0]) + importance * norm, np.float32(norms[1]) + importance)


@inlined
def _average(rates, offset, importance, norm):
    """Add an example to the mean norm of its sub-model; returns it as the ratio of two sums, float32."""
    norms = float64s_at(rates.norms + uint64(16) * offset, uint64(2))
    norms[0] += np.float64(importance) * np.float64(norm)
    norms[1] += np.float64(importance)
    return np.float32(norms[0]), np.float32(norms[1])


@helper
def measure(rates, features, example, n, offset, importance, square_gradient, commit):
    """Update G and N of the features gathered last, and set their rates.

    Args:
        rates, features: RATES and FEATURES records.
        example: address of the EXAMPLE.
        n: how many features there are.
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
        return _1
    shared = shared_of(example_of(example).shared)
    weights = float32s_at(shared.weights, (shared.mask + uint64(1)) * shared.stride)
    rows, values = rows_of(features, n), values_of(features, n)
    total, norm = _visit(rates, weights, shared.stride, rows, values, square_gradient, commit)
    if rates.normalized == 0:
        return total
    if not commit:
        return total * _hypothetical_multiplier(rates, offset, importance, norm)
    total_norm, total_importance = _average(rates, offset, importance, norm)
    rates.multiplier = _multiplier(rates, total_norm, total_importance)
    return total * rates.multiplier


@inlined
def measure_default(rates, features, shared, n, offset, importance, square_gradient):
    """`measure` for learning with the default kind of rates."""
    if square_gradient == _0:
        return _1
    weights = float32s_at(shared.weights, (shared.mask + uint64(1)) * uint64(4))
    rows, values = rows_of(features, n), values_of(features, n)
    if n < LANES:
        total, norm = _visit_few(weights, rows, values, square_gradient)
    else:
        total, norm = _visit_many(features, shared, weights, rows, values, square_gradient)
    total_norm, total_importance = _average(rates, offset, importance, norm)
    rates.multiplier = math.sqrt(total_importance / total_norm)
    return total * rates.multiplier
