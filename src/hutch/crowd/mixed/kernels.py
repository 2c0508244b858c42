"""The arithmetic of mixed crowds, item by item.

Lifts are stored as [fold, judge, label, class]: log P(label | class) / P(label), learned without the fold's items.
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
        gradient: added to (1 + judges).
        hessian: added to (1 + judges, 1 + judges); left alone if it has no rows: it takes most of the time.
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
            for other in range(i + 1 if len(hessian) else 0):
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


@helper
def _item_scores(first, last, workers, judge, log_forecast, said, rho, scores):
    """The item's unnormalised log-posterior, into `scores` (classes); returns the exponent of each person's label."""
    count = 0
    for place in range(first, last):
        count += not judge[workers[place]]
    rate = damping(count, rho)
    for k in range(len(scores)):
        scores[k] = log_forecast[k]
    for place in range(first, last):
        if not judge[workers[place]]:
            for k in range(len(scores)):
                scores[k] += rate * said[place, k]
    return rate


@helper
def _without(scores, said, rate, gold, rest):
    """The posterior of an item without one of its labels, into `rest` (classes)."""
    for k in range(len(rest)):
        rest[k] = scores[k] - rate * said[k]
    log_softmax(rest)
    for k in range(len(rest)):
        rest[k] = math.exp(rest[k]) if gold < 0 else 1.0 if gold == k else 0.0


@compiled
def count_people(item_ptr, workers, labels, gold, judge, log_forecast, said, rho, counts):
    """Add the labels of people to their rows, each by the posterior of its item without that label.

    Args:
        item_ptr, workers, labels: of all labels; those of judges are skipped.
        gold: int32 (items), -1 for none.
        judge: bool (workers).
        log_forecast: float64 (items, classes), normalised.
        said: float64 (labels, classes), log P(label | class) of people's labels.
        rho: correlation of people's errors on an item.
        counts: out, float64 (workers, labels, classes).
    """
    scores, rest = np.empty(said.shape[1]), np.empty(said.shape[1])
    for item in range(len(item_ptr) - 1):
        first, last = item_ptr[item], item_ptr[item + 1]
        rate = _item_scores(first, last, workers, judge, log_forecast[item], said, rho, scores)
        for place in range(first, last):
            if judge[workers[place]]:
                continue
            _without(scores, said[place], rate, gold[item], rest)
            for k in range(len(rest)):
                counts[workers[place], labels[place], k] += rest[k]


@compiled
def expect(
    item_ptr, workers, labels, gold, judge, log_forecast, counts, totals, pooled, person, trust, learned, rho, said,
    objectives, q,
):  # fmt: skip
    """The evidence of each label of a person about its item, and posteriors from that and the forecast.

    Args:
        item_ptr, workers, labels, gold, judge, log_forecast, rho: as for `count_people`.
        counts, totals: rows of people (workers, labels, classes) and their sums over labels (workers, classes).
        pooled: P(label | class) of all people (labels, classes), which counts as `person` labels in each row.
        trust: the rate at which people are right independently of judges.
        learned: the labels are in the rows, as `count_people` added them; each is left out of its own row.
        said: in and out, float64 (labels, classes), log P(label | class).
        objectives: out, float64 (items), log-likelihood of an item's labels.
        q: in and out, float64 (items, classes).

    Returns:
        largest change of a posterior.
    """
    classes = q.shape[1]
    scores, own = np.empty(classes), np.zeros(classes)
    change = 0.0
    for item in range(len(item_ptr) - 1):
        first, last = item_ptr[item], item_ptr[item + 1]
        rate = _item_scores(first, last, workers, judge, log_forecast[item], said, rho, scores)
        for place in range(first, last):
            worker, label = workers[place], labels[place]
            if judge[worker]:
                continue
            if learned:
                _without(scores, said[place], rate, gold[item], own)
            for k in range(classes):
                top = counts[worker, label, k] - own[k] + person * pooled[label, k]
                row = top / (totals[worker, k] - own[k] + person)
                said[place, k] = math.log((1.0 - trust) * row + (trust if k == label else 0.0))
        _item_scores(first, last, workers, judge, log_forecast[item], said, rho, scores)
        objectives[item] = log_softmax(scores)
        for k in range(classes):
            fresh = math.exp(scores[k]) if gold[item] < 0 else 1.0 if gold[item] == k else 0.0
            change = max(change, abs(fresh - q[item, k]))
            q[item, k] = fresh
    return change
