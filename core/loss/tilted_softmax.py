"""The posterior of the scores of several classes: independent Gaussians once a label of some importance has been seen.

Before the label the scores t are N(p, diag(q)); after it their density is N(t; p, diag(q)) e^(-h l(t)), with the
multinomial logistic loss l(t) = log Σ e^t - Σ y t. These functions give mean and precision of every score under it. The
loss couples the scores by a power of Σ e^t, which is an integral over a number s that takes them apart:

    (Σ e^t)^-h = 1 / Γ(h) ∫ e^(h s) Π exp(-e^(t + s)) ds

For each s the scores are independent. Gauss and Hermite's rule is used twice, over s and for each s over each score,
always around a mode. The joint mode is the implicit step, t = p + h q (y - softmax(t)).

Sources: M. Opper, "A Bayesian approach to on-line learning", 1998, for the filter; Q. Liu and D. A. Pierce, "A note on
Gauss-Hermite quadrature", Biometrika 81, 1994, for the rule around the mode.
"""

import math

import numpy as np

from hutch.core.kernel.decorators import helper, inlined

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_LOG_WEIGHTS = np.log(_WEIGHTS / math.sqrt(2.0 * math.pi)) + 0.5 * _NODES**2
_FROM_THE_MIDDLE = np.array([4, 3, 5, 2, 6, 1, 7, 0, 8])
_MOST_IMPORTANCE = 1e3  # beyond these the mode and its curvature serve: the label leaves nothing to average over,
_MOST_VARIANCE = 1e3  # or nine nodes cannot see the loss at all
_LEAST_VARIANCE = 1e-12
_NARROW = 3.0  # up to this variance moments come from slopes, which have no error where the label says nothing new
_UNLIKELY = -10.0  # a class whose e^(t + s) stays below e to this power bends nothing
_STEPS = 200
_LARGEST = 1e35

ROOM = 7
"""Float64 numbers of scratch per class."""


@inlined
def _log_lambert(z):
    """The logarithm of Lambert's W(e^z): v with v + e^v = z."""
    e = math.exp(min(z, 1.0))
    v = z - e / (1.0 + e) if z < 1.0 else math.log(z)
    if z > -20.0:
        for _ in range(4):
            e = math.exp(v)
            v -= (v + e - z) / (1.0 + e)
    return v


@helper
def _rest(p, q, shares, importance, s, reference, room):
    """Sum of e^(t + s) of all classes but the reference, each at its mode for this s, and how it rises with s.

    Writes log q, and the logarithm of q e^(t + s), which is how far the label has moved the mode.
    """
    count = len(p)
    total = slope = 0.0
    for k in range(count):
        variance = max(q[k], _LEAST_VARIANCE)
        if k != reference:
            v = _log_lambert(room[k] + p[k] + importance * variance * shares[k] + s)
            e = math.exp(v - room[k])
            room[count + k] = v
            total += e
            slope += e / (1.0 + math.exp(v))
    return total, slope


@helper
def _mode(p, q, shares, importance, reference, room):
    """The s of the joint mode, and the sum of e^(t + s) of all classes but the reference there; that of all is h."""
    count = len(p)
    highest = -math.inf
    for k in range(count):
        room[k] = math.log(max(q[k], _LEAST_VARIANCE))
        highest = max(highest, p[k])
    variance = max(q[reference], _LEAST_VARIANCE)
    away = importance * (1.0 - shares[reference])
    low, high, width = -math.inf, math.inf, 1.0
    s = math.log(importance / count) - highest
    rest = 0.0
    for _ in range(_STEPS):
        rest, slope = _rest(p, q, shares, importance, s, reference, room)
        wanted = s
        if rest < importance:
            value = p[reference] + variance * (rest - away) + s - math.log(importance - rest)
            if value > 0.0:
                high = s
            else:
                low = s
            wanted = s - value / (1.0 + slope * (variance + 1.0 / (importance - rest)))
            if abs(wanted - s) <= 1e-12 * (1.0 + abs(s)):
                break
        else:
            high = s
            wanted = high
        if low < wanted < high:
            s = wanted
        elif low > -math.inf and high < math.inf:
            s = 0.5 * (low + high)
        else:
            s += width if high == math.inf else -width
            width *= 2.0
        if high - low <= 1e-14 * (1.0 + abs(s)):
            break
    return s, min(rest, importance)


