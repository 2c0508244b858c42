"""PiSTOL: a learner without rates to tune, whose weights grow exponentially with the sum of gradients.

With z the sum of negative gradients of a feature, G the sum of their sizes, m its greatest value so far:

    t = 1 / (alpha m (G + m)),   w = beta √G z exp(z² t / 2) t

Source: F. Orabona, "Simultaneous model selection and optimization through parameter-free stochastic learning", NIPS
2014; VW 9.11.9, `--pistol`.
"""

import math
from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.kernel.abi import example_of, kernel, shared_of, weights_of, widen
from hutch.core.kernel.decorators import helper
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.reductions.ftrl.base import Positive, Sums, SumsParameters, gradient, learns, predict, score, sums_of
from hutch.reductions.linear.kernels import predicted

_1, _2 = np.float32(1), np.float32(2)


class PistolParameters(SumsParameters):
    """Parameters of `pistol`.

    Attributes:
        alpha: damps the growth of weights.
        beta: size of weights.
    """

    alpha: Positive = 1.0
    beta: Positive = 0.5


@helper
def _refresh(state, weights, at, x):
    """Set a feature's weight from its sums; returns its part of the score."""
    most = max(weights[at + uint64(3)], abs(x))
    z, total = weights[at + uint64(1)], weights[at + uint64(2)]
    t = _1 / (state.alpha * most * (total + most))
    weights[at + uint64(3)] = most
    weights[at] = math.sqrt(total) * state.beta * z * math.exp(z * z / _2 * t) * t
    return weights[at] * x


@kernel
def learn(layer, example, label, importance, offset):
    """Set the weights, predict with them, then learn."""
    state, e = sums_of(layer), example_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    widen(shared, label)
    if not learns(shared, label, importance):
        return predicted(example, state.loss, label, importance, score(layer, example, offset))
    n = uint64(gather(features, example, offset))
    rows, values, weights, p = rows_of(features, n), values_of(features, n), weights_of(shared), e.base
    for i in range(n):
        p += _refresh(state, weights, uint64(rows[i]) * shared.stride, values[i])
    prediction = predicted(example, state.loss, label, importance, p)
    slope = gradient(state, prediction, label, importance)
    for i in range(n):
        at, g = uint64(rows[i]) * shared.stride, slope * values[i]
        weights[at + uint64(1)] -= g
        weights[at + uint64(2)] += abs(g)
    return prediction


class Pistol(Sums):
    """A linear learner without rates."""

    name: ClassVar[str] = "pistol"
    Parameters: ClassVar[type[Parameters]] = PistolParameters
    known_failures = {"magnitudes": "one divided by the square of a feature of 1e-20 is beyond float32"}
    kernels = Kernels(learn, predict)
    stride = 4
    """Weight, sum of gradients, sum of their sizes, greatest value."""
