"""Importance-aware steps of the dyadic model, for use inside kernels: exact, fast, and the importance a step needs.

A loss is given by its kind, its parameter tau and `loss`: the addresses of its derivative kernel and of its LOSS
record, which are used if the kind is kinds.GENERIC and may else be 0. Squared error is (p - y)² / 2. E is the learning
rate times the importance. A step is the s by which a, b and w move (see `curve`); it is always finite.
"""

from math import exp, expm1, inf, isfinite, log, log1p, sqrt

from hutch.core.dyad.curve import PRECISE, ROUGH, distance_, fall_, inverse_, inverse_to_
from hutch.core.dyad.exact import budget_for_step, path_from, step_for_budget, way_to_, way_to_zero_
from hutch.core.dyad.linear import linear_distance_, linear_effort_, loss_slope
from hutch.core.kernel.decorators import helper
from hutch.core.loss import kinds

DELTA = 0.1
"""Longest substep of `step_fast` in s: the metric changes by at most e^2s over it."""
_HALF_DOWN, _HALF_UP, _DOWN, _UP = exp(-DELTA), exp(DELTA), exp(-2.0 * DELTA), exp(2.0 * DELTA)
_SUBSTEPS = 4096
TOLERANCE_EXACT, TOLERANCE_FAST = 1e-12, 1e-4
"""Relative errors of `step_generic`."""


@helper
def optimum_(kind, y):
    """The prediction at which the loss is least; ±inf where it has no minimum."""
    if kind == kinds.HINGE:
        return 1.0 / y
    if kind == kinds.LOGISTIC:
        return inf if y > 0.0 else -inf
    if kind == kinds.POISSON:
        return log(y) if y > 0.0 else -inf
    return y


@helper
def _straight(slope, E, end, U, V, X, wx, precision):
    """The step of a loss with a constant derivative up to the prediction `end`."""
    s, gap = slope * E, (0.25 * U - 0.25 * V) + wx - end
    near = abs(s) * (0.5 * (U + V) + X) < abs(gap)  # to first order
    if near and slope * (gap - fall_(s, 0.25 * U, 0.25 * V, X)) >= 0.0:
        return s
    bound = inverse_to_(end, U, V, X, wx, precision)
    return s if abs(bound) > abs(s) else bound


@helper
def _squared_without_linear(gap, E, c, d, m):
    """The step s > 0 for squared loss where X = 0: a Riccati equation in e^2s, solved without a cancelling term."""
    root = sqrt(m * m + 4.0 * c * d)
    reach = -expm1(-2.0 * root * E) / (root * (1.0 + exp(-2.0 * root * E))) if root * E > 0.0 else E
    if 2.0 * d >= m:
        return 0.5 * log1p(2.0 * gap * reach / (1.0 + (2.0 * d - m) * reach))
    fade = exp(-2.0 * root * E)
    rest = 4.0 * c * d / (root + m) + 2.0 * m * fade / (1.0 + fade) + 2.0 * d * reach * root
    if rest > 0.0:
        return 0.5 * log1p(2.0 * gap * reach * root / rest)
    return root * E + 0.5 * log(gap / m)


@helper
def step_exact(kind, E, y, U, V, X, wx, tau, loss):
    """The step to full precision: a closed form where there is one, else quadrature."""
    if kind == kinds.HINGE or kind == kinds.QUANTILE:
        return step_straight(kind, E, y, U, V, X, wx, tau, loss, PRECISE)
    if kind == kinds.GENERIC:
        return step_generic(E, y, U, V, X, wx, tau, loss, TOLERANCE_EXACT)
    return step_smooth_exact(kind, E, y, U, V, X, wx, tau, loss)


@helper
def step_fast(kind, E, y, U, V, X, wx, tau, loss):
    """The step to about three digits, at a fraction of the cost; hinge and quantile steps to about eight."""
    if kind == kinds.HINGE or kind == kinds.QUANTILE:
        return step_straight(kind, E, y, U, V, X, wx, tau, loss, ROUGH)
    if kind == kinds.GENERIC:
        return step_generic(E, y, U, V, X, wx, tau, loss, TOLERANCE_FAST)
    return step_smooth_fast(kind, E, y, U, V, X, wx, tau, loss)


@helper
def _vanishes(slope, E):
    return not E > 0.0 or slope == 0.0 or slope != slope


@helper
def step_straight(kind, E, y, U, V, X, wx, tau, loss, precision):
    """The step of hinge and quantile loss, in closed form; where it ends at the optimum, to the precision given."""
    slope = loss_slope(kind, (0.25 * U - 0.25 * V) + wx, y, tau, loss)
    return 0.0 if _vanishes(slope, E) else _straight(slope, E, optimum_(kind, y), U, V, X, wx, precision)


@helper
def step_smooth_exact(kind, E, y, U, V, X, wx, tau, loss):
    """The step of squared, expectile, logistic and Poisson loss, by quadrature where there is no closed form."""
    p = (0.25 * U - 0.25 * V) + wx
    slope = loss_slope(kind, p, y, tau, loss)
    if _vanishes(slope, E):
        return 0.0
    if kind == kinds.EXPECTILE:
        E *= tau if p < y else 1.0 - tau
    if kind == kinds.EXPECTILE or kind == kinds.CLASSIC:
        kind = kinds.SQUARED
    sign = 1.0 if slope > 0.0 else -1.0
    if U == 0.0 and V == 0.0:
        return sign * linear_distance_(kind, p, y, E, X)
    way = path_from(kind, y, tau, loss, sign, U, V, X, wx)
    if kind == kinds.SQUARED and X == 0.0:
        return sign * _squared_without_linear(abs(p - y), E, way.c, way.d, sign * (wx - y))
    end = sign * inverse_(optimum_(kind, y), U, V, X, wx)
    if end < inf:
        way = way_to_(way, end, y)
    guess = sign * step_smooth_fast(kind, E, y, U, V, X, wx, tau, loss)
    return sign * step_for_budget(way, E, guess, 1e-13)


