"""Labels one by one, in any order: open an item, take its contribution out, put the new one in, visit others."""

import math

import numpy as np

from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper, inlined
from hutch.crowd.models.open_items_kernels import (
    CLOSED,
    CORRECTED,
    COUNT,
    CREDIT,
    CURSOR,
    DRIFT,
    EFFORT,
    FIRST,
    FREE,
    FREE_NODE,
    HEAPED,
    ITEM,
    LABEL,
    LABELS,
    LAST,
    MOST,
    NATS,
    NEXT,
    NODES,
    OPENED,
    PLACE,
    RECORDS,
    REFRESH,
    REOPENED,
    ROOM,
    VISITS,
    WORKER,
    class_prior,
    contribute,
    desk_of,
    gather,
    judge,
    mixed,
    put_in,
    unit_of,
    weigh,
)
from hutch.crowd.models.two_level_kernels import CLARITY

_FEWEST = 64  # labels of an item for which a desk has room
_CREDIT = 1024
_LEAST_EVIDENCE = 1e-9
_LARGEST_WEIGHT = 7.0  # its logarithm under drift: 2^32 e^7 2^20 labels fit into 63 bits
_SMALLER = 1024


@inlined
def _surer(opened, a, b):
    """Whether record a is to be closed before record b: it is surer, or has been without a label for longer."""
    if opened.sure[a] != opened.sure[b]:
        return opened.sure[a] > opened.sure[b]
    return opened.times[a] < opened.times[b] or (opened.times[a] == opened.times[b] and a < b)


@inlined
def _set(opened, place, r):
    opened.surest[place] = r
    opened.records[r, PLACE] = place


