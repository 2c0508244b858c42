"""The arithmetic of the two-level model over open items: what an item contributes is taken back exactly.

An open item keeps its labels and its contribution to the counts of workers and crowds. When something about it changes,
its contribution is taken out, it is judged by the counts that remain, and its new contribution is put in: incremental
EM (R. Neal and G. Hinton, "A view of the EM algorithm", 1998), in which no item is judged by its own share of the
counts. Counts are integers, multiples of 2^-32, so that nothing is lost in taking back.

Several crowds run side by side, which differ in `clarity`, how murky murky items are; Bayes' rule weighs them by how
well they predicted each label. See `two_level_kernels` for the model of one crowd.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.kernel.decorators import helper, inlined
from hutch.crowd.models.two_level_kernels import CLARITY, COIN, HABIT, POPULATION

ONE = 4294967296.0
"""Units of a count: 2^32."""
SHARE_BITS = 16
NATS = 1048576.0
"""Units of evidence in a nat: 2^20."""
_LEAST_NATS, _LEAST = -1000.0, 1e-300
_FLOOR, _TINY, _HUGE = 1e-4, 1e-100, 1e100
_MOST_SHARE = (1 << SHARE_BITS) - 1
_RIGHT = 0.9  # share of right labels of workers who are not known

ITEM, FIRST, LAST, COUNT, PLACE = range(5)
"""Places in `Open.records`: the item, -1 if free; first and last label; number of labels; place in `Open.surest`."""
WORKER, LABEL, NEXT = range(3)
"""Places in `Open.labels`."""
LABELS, REFRESH, CURSOR, CREDIT, OPENED, RECORDS, FREE = range(7)
NODES, FREE_NODE, HEAPED, CORRECTED, REOPENED, CLOSED, MOST = range(7, 14)
"""Places in `Open.clock`: labels met; labels at which strengths are estimated next; record visited last; visits due, in
1024ths; open items; records in use or free; free records; labels in use or free; first free label, -1 for none; items
in `Open.surest`; labels corrected; closed items opened again; items closed; most labels that an item had."""
VISITS, WARM_UP, DRIFT, ROOM, EFFORT = range(5)
"""Places in the settings: open items visited after each label; labels of a worker until posteriors weigh as much as the
rule of `learned`; rate per label at which labels lose weight; most open items, 0 for any number; labels of an item up
to which a visit costs one, and above which it costs in proportion."""


class Crowds(NamedTuple):
    """Parameters of workers and crowds.

    Attributes:
        counts: int64 [slot, crowd, label, class], expected labels in units of 2^-32, as are all counts here.
        rows: int64 [slot, crowd, class], their sums over labels.
        habits: int64 [slot, crowd, label], expected labels given from habit.
        masses: int64 [slot, crowd], their sums.
        skill: float64 [slot, crowd], probability of the right label under the coin.
        population: float64 [crowd, label, class], the mean confusion; sums to 1 over labels.
        habit_prior: float64 [crowd, label], the mean habit.
        strengths: float64 [crowd, 5], see `two_level_kernels.POPULATION` and following.
        class_counts: int64 [crowd, class].
        level_counts: int64 [crowd, 2]: clear, murky.
        evidence: int64 [crowd], logarithm of the probability of all labels, in units of 2^-20.
        fixed_prior: float64 [class], the given class prior; empty if it is learned.
        origin: float64 [1], number of labels at which a label weighs 1 under drift.
    """

    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    habits: NDArray[np.int64]
    masses: NDArray[np.int64]
    skill: NDArray[np.float64]
    population: NDArray[np.float64]
    habit_prior: NDArray[np.float64]
    strengths: NDArray[np.float64]
    class_counts: NDArray[np.int64]
    level_counts: NDArray[np.int64]
    evidence: NDArray[np.int64]
    fixed_prior: NDArray[np.float64]
    origin: NDArray[np.float64]


class Open(NamedTuple):
    """Open items, their labels, and what is kept of closed ones.

    Attributes:
        records: int32 [record, 5], see `ITEM` and following.
        times: int64 [record], number of the item's last label in the stream.
        sure: float64 [record], at the last visit: the largest probability of a class and a clear item under the first
            crowd, which has the murkiest items and so is the most cautious.
        q: int64 [record, crowd, 2 classes], what the item contributes: clear classes, then murky ones.
        labels: int32 [node, 3], see `WORKER` and following.
        came: int64 [node], number of the label in the stream.
        shares: uint16 [node, crowd, class], share of confusion in a murky item's label, in units of 2^-16.
        foretold: int32 [node, crowd], log-probability of the label before it came, in units of 2^-20.
        free: int32 [record], a stack of free records.
        surest: int32 [record], a heap of open records.
        where: int32 [item], its record, -1 if it is not open.
        gold: int32 [item], its class, -1 if unknown.
        earlier: int32 [item], labels that were dropped when it was closed.
        base: float64 [item, class], evidence of these.
        slots: int32 [worker], row of the tables.
        clock: int64 [14], see `LABELS` and following.
    """

    records: NDArray[np.int32]
    times: NDArray[np.int64]
    sure: NDArray[np.float64]
    q: NDArray[np.int64]
    labels: NDArray[np.int32]
    came: NDArray[np.int64]
    shares: NDArray[np.uint16]
    foretold: NDArray[np.int32]
    free: NDArray[np.int32]
    surest: NDArray[np.int32]
    where: NDArray[np.int32]
    gold: NDArray[np.int32]
    earlier: NDArray[np.int32]
    base: NDArray[np.float64]
    slots: NDArray[np.int32]
    clock: NDArray[np.int64]


class Desk(NamedTuple):
    """Scratch memory for one item.

    Attributes:
        nodes: int64, its labels' places in `Open.labels`.
        slots, labels: int64, rows of their workers, and the labels.
        shares: uint16 [label, crowd, class], as in `Open`.
        votes: float64 [class], vote shares.
        clear: float64 [class].
        p: float64 [crowd, 2 classes], posteriors.
        weights: float64 [crowd].
        told: float64 [crowd], log-probability of the last label, given the others.
        total: float64 [crowd], that of all labels.
    """

    nodes: NDArray[np.int64]
    slots: NDArray[np.int64]
    labels: NDArray[np.int64]
    shares: NDArray[np.uint16]
    votes: NDArray[np.float64]
    clear: NDArray[np.float64]
    p: NDArray[np.float64]
    weights: NDArray[np.float64]
    told: NDArray[np.float64]
    total: NDArray[np.float64]


@helper
def desk_of(crowds, room):
    """A desk with room for so many labels."""
    members, classes = crowds.class_counts.shape
    return Desk(
        np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64),
        np.empty((room, members, classes), np.uint16), np.empty(classes), np.empty(classes),
        np.empty((members, 2 * classes)), np.empty(members), np.empty(members), np.empty(members),
    )  # fmt: skip


@inlined
def unit_of(crowds, opened, settings):
    """The present weight of a count of 1."""
    if settings[DRIFT] > 0.0:
        return math.exp(-settings[DRIFT] * (opened.clock[LABELS] - crowds.origin[0])) / ONE
    return 1.0 / ONE


@inlined
def gather(opened, r, desk):
    """An item's labels, in the order of their coming, onto a desk that has room for them; returns their number."""
    node, n = np.int64(opened.records[r, FIRST]), 0
    while node >= 0:
        desk.nodes[n] = node
        desk.slots[n] = opened.slots[opened.labels[node, WORKER]]
        desk.labels[n] = opened.labels[node, LABEL]
        n += 1
        node = np.int64(opened.labels[node, NEXT])
    return n


