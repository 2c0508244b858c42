"""Coin betting: each feature bets a share of what it has won so far on the sign of its next gradient; no rates to tune.

With z the sum of negative gradients of a feature, G the sum of their sizes, m its greatest value so far, L the steepest
slope of the loss it has seen, and E what it has won:

    w = (alpha + E) z / (L m (L m + G))

Predictions and weights are divided by the mean of Σ (x / m)² over all examples.

Source: F. Orabona, T. Tommasi, "Training deep networks without learning rates through coin betting", NIPS 2017; VW
9.11.9, `--coin`.
"""

from typing import ClassVar

import numpy as np
from numpy import uint64

from hutch.core.chain.reduction import Kernels, Parameters
from hutch.core.kernel.abi import example_of, kernel, shared_of, weights_of, widen
from hutch.core.kernel.decorators import helper
from hutch.core.learner.features import features_of, rows_of, values_of
from hutch.reductions.ftrl.base import Positive, Sums, SumsParameters, gradient, judge, learns, predict, score, sums_of
from hutch.reductions.linear.kernels import clip

_0 = np.float32(0)


class CoinBettingParameters(SumsParameters):
    """Parameters of `coin_betting`.

    Attributes:
        alpha: initial wealth of every feature.
        beta: least slope that counts.
    """

    alpha: Positive = 4.0
    beta: Positive = 1.0


@helper
def _bet(state, weights, at, scale):
    """A feature's weight from its sums, with L m = `scale`."""
    if not scale > _0:
        return _0
    won = state.alpha + weights[at + uint64(4)]
    return won / (scale * (scale + weights[at + uint64(2)])) * weights[at + uint64(1)]


@helper
def bet(state, features, shared, importance, p):
    """Score the features gathered last with the weights that their sums give now; returns the mean Σ (x / m)², too."""
    n = features.length
    rows, values, weights, norm = rows_of(features, n), values_of(features, n), weights_of(shared), _0
    for i in range(n):
        at, x = uint64(rows[i]) * shared.stride, values[i]
        most = max(weights[at + uint64(3)], abs(x))
        p += _bet(state, weights, at, weights[at + uint64(5)] * most) * x
        if most > _0:
            norm += (x / most) * (x / most)
    state.norm += np.float64(importance) * np.float64(norm)
    state.importance += np.float64(importance)
    mean = np.float32((state.norm + 1e-6) / state.importance)
    return p / mean, mean


@helper
def _update(state, weights, at, x, slope, mean):
    """Move a feature's sums by its gradient, and set its weight."""
    g = slope * x
    weights[at + uint64(3)] = max(weights[at + uint64(3)], abs(x))
    if abs(slope) > weights[at + uint64(5)]:
        weights[at + uint64(5)] = max(abs(slope), state.beta)
    w = _bet(state, weights, at, weights[at + uint64(5)] * weights[at + uint64(3)])
    weights[at + uint64(1)] -= g
    weights[at + uint64(2)] += abs(g)
    weights[at + uint64(4)] += -g * w
    weights[at] = w / mean


@helper
def move(state, features, shared, slope, mean):
    """Move the features gathered last, whose score had this slope of the loss, importance included."""
    n, weights = features.length, weights_of(shared)
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        _update(state, weights, uint64(rows[i]) * shared.stride, values[i], slope, mean)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then learn."""
    state, e = sums_of(layer), example_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    raw = score(layer, example, offset)
    before = clip(shared, raw)
    widen(shared, label)
    if not learns(shared, label, importance):
        judge(layer, example, label, importance, raw, before, raw)
        return before
    p, mean = bet(state, features, shared, importance, e.base)
    slope = gradient(state, judge(layer, example, label, importance, p, before, raw), label, importance)
    move(state, features, shared, slope, mean)
    return before


class CoinBetting(Sums):
    """A linear learner whose features bet on their gradients."""

    name: ClassVar[str] = "coin_betting"
    Parameters: ClassVar[type[Parameters]] = CoinBettingParameters
    known_failures = {
        "magnitudes": "one divided by the square of a feature of 1e-20 is beyond float32",
        "loss_while_learning": "the loss is that of the newest bets, which are learned from",
    }
    exchanges_loss = False  # bets are scaled by examples, and learn from the newest ones
    kernels = Kernels(learn, predict)
    stride = 8
    """Weight, sum of gradients, sum of their sizes, greatest value, winnings, steepest slope; two are not used."""