@helper
def _sift(opened, place):
    """Move the record at a place of the heap to where it belongs."""
    r, size = np.int64(opened.surest[place]), opened.clock[HEAPED]
    while place > 0 and _surer(opened, r, np.int64(opened.surest[(place - 1) // 2])):
        _set(opened, place, np.int64(opened.surest[(place - 1) // 2]))
        place = (place - 1) // 2
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _surer(opened, np.int64(opened.surest[child + 1]), np.int64(opened.surest[child])):
            child += 1
        if not _surer(opened, np.int64(opened.surest[child]), r):
            break
        _set(opened, place, np.int64(opened.surest[child]))
        place = child
    _set(opened, place, r)


@helper
def _ready(opened, settings):
    """Make the heap of all open records if it is needed; the first to be closed is the same however it was made."""
    if settings[ROOM] > 0 and opened.clock[HEAPED] == opened.clock[OPENED]:
        return
    opened.clock[HEAPED] = 0
    if not settings[ROOM] > 0:
        return
    for r in range(opened.clock[RECORDS]):
        if opened.records[r, ITEM] >= 0:
            place = opened.clock[HEAPED]
            _set(opened, place, r)
            opened.clock[HEAPED] += 1
            _sift(opened, place)


@helper
def close(crowds, opened, r, desk, settings):
    """Close an open item: its contribution stays, its labels go, its posterior stays as evidence."""
    item, n = np.int64(opened.records[r, ITEM]), gather(opened, r, desk)
    contribute(crowds, opened, r, desk, n, -1, settings)
    unit = unit_of(crowds, opened, settings)
    for m in range(len(desk.weights)):
        judge(crowds, m, opened.base[item], np.int64(-1), desk, n, unit)
    weigh(crowds, desk.weights)
    contribute(crowds, opened, r, desk, n, 1, settings)
    prior, total = np.zeros(len(desk.clear)), 0.0
    for m in range(len(desk.weights)):
        class_prior(crowds, m, desk.clear)
        for k in range(len(prior)):
            prior[k] += desk.weights[m] * desk.clear[k]
    for k in range(len(prior)):
        prior[k] = max(mixed(desk, k), _LEAST_EVIDENCE) / max(prior[k], _LEAST_EVIDENCE)
        total += prior[k]
    for k in range(len(prior)):
        opened.base[item, k] = prior[k] / total
    opened.earlier[item] += n
    for j in range(n):
        opened.labels[desk.nodes[j], NEXT] = opened.clock[FREE_NODE]
        opened.clock[FREE_NODE] = desk.nodes[j]
    place, last = np.int64(opened.records[r, PLACE]), opened.clock[HEAPED] - 1
    opened.clock[HEAPED] = last
    if place < last:
        _set(opened, place, np.int64(opened.surest[last]))
        _sift(opened, place)
    opened.where[item], opened.records[r, ITEM], opened.records[r, COUNT] = -1, -1, 0
    opened.free[opened.clock[FREE]] = r
    opened.clock[FREE] += 1
    opened.clock[OPENED] -= 1
    opened.clock[CLOSED] += 1


@helper
def _open(opened, item):
    """A new record of an item."""
    if opened.clock[FREE]:
        opened.clock[FREE] -= 1
        r = np.int64(opened.free[opened.clock[FREE]])
    else:
        r = opened.clock[RECORDS]
        opened.clock[RECORDS] += 1
    opened.clock[OPENED] += 1
    record = opened.records[r]
    record[ITEM], record[FIRST], record[LAST], record[COUNT], record[PLACE] = item, -1, -1, 0, -1
    opened.where[item], opened.sure[r], opened.times[r] = r, 0.0, opened.clock[LABELS]
    opened.q[r] = 0
    opened.clock[REOPENED] += opened.earlier[item] > 0
    return r


@helper
def _append(opened, r, worker, label):
    """A further label of a record, at the end of its list; returns its place."""
    node = opened.clock[FREE_NODE]
    if node >= 0:
        opened.clock[FREE_NODE] = opened.labels[node, NEXT]
    else:
        node = opened.clock[NODES]
        opened.clock[NODES] += 1
    opened.labels[node, WORKER], opened.labels[node, LABEL], opened.labels[node, NEXT] = worker, label, -1
    opened.came[node] = opened.clock[LABELS]
    record = opened.records[r]
    if record[COUNT]:
        opened.labels[record[LAST], NEXT] = node
    else:
        record[FIRST] = node
    record[LAST] = node
    record[COUNT] += 1
    opened.clock[MOST] = max(opened.clock[MOST], record[COUNT])
    return node


@helper
def _lighten(crowds, opened, desk, settings):
    """Drift: divide all counts by 1024 before the weights of new labels become large."""
    for r in range(opened.clock[RECORDS]):
        if opened.records[r, ITEM] >= 0:
            contribute(crowds, opened, r, desk, gather(opened, r, desk), -1, settings)
    for slot in range(len(crowds.masses)):
        for m in range(crowds.masses.shape[1]):
            crowds.masses[slot, m] = 0
            crowds.rows[slot, m, :] = 0
            for label in range(crowds.habits.shape[2]):
                crowds.habits[slot, m, label] //= _SMALLER
                crowds.masses[slot, m] += crowds.habits[slot, m, label]
                for k in range(crowds.habits.shape[2]):
                    crowds.counts[slot, m, label, k] //= _SMALLER
                    crowds.rows[slot, m, k] += crowds.counts[slot, m, label, k]
    crowds.origin[0] += math.log(_SMALLER) / settings[DRIFT]
    for r in range(opened.clock[RECORDS]):
        if opened.records[r, ITEM] >= 0:
            contribute(crowds, opened, r, desk, gather(opened, r, desk), 1, settings)


@inlined
def _room(opened):
    """Labels for which a desk needs room: those of any open item, and one more."""
    return max(opened.clock[MOST], _FEWEST) + 1


@helper
def _visit(crowds, opened, r, desk, settings):
    """Judge an open item again."""
    n = gather(opened, r, desk)
    contribute(crowds, opened, r, desk, n, -1, settings)
    put_in(crowds, opened, r, desk, n, unit_of(crowds, opened, settings), settings)
    if settings[ROOM] > 0:
        _sift(opened, np.int64(opened.records[r, PLACE]))


@helper
def _visit_others(crowds, opened, desk, settings):
    """Judge a few open items again, in turn."""
    clock = opened.clock
    clock[CREDIT] += np.int64(settings[VISITS] * _CREDIT)
    while clock[CREDIT] >= _CREDIT:
        while True:
            clock[CURSOR] = clock[CURSOR] + 1 if clock[CURSOR] + 1 < clock[RECORDS] else 0
            if opened.records[clock[CURSOR], ITEM] >= 0:
                break
        cost = max(opened.records[clock[CURSOR], COUNT] / settings[EFFORT], 1.0)
        clock[CREDIT] -= np.int64(_CREDIT * cost)
        _visit(crowds, opened, clock[CURSOR], desk, settings)


@helper
def _enter(crowds, opened, r, desk, worker, label, anonymous, settings):
    """A label of an open item: the contribution out, the label in, judged, the new contribution in.

    Returns:
        the label's place; whether it is new.
    """
    n = gather(opened, r, desk)
    contribute(crowds, opened, r, desk, n, -1, settings)
    node = np.int64(-1)
    for j in range(n if worker != anonymous else 0):
        if opened.labels[desk.nodes[j], WORKER] == worker:
            node = desk.nodes[j]
            desk.labels[j] = label
            opened.clock[CORRECTED] += opened.labels[node, LABEL] != label
            opened.labels[node, LABEL] = label
    new = node < 0
    if new:
        node = _append(opened, r, worker, label)
        desk.nodes[n], desk.slots[n], desk.labels[n] = node, opened.slots[worker], label
        n += 1
    opened.clock[LABELS] += 1
    opened.times[r] = opened.clock[LABELS]
    put_in(crowds, opened, r, desk, n, unit_of(crowds, opened, settings), settings)
    return node, new


@compiled
def learn(crowds, opened, items, workers, labels, begin, anonymous, settings, objective):
    """Learn labels in the order of their coming, until strengths are due.

    Args:
        items, workers, labels: int64 (labels).
        begin: the first label to learn.
        anonymous: the worker whose labels never replace each other, -1 for none.
        objective: float64 (labels), out: log-probability of each new label before it came, 0 for a replaced one.

    Returns:
        the first label that was not learned: strengths must be estimated first, or there are no more.
    """
    desk, clock = desk_of(crowds, _room(opened)), opened.clock
    _ready(opened, settings)
    for t in range(begin, len(items)):
        if clock[LABELS] >= clock[REFRESH]:
            return t
        if settings[DRIFT] * (clock[LABELS] - crowds.origin[0]) > _LARGEST_WEIGHT:
            _lighten(crowds, opened, desk, settings)
        item = items[t]
        r = np.int64(opened.where[item])
        if r < 0:
            while clock[OPENED] >= settings[ROOM] > 0:
                close(crowds, opened, np.int64(opened.surest[0]), desk, settings)
            r = _open(opened, item)
            if settings[ROOM] > 0:
                _set(opened, clock[HEAPED], r)
                clock[HEAPED] += 1
        elif opened.records[r, COUNT] + 1 >= len(desk.nodes):
            desk = desk_of(crowds, 2 * len(desk.nodes))
        node, new = _enter(crowds, opened, r, desk, workers[t], labels[t], anonymous, settings)
        objective[t] = 0.0
        if new:
            for m in range(len(desk.told)):
                objective[t] += desk.weights[m] * math.exp(desk.told[m])
                opened.foretold[node, m] = np.int32(desk.told[m] * NATS)
                crowds.evidence[m] += opened.foretold[node, m]
            objective[t] = math.log(max(objective[t], 1e-300))
        if settings[ROOM] > 0:
            _sift(opened, np.int64(opened.records[r, PLACE]))
        _visit_others(crowds, opened, desk, settings)
    return len(items)


@compiled
def tell(crowds, opened, item, gold, settings):
    """The class of an item becomes known: if it is open, it is judged again."""
    r = np.int64(opened.where[item])
    if r < 0:
        opened.gold[item] = gold
        return
    desk = desk_of(crowds, _room(opened))
    _ready(opened, settings)
    n = gather(opened, r, desk)
    contribute(crowds, opened, r, desk, n, -1, settings)
    opened.gold[item] = gold
    put_in(crowds, opened, r, desk, n, unit_of(crowds, opened, settings), settings)
    if settings[ROOM] > 0:
        _sift(opened, np.int64(opened.records[r, PLACE]))
    _visit_others(crowds, opened, desk, settings)


@compiled
def withdraw(crowds, opened, item, worker, settings):
    """Take a worker's label of an open item away, and what it said for the crowds; returns whether there was one."""
    r = np.int64(opened.where[item])
    if r < 0:
        return False
    desk = desk_of(crowds, _room(opened))
    _ready(opened, settings)
    n = gather(opened, r, desk)
    found = -1
    for j in range(n):
        if opened.labels[desk.nodes[j], WORKER] == worker:
            found = j
    if found < 0:
        return False
    contribute(crowds, opened, r, desk, n, -1, settings)
    node, record = np.int64(desk.nodes[found]), opened.records[r]
    if found:
        opened.labels[desk.nodes[found - 1], NEXT] = opened.labels[node, NEXT]
    else:
        record[FIRST] = opened.labels[node, NEXT]
    if found == n - 1:
        record[LAST] = desk.nodes[found - 1] if found else -1
    for m in range(len(desk.told)):
        crowds.evidence[m] -= opened.foretold[node, m]
    opened.labels[node, NEXT], opened.clock[FREE_NODE] = opened.clock[FREE_NODE], node
    record[COUNT] -= 1
    n = gather(opened, r, desk)
    put_in(crowds, opened, r, desk, n, unit_of(crowds, opened, settings), settings)
    if settings[ROOM] > 0:
        _sift(opened, np.int64(opened.records[r, PLACE]))
    _visit_others(crowds, opened, desk, settings)
    return True


@compiled
def sweep(crowds, opened, settings):
    """Judge every open item again."""
    desk = desk_of(crowds, _room(opened))
    _ready(opened, settings)
    for r in range(opened.clock[RECORDS]):
        if opened.records[r, ITEM] >= 0:
            _visit(crowds, opened, r, desk, settings)


@compiled
def recount(crowds, opened, settings, sign):
    """Put in (1) or take out (-1) what all open items contribute."""
    desk = desk_of(crowds, _room(opened))
    for r in range(opened.clock[RECORDS]):
        if opened.records[r, ITEM] >= 0:
            contribute(crowds, opened, r, desk, gather(opened, r, desk), sign, settings)


@compiled
def read(crowds, opened, items, pointer, slots, labels, settings, posterior, clear, total):
    """Posteriors of items under some labels each, without what they contribute to the counts; changes nothing.

    Args:
        items: int64 (n), the items; -1 for one that was never met.
        pointer: int64 (n + 1): item i has the labels from `pointer[i]` on; all those it is judged by.
        slots, labels: int64, rows of their workers, and the labels.
        posterior: float64 (n, classes), out.
        clear: float64 (n), out: probability that the item is not murky, or the class decides a murky label.
        total: float64 (n), out: log-probability of its labels.
    """
    room = _room(opened)
    for i in range(len(items)):
        room = max(room, pointer[i + 1] - pointer[i])
    own, desk = desk_of(crowds, room), desk_of(crowds, room)
    unit, classes, even = unit_of(crowds, opened, settings), posterior.shape[1], np.ones(posterior.shape[1])
    weigh(crowds, desk.weights)
    for i in range(len(items)):
        item, n = items[i], pointer[i + 1] - pointer[i]
        r = np.int64(opened.where[item]) if item >= 0 else np.int64(-1)
        count = 0
        if r >= 0:
            count = gather(opened, r, own)
            contribute(crowds, opened, r, own, count, -1, settings)
        for j in range(n):
            desk.slots[j], desk.labels[j] = slots[pointer[i] + j], labels[pointer[i] + j]
        clear[i], total[i] = 0.0, 0.0
        gold = np.int64(opened.gold[item]) if item >= 0 else np.int64(-1)
        for m in range(len(desk.weights)):
            judge(crowds, m, opened.base[item] if item >= 0 else even, gold, desk, n, unit)
            share = 0.0
            for k in range(classes):
                share += desk.p[m, k]
            clarity = crowds.strengths[m, CLARITY]
            clear[i] += desk.weights[m] * (clarity + (1.0 - clarity) * share)
            total[i] += desk.weights[m] * desk.total[m]
        for k in range(classes):
            posterior[i, k] = mixed(desk, k)
        if r >= 0:
            contribute(crowds, opened, r, own, count, 1, settings)