@helper
def contribute(crowds, opened, r, desk, n, sign, settings):
    """Put in (1) or take out (-1) what an item's gathered labels contribute to all counts.

    A murky item's label is due to the worker's confusion with the stored share, else to habit.
    """
    if n == 0:
        return
    members, classes = crowds.class_counts.shape
    drift, weight = settings[DRIFT], 1.0
    for j in range(n):
        node, slot, label = desk.nodes[j], desk.slots[j], desk.labels[j]
        if drift > 0.0:
            weight = math.exp(drift * (opened.came[node] - crowds.origin[0]))
        for m in range(members):
            q, share = opened.q[r, m], opened.shares[node, m]
            counts, rows = crowds.counts[slot, m, label], crowds.rows[slot, m]
            from_habit = 0
            for k in range(classes):
                part = (q[classes + k] * np.int64(share[k])) >> SHARE_BITS
                own, rest = q[k] + part, q[classes + k] - part
                if drift > 0.0:
                    own, rest = np.int64(own * weight), np.int64(rest * weight)
                counts[k] += sign * own
                rows[k] += sign * own
                from_habit += rest
            crowds.habits[slot, m, label] += sign * from_habit
            crowds.masses[slot, m] += sign * from_habit
    for m in range(members):
        q, class_counts, levels = opened.q[r, m], crowds.class_counts[m], crowds.level_counts[m]
        for k in range(classes):
            class_counts[k] += sign * (q[k] + q[classes + k])
            levels[0] += sign * q[k]
            levels[1] += sign * q[classes + k]


