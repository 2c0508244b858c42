"""The posterior of one number: a Gaussian prediction once a label of some importance has been seen.

Before the label a prediction t is N(p, q); after a label y of importance h its density is N(t; p, q) e^(-h l(t, y)).
These functions give its mean and precision. The mode is the implicit step, t = p - h q l'(t); around it Gauss and
Hermite's rule takes the moments, as assumed density filtering asks. Squared loss has both in closed form.

Sources: M. Opper, "A Bayesian approach to on-line learning", 1998, for the filter; Q. Liu and D. A. Pierce, "A note on
Gauss-Hermite quadrature", Biometrika 81, 1994, for the rule around the mode; B. Kulis and P. Bartlett, "Implicit online
learning", ICML 2010, for the step.
"""

import math

import numpy as np

from hutch.core.kernel.abi import call_loss, loss_of
from hutch.core.kernel.decorators import helper
from hutch.core.loss import kinds

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_LOG_WEIGHTS = np.log(_WEIGHTS) + 0.5 * _NODES**2
_NEGLIGIBLE = 1e-4  # where the label adds less than this part of the precision, mean and mode are the same
_STEPS = 200
_HIGHEST = 44.0  # of log rates, as `hutch.core.loss.kernels` bounds them


@helper
def _softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@helper
def _sigmoid(x):
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@helper
def loss_at(t, y, loss):
    """l(t, y) in float64, the one that `slope_at` is the derivative of; squared error continues beyond the labels.

    Args:
        t, y: prediction and label.
        loss: address of the LOSS record.
    """
    record = loss_of(loss)
    kind, tau = record.kind, record.parameter
    if kind == kinds.LOGISTIC:
        share = (y - record.lower) / (record.upper - record.lower)
        return share * _softplus(-t) + (1.0 - share) * _softplus(t)
    if kind == kinds.SQUARED or kind == kinds.CLASSIC:
        return (t - y) * (t - y)
    if kind == kinds.HINGE:
        return max(0.0, 1.0 - y * t)
    if kind == kinds.QUANTILE:
        return tau * (y - t) if t < y else (1.0 - tau) * (t - y)
    if kind == kinds.EXPECTILE:
        return (tau if t < y else 1.0 - tau) * (t - y) * (t - y)
    if kind == kinds.POISSON:
        return math.exp(min(t, _HIGHEST)) - y * t
    return call_loss(record.value, t, y, 0.0, 0.0, loss)


@helper
def slope_at(t, y, loss):
    """dl/dt in float64."""
    record = loss_of(loss)
    kind, tau = record.kind, record.parameter
    if kind == kinds.LOGISTIC:
        return _sigmoid(t) - (y - record.lower) / (record.upper - record.lower)
    if kind == kinds.SQUARED or kind == kinds.CLASSIC:
        return 2.0 * (t - y)
    if kind == kinds.HINGE:
        return -y if y * t < 1.0 else 0.0
    if kind == kinds.QUANTILE:
        return -tau if t < y else (1.0 - tau if t > y else 0.0)
    if kind == kinds.EXPECTILE:
        return 2.0 * (tau if t < y else 1.0 - tau) * (t - y)
    if kind == kinds.POISSON:
        return math.exp(min(t, _HIGHEST)) - y
    return call_loss(record.derivative, t, y, 0.0, 0.0, loss)


@helper
def implicit_step(p, reach, y, loss):
    """Where t = p - reach · l'(t): the prediction after a step whose slope is that at its end; it crosses no optimum.

    Args:
        p, y: prediction and label.
        reach: importance times variance, ≥ 0 and finite.
        loss: address of the LOSS record.
    """
    slope = slope_at(p, y, loss)
    if not (abs(slope) > 0.0 and reach > 0.0):
        return p
    far = p - reach * slope
    near, width = p, min(abs(far - p), 1.0)
    at_near = reach * slope
    end = p + math.copysign(width, far - p)
    at_end = end - p + reach * slope_at(end, y, loss)
    while at_end * at_near > 0.0 and abs(end - p) < abs(far - p):
        near, at_near = end, at_end
        width *= 2.0
        end = p + math.copysign(min(width, abs(far - p)), far - p)
        at_end = end - p + reach * slope_at(end, y, loss)
    if not at_end * at_near < 0.0:
        return end
    side = 0
    for step in range(_STEPS):  # the secant's zero between two ends, the one that stays loses half its weight
        middle = (near * at_end - end * at_near) / (at_end - at_near)
        if step % 4 == 3 or not min(near, end) < middle < max(near, end):  # halves, too: the slope may jump
            middle = 0.5 * (near + end)
        value = middle - p + reach * slope_at(middle, y, loss)
        if value * at_near > 0.0:
            near, at_near = middle, value
            at_end *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            end, at_end = middle, value
            at_near *= 0.5 if side == 2 else 1.0
            side = 2
        if abs(value) <= 1e-12 * abs(middle - p):
            return middle
        if abs(end - near) <= 1e-14 * max(abs(near), abs(end)):
            break
    return 0.5 * (near + end)


