"""The arithmetic of mixed crowds in a stream: every item is forecast before it is learned from.

Counts lie as [slot, label, class]. Judges have slots of their own, in a table of fixed size.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined
from hutch.crowd.mixed.kernels import damping, log_softmax

LEARNED, DUE, MET, SAID, GAIN, GAIN_SQUARES, GUARDED = range(7)
"""Places in the clock: items learned, items at which exponents are due, judges met, labels of people, what forecasts
explain of them, its squares, the guard."""
HABIT, OWN, NEIGHBOUR, ROW, RIGHT, PERSON, RIDGE, PRIOR_RIDGE, CORRELATION = range(9)
"""Places in the constants; see `forecast` and `model`, where they are."""
GUARD, WEAK, LEAST, MOST = range(9, 13)
_SWEEPS = 30


class Judges(NamedTuple):
    """What is known about the judges, float64.

    Attributes:
        counts: people's votes on what a judge labelled (judges, labels, classes).
        columns: their sums over labels (judges, classes).
        said: how often each label was given (judges, labels).
        targets: people's votes (classes).
        exponents: the class prior's first (1 + judges).
        bend: sums of negative Hessians (1 + judges, 1 + judges).
        pull: sums of negative Hessian times exponents plus gradient (1 + judges).
    """

    counts: NDArray[np.float64]
    columns: NDArray[np.float64]
    said: NDArray[np.float64]
    targets: NDArray[np.float64]
    exponents: NDArray[np.float64]
    bend: NDArray[np.float64]
    pull: NDArray[np.float64]


class People(NamedTuple):
    """What is known about people, float64.

    Attributes:
        counts: (slots, labels, classes).
        columns: their sums over labels (slots, classes).
        pooled: of all people (labels, classes).
        pooled_columns: (classes).
        habit: labels of all people (labels).
        forecasts: the mean forecast times the labels of people (classes).
    """

    counts: NDArray[np.float64]
    columns: NDArray[np.float64]
    pooled: NDArray[np.float64]
    pooled_columns: NDArray[np.float64]
    habit: NDArray[np.float64]
    forecasts: NDArray[np.float64]


@inlined
def near(matrix, label, k, classes):
    """The cell of a table (labels, classes), averaged over neighbours with weights 1/2, 1, 1/2 on both axes."""
    total = 0.0
    for other in range(max(label - 1, 0), min(label + 2, classes)):
        edge = 1.5 if other == 0 or other == classes - 1 else 2.0
        row = (1.0 if other == label else 0.5) / edge
        for column in range(max(k - 1, 0), min(k + 2, classes)):
            total += row * matrix[other, column] * (1.0 if column == k else 0.5)
    return total / (1.5 if k == 0 or k == classes - 1 else 2.0)


@helper
def lift(judge, label, judges, ordered, constants, out):
    """log P(label | class) / P(label) of a judge's label, into `out` (classes)."""
    classes = len(out)
    total = judges.said[judge].sum() + classes
    base = (judges.said[judge, label] + 1.0) / total
    counts, columns = judges.counts[judge], judges.columns[judge]
    for k in range(classes):
        top = counts[label, k] + constants[HABIT] * base + (constants[OWN] if k == label else 0.0)
        mass = columns[k] + constants[HABIT] + constants[OWN]
        if ordered:
            column = columns[k]
            for other in range(max(k - 1, 0), min(k + 2, classes)):
                column += 0.5 * columns[other] if other != k else 0.0
            column /= 1.5 if k == 0 or k == classes - 1 else 2.0
            smooth = near(counts, label, k, classes) + constants[HABIT] * base
            top += constants[NEIGHBOUR] * smooth / (column + constants[HABIT])
            mass += constants[NEIGHBOUR]
        out[k] = math.log(top / mass / base)


@helper
def log_said(slot, label, people, constants, guard, out):
    """log P(label | class) of a person's label, into `out` (classes)."""
    classes = len(out)
    habit = (people.habit[label] + 1.0) / (people.habit.sum() + classes)
    for k in range(classes):
        prior = (constants[RIGHT] if k == label else 0.0) + (1.0 - constants[RIGHT]) * habit
        pooled = (people.pooled[label, k] + constants[ROW] * prior) / (people.pooled_columns[k] + constants[ROW])
        row = people.counts[slot, label, k] + constants[PERSON] * pooled
        row /= people.columns[slot, k] + constants[PERSON]
        out[k] = math.log((1.0 - guard) * row + (guard if k == label else 0.0))


