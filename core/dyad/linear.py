"""Importance-aware steps where the metric K = |a|² + |b|² + x·x does not change: the linear model's closed forms.

`linear_distance_` gives the distance |s| that a budget E = rate times importance moves the prediction, `linear_effort_`
the budget that a move of the prediction costs when K = 1. Both are written so that neither small steps cancel nor large
ones overflow.

Source: N. Karampatziakis and J. Langford, "Online importance weight aware updates", UAI 2011, table 1; Poisson follows
from the same equation, as 1 / e^p obeys a linear one.
"""

from math import exp, expm1, inf, log, log1p

from hutch.core.kernel.abi import call_loss
from hutch.core.kernel.decorators import helper
from hutch.core.loss import kinds

_HIGHEST, _FARTHEST = 600.0, 1e300  # a step always stays finite


@helper
def loss_slope(kind, p, y, tau, loss):
    """F = dl/dp, squared error being (p - y)² / 2.

    `loss` holds the addresses of a derivative kernel and of its LOSS record; they are used for kinds.GENERIC alone.
    """
    if kind == kinds.GENERIC:
        return call_loss(loss[0], p, y, 0.0, 0.0, loss[1])
    if kind == kinds.HINGE:
        return -y if y * p < 1.0 else 0.0
    if kind == kinds.LOGISTIC:
        return -y / (1.0 + exp(y * p))
    if kind == kinds.POISSON:
        return exp(p) - y
    if kind == kinds.QUANTILE:
        return -tau if p < y else (1.0 - tau if p > y else 0.0)
    if kind == kinds.EXPECTILE:
        return (tau if p < y else 1.0 - tau) * (p - y)
    return p - y


@helper
def _times_decay(x, rate):
    """(1 - e^(-rate x)) / rate, which is x where rate vanishes."""
    return -expm1(-rate * x) / rate if rate * x > 0.0 else x


@helper
def _ratio(a, b):
    """expm1(a) / expm1(b) for |a| ≤ |b| of one sign, without overflow."""
    return exp(a - b) * expm1(-a) / expm1(-b) if b > 0.0 else expm1(a) / expm1(b)


@helper
def _log_sum(a, b):
    """log(e^a + e^b)."""
    return max(a, b) + log1p(exp(-abs(a - b)))


@helper
def _rise(z, x):
    """e^(z + x) - e^z for x ≥ 0."""
    return exp(z) * expm1(x) if x < 1.0 else exp(z + x) - exp(z)


@helper
def _logistic_distance(z, budget):
    """The x ≥ 0 with x + e^(z + x) - e^z = budget: Newton's method from above on a convex function."""
    first_order = budget / (1.0 + exp(z))
    if not first_order > 0.0:
        return 0.0
    x = min(first_order, log1p(budget * exp(-z)) if z > -600.0 else log(budget) - z)
    for _ in range(20):
        change = (x + _rise(z, x) - budget) / (1.0 + exp(z + x))
        if not change > 1e-15 * x:
            break
        x -= change
    return max(x, 0.0)


@helper
def linear_distance_(kind, p, y, E, K):
    """|s| after spending E from p, for squared, logistic and Poisson loss."""
    if kind == kinds.LOGISTIC:
        return _logistic_distance(y * p, K * E) / K if K * E > 1e-16 else E / (1.0 + exp(y * p))
    if kind == kinds.POISSON:
        if y == 0.0:
            growth = K * E * exp(p)
            if not growth > 0.0:
                return min(E * exp(min(p, _HIGHEST)), _FARTHEST)
            return log1p(growth) / K if growth < inf else (p + log(K * E)) / K
        gap = p - log(y)
        part = y * _times_decay(E, K * y)
        if not K * part > 0.0:
            return min(part * abs(expm1(min(gap, _HIGHEST))), _FARTHEST)
        if gap > _HIGHEST:
            return (gap + log(K * part)) / K
        rise = expm1(gap) * (K * part)
        return (abs(log1p(rise)) if rise > -0.5 else -_log_sum(-K * y * E, gap + log(K * part))) / K
    return abs(p - y) * _times_decay(E, K)


@helper
def linear_effort_(kind, p, q, y):
    """∫ dp / |F| from p to q, the budget that K = 1 needs; inf at the optimum and beyond, q being on its side of p."""
    if kind == kinds.LOGISTIC:
        return abs(q - p) + _rise(y * p, abs(q - p)) if q != p else 0.0
    if kind == kinds.POISSON:
        if y == 0.0:
            return _rise(-p, p - q) if q != p else 0.0
        fall, gap = p - q, p - log(y)
        if fall < -1.0 and fall > gap:
            return (log1p(-exp(gap)) - fall - log1p(-exp(gap - fall))) / y
        share, scale = _ratio(fall, gap), 1.0 / y
    else:
        share, scale = (p - q) / (p - y), 1.0
    return -log1p(-share) * scale if share < 1.0 else inf
