"""FTRL-Proximal: each weight minimises the sum of all its linearised losses, kept near where it was by growing rates.

Source: H. B. McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013; VW 9.11.9, `--ftrl`.
"""

import math
from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.kernel.abi import example_of, kernel, shared_of, weights_of, widen
from hutch.core.kernel.decorators import helper
from hutch.core.learner.features import features_of, rows_of, values_of
from hutch.reductions.ftrl.base import (
    NonNegative,
    Positive,
    Sums,
    SumsParameters,
    gradient,
    judge,
    learns,
    predict,
    score,
    sums_of,
)
from hutch.reductions.linear.kernels import clip

_0, _1 = np.float32(0), np.float32(1)


class FtrlProximalParameters(SumsParameters):
    """Parameters of `ftrl_proximal`.

    Attributes:
        alpha: size of the rates.
        beta: how slowly rates fall at first.
        l1: weights whose sum of gradients stays below it are 0.
        l2: pulls weights towards 0.
    """

    alpha: Positive = 0.5
    beta: NonNegative = 1.0
    l1: NonNegative = 0.0
    l2: NonNegative = 0.0


@helper
def _update(state, weights, at, g):
    """Move a feature's sums by the gradient g of its weight, and the weight with them."""
    squares = weights[at + uint64(2)] + g * g
    root = math.sqrt(squares)
    shift = (root - math.sqrt(weights[at + uint64(2)])) / state.alpha
    z = weights[at + uint64(1)] + (g - shift * weights[at])
    sign = -_1 if z < _0 else _1
    weights[at + uint64(1)], weights[at + uint64(2)] = z, squares
    if z * sign <= state.l1:
        weights[at] = _0
    else:
        weights[at] = _1 / (state.l2 + (state.beta + root) / state.alpha) * sign * (state.l1 - z * sign)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then learn."""
    state, e = sums_of(layer), example_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    raw = score(layer, example, offset)
    before = clip(shared, raw)
    widen(shared, label)
    prediction = judge(layer, example, label, importance, raw, before, raw)
    if learns(shared, label, importance):
        g, n = gradient(state, prediction, label, importance), features.length
        weights = weights_of(shared)
        rows, values = rows_of(features, n), values_of(features, n)
        for i in range(n):
            _update(state, weights, uint64(rows[i]) * shared.stride, g * values[i])
    return before


class FtrlProximal(Sums):
    """A linear learner that follows the regularised leader."""

    name: ClassVar[str] = "ftrl_proximal"
    Parameters: ClassVar[type[Parameters]] = FtrlProximalParameters
    kernels = Kernels(learn, predict)
    stride = 4
    """Weight, sum of shifted gradients, sum of squared gradients."""
