"""Importance-aware steps of smooth losses without a closed form: quadrature and Newton's method.

s(E) obeys ds/dE = F(p(s)), which separates: E = ∫ ds / F(p(s)), an increasing function whose derivative is known.
Panels of Gauss-Legendre nodes are marched until the budget E is spent, each accepted when its two halves confirm it;
the last panel is solved for its end. Nothing can cross the optimum, and a panel doubles wherever the integrand is dull,
so the number of panels stays small over any range.

Where the loss has its optimum at a finite end S of the path, the variable is t = ln(S / g) with the gap g = S - s: the
logarithmic pole becomes a constant, and the prediction's distance from the optimum is summed from terms of one sign.
"""

from math import exp, expm1, inf, isfinite, log, log1p
from typing import NamedTuple

import numpy as np

from hutch.core.dyad.curve import PRECISE, curve_, distance_
from hutch.core.dyad.linear import loss_slope
from hutch.core.kernel.decorators import helper
from hutch.core.loss import kinds

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_PANELS = 200
_LONGEST = 45.0  # e^-45 of the path: no different from its end in float64
_INVISIBLE = 1e-17
_FARTHEST = 1e36  # still finite in the float32 of a loss kernel


class Way(NamedTuple):
    """The path of a prediction towards its optimum, mirrored if need be so that s runs upwards and the curve falls.

    Attributes:
        kind, y, tau, loss: the loss, as `loss_slope` takes it.
        sign: the true s is `sign` times ours, the true prediction `sign` times the curve.
        c, d, X, m: the curve's coefficients, mirrored.
        end: S, where the optimum is; inf without one.
        c_end, d_end: the exponentials' coefficients seen from the end.
        optimum: the true prediction at the end.
    """

    kind: int
    y: float
    tau: float
    loss: tuple[int, int]
    sign: float
    c: float
    d: float
    X: float
    m: float
    end: float
    c_end: float
    d_end: float
    optimum: float


@helper
def _steepness(way, s):
    """|F| at s; 0 where F is not finite or has changed its sign."""
    slope = way.sign * loss_slope(way.kind, way.sign * curve_(s, way.c, way.d, way.X, way.m), way.y, way.tau, way.loss)
    return slope if slope > 0.0 else 0.0


@helper
def _gap(way, g, s):
    """|p - optimum| at s = end - g."""
    gap = g * way.X
    if way.d_end > 0.0:
        gap -= way.d_end * expm1(-2.0 * g)
    if way.c > 0.0:
        gap += way.c_end * expm1(2.0 * g) if g < 0.5 else way.c * exp(-2.0 * s) - way.c_end
    return gap


@helper
def _integrand(way, t):
    """dE/dt: 1 / |F| at s = t, or g / |F| at t = ln(end / g)."""
    if way.end == inf:
        if way.kind == kinds.LOGISTIC:
            return 1.0 + exp(-curve_(t, way.c, way.d, way.X, way.m))
        steepness = _steepness(way, t)
        return 1.0 / steepness if steepness > 0.0 else inf
    g = way.end * exp(-t)
    gap = _gap(way, g, -way.end * expm1(-t))
    if way.kind == kinds.POISSON:
        return g / (way.y * way.sign * expm1(way.sign * gap))
    if way.kind == kinds.GENERIC:
        slope = way.sign * loss_slope(way.kind, way.optimum + way.sign * gap, way.y, way.tau, way.loss)
        return g / slope if slope > 0.0 else inf
    return g / gap


@helper
def _panel(way, low, high):
    middle, half, total = 0.5 * (low + high), 0.5 * (high - low), 0.0
    for i in range(len(_NODES)):
        total += _WEIGHTS[i] * _integrand(way, middle + half * _NODES[i])
    return half * total


@helper
def _longest(way, t):
    """The longest panel from t whose nodes cannot step over a layer in which an exponential dies or wakes."""
    if way.end < inf:
        s, g = -way.end * expm1(-t), way.end * exp(-t)
        alive = way.c > 0.0 and way.c * exp(-2.0 * s) > _INVISIBLE * _gap(way, g, s)
        return 2.0 / g if alive else inf
    level = _INVISIBLE * max(1.0, abs(curve_(t, way.c, way.d, way.X, way.m)))
    if way.c > 0.0 and way.c * exp(-2.0 * t) > level:
        return 2.0
    return max(2.0, 0.5 * log(level / way.d) - t) if way.d > 0.0 else inf