@helper
def class_prior(crowds, m, prior):
    """P(class) of a crowd into `prior`: counts plus one each, or as given."""
    if len(crowds.fixed_prior):
        for k in range(len(prior)):  # of slices Numba makes code that cannot be kept
            prior[k] = crowds.fixed_prior[k]
        return
    total = 0.0
    for k in range(len(prior)):
        prior[k] = crowds.class_counts[m, k] / ONE + 1.0
        total += prior[k]
    for k in range(len(prior)):
        prior[k] /= total


@helper
def judge(crowds, m, base, gold, desk, n, unit):
    """Judge an item whose contribution is out, under one crowd: `p`, `told`, `total` and `shares` of the desk.

    Args:
        m: the crowd.
        base: float64 [class], evidence of labels that were dropped.
        gold: its class, -1 if unknown.
        desk: `slots` and `labels` are read.
        n: number of labels.
        unit: see `unit_of`.
    """
    p, clear, strengths = desk.p[m], desk.clear, crowds.strengths[m]
    classes, clarity = len(clear), strengths[CLARITY]
    levels = crowds.level_counts[m]
    light = (levels[0] / ONE + 10.0) / ((levels[0] + levels[1]) / ONE + 20.0) if clarity < 1.0 else 1.0
    class_prior(crowds, m, clear)
    after = 0.0
    for k in range(classes):
        weight = clear[k] * base[k] if gold < 0 or gold == k else 0.0
        p[k], p[classes + k] = weight * light, weight * (1.0 - light)
        after += weight
    before, begin, scalings = after, after, 0
    first, second, habit = strengths[POPULATION], strengths[COIN], strengths[HABIT]
    total = first + second + _FLOOR
    for j in range(n):
        slot, label = desk.slots[j], desk.labels[j]
        counts, rows, population = crowds.counts[slot, m, label], crowds.rows[slot, m], crowds.population[m, label]
        right = second * crowds.skill[slot, m]
        wrong = (second - right) / max(classes - 1, 1)
        for k in range(classes):
            top = first * population[k] + (right if k == label else wrong) + counts[k] * unit
            clear[k] = max(top, _FLOOR) / (total + rows[k] * unit)
        before, after = after, 0.0
        if clarity < 1.0:
            known = habit * crowds.habit_prior[m, label] + crowds.habits[slot, m, label] * unit
            other = (1.0 - clarity) * known / (habit + crowds.masses[slot, m] * unit)
            shares = desk.shares[j, m]
            for k in range(classes):
                part = clarity * clear[k]
                murky = part + other
                p[k] *= clear[k]
                p[classes + k] *= murky
                after += p[k] + p[classes + k]
                share = np.int64(part / murky * (_MOST_SHARE + 1))
                shares[k] = share if share < _MOST_SHARE else _MOST_SHARE
        else:
            for k in range(classes):
                p[k] *= clear[k]
                after += p[k]
                desk.shares[j, m, k] = 0
        if after < _TINY:
            for z in range(2 * classes):
                p[z] *= _HUGE
            before, after = before * _HUGE, after * _HUGE
            scalings += 1
    after = max(after, _LEAST)
    for z in range(2 * classes):
        p[z] /= after
    desk.told[m] = max(math.log(after / max(before, _LEAST)), _LEAST_NATS)
    desk.total[m] = math.log(after / max(begin, _LEAST)) - scalings * math.log(_HUGE)


