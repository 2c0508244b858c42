"""Per-feature learning rates: adaptive (AdaGrad), normalised (NAG), both, or neither.

A row of the weight table is (w, G, N, rate): weight, sum of squared gradients, largest |x| seen, rate in the last
example. `measure` updates G and N for one example, and returns what the invariant update needs, the change of the
prediction per unit of update. It walks the features three times: the first pass depends on the table, the second is all
arithmetic and vectorises, the third sums in the order of the features, as VW's float32 sums demand.

Sources: J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", JMLR 2011; S. Ross, P. Mineiro and
J. Langford, "Normalized online learning", UAI 2013; VW 9.11.9 (gd.cc) for the arithmetic.
"""

import math

import numpy as np
from numpy import uint64

from hutch.core.abi import example_at, float32s_at, float64s_at, shared_at, view
from hutch.core.kernel_helper import njit
from hutch.reductions.linear_features import rows_of, scratch_of, squared_length, values_of

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

rates_at = view(RATES)

_LEAST = np.float32(1.084202e-19)  # features are taken to be at least this large
_LEAST_SQUARE = _LEAST * _LEAST
_MOST = np.float32(np.finfo(np.float32).max)
_0, _1 = np.float32(0), np.float32(1)


@njit(error_model="numpy")
def _rescaled(w, least, most, rates):  # type: ignore[no-untyped-def]
    """A weight learned at scale `least`, as if its feature had always had the scale `most`."""
    if rates.square_root == 1:
        ratio = least / most
        return w * (ratio if rates.adaptive == 1 else ratio * ratio)
    ratio = most / least
    return w * (ratio * ratio) ** (rates.power_t - _1)


@njit(error_model="numpy")
def _touch(rates, weights, stride, square_gradient, commit, rows, values, squares, gradients, scales):  # type: ignore[no-untyped-def]
    """First pass: x², G and N of each feature in scratch, G and N in the table too."""
    adaptive, normalized = rates.adaptive == 1, rates.normalized == 1
    for i in range(uint64(len(rows))):
        at = uint64(rows[i]) * stride
        x = abs(values[i])
        square = values[i] * values[i]
        if square < _LEAST_SQUARE:
            x, square = _LEAST, _LEAST_SQUARE
        squares[i] = square
        slot = at + uint64(1)
        if adaptive:
            gradient = weights[slot] + square_gradient * square
            gradients[i] = gradient
            if commit:
                weights[slot] = gradient
            slot += uint64(1)
        if normalized:
            scale = weights[slot]
            if x > scale:
                if commit:
                    if scale > _0:
                        weights[at] = _rescaled(weights[at], scale, x, rates)
                    weights[slot] = x
                scale = x
            scales[i] = scale


@njit(error_model="numpy")
def _default_rates(size, squares, gradients, scales):  # type: ignore[no-untyped-def]
    """Second pass, adaptive and normalised, with square roots: rates replace G, x² times them x², and (x/N)² N."""
    for i in range(uint64(size)):
        square = squares[i]
        gradients[i] = (_1 / math.sqrt(gradients[i])) * (_1 / scales[i])
        scales[i] = square / (scales[i] * scales[i]) if square <= _MOST else _1
        squares[i] = square * gradients[i]


@njit(error_model="numpy")
def _other_rates(rates, size, squares, gradients, scales):  # type: ignore[no-untyped-def]
    """Second pass, any kind."""
    power = rates.power_t
    for i in range(uint64(size)):
        square, rate, scale = squares[i], _1, scales[i]
        if rates.adaptive == 1:
            rate = _1 / math.sqrt(gradients[i]) if rates.square_root == 1 else gradients[i] ** -power
        if rates.normalized == 1:
            if rates.square_root == 0:
                rate *= (scale * scale) ** (power - _1)
            elif rates.adaptive == 1:
                rate *= _1 / scale
            else:
                rate *= (_1 / scale) * (_1 / scale)
            scales[i] = square / (scale * scale) if square <= _MOST else _1
        gradients[i], squares[i] = rate, square * rate


@njit(error_model="numpy")
def _multiplier(rates, total_norm, total_importance):  # type: ignore[no-untyped-def]
    if rates.square_root == 0:
        return (total_norm / total_importance) ** (rates.power_t - _1)
    mean = total_importance / total_norm
    return math.sqrt(mean) if rates.adaptive == 1 else mean


@njit(error_model="numpy")
def _average(rates, offset, importance, norm, commit):  # type: ignore[no-untyped-def]
    """Add an example to the mean norm of its sub-model; returns the multiplier of the update."""
    norms = float64s_at(rates.norms + uint64(16) * offset, uint64(2))
    if not commit:
        return _multiplier(rates, np.float32(norms[0]) + importance * norm, np.float32(norms[1]) + importance)
    norms[0] += np.float64(importance) * np.float64(norm)
    norms[1] += np.float64(importance)
    rates.multiplier = _multiplier(rates, np.float32(norms[0]), np.float32(norms[1]))
    return rates.multiplier


@njit(error_model="numpy")
def measure(rates, features, example, n, offset, importance, square_gradient, commit):  # type: ignore[no-untyped-def]
    """Update G and N of the features gathered last, and set their rates.

    Args:
        rates, features: RATES and FEATURES records.
        example: address of the EXAMPLE.
        n: how many features there are.
        offset: of the sub-model.
        importance: of the example, float32.
        square_gradient: of the loss, float32, times importance.
        commit: False changes nothing but scratch.

    Returns:
        Change of the prediction per unit of update, float32.
    """
    if rates.adaptive == 0 and rates.normalized == 0:
        return squared_length(features, example)
    if commit and square_gradient == _0:
        return _1
    shared = shared_at(example_at(example)[0].shared)[0]
    weights = float32s_at(shared.weights, (shared.mask + uint64(1)) * shared.stride)
    rows, values = rows_of(features, n), values_of(features, n)
    squares, gradients, scales = scratch_of(features, 0), scratch_of(features, 1), scratch_of(features, 2)
    _touch(rates, weights, shared.stride, square_gradient, commit, rows, values, squares, gradients, scales)
    if rates.adaptive == 1 and rates.normalized == 1 and rates.square_root == 1:
        _default_rates(n, squares, gradients, scales)
    else:
        _other_rates(rates, n, squares, gradients, scales)
    stride, total, norm = shared.stride, _0, _0
    for i in range(uint64(n)):
        total += squares[i]
        norm += scales[i]
        if commit:
            weights[uint64(rows[i]) * stride + uint64(3)] = gradients[i]
    if rates.normalized == 0:
        return total
    return total * _average(rates, offset, importance, norm, commit)
