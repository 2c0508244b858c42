"""FreeGrad: a learner without rates, whose weights follow from the sums and the greatest of a feature's gradients.

With G the sum of a feature's gradients, V the square of the first one and the sum of all squares, h the size of the
first and H the greatest size, and ε the initial wealth:

    w = -ε G h² (2 V + H |G|) / (2 (V + H |G|)² √V) · exp(G² / (2 (V + H |G|)))

A gradient longer than H counts as one of length H, and H becomes its length. With `restart` the sums begin again where
H has become more than 2 + Σ |g| / H times h. With `project` the weights of an example stay within a ball; gradients
that lead out of it lose their part along the weights.

Source: Z. Mhammedi, W. Koolen, "Lipschitz and comparator-norm adaptivity in online learning", COLT 2020; A. Cutkosky,
"Parameter-free, dynamic, and strongly-adaptive online learning", ICML 2020; VW 9.11.9, `--freegrad`.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.declarations import Parallel
from hutch.core.chain.limits import POSITIVE, Limits
from hutch.core.chain.reduction import Context, Kernels, Parameters
from hutch.core.kernel.abi import (
    call_loss,
    example_of,
    float32s_at,
    kernel,
    loss_of,
    shared_of,
    state_of,
    weights_of,
    widen,
)
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.record import Record
from hutch.core.learner.features import features_of, gather, rows_of, values_of
from hutch.reductions.ftrl.base import NonNegative, Positive, SumsParameters, learns
from hutch.reductions.linear.kernels import predicted
from hutch.reductions.linear.layer import HashedLearner

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)


class FreeGradParameters(SumsParameters):
    """Parameters of `freegrad`.

    Attributes:
        wealth: initial wealth of every feature, the scale of weights.
        steepest: largest gradient of a feature, where it is known; 0: the first one seen.
        restart: begin a feature's sums again when its gradients have become much larger.
        project: keep the weights of an example within a ball.
        radius: of the ball; None: it grows with the gradients.
    """

    wealth: Positive = 1.0
    steepest: NonNegative = 0.0
    restart: bool = False
    project: bool = False
    radius: Positive | None = None

    def __post_init__(self) -> None:
        if self.radius is not None and not self.project:
            raise ValueError(f"radius: got {self.radius}, wanted project with it")


STATE = np.dtype(
    [
        ("loss", "u8"),  # address of the LOSS record
        ("features", "u8"),  # address of the FEATURES record
        ("norms", "u8"),  # address of float32[submodels, 2]: sum of norms of gradients over the greatest; the greatest
        ("wealth", "f4"),
        ("steepest", "f4"),
        ("radius", "f4"),  # 0: it grows
        ("restart", "u4"),
        ("project", "u4"),
    ]
)
own = state_of(STATE)
WEIGHT, GRADIENTS, SQUARES, FIRST, GREATEST, SHARES = range(6)
"""Columns of the weight table."""


@helper
def _weight(wealth, gradients, squares, first, greatest):
    """A feature's weight from its sums; 0 before its first gradient."""
    if not first > _0:
        return _0
    size = abs(gradients)
    reach = squares + greatest * size
    slow = -gradients * wealth * (_2 * squares + greatest * size) * (first * first)
    below = _2 * (reach * reach) * math.sqrt(squares)
    if not below > _0:  # squares of gradients beyond float32
        return _0
    return slow / below * math.exp(size * size / (_2 * squares + _2 * greatest * size))


@helper
def _norms(state, offset):
    return float32s_at(state.norms + uint64(8) * offset, uint64(2))


@helper
def _ball(state, norms):
    """Radius of the ball that weights stay within."""
    return state.radius if state.radius > _0 else state.wealth * math.sqrt(norms[0])


@helper
def _score(layer, example, offset):
    """Gather the features; returns w·x within the ball, and the length of w."""
    state, e = own(layer), example_of(example)
    features, shared = features_of(state.features), shared_of(e.shared)
    n = uint64(gather(features, example, offset))
    rows, values, weights, p, squares = rows_of(features, n), values_of(features, n), weights_of(shared), _0, _0
    for i in range(n):
        w = weights[uint64(rows[i]) * shared.stride]
        squares += w * w
        p += w * values[i]
    length = math.sqrt(squares)
    if state.project == 1 and length > _ball(state, _norms(state, offset)):
        p *= _ball(state, _norms(state, offset)) / length
    return e.base + p, length


@helper
def _clipped(weights, at, steepest, tilted, importance):
    """The gradient, no longer than the greatest before; notes its length."""
    first, size = weights[at + uint64(FIRST)], abs(tilted)
    if first == _0:
        weights[at + uint64(FIRST)] = weights[at + uint64(GREATEST)] = steepest if steepest > _0 else size
        weights[at + uint64(SQUARES)] += importance * (size * size)
    elif size > weights[at + uint64(GREATEST)]:
        tilted *= weights[at + uint64(GREATEST)] / size
        weights[at + uint64(GREATEST)] = size
    return tilted


