"""Learning for the worst case: decisions count more the more they weigh in a lower bound of the policy's reward.

With w = 1 / p if the layer below would have chosen the logged action, else 0, and r = -cost, the sums of 1, w, w², w r,
w² r and w² r² over all decisions, each forgotten by the factor `memory`, give a lower bound of the mean of w r: the
least one under all distributions of (w, r) that lie within a chi-squared ball about the logged one, have mean w = 1,
and may hold one more, unseen decision of the least or the greatest w. In that distribution a decision has the density
q = -(γ + (β + r) w) / ((n + 1) κ), by the dual variables κ, β and γ, and it is learned with the importance n q / w, at
least 0.01.

Source: N. Karampatziakis, J. Langford, P. Mineiro, "Empirical likelihood for contextual bandits", NeurIPS 2020; VW
9.11.9, `--cb_dro`.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy import int64, uint64

from hutch.core.chain.declarations import Inputs
from hutch.core.chain.limits import ANY, Limits
from hutch.core.chain.reduction import Context, Kernels, Labels, Parameters, Predictions, Reduction
from hutch.core.kernel.abi import (
    UNLABELED,
    float32s_at,
    float64s_at,
    kernel,
    layer_of,
    learn_next,
    predict_next,
    state_of,
)
from hutch.core.kernel.decision import decision_of, ranked_of, values_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.passing import pass_sensitivity
from hutch.core.kernel.record import Record
from hutch.core.parameters import Within

_0, _1 = np.float32(0), np.float32(1)
_LEAST = np.float32(0.01)
N, W, WW, WR, WWR, WWRR, LEAST_W, MOST_W, LEAST_R, MOST_R = range(10)
"""The sums over decisions, and the bounds of w and r."""


class DistributionallyRobustParameters(Parameters):
    """Parameters of `distributionally_robust`.

    Attributes:
        level: of error of the lower bound.
        memory: factor by which earlier decisions count less with each one.
        greatest_weight: the largest 1 / p there can be; None: there is no bound.
    """

    level: Annotated[float, Within(gt=0, lt=1)] = 0.05
    memory: Annotated[float, Within(gt=0, le=1)] = 0.999
    greatest_weight: Annotated[float, Within(gt=1)] | None = None


STATE = np.dtype(
    [
        ("sums", "u8"),  # address of float64[submodels, 10]
        ("memory", "f8"),
        ("radius", "f8"),  # of the ball, a quantile of the chi-squared distribution
        ("explores", "u8"),  # 1: the layer below gives probabilities
    ]
)
own = state_of(STATE)


def quantile(level: float) -> float:
    """What a chi-squared variable of one degree of freedom exceeds with a probability, by VW's fit of powers.

    Args:
        level: the probability, above 0 and below 1.

    >>> round(quantile(0.05), 2)
    3.84
    """
    logs = (-1.40684, 0.0758363, 0.00726577, 0.000468688, 0.0000214395, 1.0643e-6, 6.43011e-8, 2.0475e-9)
    exponentials = (1.16356, -0.575446, 0.329796, -0.136076, 0.0396764, -0.00763232, 0.00087113, -0.0000445128)
    found, log, exponential = -1.73754, math.log(level), math.exp(level)
    a, b = log, exponential
    for k in range(8):
        found += logs[k] * a
        found += exponentials[k] * b
        a, b = a * log, b * exponential
    return found


@helper
def _is_close(x, y, within):
    return abs(x - y) <= within + 1e-5 * abs(y)


@helper
def _distance(s, radius):
    """How far from the logged distribution the worst one may lie."""
    n, extra = s[N], s[MOST_W] if s[W] < s[N] else s[LEAST_W]
    if extra == np.inf:
        shift = 1.0 + 1.0 / n
    else:
        mean, square = (extra + s[W]) / (1 + n), (extra * extra + s[WW]) / (1 + n)
        shift = (n + 1) * (mean - 1) * (mean - 1) / (square - mean * mean)
    return (-shift - radius) / (2 * (n + 1))


@helper
def _bound_of(x, y, z, r, n, w, wr, spread, covariance, mean, product):
    """A lower bound and its κ, β and γ; κ = 0 where there is none, and infinity where the bound is no candidate."""
    if _is_close(y * z, 0.0, 1e-9):
        y = 0.0
    if not (z <= 0 and y * z >= 0):
        return np.inf, 0.0, 0.0, 0.0
    kappa = math.sqrt(y / (2 * z))
    if _is_close(kappa, 0.0, 1e-8):
        return r, 0.0, 0.0, 0.0
    bound = x - math.sqrt(2 * y * z)
    if spread == np.inf:
        return bound, kappa, -r, -kappa * (1 + n) / n + (r * w - wr) / n
    beta = (-kappa * (1 - mean) - covariance) / spread
    return bound, kappa, beta, -kappa - beta * mean - product


@helper
def _worst(s, distance, extra):
    """The least bound if one more decision has the weight `extra`, and its κ, β and γ."""
    n, r = s[N], s[LEAST_R]
    if extra == np.inf:
        x = r + (s[WR] - s[W] * r) / n
        y = (r * s[W] - s[WR]) * (r * s[W] - s[WR]) / (n * (1 + n))
        y -= (r * r * s[WW] - 2 * r * s[WWR] + s[WWRR]) / (1 + n)
        return _bound_of(x, y, distance + 1 / (2 * n), r, n, s[W], s[WR], np.inf, 0.0, 0.0, 0.0)
    mean, square = (extra + s[W]) / (1 + n), (extra * extra + s[WW]) / (1 + n)
    product = (extra * r + s[WR]) / (1 + n)
    crossed = (extra * extra * r + s[WWR]) / (1 + n)
    both = (extra * extra * r * r + s[WWRR]) / (1 + n)
    spread, covariance = square - mean * mean, crossed - mean * product
    if not square > mean * mean:
        return np.inf, 0.0, 0.0, 0.0
    x = product + (1 - mean) * covariance / spread
    y = covariance * covariance / spread - (both - product * product)
    z = distance + 0.5 * (1 - mean) * (1 - mean) / spread
    return _bound_of(x, y, z, r, n, s[W], s[WR], spread, covariance, mean, product)


@helper
def _note(s, memory, w, r):
    """Take a decision into the sums."""
    s[N] = memory * s[N] + 1
    s[W] = memory * s[W] + w
    s[WW] = memory * s[WW] + w * w
    s[WR] = memory * s[WR] + w * r
    s[WWR] = memory * s[WWR] + w * w * r
    s[WWRR] = memory * s[WWRR] + w * w * r * r
    s[LEAST_R], s[MOST_R] = min(s[LEAST_R], r), max(s[MOST_R], r)
    s[LEAST_W], s[MOST_W] = min(s[LEAST_W], w), max(s[MOST_W], w)


@helper
def _importance(s, radius, w, r):
    """n q / w of a decision, at least 0.01."""
    distance = _distance(s, radius)
    bound, kappa, beta, gamma = _worst(s, distance, s[LEAST_W])
    other, kappa_of_other, beta_of_other, gamma_of_other = _worst(s, distance, s[MOST_W])
    if other < bound:
        bound, kappa, beta, gamma = other, kappa_of_other, beta_of_other, gamma_of_other
    q = -(gamma + (beta + r) * w) / ((s[N] + 1) * kappa) if bound < np.inf and kappa != 0.0 else 1.0
    return max(np.float32(s[N] * q / w), _LEAST)


@helper
def _preferred(state, d):
    """The action that the layer below prefers; the last one of equals, as in VW, if it gives probabilities."""
    ranked, values, best = ranked_of(d), values_of(d), 0
    for k in range(int64(d.count) if state.explores == 1 else 1):
        if values[k] > values[best] or (values[k] == values[best] and ranked[k] > ranked[best]):
            best = k
    return int64(ranked[best])


@kernel
def predict(layer, example, label, importance, offset):
    """Let the layer below decide."""
    return predict_next(layer, example, label, importance, offset)


@kernel
def learn(layer, example, label, importance, offset):
    """Let the layer below learn, as much as the decision weighs in the worst case."""
    state, d = own(layer), decision_of(example)
    if d.chosen < 0 or not d.probability > _0:
        return learn_next(layer, example, label, importance, offset)
    predict_next(layer, example, UNLABELED, importance, offset)
    s = float64s_at(state.sums + uint64(80) * (offset // layer_of(layer).step), uint64(10))
    w, r = np.float64(_1 / d.probability), np.float64(-d.cost)
    _note(s, state.memory, w if _preferred(state, d) == d.chosen else 0.0, r)
    factor, weights = _importance(s, state.radius, w, r), float32s_at(d.importance, d.count)
    before = weights[d.chosen]
    for k in range(d.count):
        weights[k] *= factor
    found = learn_next(layer, example, label, importance, offset)
    for k in range(d.count):
        weights[k] = before
    return found


class DistributionallyRobust(Reduction):
    """Lets decisions count as they do in the worst case that the log allows."""

    name: ClassVar[str] = "distributionally_robust"
    Parameters: ClassVar[type[Parameters]] = DistributionallyRobustParameters
    inputs = Inputs(passes_decisions=True)
    asks = (Labels.LOGGED_ACTION, None)
    kernels = Kernels(learn, predict, sensitivity=pass_sensitivity)
    keeps: ClassVar[Mapping[str, Limits]] = {"sums": ANY}

    def __init__(self, parameters: DistributionallyRobustParameters, context: Context) -> None:
        super().__init__(parameters, context)
        p, below = parameters, context.below
        sums = np.zeros((context.submodels, 10))
        sums[:, MOST_W] = np.inf if p.greatest_weight is None else np.float32(p.greatest_weight)
        sums[:, MOST_R] = 1
        self.state = Record(
            STATE,
            sums=sums,
            memory=np.float32(p.memory),
            radius=quantile(float(np.float32(p.level))),
            explores=below is not None and below.predicts is Predictions.ACTION_PROBABILITIES,
        )
