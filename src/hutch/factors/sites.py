"""Answers as normal factors: the site exp(-precision t² / 2 + shift t) that gives a logit t the right two moments."""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
"""Gauss and Hermite's nodes and weights of a standard normal distribution."""


@helper
def _site(mean, variance, answer, nodes, weights):
    """Precision and shift of the site that turns N(mean, variance) into the moments of it times P(answer)."""
    spread, top = math.sqrt(variance), -1e300
    for k in range(len(nodes)):
        t = mean + spread * nodes[k]
        top = max(top, answer * t - max(t, 0.0) - math.log1p(math.exp(-abs(t))))
    total, first, second = 0.0, 0.0, 0.0
    for k in range(len(nodes)):
        t = mean + spread * nodes[k]
        w = weights[k] * math.exp(answer * t - max(t, 0.0) - math.log1p(math.exp(-abs(t))) - top)
        total += w
        first += w * nodes[k]
        second += w * nodes[k] * nodes[k]
    first /= total
    second /= total
    narrowed = max(variance * (second - first * first), 1e-10)
    precision = max(1.0 / narrowed - 1.0 / variance, 1e-6)
    return precision, (mean + spread * first) * (precision + 1.0 / variance) - mean / variance


@compiled
def match(means, variances, answers, nodes, weights, precision, shift):
    """Sites of answers, each from its own cavity.

    Args:
        means, variances: of the logits without their answers (n).
        answers: from 0 to 1 (n).
        nodes, weights: `NODES`, `WEIGHTS`.
        precision, shift: out (n).
    """
    for i in range(len(means)):
        precision[i], shift[i] = _site(means[i], variances[i], answers[i], nodes, weights)


@compiled
def filter_new(directions, ease, answers, mean, covariance, nodes, weights, precision, shift, scratch):
    """Sites of answers one after the other, each from all before: assumed-density filtering.

    Args:
        directions, ease, answers: of the questions (n, size), (n), (n).
        mean, covariance: of the row before, overwritten (size), (size, size).
        nodes, weights: `NODES`, `WEIGHTS`.
        precision, shift: out (n); of the logit less its ease.
        scratch: (size).
    """
    size = len(mean)
    for i in range(len(answers)):
        variance, middle = 0.0, 0.0
        for a in range(size):
            s = 0.0
            for b in range(size):
                s += covariance[a, b] * directions[i, b]
            scratch[a] = s
            variance += s * directions[i, a]
            middle += mean[a] * directions[i, a]
        p, v = _site(middle + ease[i], max(variance, 1e-10), answers[i], nodes, weights)
        v -= p * ease[i]
        gain = 1.0 / (1.0 + p * variance)
        move = (v - p * middle) * gain
        for a in range(size):
            mean[a] += scratch[a] * move
            for b in range(size):
                covariance[a, b] -= p * gain * scratch[a] * scratch[b]
        precision[i] = p
        shift[i] = v
