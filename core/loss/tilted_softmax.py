"""The posterior of the scores of several classes: independent Gaussians once a label of some importance has been seen.

Before the label the scores t are N(p, diag(q)); after it their density is N(t; p, diag(q)) e^(-h l(t)), with the
multinomial logistic loss l(t) = log Σ e^t - Σ y t. Its mode is the implicit step, t = p + h q (y - softmax(t)), and the
label adds the loss's own curvature there, h softmax(t) (1 - softmax(t)). Mean and variance of that density, by
quadrature, are surer of themselves than they ought to be: see docs/reductions/multinomial.md.

Source: B. Kulis and P. Bartlett, "Implicit online learning", ICML 2010.
"""

import math

from hutch.core.kernel.decorators import helper, inlined

_LEAST_VARIANCE = 1e-12
_STEPS = 200
_LARGEST = 1e35

ROOM = 2
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
def scores_after(p, q, shares, importance, after, added, room):
    """Mode of each score after a label, and the precision that it has added to 1 / q.

    Args:
        p, q: means and variances of the scores before, float64 (classes).
        shares: the label: the probability of each class, summing to 1; 1 for the class it names.
        importance: of the label, above 0.
        after, added: float64 (classes): the modes and precisions, written.
        room: float64 (ROOM · classes): scratch.
    """
    count, reference = len(p), 0
    for k in range(count):
        if shares[k] > shares[reference]:
            reference = k
    s, rest = _mode(p, q, shares, importance, reference, room)
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


@helper
def nearest_rival(p, q, winner):
    """The class whose label needs least to bring it to the winner's score, and about how much.

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
        guess: of the importance, at least 0 and finite.
        shares, after, added, room: scratch, as `scores_after` wants it.
    """
    shares[:] = 0.0
    shares[rival] = 1.0
    low, below, high, above = 0.0, -1.0, math.inf, 1.0
    h = max(guess, _LEAST_VARIANCE)
    for step in range(_STEPS):
        scores_after(p, q, shares, h, after, added, room)
        best = -math.inf
        for k in range(len(p)):
            if k != rival:
                best = max(best, after[k])
        value = after[rival] - best
        if value >= 0.0:
            high, above = h, value
        else:
            low, below = h, value
        if high <= low * (1.0 + 1e-6) or h > _LARGEST or h < 1.0 / _LARGEST:
            break
        if high == math.inf:
            h *= 2.0
        elif low == 0.0:
            h *= 0.5
        else:  # the secant's zero, on the logarithm of the importance, halves in between
            share = below / (below - above) if step % 3 < 2 else 0.5
            h = low * math.exp(min(max(share, 0.02), 0.98) * math.log(high / low))
    return high
