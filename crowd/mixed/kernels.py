"""The arithmetic of mixed crowds, item by item.

Lifts lie as [fold, judge, label, class]: log P(label | class) / P(label), learned without the items of the fold.
"""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper


@helper
def log_softmax(scores):
    """Subtract the logarithm of the sum of exponentials in place; returns it."""
    top, total = scores.max(), 0.0
    for score in scores:
        total += math.exp(score - top)
    shift = top + math.log(total)
    for k in range(len(scores)):
        scores[k] -= shift
    return shift


@compiled
def count_judges(item_ptr, judges, labels, folds, targets, counts):
    """Add each item's target to its judges' channels: counts[fold, judge, label] += targets[item] (classes)."""
    for item in range(len(item_ptr) - 1):
        for place in range(item_ptr[item], item_ptr[item + 1]):
            cells = counts[folds[item], judges[place], labels[place]]
            for k in range(len(cells)):
                cells[k] += targets[item, k]


@compiled
def slopes(item_ptr, judges, labels, folds, items, left_out, lifts, log_prior, targets, exponents, gradient, hessian):
    """Log-likelihood of the targets under the forecast, its gradient and negative Hessian in the exponents.

    Args:
        folds: int64 (items), where each item's lifts are found.
        items: int64, the items to read; those of the fold `left_out` and those without targets are skipped.
        lifts: float64 (folds, judges, labels, classes).
        log_prior: float64 (folds, classes).
        targets: float64 (items, classes), people's votes.
        exponents: float64 (1 + judges), the class prior's first.
        gradient, hessian: added to (1 + judges), (1 + judges, 1 + judges).
    """
    classes = targets.shape[1]
    longest = 1
    for item in range(len(item_ptr) - 1):
        longest = max(longest, item_ptr[item + 1] - item_ptr[item] + 1)
    features, owners, means = np.empty((longest, classes)), np.zeros(longest, np.int64), np.empty(longest)
    scores, chances = np.empty(classes), np.empty(classes)
    value = 0.0
    for item in items:
        weight = targets[item].sum()
        if weight <= 0.0 or folds[item] == left_out:
            continue
        fold, first = folds[item], item_ptr[item]
        count = item_ptr[item + 1] - first + 1
        for k in range(classes):
            features[0, k] = log_prior[fold, k]
        for i in range(1, count):
            owners[i] = judges[first + i - 1] + 1
            lift = lifts[fold, judges[first + i - 1], labels[first + i - 1]]
            for k in range(classes):
                features[i, k] = lift[k]
        scores[:] = 0.0
        for i in range(count):
            for k in range(classes):
                scores[k] += exponents[owners[i]] * features[i, k]
        log_softmax(scores)
        for k in range(classes):
            value += targets[item, k] * scores[k]
            chances[k] = math.exp(scores[k])
        for i in range(count):
            mean, slope = 0.0, 0.0
            for k in range(classes):
                mean += chances[k] * features[i, k]
                slope += (targets[item, k] - weight * chances[k]) * features[i, k]
            means[i] = mean
            gradient[owners[i]] += slope
            for other in range(i + 1):
                moment = 0.0
                for k in range(classes):
                    moment += chances[k] * features[i, k] * features[other, k]
                part = weight * (moment - mean * means[other])
                hessian[owners[i], owners[other]] += part
                if other != i:
                    hessian[owners[other], owners[i]] += part
    return value


@compiled
def forecast(item_ptr, judges, labels, folds, lifts, log_prior, exponents, share, out):
    """Add `share` of each item's log-forecast to `out` (items, classes); exponents (folds, 1 + judges)."""
    classes = out.shape[1]
    scores = np.empty(classes)
    for item in range(len(item_ptr) - 1):
        fold = folds[item]
        for k in range(classes):
            scores[k] = exponents[fold, 0] * log_prior[fold, k]
        for place in range(item_ptr[item], item_ptr[item + 1]):
            judge, lift = judges[place], lifts[fold, judges[place], labels[place]]
            for k in range(classes):
                scores[k] += exponents[fold, judge + 1] * lift[k]
        log_softmax(scores)
        for k in range(classes):
            out[item, k] += share * scores[k]


@helper
def damping(count, rho):
    """The exponent of each of `count` labels of an item whose errors are correlated by rho."""
    return 1.0 / (1.0 + rho * max(count - 1, 0))


@compiled
def expect(item_ptr, gold, log_forecast, said, rho, q):
    """Posteriors of the items from the forecast and what people said.

    Args:
        item_ptr: of people's labels.
        gold: int32 (items), -1 for none.
        log_forecast: float64 (items, classes), normalised.
        said: float64 (labels, classes), log P(label | class).
        rho: correlation of people's errors on an item.
        q: in and out, float64 (items, classes).

    Returns:
        mean log-likelihood of an item's labels, largest change of a posterior.
    """
    classes = q.shape[1]
    scores = np.empty(classes)
    objective, change = 0.0, 0.0
    for item in range(len(item_ptr) - 1):
        rate = damping(item_ptr[item + 1] - item_ptr[item], rho)
        for k in range(classes):
            scores[k] = log_forecast[item, k]
        for place in range(item_ptr[item], item_ptr[item + 1]):
            for k in range(classes):
                scores[k] += rate * said[place, k]
        objective += log_softmax(scores)
        for k in range(classes):
            fresh = math.exp(scores[k]) if gold[item] < 0 else 1.0 if gold[item] == k else 0.0
            change = max(change, abs(fresh - q[item, k]))
            q[item, k] = fresh
    return objective / max(len(item_ptr) - 1, 1), change


@compiled
def leave_out(item_ptr, gold, log_forecast, said, rho, others):
    """The posterior of each label's item without that label, into `others` (labels, classes); else as `expect`."""
    classes = others.shape[1]
    scores, rest = np.empty(classes), np.empty(classes)
    for item in range(len(item_ptr) - 1):
        first, last = item_ptr[item], item_ptr[item + 1]
        rate = damping(last - first, rho)
        for k in range(classes):
            scores[k] = log_forecast[item, k]
        for place in range(first, last):
            for k in range(classes):
                scores[k] += rate * said[place, k]
        for place in range(first, last):
            for k in range(classes):
                rest[k] = scores[k] - rate * said[place, k]
            log_softmax(rest)
            for k in range(classes):
                others[place, k] = math.exp(rest[k]) if gold[item] < 0 else 1.0 if gold[item] == k else 0.0


@compiled
def count_people(workers, labels, others, counts):
    """Add each label to its worker's rows: counts[worker, label] += others[label's place] (classes)."""
    for place in range(len(workers)):
        cells = counts[workers[place], labels[place]]
        for k in range(len(cells)):
            cells[k] += others[place, k]
