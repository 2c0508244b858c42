"""Gradient flow of a linear prediction under a loss with only a derivative.

Learning from an example with importance h in infinitely many infinitesimal steps moves a linear prediction p along
dp/dh = -rate · norm · l'(p). With the budget E = h · rate · norm the way from p to p' costs ∫ dp / |l'(p)|: `flow_to`
follows it until the budget is spent, `flow_budget` prices the way to a target. Neither goes beyond the optimum.

Where the way ends at an optimum b the variable is u = log((b - p₀) / (b - p)): the price is then smooth in u,
whether the way takes forever (l' vanishes linearly) or not (l' jumps, as at a hinge).

Source: N. Karampatziakis and J. Langford, "Online importance weight aware updates", UAI 2011, section 3.
"""

import math

from hutch.core.kernel.abi import call_loss, loss_of
from hutch.core.kernel.decorators import helper
from hutch.core.loss import kinds

# Gauss and Lobatto's rule with 5 points: it sees the ends of a panel, hence a kink close to one.
_NODES = (0.0, 0.6546536707079771, 1.0)
_WEIGHTS = (0.7111111111111111, 0.5444444444444444, 0.1)
_TOLERANCE = 1e-10
_SINGLE = 1e-5  # the same for the built-in losses, whose l' is computed in float32
_ROUNDING = 1e-15
_NARROWEST = 1e-7  # a panel that holds a kink is not cut further than this
_LAST = 1e-4  # the last panel is no wider than this, so that a kink in it is harmless
_MOST = 1000  # panels that are tried; after these none is cut further, so that a derivative that jumps ends, too
_NEAR = 27.0  # -log of the part of the way at which the optimum counts as reached


@helper
def _slope(p, y, loss):
    return call_loss(loss_of(loss).derivative, p, y, 0.0, 0.0, loss)


@helper
def _optimum(p, y, loss, downhill):
    """The last point before l' changes its sign or vanishes; infinite if it never does."""
    near, width = p, 1.0
    far = p + downhill * width
    while _slope(far, y, loss) * downhill < 0.0:
        if width > 1e100:
            return downhill * math.inf
        near, width = far, 2.0 * width
        far = p + downhill * width
    for _ in range(200):
        middle = 0.5 * (near + far)
        if middle == near or middle == far:
            break
        if _slope(middle, y, loss) * downhill < 0.0:
            near = middle
        else:
            far = middle
    return near


@helper
def _point(u, p, optimum, downhill):
    """The prediction at the variable u, and |dp/du|."""
    if math.isinf(optimum):
        return p + downhill * u, 1.0
    gap = (optimum - p) * math.exp(-u)
    return optimum - gap, abs(gap)


@helper
def _panel(u, width, p, y, loss, optimum, downhill):
    """The price of the way from u to u + width by one rule."""
    centre, half, total = u + 0.5 * width, 0.5 * width, 0.0
    for k in range(3):
        for side in range(1 if k == 0 else 2):
            point, speed = _point(centre + half * (_NODES[k] if side else -_NODES[k]), p, optimum, downhill)
            total += _WEIGHTS[k] * speed / abs(_slope(point, y, loss))
    return total * half


@helper
def _fraction(u, width, price, p, y, loss, optimum, downhill):
    """The part of a panel that costs `price`: Newton's method within a shrinking bracket."""
    low, high = 0.0, width
    x = 0.5 * width
    for _ in range(60):
        excess = _panel(u, x, p, y, loss, optimum, downhill) - price
        if excess > 0.0:
            high = x
        else:
            low = x
        point, speed = _point(u + x, p, optimum, downhill)
        step = excess * abs(_slope(point, y, loss)) / speed
        previous, x = x, x - step
        if not low < x < high:
            x = 0.5 * (low + high)
        if abs(x - previous) <= 1e-14 * width:
            break
    return x