@helper
def _write_mode(p, q, shares, importance, s, rest, reference, after, added, room):
    """Write the joint mode and its curvatures; returns the precision of s that goes with it."""
    count = len(p)
    precision = 0.0
    for k in range(count):
        variance = max(q[k], _LEAST_VARIANCE)
        if k == reference:
            e, other = importance - rest, rest
            after[k] = p[k] + variance * (rest - importance * (1.0 - shares[k]))
        else:
            v = room[count + k]
            e = math.exp(v - room[k])
            other = max(importance - e, 0.0)
            after[k] = (
                p[k] + variance * (importance * shares[k] - e) if v < 0.0 or shares[k] == 0.0 else v - room[k] - s
            )
        added[k] = e * (other / importance)
        precision += e / (1.0 + variance * e)
    return precision


@inlined
def _inner(b, variance, log_variance, s):
    """Of one class for one s: log of the integral, mode, mean from there, variance; mean and variance of e^(t + s)."""
    v = _log_lambert(log_variance + b + s)
    e = math.exp(v - log_variance)
    width = 1.0 / math.sqrt(1.0 / variance + e)
    total = first = second = rate = square = 0.0
    for i in range(5):
        far = _NODES[4 + i] * width
        grown = math.exp(far)
        curved = _LOG_WEIGHTS[4 + i] - far * far / (2.0 * variance)
        for _ in range(1 if i == 0 else 2):
            log_weight = curved + far * e - e * (grown - 1.0)
            if log_weight > -200.0:
                weight = math.exp(log_weight)
                total += weight
                first += weight * far
                second += weight * far * far
                rate += weight * grown
                square += weight * grown * grown
            far, grown = -far, 1.0 / grown
    first /= total
    rate /= total
    moved = variance * e
    integral = math.log(total * width / math.sqrt(variance)) - 0.5 * moved * e - e
    return (
        integral,
        b - moved,
        first,
        second / total - first * first,
        e * rate,
        e * e * max(square / total - rate * rate, 0.0),
    )


@helper
def scores_after(p, q, shares, importance, after, added, room):
    """Mean of each score after a label, and the precision that it has added to 1 / q.

    Args:
        p, q: means and variances of the scores before, float64 (classes).
        shares: the label: the probability of each class, summing to 1; 1 for the class it names.
        importance: of the label, at least 1; that of a lesser one is a part of what 1 adds.
        after, added: float64 (classes): the means and precisions, written.
        room: float64 (ROOM · classes): scratch.
    """
    count = len(p)
    reference, widest = 0, 0.0
    for k in range(count):
        if shares[k] > shares[reference]:
            reference = k
        widest = max(widest, q[k])
    at_mode, rest = _mode(p, q, shares, importance, reference, room)
    precision = _write_mode(p, q, shares, importance, at_mode, rest, reference, after, added, room)
    if not (importance <= _MOST_IMPORTANCE and widest <= _MOST_VARIANCE and precision > 0.0):
        return
    step = 1.0 / math.sqrt(precision)
    first, second = room[2 * count : 3 * count], room[3 * count : 4 * count]  # of one node; of all below
    means, squares = room[4 * count : 5 * count], room[5 * count : 6 * count]
    means[:] = 0.0
    squares[:] = 0.0
    total = others = others_squared = middle = 0.0
    for i in _FROM_THE_MIDDLE:
        s = at_mode + _NODES[i] * step
        log_weight = _LOG_WEIGHTS[i] + importance * (s - at_mode)
        rate_of_others = spread_of_others = 0.0
        for k in range(count):
            variance = max(q[k], _LEAST_VARIANCE)
            b = p[k] + importance * variance * shares[k]
            if k != reference and b + 1.5 * variance + s < _UNLIKELY:
                rate, spread = math.exp(b + 0.5 * variance + s), 0.0
                log_weight -= rate
                mean, inside = b - variance * rate, variance * (1.0 - variance * rate)
            else:
                integral, mode, shift, inside, rate, spread = _inner(b, variance, room[k], s)
                log_weight += integral
                mean = mode + shift
            if k != reference:
                rate_of_others += rate
                spread_of_others += spread
            if variance > _NARROW:
                first[k], second[k] = mean - after[k], inside
            else:
                first[k], second[k] = rate, spread
            second[k] += first[k] * first[k]
        if i == 4:
            middle = log_weight
        weight = math.exp(min(log_weight - middle, 300.0))
        total += weight
        others += weight * rate_of_others
        others_squared += weight * (rate_of_others * rate_of_others + spread_of_others)
        for k in range(count):
            means[k] += weight * first[k]
            squares[k] += weight * second[k]
    others /= total
    others_squared /= total
    for k in range(count):
        variance, mean = max(q[k], _LEAST_VARIANCE), means[k] / total
        square = squares[k] / total
        if variance > _NARROW:
            inside = square - mean * mean
            mean, gained = after[k] + mean, 1.0 / inside - 1.0 / variance
        else:  # the label's slope and curvature, averaged; those of the reference are what those of the others leave
            slope = importance * shares[k] - mean
            if k == reference:
                slope, mean, square = others - importance * (1.0 - shares[k]), others, others_squared
            bend = mean - (square - mean * mean)
            mean, gained = p[k] + variance * slope, bend / max(1.0 - variance * bend, 1e-6)
        if math.isfinite(mean) and math.isfinite(gained):
            reach = importance * variance
            after[k] = min(max(mean, p[k] - reach * (1.0 - shares[k])), p[k] + reach * shares[k])
            added[k] = min(max(gained, 0.0), 0.25 * importance)  # a curvature of the loss is at most 1/4