@helper
def read_item(workers, labels, gold, slots, judges, people, clock, ordered, rho, constants, features, said, f, q):
    """Forecast and posterior of an item; nothing is learned.

    Args:
        workers, labels: of the item; workers from `slots` on are judges.
        features: out, float64 (1 + labels, classes): the class prior's logarithm, then lifts of judges' labels.
        said: out, float64 (labels, classes): log P(label | class) of people's labels.
        f: out, float64 (classes), the log-forecast.
        q: out, float64 (classes), the posterior.

    Returns:
        log-likelihood of people's labels under the forecast, exponent of each of their labels.
    """
    classes = len(q)
    smoothing = min(1.0, 10.0 / classes)
    total = judges.targets.sum() + smoothing * classes
    for k in range(classes):
        features[0, k] = math.log((judges.targets[k] + smoothing) / total)
        f[k] = judges.exponents[0] * features[0, k]
    count = 0
    for i in range(len(workers)):
        if workers[i] >= slots:
            lift(workers[i] - slots, labels[i], judges, ordered, constants, features[i + 1])
            exponent = judges.exponents[1 + workers[i] - slots]
            for k in range(classes):
                f[k] += exponent * features[i + 1, k]
        else:
            count += 1
            log_said(workers[i], labels[i], people, constants, clock[GUARDED], said[i])
    log_softmax(f)
    rate = damping(count, rho)
    for k in range(classes):
        q[k] = f[k]
    for i in range(len(workers)):
        if workers[i] < slots:
            for k in range(classes):
                q[k] += rate * said[i, k]
    value = log_softmax(q)
    for k in range(classes):
        q[k] = math.exp(q[k]) if gold < 0 else 1.0 if gold == k else 0.0
    return value, rate


@helper
def learn_judges(workers, labels, slots, target, judges, features, f):
    """Hessian, gradient and channels of an item's judges, in this order."""
    classes, weight = len(f), target.sum()
    size = len(workers) + 1
    scores, chances = np.zeros(classes), np.empty(classes)
    means = np.empty(size)
    for i in range(size):
        if i and workers[i - 1] < slots:
            continue
        owner = 1 + workers[i - 1] - slots if i else 0
        for k in range(classes):
            scores[k] += judges.exponents[owner] * features[i, k]
    middle = 0.0
    for k in range(classes):
        chances[k] = math.exp(f[k])
        middle += chances[k] * scores[k]
    for i in range(size):
        if i and workers[i - 1] < slots:
            continue
        owner = 1 + workers[i - 1] - slots if i else 0
        mean, slope, moment = 0.0, 0.0, 0.0
        for k in range(classes):
            mean += chances[k] * features[i, k]
            slope += (target[k] - weight * chances[k]) * features[i, k]
            moment += chances[k] * features[i, k] * scores[k]
        means[i] = mean
        judges.pull[owner] += slope + weight * (moment - mean * middle)
        for j in range(i + 1):
            if j and workers[j - 1] < slots:
                continue
            other = 1 + workers[j - 1] - slots if j else 0
            cross = 0.0
            for k in range(classes):
                cross += chances[k] * features[i, k] * features[j, k]
            part = weight * (cross - mean * means[j])
            judges.bend[owner, other] += part
            if j != i:
                judges.bend[other, owner] += part
    for i in range(len(workers)):
        if workers[i] >= slots:
            judge = workers[i] - slots
            for k in range(classes):
                judges.counts[judge, labels[i], k] += target[k]
                judges.columns[judge, k] += target[k]
    for k in range(classes):
        judges.targets[k] += target[k]


@helper
def learn_people(workers, labels, gold, slots, people, clock, said, rate, f, q, rest):
    """Rows of an item's people, counted with the posterior that leaves the label out; rest: scratch (classes)."""
    classes = len(q)
    for i in range(len(workers)):
        if workers[i] >= slots:
            continue
        slot, label = workers[i], labels[i]
        chance = people.forecasts.sum()
        gain = math.exp(f[label])
        for k in range(classes):
            rest[k] = math.log(max(q[k], 1e-300)) - rate * said[i, k]
            people.forecasts[k] += math.exp(f[k])
        for k in range(classes):
            gain -= math.exp(f[k]) * (people.forecasts[k] / (chance + 1.0))
        clock[SAID] += 1.0
        clock[GAIN] += gain
        clock[GAIN_SQUARES] += gain * gain
        log_softmax(rest)
        for k in range(classes):
            part = math.exp(rest[k]) if gold < 0 else 1.0 if gold == k else 0.0
            people.counts[slot, label, k] += part
            people.columns[slot, k] += part
            people.pooled[label, k] += part
            people.pooled_columns[k] += part
        people.habit[label] += 1.0