@helper
def step_generic(E, y, U, V, X, wx, tau, loss, tolerance):
    """The step of a loss that is known by its derivative alone."""
    slope = loss_slope(kinds.GENERIC, (0.25 * U - 0.25 * V) + wx, y, tau, loss)
    if _vanishes(slope, E):
        return 0.0
    sign, steepness = 1.0 if slope > 0.0 else -1.0, abs(slope)
    way = path_from(kinds.GENERIC, y, tau, loss, sign, U, V, X, wx)
    K = 2.0 * (way.c + way.d) + way.X
    if K == 0.0:
        return sign * steepness * E
    way = way_to_zero_(way, steepness * E)
    return sign * step_for_budget(way, E, min(steepness * E, way.end), tolerance)


@helper
def _substep(c, d, X, K):
    """How far K changes little enough: DELTA, and more where x·x outweighs the exponentials."""
    if 2.0 * (c + d) > X:
        return DELTA
    longest = 0.5 * log1p(0.1 * K / d) if d > 0.0 else inf
    return max(DELTA, min(longest, inf if c < 0.1 * K else DELTA * K / (2.0 * c)))


@helper
def step_smooth_fast(kind, E, y, U, V, X, wx, tau, loss):
    """The same to about three digits, by substeps in closed form with the mean metric of each.

    It is importance invariant to the same three digits only.
    """
    p = (0.25 * U - 0.25 * V) + wx
    slope = loss_slope(kind, p, y, tau, loss)
    if _vanishes(slope, E):
        return 0.0
    sign = 1.0 if slope > 0.0 else -1.0
    if kind == kinds.EXPECTILE:
        E *= tau if p < y else 1.0 - tau
    c, d = (0.25 * U, 0.25 * V) if sign > 0.0 else (0.25 * V, 0.25 * U)
    best = optimum_(kind, y)
    s = 0.0
    for _ in range(_SUBSTEPS):
        K = 2.0 * (c + d) + X
        if not K > 0.0:
            return sign * (s + linear_distance_(kind, p, y, E, K))
        longest = _substep(c, d, X, K)
        length = linear_distance_(kind, p, y, E, K)
        final = length <= longest
        if final or longest != DELTA:
            length = min(length, longest)
            half_c, half_d = (exp(-length) if c > 0.0 else 0.0), (exp(length) if d > 0.0 else 0.0)
            next_c, next_d = c * half_c * half_c, d * half_d * half_d
            half_c, half_d = c * half_c, d * half_d
        else:
            length = DELTA
            half_c, half_d, next_c, next_d = c * _HALF_DOWN, d * _HALF_UP, c * _DOWN, d * _UP
        inverse_metric = (1.0 / K + 4.0 / (2.0 * (half_c + half_d) + X) + 1.0 / (2.0 * (next_c + next_d) + X)) / 6.0
        q = p - sign * ((c - next_c) + (next_d - d) + length * X)
        if not final:
            effort = linear_effort_(kind, p, q, y) * inverse_metric if sign * (q - best) > 0.0 else inf
            final = not effort < E
        if final:
            length = linear_distance_(kind, p, y, E, 1.0 / inverse_metric)
            q = p - sign * fall_(length, c, d, X)
            if not sign * (q - best) >= 0.0:
                return inverse_(best, U, V, X, wx)
            return sign * (s + length)
        E -= effort
        s += length
        c, d, p = next_c, next_d, q
    return sign * s


@helper
def importance_to_(kind, target, y, eta, U, V, X, wx, tau, loss):
    """h_min: the importance of a label y that moves the prediction to `target`; inf where none does."""
    p = (0.25 * U - 0.25 * V) + wx
    if target == p:
        return 0.0
    slope = loss_slope(kind, p, y, tau, loss)
    sign = 1.0 if slope > 0.0 else -1.0
    if not sign * (p - target) > 0.0 or not abs(slope) > 0.0 or not eta > 0.0:
        return inf
    distance = max(sign * inverse_(target, U, V, X, wx), 0.0)
    best = optimum_(kind, y)
    if kind == kinds.HINGE or kind == kinds.QUANTILE:
        return distance / (eta * abs(slope)) if sign * (target - best) >= 0.0 else inf
    way = path_from(kind, y, tau, loss, sign, U, V, X, wx)
    if kind == kinds.GENERIC:
        reached = sign * loss_slope(kind, target, y, tau, loss) > 0.0
        return budget_for_step(way, distance) / eta if reached and distance < inf else inf
    if not sign * (target - best) > 0.0 or not distance < inf:
        return inf
    if kind == kinds.EXPECTILE:
        eta *= tau if p < y else 1.0 - tau
    if kind == kinds.EXPECTILE or kind == kinds.CLASSIC:
        way = path_from(kinds.SQUARED, y, tau, loss, sign, U, V, X, wx)
    if U == 0.0 and V == 0.0:
        return linear_effort_(kind, p, target, y) / (eta * X)
    end = sign * inverse_(best, U, V, X, wx) if isfinite(best) else inf
    if not end < inf:
        return budget_for_step(way, distance) / eta
    way = way_to_(way, end, best)
    if distance < 0.5 * end:
        return budget_for_step(way, -log1p(-distance / end)) / eta
    gap = sign * (target - best)
    left = distance_(gap, way.d_end, way.c_end, X, gap + (way.c_end - way.d_end), PRECISE)
    return budget_for_step(way, log(end / left)) / eta