@inlined
def _lead(p, q, part, rival, after, added):
    """How far the rival is before the best other class, when this part of an importance of 1 or more is learned."""
    mine, best = 0.0, -math.inf
    for k in range(len(p)):
        gained = q[k] * added[k]
        score = p[k] + (after[k] - p[k]) * (part * (1.0 + gained) / (1.0 + part * gained))
        if k == rival:
            mine = score
        else:
            best = max(best, score)
    return mine - best


@helper
def _part_to_lead(p, q, rival, after, added):
    """The importance below 1 that puts the rival before the others, from what an importance of 1 makes of them."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        part = 0.5 * (low + high)
        if _lead(p, q, part, rival, after, added) < 0.0:
            low = part
        else:
            high = part
        if high - low <= 1e-6 * high:
            break
    return high


@helper
def nearest_rival(p, q, winner):
    """The class whose label needs least to bring it to the winner's score, and how much about.

    By the implicit step they meet at h = (p_winner - p_rival) / (q_rival + (q_winner - q_rival) π), where each has the
    probability π, at most the half that stands here.
    """
    rival, least = -1, math.inf
    for k in range(len(p)):
        if k != winner:
            needed = (p[winner] - p[k]) / max(0.5 * (q[k] + q[winner]), _LEAST_VARIANCE)
            if rival < 0 or needed < least:
                rival, least = k, needed
    return rival, least


@helper
def importance_to_lead(p, q, rival, guess, shares, after, added, room):
    """h_min: the importance of a rival's label with which `scores_after` puts it before every other class; or inf.

    Args:
        p, q: means and variances of the scores before, float64 (classes).
        rival: the class.
        guess: of the importance, for speed; finite.
        shares, after, added, room: scratch, as `scores_after` wants it.
    """
    shares[:] = 0.0
    shares[rival] = 1.0
    low, below, high, above = 0.0, -1.0, math.inf, 1.0
    h = 1.0
    for step in range(_STEPS):  # one call of `scores_after`, which is long, for all that it is asked for
        scores_after(p, q, shares, h, after, added, room)
        value = _lead(p, q, 1.0, rival, after, added)
        if step == 0 and value >= 0.0:
            return _part_to_lead(p, q, rival, after, added)
        if value >= 0.0:
            high, above = h, value
        else:
            low, below = h, value
        if high == math.inf:
            if h > _LARGEST:
                return math.inf
            h = max(guess, 2.0) if step == 0 else 2.0 * h
        elif high <= low * (1.0 + 1e-6) or abs(value) <= 1e-5 * (above - below):
            return h
        else:  # the secant's zero, on the logarithm of the importance, halves in between
            share = below / (below - above) if step % 3 < 2 else 0.5
            h = low * math.exp(min(max(share, 0.02), 0.98) * math.log(high / low))
    return high
