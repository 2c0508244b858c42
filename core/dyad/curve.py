"""The curve on which every importance-aware step of a dyadic model moves, and its inverse.

A dyadic model predicts p = a·b + w·x. Gradient descent with infinitesimal steps on any loss l(p, y) gives, with
F = dl/dp, the flow a' = -F b, b' = -F a, w' = -F x. In s = ∫ F dh it is linear and independent of the loss, and in
u = a + b, v = a - b it is diagonal: u(s) = u e^-s, v(s) = v e^s, w(s) = w - s x. So four numbers describe the
prediction, U = |a + b|², V = |a - b|², X = x·x and w·x; with c = U / 4 and d = V / 4

    p(s) = c e^-2s - d e^2s + w·x - s X,        K(s) = -p'(s) = 2c e^-2s + 2d e^2s + X ≥ 0.

Source: P. Mineiro, "Machined Learnings", 20 May 2011, rewritten in sum and difference coordinates. U and V come from
the vectors directly: |a|² + |b|² - 2 a·b would lose every digit where a ≈ b.
"""

from math import exp, expm1, hypot, inf, log, log1p, sqrt

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper

_LARGEST_EXPONENT = 700.0
PRECISE, ROUGH = 1e-6, 2e-3
"""A step of Halley's method, relative to the whole, after which the root is good enough: the error is its cube."""
_SMALL = 2.0  # steps of nearly all examples
_DEAD = 17.0  # c + c e^-2s still differs from c


@helper
def _both(s):
    """e^-2s - 1 and e^2s - 1 for a small s, by one exponential, without loss of digits."""
    long = expm1(2.0 * abs(s))
    short = -long / (1.0 + long)
    return (short, long) if s > 0.0 else (long, short)


@helper
def fall_(s, c, d, X):
    """p(0) - p(s): three terms of the sign of s, so nothing cancels. A zero coefficient never meets an infinity."""
    fall = s * X
    if abs(s) < _SMALL:
        if c > 0.0 or d > 0.0:
            down, up = _both(s)
            fall += d * up - c * down
        return fall
    if c > 0.0:
        fall -= c * expm1(-2.0 * s)
    if d > 0.0:
        fall += d * expm1(2.0 * s)
    return fall


@helper
def curve_(s, c, d, X, m):
    """c e^-2s - d e^2s + m - s X, by whichever of two forms does not cancel."""
    start = (c - d) + m
    down = c * expm1(-2.0 * s) if c > 0.0 else 0.0
    up = d * expm1(2.0 * s) if d > 0.0 else 0.0
    fall = (up - down) + s * X
    if abs(start) + abs(fall) <= (c + down) + (d + up) + abs(m) + abs(s) * X:
        return start - fall
    decayed = c * exp(-2.0 * s) if c > 0.0 else 0.0
    grown = d * exp(2.0 * s) if d > 0.0 else 0.0
    return (decayed - grown) + (m - s * X)


@helper
def prediction_(s, U, V, X, wx):
    """p(s)."""
    return curve_(s, 0.25 * U, 0.25 * V, X, wx)


@helper
def _distance_without_linear(fall, c, d):
    """The s > 0 at which `fall_` with X = 0 equals `fall` > 0: a quadratic equation in e^2s; inf without one."""
    B = c + d - fall
    R = hypot(B, 2.0 * sqrt(d) * sqrt(fall))
    if B >= 0.0:
        return 0.5 * log1p(2.0 * fall / (B + R)) if B + R > 0.0 else inf
    return 0.5 * log1p((R - B) / (2.0 * d)) if d > 0.0 else inf