@helper
def _march(p, y, loss, optimum, downhill, end, budget):
    """Spend `budget` on the way from u = 0 to `end`; returns the u reached and the budget spent."""
    u, spent, width, tried = 0.0, 0.0, min(0.25, end), 0
    exact = loss_of(loss).kind == kinds.GENERIC
    while u < end:
        width, tried = min(width, end - u), tried + 1
        whole = _panel(u, width, p, y, loss, optimum, downhill)
        first = _panel(u, 0.5 * width, p, y, loss, optimum, downhill)
        price = first + _panel(u + 0.5 * width, 0.5 * width, p, y, loss, optimum, downhill)
        point, gap = _point(u + width, p, optimum, downhill)
        tolerance = (_TOLERANCE if exact else _SINGLE) + _ROUNDING * abs(
            point
        ) / gap  # l' close to the optimum is mostly rounding
        if tried < _MOST and abs(price - whole) > tolerance * price and width > _NARROWEST * (1.0 + u):
            width *= 0.5
        elif tried < _MOST and not spent + price < budget and width > _LAST:
            width *= 0.25
        elif not spent + price < budget:
            return u + _fraction(u, width, budget - spent, p, y, loss, optimum, downhill), budget
        else:
            u, spent, width = u + width, spent + price, 2.0 * width
    return end, spent


@helper
def flow_to(p, y, budget, loss):
    """Where the prediction p arrives when it spends `budget`.

    Args:
        p, y: prediction and label, float64.
        budget: importance · learning rate · norm, ≥ 0.
        loss: address of the LOSS record.
    """
    slope = _slope(p, y, loss)
    if not (abs(slope) > 0.0 and budget > 0.0):
        return p
    downhill = -math.copysign(1.0, slope)
    optimum = _optimum(p, y, loss, downhill)
    if optimum == p or math.isinf(budget):
        return optimum
    end = math.inf if math.isinf(optimum) else _NEAR
    u, spent = _march(p, y, loss, optimum, downhill, end, budget)
    return optimum if u >= end else _point(u, p, optimum, downhill)[0]


@helper
def flow_budget(p, target, y, loss):
    """The budget that carries the prediction p to `target`: 0 if it is there already, inf if it is unreachable."""
    if p == target:
        return 0.0
    slope = _slope(p, y, loss)
    downhill = -math.copysign(1.0, slope)
    if not abs(slope) > 0.0 or (target - p) * downhill < 0.0:
        return math.inf
    optimum = _optimum(p, y, loss, downhill)
    if (optimum - target) * downhill < 0.0:
        return math.inf
    end = abs(target - p) if math.isinf(optimum) else min(-math.log((optimum - target) / (optimum - p)), _NEAR)
    return _march(p, y, loss, optimum, downhill, end, math.inf)[1]


@helper
def _share_budget(share):
    """-log(1 - share): the price of a share of the way to an optimum that is approached exponentially."""
    return -math.log1p(-share) if 0.0 <= share < 1.0 else math.inf


@helper
def _straight_budget(p, target, end, speed):
    """The price of a way to `end` that is walked at constant speed."""
    towards = (target - p) * (end - p) >= 0.0 and abs(target - p) <= abs(end - p)
    return abs(target - p) / speed if towards else math.inf


@helper
def budget_to(p, target, y, loss):
    """`flow_budget` in closed form where the kind of the loss has one.

    Args:
        p, target, y: prediction, wanted prediction and label, float64.
        loss: address of the LOSS record.
    """
    record = loss_of(loss)
    kind, tau = record.kind, record.parameter
    if p == target:
        return 0.0
    if kind == kinds.SQUARED or kind == kinds.CLASSIC:
        return 0.5 * _share_budget((target - p) / (y - p))
    if kind == kinds.EXPECTILE:
        return 0.5 * _share_budget((target - p) / (y - p)) / (tau if p < y else 1.0 - tau)
    if kind == kinds.QUANTILE:
        return _straight_budget(p, target, y, tau if p < y else 1.0 - tau)
    if kind == kinds.HINGE and abs(y) == 1.0:
        return _straight_budget(p, target, y, 1.0) if y * p < 1.0 else math.inf
    if kind == kinds.LOGISTIC and (y == record.lower or y == record.upper):
        sign = 1.0 if y == record.upper else -1.0
        way = sign * (target - p)
        return way + math.exp(sign * p) * math.expm1(way) if way > 0.0 else math.inf
    if kind == kinds.POISSON and y == 0.0:
        return math.exp(-p) * math.expm1(p - target) if target < p else math.inf
    if kind == kinds.POISSON and y > 0.0:
        return _share_budget(math.expm1(p - target) / math.expm1(p - math.log(y))) / y
    return flow_budget(p, target, y, loss)
