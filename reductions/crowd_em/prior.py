"""The prior of an item's class from a learner's scores before its labels are read, and the learner's target.

The learner's probabilities p and the crowd's class prior pi are mixed at several powers g, p^g pi^(1-g). Each power is
weighed by how well it has predicted the labels of the items so far: no gold and no step size are needed, power 0 is the
prior of a crowd without a learner, and powers above 1 make up for a learner that is timid because its labels are soft.
"""

import math

import numpy as np

from hutch.core.kernel.cache import compiled

_FLOOR = 1e-12
_LEAST = 1e-300


@compiled
def probabilities(scores, p):
    """Scores of one-against-all classifiers as probabilities: logistic functions, scaled to sum 1.

    Args:
        scores: float32 (classes).
        p: out, float64 (classes), at least 1e-12 before scaling.
    """
    total = 0.0
    for k in range(len(p)):
        p[k] = max(1.0 / (1.0 + math.exp(-np.float64(scores[k]))), _FLOOR)
        total += p[k]
    for k in range(len(p)):
        p[k] /= total


@compiled
def temper(p, class_prior, powers, log_weights, by_power, prior):
    """The prior of an item: sum over g of softmax(v)_g p^g pi^(1-g), each term scaled to sum 1.

    Args:
        p: float64 (classes), the learner's probabilities.
        class_prior: float64 (classes), pi.
        powers, log_weights: float64 (powers), g and v_g.
        by_power: out, float64 (powers * classes): each term's distribution.
        prior: out, float64 (classes).
    """
    classes, top, total = len(p), log_weights.max(), 0.0
    prior[:] = 0.0
    for j in range(len(powers)):
        weight, scale = math.exp(log_weights[j] - top), 0.0
        term = by_power[j * classes : (j + 1) * classes]
        for k in range(classes):
            term[k] = p[k] ** powers[j] * class_prior[k] ** (1.0 - powers[j])
            scale += term[k]
        for k in range(classes):
            term[k] /= scale
            prior[k] += weight * term[k]
        total += weight
    for k in range(classes):
        prior[k] /= total


@compiled
def weigh_evidence(by_power, likelihood, forget, log_weights):
    """Update the powers' weights by an item's labels: v_g <- forget v_g + log sum_k p_g(k) likelihood(k).

    Args:
        by_power: as `temper` left it, before the labels were read.
        likelihood: float64 (classes), of the labels under each class, on any scale.
        forget: share of the old weights that stays, below 1.
        log_weights: float64 (powers), changed in place.
    """
    classes = len(likelihood)
    for j in range(len(log_weights)):
        evidence = 0.0
        for k in range(classes):
            evidence += by_power[j * classes + k] * likelihood[k]
        log_weights[j] = forget * log_weights[j] + math.log(max(evidence, _LEAST))


@compiled
def soft_label(p, likelihood, votes, share, target):
    """Write the learner's target: p times the labels' likelihood, with a share of the votes.

    The power is 1, whatever the evidence: a sharpened prior in the target would be self-training, which diverges.

    Args:
        p, likelihood, votes: float64 (classes).
        share: of the votes in the target, 0 to 1.
        target: out, float32 (classes), sums to 1.
    """
    total = 0.0
    for k in range(len(p)):
        total += p[k] * likelihood[k]
    for k in range(len(p)):
        target[k] = (1.0 - share) * p[k] * likelihood[k] / max(total, _LEAST) + share * votes[k]