@helper
def _distance_near(fall, c, d, X, precision):
    """The same by Halley's method from s = 0; 0 if that does not settle within a few steps."""
    K = 2.0 * (c + d) + X
    s = fall / K
    bend = 1.0 - 2.0 * (d - c) * s / K
    s = s / bend if bend > 0.4 else s
    for _ in range(4):
        if not 0.0 < s < _SMALL:
            return 0.0
        down, up = _both(s)
        excess = (d * up - c * down) + s * X - fall
        rise, decay = 2.0 * d * (1.0 + up), 2.0 * c * (1.0 + down)
        slope = (rise + decay) + X
        bend = slope * slope - (rise - decay) * excess
        change = excess * slope / bend if bend > 0.4 * slope * slope else excess / slope
        s -= change
        if abs(change) <= precision * s:
            return s
    return 0.0


@helper
def distance_(fall, c, d, X, m, precision):
    """The s > 0 at which the curve has fallen by `fall` > 0; `m` is the curve's constant less the level wanted;
    `precision` is one of PRECISE and ROUGH.

    Where s is not small, Newton's method with Halley's correction inside a bracket: of the exponential and the linear
    part one carries at least half of the fall.
    """
    if c == 0.0 and d == 0.0 and X > 0.0:
        return fall / X
    near = _distance_near(fall, c, d, X, precision)
    if near > 0.0:
        return near
    if X == 0.0:
        return _distance_without_linear(fall, c, d)
    high = min(_distance_without_linear(fall, c, d), fall / X)
    low = min(_distance_without_linear(0.5 * fall, c, d), 0.5 * fall / X)
    if not high < inf:
        return inf
    s = high
    for _ in range(80):
        down = c * expm1(-2.0 * s) if c > 0.0 else 0.0
        up = d * expm1(2.0 * s) if d > 0.0 else 0.0
        excess = (up - down) + s * X - fall
        if excess > 0.0:
            high = s
        else:
            low = s
        slope = 2.0 * (down + c) + 2.0 * (up + d) + X
        change = excess / slope
        bend = 1.0 - 2.0 * ((up + d) - (down + c)) * change / slope
        if bend > 0.4:
            change /= bend
        following = s - change
        if not low <= following <= high:
            following = 0.5 * (low + high)
        change = abs(following - s)
        s = following
        if change <= 3e-16 * s:
            break
    return s if c * exp(-2.0 * s) > 1e-2 * c else _polished(s, c, d, X, m)


@helper
def _polished(s, c, d, X, m):
    """The root s of c e^-2s - d e^2s + m - s X, for s so large that c e^-2s has died and took the digits of c with it.

    Newton's method: from the left as long as the curve is convex, from the right where it is concave.
    """
    s = min(s, _DEAD)
    for _ in range(200):
        decayed = c * exp(-2.0 * s) if c > 0.0 else 0.0
        grown = d * exp(2.0 * s) if d > 0.0 else 0.0
        change = ((decayed - grown) + (m - s * X)) / (2.0 * (decayed + grown) + X)
        if change > 0.0 and d > 0.0:
            change = min(change, max(0.0, 0.5 * log((decayed + m) / d) - s))
        s += change
        if not abs(change) > 3e-16 * s:
            break
    return s


@helper
def inverse_(y, U, V, X, wx):
    """The s at which p(s) = y; inf or -inf where p never gets there."""
    return inverse_to_(y, U, V, X, wx, PRECISE)


@helper
def inverse_to_(y, U, V, X, wx, precision):
    """The same to the precision of `distance_`."""
    c, d, m = 0.25 * U, 0.25 * V, wx - y
    fall = (c - d) + m
    if fall > 0.0:
        return distance_(fall, c, d, X, m, precision)
    if fall < 0.0:
        return -distance_(-fall, d, c, X, -m, precision)
    return 0.0


@compiled
def growth_(s):
    """(e^-s - 1) / 2 and (e^s - 1) / 2, the parts of a + b and a - b by which a step moves; finite for every s."""
    up = expm1(min(abs(s), _LARGEST_EXPONENT))
    down = -up / (1.0 + up)
    return (0.5 * down, 0.5 * up) if s > 0.0 else (0.5 * up, 0.5 * down)
