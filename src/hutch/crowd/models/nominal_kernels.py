"""The arithmetic of Mineiro's nominal model.

    p(l | z = k, worker w, item j)  proportional to  exp(-alpha_w[k, l] beta_j),   alpha_w[k, k] = 0

alpha is a worker's reliability for a pair of labels (0: as likely as the right one), beta how easy the item is.
log beta ~ N(1, 1). Worker tables lie as [worker, class, label].

P. Mineiro, "Modeling Mechanical Turk Part II", 2011, and "Online Label Extraction from Crowdsourced Data", 2011.
"""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import inlined
from hutch.crowd.models.blocks import most_labels

MEAN_LOG_BETA = 1.0
_TINY, _HUGE = 1e-100, 1e100


@inlined
def label_row(alpha, class_, beta, row):
    """Fill `row` with p(. | class) of a worker; returns mean and variance of alpha under it.

    Args:
        alpha: float64 (labels), the worker's for this class.
    """
    total, mean, square = 1.0, 0.0, 0.0
    row[class_] = 1.0
    for label in range(len(row)):
        if label != class_:
            value = math.exp(-alpha[label] * beta)
            row[label] = value
            total += value
            mean += value * alpha[label]
            square += value * alpha[label] * alpha[label]
    scale = 1.0 / total
    for label in range(len(row)):
        row[label] *= scale
    mean *= scale
    return mean, square * scale - mean * mean


@inlined
def item_posterior(first, last, workers, labels, gold, prior, alpha, log_beta, rows, moments, q):
    """Posterior of an item at a given log beta, and the direction of ascent in log beta.

    Args:
        first, last: the item's labels are those at these places.
        prior: P(class), float64 (classes).
        alpha: float64 (workers, classes, labels).
        rows: out, float64 (labels of the item, classes, labels): p(label | class) of the workers.
        moments: scratch, float64 (2, classes).
        q: out, float64 (classes).

    Returns:
        log-evidence plus log P(beta) up to a constant, its derivative, a curvature that bounds it.
    """
    classes, beta = len(prior), math.exp(log_beta)
    slopes, bends, scale = moments[0], moments[1], 0.0
    for k in range(classes):
        q[k] = prior[k] if gold < 0 or gold == k else 0.0
        slopes[k], bends[k] = 0.0, 0.0
    for place in range(first, last):
        table, label = alpha[workers[place]], labels[place]
        mass = 0.0
        for k in range(classes):
            row = rows[place - first, k]
            mean, variance = label_row(table[k], k, beta, row)
            q[k] *= row[label]
            mass += q[k]
            slopes[k] += beta * (mean - table[k, label])
            bends[k] += beta * beta * variance
        if mass < _TINY:
            scale -= math.log(_HUGE)
            for k in range(classes):
                q[k] *= _HUGE
    total = 0.0
    for k in range(classes):
        total += q[k]
    off = log_beta - MEAN_LOG_BETA
    slope, bend = -off, 1.0
    for k in range(classes):
        q[k] /= total
        slope += q[k] * slopes[k]
        bend += q[k] * bends[k]
    return math.log(total) + scale - 0.5 * off * off, slope, bend


@compiled
def fit_item(first, last, workers, labels, gold, prior, alpha, log_beta, steps, tolerance, rows, moments, q):
    """EM on (beta, q) of one item, workers fixed; returns log beta and the item's part of the objective.

    Args:
        steps: of log beta at most; 0 leaves it.
        tolerance: a smaller step is not taken.
        rows, moments: as of `item_posterior`, at that log beta.
    """
    value, slope, bend = item_posterior(first, last, workers, labels, gold, prior, alpha, log_beta, rows, moments, q)
    for _ in range(steps):
        step = min(max(slope / bend, -1.0), 1.0)
        if abs(step) < tolerance:
            break
        log_beta = min(max(log_beta + step, -6.0), 6.0)
        value, slope, bend = item_posterior(
            first, last, workers, labels, gold, prior, alpha, log_beta, rows, moments, q
        )
    return log_beta, value


@compiled
def expect(item_ptr, workers, labels, gold, prior, alpha, steps, log_beta, q):
    """E step over all items: `steps` steps of log beta, then q; both in place.

    Returns:
        mean objective of an item, largest change of a posterior.
    """
    classes = len(prior)
    rows, moments = np.empty((most_labels(item_ptr), classes, classes)), np.empty((2, classes))
    fresh = np.empty(classes)
    objective, change = 0.0, 0.0
    for item in range(len(item_ptr) - 1):
        log_beta[item], value = fit_item(
            item_ptr[item], item_ptr[item + 1], workers, labels, gold[item], prior, alpha, log_beta[item], steps,
            1e-3, rows, moments, fresh,
        )  # fmt: skip
        objective += value
        for k in range(classes):
            change = max(change, abs(fresh[k] - q[item, k]))
            q[item, k] = fresh[k]
    return objective / max(len(item_ptr) - 1, 1), change


@compiled
def slopes(item_ptr, workers, labels, q, log_beta, alpha, slope, bend):
    """Add to `slope` the derivative of the expected log-likelihood in alpha, to `bend` a bound of its curvature.

    d/d alpha_w[k, l] = sum_i q_ik beta_i (p_w[k, l](beta_i) - 1[l_iw = l])      l != k
    bend              = sum_i q_ik beta_i^2 p_w[k, l](beta_i)
    """
    classes = q.shape[1]
    row = np.empty(classes)
    for item in range(len(item_ptr) - 1):
        beta = math.exp(log_beta[item])
        for place in range(item_ptr[item], item_ptr[item + 1]):
            worker, label = workers[place], labels[place]
            for k in range(classes):
                weight = q[item, k] * beta
                label_row(alpha[worker, k], k, beta, row)
                for other in range(classes):
                    if other != k:
                        slope[worker, k, other] += weight * (row[other] - (other == label))
                        bend[worker, k, other] += weight * beta * row[other]