@helper
def tally(gold, desk, n):
    """Vote shares of the gathered labels, all of it on the known class, into `desk.votes`; returns the largest."""
    desk.votes[:] = 0.0
    for j in range(n):
        desk.votes[gold if gold >= 0 else desk.labels[j]] += 1.0 / n
    return desk.votes.max()


@helper
def unknown(crowds, m, desk, n, warm_up, unit):
    """How little is known of the workers of the gathered labels, from 0 to 1: the mean of w / (w + labels learned)."""
    total = 0.0
    for j in range(n):
        known, rows = crowds.masses[desk.slots[j], m], crowds.rows[desk.slots[j], m]
        for k in range(len(rows)):
            known += rows[k]
        total += warm_up / (warm_up + known * unit)
    return total / n


@helper
def learned(crowds, opened, r, m, desk, n, gold, top, trust):
    """What a record will contribute to a crowd: its posterior, mixed with a rule for workers who are not known.

    The rule: all of them are right in `_RIGHT` of their labels, and classes are as frequent as they are found to be;
    items on which it is sure are clear, others murky. Shares of votes would teach that rare classes are frequent.

    Args:
        gold: its class, -1 if unknown.
        top: largest vote share.
        trust: weight of the rule.
    """
    p, votes, rule, q = desk.p[m], desk.votes, desk.clear, opened.q[r, m]
    classes, clarity = len(votes), crowds.strengths[m, CLARITY]
    class_prior(crowds, m, rule)
    if gold >= 0:
        for k in range(len(rule)):
            rule[k] = votes[k]
    nats, total = n * math.log(_RIGHT * max(classes - 1, 1) / (1.0 - _RIGHT)), 0.0
    for k in range(classes):
        rule[k] *= math.exp(nats * (votes[k] - top))
        total += rule[k]
    for k in range(classes):
        rule[k] /= total
    top = rule.max()
    agreement = (top - 1.0 / classes) / (1.0 - 1.0 / classes) if classes > 1 else 1.0
    light = 0.25 + math.exp(-8.0 * (agreement - 1.0) ** 2)
    dark = 0.25 + math.exp(-8.0 * (agreement - 0.15) ** 2)
    light = light / (light + dark) if clarity < 1.0 else 1.0
    for k in range(classes):
        q[k] = np.int64((p[k] + trust * (rule[k] * light - p[k])) * ONE)
        q[classes + k] = np.int64((p[classes + k] + trust * (rule[k] * (1.0 - light) - p[classes + k])) * ONE)


@helper
def weigh(crowds, weights):
    """The posterior of the crowds: Bayes' rule on how well each predicted the labels."""
    best, total = crowds.evidence.max(), 0.0
    for m in range(len(weights)):
        weights[m] = math.exp((crowds.evidence[m] - best) / NATS)
        total += weights[m]
    for m in range(len(weights)):
        weights[m] /= total


@inlined
def mixed(desk, k):
    """Probability of class k over the judged crowds."""
    classes, total = len(desk.clear), 0.0
    for m in range(len(desk.weights)):
        total += desk.weights[m] * (desk.p[m, k] + desk.p[m, classes + k])
    return total


@helper
def put_in(crowds, opened, r, desk, n, unit, settings):
    """Judge a record whose gathered contribution is out, and put in the new one."""
    item, warm_up, top = np.int64(opened.records[r, ITEM]), settings[WARM_UP], 0.0
    if n:
        top = tally(opened.gold[item], desk, n)
    for m in range(len(desk.told)):
        judge(crowds, m, opened.base[item], opened.gold[item], desk, n, unit)
        if n:
            trust = unknown(crowds, m, desk, n, warm_up, unit) if warm_up > 0.0 else 0.0
            learned(crowds, opened, r, m, desk, n, opened.gold[item], top, trust)
        for j in range(n):
            shares = opened.shares[desk.nodes[j], m]
            for k in range(len(desk.clear)):
                shares[k] = desk.shares[j, m, k]
    weigh(crowds, desk.weights)
    opened.sure[r] = 0.0
    for k in range(len(desk.clear)):
        opened.sure[r] = max(opened.sure[r], desk.p[0, k])
    contribute(crowds, opened, r, desk, n, 1, settings)