@helper
def _last(way, low, high, budget):
    """The t in the panel [low, high] at which `budget` is spent since `low`."""
    left, right, t = low, high, 0.5 * (low + high)
    for _ in range(60):
        excess = _panel(way, low, t) - budget
        if excess > 0.0:
            right = t
        else:
            left = t
        following = t - excess / _integrand(way, t)
        if not left <= following <= right:
            following = 0.5 * (left + right)
        change = abs(following - t)
        t = following
        if change <= 4e-16 * t:
            break
    return t


@helper
def step_for_budget(way, budget, width, tolerance):
    """The s at which `budget` is spent, trying a first panel of about that width in s."""
    ends = way.end < inf
    if ends:
        width = min(-log1p(-width / way.end) if width < way.end else inf, _LONGEST)
    width *= 1.02
    t, spent = 0.0, 0.0
    for attempt in range(_PANELS):
        width = min(width, _longest(way, t))
        middle = t + 0.5 * width
        first = _panel(way, t, middle)
        if first >= budget - spent and attempt < _PANELS - 1:
            width *= 0.5
            continue
        whole, both = _panel(way, t, t + width), first + _panel(way, middle, t + width)
        if not abs(whole - both) <= tolerance * budget and (attempt < _PANELS // 2 or not isfinite(both)):
            width *= 0.5
            continue
        if both >= budget - spent:
            t = _last(way, t, t + width, budget - spent)
            break
        spent += both
        t += width
        if ends and t > _LONGEST:
            return way.end
        width *= 2.0
    return -way.end * expm1(-t) if ends else t


@helper
def budget_for_step(way, until):
    """The budget that carries the path to t = `until`; inf if it never gets there."""
    if not until > 0.0:
        return 0.0
    if not _integrand(way, until) < inf:
        return inf
    t, spent, width = 0.0, 0.0, until
    for attempt in range(_PANELS):
        width = min(width, _longest(way, t))
        middle = t + 0.5 * width
        whole, both = _panel(way, t, t + width), _panel(way, t, middle) + _panel(way, middle, t + width)
        if not abs(whole - both) <= 1e-14 * (spent + both) and attempt < _PANELS // 2:
            width *= 0.5
            continue
        spent += both
        t += width
        if t >= until:
            break
        width = min(2.0 * width, until - t)
    return spent if spent < inf else inf


@helper
def path_from(kind, y, tau, loss, sign, U, V, X, wx):
    """The path from p(0) in the direction of `sign`, without an end."""
    c, d = (0.25 * U, 0.25 * V) if sign > 0.0 else (0.25 * V, 0.25 * U)
    return Way(kind, y, tau, loss, sign, c, d, X, sign * wx, inf, 0.0, 0.0, 0.0)


@helper
def way_to_(way, end, optimum):
    """The same path with its optimum at s = `end`, where the true prediction is `optimum`."""
    c, d = way.c, way.d
    c_end = c * exp(-2.0 * end) if c > 0.0 else 0.0
    d_end = d * exp(2.0 * end) if d > 0.0 else 0.0
    return Way(way.kind, way.y, way.tau, way.loss, way.sign, c, d, way.X, way.m, end, c_end, d_end, optimum)


@helper
def way_to_zero_(way, bound):
    """The same path, ended where F changes its sign before s = `bound`, if it does; for losses known by F alone."""
    bound = min(bound, distance_(_FARTHEST, way.c, way.d, way.X, _FARTHEST - (way.c - way.d), PRECISE))
    if _steepness(way, bound) > 0.0:
        return way
    low, high = 0.0, bound
    for _ in range(300):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if _steepness(way, middle) > 0.0:
            low = middle
        else:
            high = middle
    return way_to_(way, high, way.sign * curve_(high, way.c, way.d, way.X, way.m))
