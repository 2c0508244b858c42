"""Arithmetic of the ordinal model: tilts of each worker, fitted to expected counts by Newton's method.

    log p(l | k, w) = t[l] - h_w (u_l - u_k)^2 / 2 + b_w u_l + c_w u_l^2 + const,      u the places of classes in -1..1

A tilt is (h, b, c): how close labels stay to the class, a liking for high labels, and one for extreme ones. Labels that
are a normal variable around s u_k + m with variance v, cut into classes, have h = s / v, b = m / v, c = (s - 1) / 2 v.
"""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper

_STEPS, _ENOUGH = 4, 1e-6
_LONGEST = 2.0  # largest step of a tilt


@helper
def _row(places, thresholds, tilt, k, out):
    """P(label | class k) under a tilt, into `out` (labels)."""
    top = -math.inf
    for label in range(len(out)):
        u, far = places[label], places[label] - places[k]
        out[label] = thresholds[label] - 0.5 * tilt[0] * far * far + tilt[1] * u + tilt[2] * u * u
        top = max(top, out[label])
    total = 0.0
    for label in range(len(out)):
        out[label] = math.exp(out[label] - top)
        total += out[label]
    for label in range(len(out)):
        out[label] /= total


@helper
def _features(places, label, k, out):
    """The factors of a tilt's three parameters."""
    far = places[label] - places[k]
    out[0], out[1], out[2] = -0.5 * far * far, places[label], places[label] * places[label]


@helper
def _slopes(counts, places, thresholds, tilt, gradient, hessian, chances, pull, bend):
    """Slope and negative Hessian of a worker's log-likelihood in their tilt, and of all in the thresholds.

    Args:
        counts: float64 (labels, classes).
        gradient, hessian: out (3), (3, 3).
        chances: scratch (labels).
        pull, bend: added to (labels), (labels, labels).
    """
    classes = len(places)
    means, features = np.empty(3), np.empty(3)
    gradient[:] = 0.0
    hessian[:] = 0.0
    for k in range(classes):
        total = 0.0
        for label in range(classes):
            total += counts[label, k]
        if total <= 0.0:
            continue
        _row(places, thresholds, tilt, k, chances)
        means[:] = 0.0
        for label in range(classes):
            p, n = chances[label], counts[label, k]
            _features(places, label, k, features)
            for i in range(3):
                gradient[i] += (n - total * p) * features[i]
                means[i] += p * features[i]
                for j in range(i + 1):
                    hessian[i, j] += total * p * features[i] * features[j]
            pull[label] += n - total * p
            bend[label, label] += total * p
            for other in range(classes):
                bend[label, other] -= total * p * chances[other]
        for i in range(3):
            for j in range(i + 1):
                hessian[i, j] -= total * means[i] * means[j]
    for i in range(3):
        for j in range(i):
            hessian[j, i] = hessian[i, j]


@helper
def _solve(matrix, right, out, inverse):
    """Solve a symmetric positive system of 3; `inverse` gets the diagonal of the inverse."""
    a, b, c = matrix[0, 0], matrix[0, 1], matrix[0, 2]
    d, e, f = matrix[1, 1], matrix[1, 2], matrix[2, 2]
    p, q, r = d * f - e * e, c * e - b * f, b * e - c * d
    s = 1.0 / (a * p + b * q + c * r)
    t, w, x = a * f - c * c, b * c - a * e, a * d - b * b
    out[0] = s * (p * right[0] + q * right[1] + r * right[2])
    out[1] = s * (q * right[0] + t * right[1] + w * right[2])
    out[2] = s * (r * right[0] + w * right[1] + x * right[2])
    inverse[0], inverse[1], inverse[2] = s * p, s * t, s * x


@compiled
def fit_tilts(counts, places, thresholds, mean, precision, tilts, spread, pull, bend):
    """The tilts of every worker at the mode of their posterior.

    Args:
        counts: float64 (workers, labels, classes).
        places, thresholds: float64 (classes).
        mean, precision: of the tilts' prior (3).
        tilts: in and out, float64 (workers, 3).
        spread: out, variances of the tilts (workers, 3).
        pull, bend: out, slope and negative Hessian of all in the thresholds (labels), (labels, labels).
    """
    classes = len(places)
    gradient, hessian, chances = np.empty(3), np.empty((3, 3)), np.empty(classes)
    step, inverse = np.empty(3), np.empty(3)
    pulled, bent = np.zeros(classes), np.zeros((classes, classes))
    pull[:] = 0.0
    bend[:] = 0.0
    for worker in range(len(tilts)):
        tilt = tilts[worker]
        for turn in range(_STEPS + 1):
            pulled[:] = 0.0
            bent[:] = 0.0
            _slopes(counts[worker], places, thresholds, tilt, gradient, hessian, chances, pulled, bent)
            for i in range(3):
                gradient[i] -= precision[i] * (tilt[i] - mean[i])
                hessian[i, i] += precision[i]
            _solve(hessian, gradient, step, inverse)
            longest = max(abs(step[0]), abs(step[1]), abs(step[2]))
            if turn == _STEPS or not _ENOUGH <= longest < math.inf:
                break
            scale = min(1.0, _LONGEST / longest)
            for i in range(3):
                tilt[i] += scale * step[i]
        for i in range(3):
            spread[worker, i] = inverse[i]
        for label in range(classes):
            pull[label] += pulled[label]
            for other in range(classes):
                bend[label, other] += bent[label, other]


@compiled
def rows(places, thresholds, tilts, out):
    """P(label | class) of every worker, into `out` (workers, classes, labels)."""
    for worker in range(len(tilts)):
        for k in range(len(places)):
            _row(places, thresholds, tilts[worker], k, out[worker, k])