@helper
def _update(state, weights, at, tilted, importance):
    """Move a feature's sums by a gradient, and set its weight; returns the gradient's part that counts."""
    before = weights[at + uint64(GREATEST)]
    g, more = _clipped(weights, at, state.steepest, tilted, importance), importance - _1
    first, greatest = weights[at + uint64(FIRST)], weights[at + uint64(GREATEST)]
    rest = tilted if more > _0 else g  # VW always takes the whole one, whose sums may then turn their sign
    moves, squares = g + more * rest, g * g + more * (rest * rest)
    if state.restart == 1 and greatest / first > weights[at + uint64(SHARES)] + _2:
        weights[at + uint64(FIRST)] = greatest
        weights[at + uint64(GRADIENTS)], weights[at + uint64(SQUARES)] = moves, squares
    else:
        weights[at + uint64(GRADIENTS)] += moves
        weights[at + uint64(SQUARES)] += squares
    if before > _0:
        weights[at + uint64(SHARES)] += abs(g) / before + more * abs(rest) / greatest
    weights[at] = _weight(
        state.wealth,
        weights[at + uint64(GRADIENTS)],
        weights[at + uint64(SQUARES)],
        weights[at + uint64(FIRST)],
        greatest,
    )
    return g


@helper
def _update_all(state, shared, slope, length, importance, offset):
    """Move all features gathered last; the ball, if it grows, grows with the length of the gradient."""
    features, norms, weights = features_of(state.features), _norms(state, offset), weights_of(shared)
    n, along, clipped = features.length, _0, _0
    rows, values = rows_of(features, n), values_of(features, n)
    for i in range(n):
        along += slope * values[i] * weights[uint64(rows[i]) * shared.stride]
    tilts = state.project == 1 and length > _ball(state, norms) and along < _0
    for i in range(n):
        at, g = uint64(rows[i]) * shared.stride, slope * values[i]
        if tilts:
            g -= along * weights[at] / (length * length)
        if g != _0:
            g = _update(state, weights, at, g, importance)
            clipped += g * g
    if state.project == 0 or state.radius > _0:
        return
    norm = math.sqrt(clipped)
    norms[1] = max(norms[1], norm)
    if norms[1] > _0:
        norms[0] += importance * norm / norms[1]


@kernel
def predict(layer, example, label, importance, offset):
    """Predict only; a label without importance still widens the range of labels."""
    if not importance > _0:
        widen(shared_of(example_of(example).shared), label)
    return predicted(example, own(layer).loss, label, importance, _score(layer, example, offset)[0])


@kernel
def learn(layer, example, label, importance, offset):
    """Predict, then learn."""
    state, shared = own(layer), shared_of(example_of(example).shared)
    widen(shared, label)
    p, length = _score(layer, example, offset)
    prediction = predicted(example, state.loss, label, importance, p)
    if learns(shared, label, importance):
        loss = loss_of(state.loss)
        slope = call_loss(loss.derivative, np.float64(prediction), np.float64(label), 0.0, 0.0, state.loss)
        _update_all(state, shared, np.float32(slope), length, importance, offset)
    return prediction


@compiled
def refresh(weights, stride, wealth):
    """Set the weights of all features from their sums.

    Args:
        weights: the table as one array, float32[rows · stride].
        stride: numbers per row.
        wealth: initial wealth of every feature.
    """
    for at in range(0, len(weights), stride):
        weights[at] = _weight(
            wealth, weights[at + GRADIENTS], weights[at + SQUARES], weights[at + FIRST], weights[at + GREATEST]
        )


class FreeGrad(HashedLearner):
    """A linear learner without rates, whose weights adapt to the size of gradients."""

    name: ClassVar[str] = "freegrad"
    Parameters: ClassVar[type[Parameters]] = FreeGradParameters
    known_failures = {"magnitudes": "the fourth power of a feature of 1e10 is beyond float32"}
    kernels = Kernels(learn, predict)
    keeps: ClassVar[Mapping[str, Limits]] = {"norms": POSITIVE}
    parallel = Parallel(merging={"norms": "mean"})
    stride = 8
    """Weight, sum of gradients, sum of squares, first and greatest gradient, sum of shares; two are not used."""

    def __init__(self, parameters: FreeGradParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, norms = parameters, np.zeros((context.submodels, 2), np.float32)
        norms[:, 0] = 1
        self.state = Record(
            STATE,
            loss=context.loss(p.loss),
            features=self._features.record,
            norms=norms,
            wealth=p.wealth,
            steepest=p.steepest,
            radius=p.radius or 0.0,
            restart=p.restart,
            project=p.project,
        )

    def refresh(self, weights: NDArray[np.float32]) -> None:
        """Set all weights from their sums, where a table was filled with those of VW.

        Args:
            weights: the chain's table.
        """
        refresh(weights.reshape(-1), self.stride, np.float32(self.parameters.wealth))