@helper
def _curvature(t, y, width, importance, loss):
    """importance · l'' around t, from the slopes at a distance: a kink counts by its bend over the width."""
    record = loss_of(loss)
    if record.kind == kinds.LOGISTIC:
        return importance * (_sigmoid(t) * _sigmoid(-t))
    width = max(width, 1e-4 * (1.0 + abs(t)))
    bend = slope_at(t + width, y, loss) - slope_at(t - width, y, loss)
    return max(importance * bend / (2.0 * width), 0.0)


@helper
def posterior(p, q, importance, y, loss):
    """Mean of the prediction after the label, and the precision that the label has added to 1 / q.

    Args:
        p, q: mean and variance of the prediction before, q > 0.
        importance: of the label, > 0.
        y: label.
        loss: address of the LOSS record.
    """
    kind, reach = loss_of(loss).kind, importance * q
    if kind == kinds.SQUARED or kind == kinds.CLASSIC:
        return p + (y - p) * (2.0 * reach / (1.0 + 2.0 * reach) if reach < 1e300 else 1.0), 2.0 * importance
    mode = implicit_step(p, reach, y, loss)
    steps = abs(mode - p)
    bend = max(importance * abs(slope_at(p, y, loss)) - steps / q, 0.0) / steps if steps > 0.0 else 0.0
    added = _curvature(mode, y, 0.5 / math.sqrt(1.0 / q + bend), importance, loss)
    wide = 3.0 * math.sqrt(q)  # a kink may lie far from the mode
    bend = importance * (slope_at(mode + wide, y, loss) - slope_at(mode - wide, y, loss)) / (2.0 * wide)
    if not max(added, bend) * q > _NEGLIGIBLE:
        return mode, added
    width = 1.0 / math.sqrt(1.0 / q + added)
    at_mode, highest = loss_at(mode, y, loss), -math.inf
    for k in range(9):
        highest = max(highest, _log_density(k, p, q, mode, width, at_mode, importance, y, loss))
    total = first = second = 0.0
    for k in range(9):
        weight = math.exp(_log_density(k, p, q, mode, width, at_mode, importance, y, loss) - highest)
        total += weight
        first += weight * _NODES[k]
        second += weight * _NODES[k] * _NODES[k]
    shift = first / total
    variance = (second / total - shift * shift) * width * width
    precision = 1.0 / variance - 1.0 / q
    if not (variance > 0.0 and math.isfinite(precision) and math.isfinite(shift)):
        return mode, added
    return mode + shift * width, max(precision, 0.0)


@helper
def _log_density(k, p, q, mode, width, at_mode, importance, y, loss):
    """Logarithm of weight times density at a node, over those at the mode."""
    far = _NODES[k] * width
    way = far * (far + 2.0 * (mode - p)) / (2.0 * q)
    return _LOG_WEIGHTS[k] - way - importance * (loss_at(mode + far, y, loss) - at_mode)


@helper
def _excess(p, q, importance, way, y, loss):
    """Logarithm of the mean's move by an importance, over the wanted move; the way has a sign."""
    return math.log(max((posterior(p, q, importance, y, loss)[0] - p) / way, 1e-300))


@helper
def importance_for(p, q, target, y, loss):
    """h_min: the importance with which a label moves the mean to `target`; inf where none does.

    Args:
        p, q: mean and variance of the prediction before.
        target: wanted mean.
        y: label.
        loss: address of the LOSS record.
    """
    if p == target:
        return 0.0
    slope = slope_at(target, y, loss)
    if not ((p - target) * slope > 0.0 and q > 0.0):
        return math.inf
    high = (p - target) / (q * slope)  # that of the mode
    kind = loss_of(loss).kind
    if kind == kinds.SQUARED or kind == kinds.CLASSIC:
        return high
    way, low = target - p, high
    above = below = _excess(p, q, high, way, y, loss)
    for _ in range(_STEPS):
        if above >= 0.0:
            break
        low, below, high = high, above, 2.0 * high
        above = _excess(p, q, high, way, y, loss)
    for _ in range(_STEPS):
        if below <= 0.0:
            break
        high, above, low = low, below, 0.5 * low
        below = _excess(p, q, low, way, y, loss)
    side, below_weight, above_weight = 0, below, above
    for _ in range(_STEPS):  # as in `implicit_step`, on logarithms, which are nearly proportional
        if high <= low * (1.0 + 1e-6) or not (below < 0.0 < above):
            break
        share = below_weight / (below_weight - above_weight)
        middle = low * math.exp(min(max(share, 1e-3), 0.999) * math.log(high / low))
        value = _excess(p, q, middle, way, y, loss)
        if abs(value) < 1e-9:
            return middle
        if value < 0.0:
            low, below, below_weight = middle, value, value
            above_weight *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            high, above, above_weight = middle, value, value
            below_weight *= 0.5 if side == 2 else 1.0
            side = 2
    return high if above >= 0.0 else math.inf