@helper
def refresh(judges, clock, constants):
    """Exponents and guard from the sums: min e' (bend + ridge) e / 2 - (pull + ridge start)' e, e >= 0."""
    size = 1 + int(clock[MET])
    start = 1.0 / (1.0 + constants[CORRELATION] * max(clock[MET] - 1.0, 0.0))
    for _ in range(_SWEEPS):
        for i in range(size):
            ridge, to = (constants[RIDGE], start) if i else (constants[PRIOR_RIDGE], 1.0)
            top = judges.pull[i] + ridge * to
            for j in range(size):
                if j != i:
                    top -= judges.bend[i, j] * judges.exponents[j]
            judges.exponents[i] = max(top / (judges.bend[i, i] + ridge), 0.0)
    count = clock[SAID]
    if count < 2.0:
        return
    chance = 0.0
    votes = judges.targets.sum()
    for k in range(len(judges.targets)):
        share = judges.targets[k] / votes
        chance += share * share
    mean = clock[GAIN] / count
    spread = math.sqrt(max(clock[GAIN_SQUARES] / count - mean * mean, 0.0) / count)
    explained = (mean - spread) / max(1.0 - chance, 1e-9)
    guard = max(constants[LEAST], constants[GUARD] * (1.0 - explained / constants[WEAK]))
    clock[GUARDED] = min(guard, constants[MOST])


@compiled
def learn_items(
    item_ptr, workers, labels, gold, targets, slots, judges, people, expected, judges_expected, class_counts, clock,
    ordered, rho, pace, constants, objectives, posteriors,
):  # fmt: skip
    """Read, score and learn every item in order.

    Args:
        item_ptr, workers, labels: the blocks; workers from `slots` on are judges.
        gold: int32 (items), -1 for none.
        targets: float64 (items, classes): people's votes.
        judges, people: what is known, changed in place.
        expected, judges_expected: expected labels under the posteriors (slots, labels, classes), changed in place.
        class_counts, clock: likewise.
        ordered, rho, constants: of the model.
        pace: exponents are solved again when items have grown by this share.
        objectives, posteriors: out, of each item before it was learned (items), (items, classes).
    """
    classes, longest = targets.shape[1], 0
    for item in range(len(item_ptr) - 1):
        longest = max(longest, item_ptr[item + 1] - item_ptr[item])
    features, said = np.empty((longest + 1, classes)), np.empty((longest, classes))
    f, q, rest = np.empty(classes), np.empty(classes), np.empty(classes)
    for item in range(len(item_ptr) - 1):
        block = slice(item_ptr[item], item_ptr[item + 1])
        ours, own = workers[block], labels[block]
        for i in range(len(ours)):
            if ours[i] - slots >= clock[MET]:
                clock[MET], clock[DUE] = ours[i] - slots + 1.0, 0.0
        if clock[LEARNED] >= clock[DUE]:
            refresh(judges, clock, constants)
            clock[DUE] = clock[LEARNED] * (1.0 + pace) + 1.0
        value, rate = read_item(
            ours, own, gold[item], slots, judges, people, clock, ordered, rho, constants, features, said, f, q
        )
        objectives[item] = value
        for k in range(classes):
            posteriors[item, k] = q[k]
        if targets[item].sum() > 0.0:
            learn_judges(ours, own, slots, targets[item], judges, features, f)
            learn_people(ours, own, gold[item], slots, people, clock, said, rate, f, q, rest)
            clock[LEARNED] += 1.0
        for k in range(classes):
            class_counts[k] += q[k]
        for i in range(len(ours)):
            if ours[i] >= slots:
                judges.said[ours[i] - slots, own[i]] += 1.0
            expects = judges_expected[ours[i] - slots, own[i]] if ours[i] >= slots else expected[ours[i], own[i]]
            for k in range(classes):
                expects[k] += q[k]


@compiled
def score_items(
    item_ptr, workers, labels, gold, slots, judges, people, clock, ordered, rho, constants, forecasts, posteriors
):
    """Forecasts (logarithms) and posteriors of every item (items, classes); returns the mean log-likelihood."""
    classes, longest, total = posteriors.shape[1], 0, 0.0
    for item in range(len(item_ptr) - 1):
        longest = max(longest, item_ptr[item + 1] - item_ptr[item])
    features, said = np.empty((longest + 1, classes)), np.empty((longest, classes))
    for item in range(len(item_ptr) - 1):
        block = slice(item_ptr[item], item_ptr[item + 1])
        value, _ = read_item(
            workers[block], labels[block], gold[item], slots, judges, people, clock, ordered, rho, constants,
            features, said, forecasts[item], posteriors[item],
        )  # fmt: skip
        total += value
    return total / max(len(item_ptr) - 1, 1)


@compiled
def lifts(judges, ordered, constants, out):
    """log P(label | class) / P(label) of every judge (judges, labels, classes)."""
    for judge in range(len(out)):
        for label in range(out.shape[1]):
            lift(judge, label, judges, ordered, constants, out[judge, label])


@compiled
def log_said_all(workers, labels, people, constants, guard, said):
    """log P(label | class) of people's labels (labels, classes)."""
    for i in range(len(workers)):
        log_said(workers[i], labels[i], people, constants, guard, said[i])
