"""A search on a block of lines: predict it, go through it again, and try each action of each step."""

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.kernel.abi import UNLABELED, call, example_of, float32s_at, int64s_at, kernel, shared_of
from hutch.core.kernel.decision import decision_of, ranked_of
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.shown import show, shown_by
from hutch.core.learner.memory import reserve
from hutch.reductions.search.choose import list_actions, show_more, teach
from hutch.reductions.search.history import build_lines, show_line
from hutch.reductions.search.made import show_made
from hutch.reductions.search.memo import forget
from hutch.reductions.search.policies import begin_run, draw
from hutch.reductions.search.record import NONE, ROLL_IN, ROLL_OUT, TEST, arrays_of_label, search_of

_0, _1 = np.float32(0), np.float32(1)


@helper
def run_task(layer, example, offset, phase):
    """Let the task go through the block."""
    s = search_of(layer)
    s.phase = uint64(phase)
    begin_run(s, shared_of(example_of(example).shared))
    call(s.task, layer, example, UNLABELED, _1, offset)


@helper
def _chosen_steps(s, shared, order, count):
    """Write the steps to learn, in order; returns how many of the `count` there are."""
    n = 0
    if s.subsample <= _0:
        for t in range(count):
            order[t] = t
        return count
    if s.subsample < _1:
        for t in range(count):
            if draw(shared) <= s.subsample:
                order[n] = t
                n += 1
        if n == 0:
            order[0] = int64(draw(shared) * np.float32(count))
        return max(n, 1)
    while n < min(int64(s.subsample), count):
        drawn, k = int64(draw(shared) * np.float32(count)), 0
        while k < n and order[k] < drawn:
            k += 1
        if k == n or order[k] != drawn:
            for j in range(n, k, -1):
                order[j] = order[j - 1]
            order[k] = drawn
            n += 1
    return n


@helper
def _spread(order, other, n):
    """Order ascending numbers so that neighbours lie far apart.

    Source: S. Curtis, "Darts and hoopla board design", IPL 92, 2004.
    """
    low, high = n, n + 1
    other[low], other[high] = order[0], order[n - 1]
    i, j = 0, n - 1
    while i + 1 < j:
        first, last = order[i + 1], order[j - 1]
        a, b, c, d = (
            abs(other[low] - first),
            abs(other[low] - last),
            abs(other[high] - first),
            abs(other[high] - last),
        )
        most = max(max(a, b), max(c, d))
        if a >= most:
            low, i = low - 1, i + 1
            other[low] = first
        elif b >= most:
            low, j = low - 1, j - 1
            other[low] = last
        elif c >= most:
            high, i = high + 1, i + 1
            other[high] = first
        else:
            high, j = high + 1, j - 1
            other[high] = last
    for k in range(n):
        order[k] = other[low + k]


@helper
def _order_steps(s, shared, count):
    """The steps to learn, in the order in which they are; an address and how many, 0 without memory."""
    address = reserve(s.order, uint64(8) * uint64(3 * count + 2))
    if address == uint64(0):
        return address, 0
    order = int64s_at(address, uint64(count))
    n = _chosen_steps(s, shared, order, count)
    if s.in_order == uint64(0):
        _spread(order, int64s_at(address + uint64(8 * count), uint64(2 * count + 2)), n)
    return address, n


@helper
def _misname(s, listed):
    """Call the first actions of a step that allows all by the names of those that a step before allowed, as VW does."""
    if s.learn_allowed_count > uint64(0):
        s.stuck = uint64(0)
        for k in range(s.learn_allowed_count):
            s.stuck |= uint64(1) << uint64(listed[k])
        return
    k, name, stuck = 0, 0, s.stuck
    while stuck > uint64(0) and uint64(k) < s.actions:
        if stuck & uint64(1) != uint64(0):
            listed[k] = uint32(name)
            k += 1
        stuck, name = stuck >> uint64(1), name + 1


@helper
def _learn_step(layer, example, offset, step):
    """Try each action of a step, and learn what it cost."""
    s, e = search_of(layer), example_of(example)
    listed, costs = arrays_of_label(s)
    s.learn_at, s.tried, s.done, tried = uint64(step), uint64(0), uint64(0), uint64(0)
    while s.done == uint64(0):
        run_task(layer, example, offset, ROLL_OUT)
        if s.tried == tried:
            return  # the task did not come so far
        if tried < s.room:
            float32s_at(s.roll_losses, s.room)[tried] = s.roll_loss
        tried = s.tried
    count = list_actions(s, s.learn_allowed, s.learn_allowed_count)
    for k in range(count):
        costs[k] = float32s_at(s.roll_losses, s.room)[k]
    if s.misnames == uint64(1):
        _misname(s, listed)
    if s.make == uint64(0):
        show_line(s, e, s.learn_line)
    else:
        show_made(e, s.kept)
    show_more(layer, example, offset, s.learn_names, s.learn_actions, s.learn_count)
    teach(layer, example, offset, s.learn_learner, count)


@helper
def _learn_block(layer, example, offset):
    """Go through the block by the policies and the labels, then learn its steps."""
    s, shared = search_of(layer), shared_of(example_of(example).shared)
    forget(s)
    run_task(layer, example, offset, ROLL_IN)
    if s.declared == uint64(0) or s.step == uint64(0) or s.rollout == uint64(NONE):
        return
    address, n = _order_steps(s, shared, int64(s.step))
    for k in range(n):
        _learn_step(layer, example, offset, int64s_at(address, uint64(n))[k])


@helper
def _run(layer, example, offset, learns):
    s, e, d = search_of(layer), example_of(example), decision_of(example)
    shared, read = shared_of(e.shared), shown_by(e)
    random = shared.random_state
    s.count, s.learning = d.count, uint64(learns)
    ranked = ranked_of(d)
    for k in range(d.count):
        ranked[k] = k
    labeled, loss, features, beginning = e.label != UNLABELED, _0, uint64(0), e.decision
    if build_lines(s, e, d):
        forget(s)
        run_task(layer, example, offset, TEST)
        loss, features = s.test_loss, s.features
        if learns:
            shared.time += 1.0  # VW has counted the block by now
            _learn_block(layer, example, offset)
            shared.time -= 1.0
    show(e, read)
    e.decision, e.cost_count, e.raw = beginning, uint64(0), _0
    e.features, e.loss = features, np.float64(loss) if labeled else 0.0
    if shared.testing == uint64(0):
        s.read += d.count + uint64(1)
    else:
        shared.random_state = random
    return np.float32(0)


@kernel
def predict(layer, example, label, importance, offset):
    """Predict the lines of a block one after the other."""
    return _run(layer, example, offset, False)


@kernel
def learn(layer, example, label, importance, offset):
    """Predict the lines, then learn from what other actions cost."""
    return _run(layer, example, offset, True)
