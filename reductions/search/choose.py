"""The answer to a task that asks for the next part of a label."""

import numpy as np
from numpy import int64, uint32, uint64

from hutch.core.kernel.abi import (
    UNLABELED,
    call,
    example_of,
    float32s_at,
    kernel,
    learn_next,
    predict_next,
    shared_of,
    submodel,
    uint32s_at,
)
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.learner.memory import buffer_of, reserve
from hutch.reductions.search.history import add_history, show_line
from hutch.reductions.search.made import show_made
from hutch.reductions.search.memo import remember, remembered
from hutch.reductions.search.policies import learner_of, policy_here, right_action
from hutch.reductions.search.record import (
    NONE,
    ROLL_IN,
    ROLL_OUT,
    TEST,
    arrays_of_label,
    declare,
    label_below,
    search_of,
)

_0, _1 = np.float32(0), np.float32(1)
_NO_POLICY = uint64(0)


@helper
def _is_right(s, action):
    """Whether the task named an action as a right one."""
    oracles, found = uint32s_at(s.oracles, s.room), False
    for k in range(s.oracle_count):
        found |= uint64(oracles[k]) == action
    return found


@helper
def _price(s, action):
    """The cost of an action that the task priced."""
    prices, allowed = float32s_at(s.prices, s.room), uint32s_at(s.allowed, s.room)
    for k in range(s.allowed_count):
        if uint64(allowed[k]) == action:
            return prices[k]
    return prices[action - uint64(1)] if s.allowed_count == uint64(0) and action > uint64(0) else _0


@helper
def look_up_conditions(s):
    """Take down the actions that the task conditions on; 0 for those that there are not."""
    tags, actions = uint32s_at(s.on_tags, s.room), uint32s_at(s.on_actions, s.room)
    tagged = uint32s_at(buffer_of(s.tagged).address, s.tags)
    for k in range(s.on_count):
        there = tags[k] > 0 and uint64(tags[k]) < s.tags
        actions[k] = tagged[tags[k]] if there else uint32(0)


@helper
def _make(layer, example, offset, buffer):
    """Let the task make the features of the step in a BUFFER."""
    s = search_of(layer)
    s.making = buffer
    call(s.make, layer, example, UNLABELED, _1, offset)


@helper
def _show_step(layer, example, offset, line):
    """Make the example show the step that the task asks about."""
    s = search_of(layer)
    if s.make == uint64(0):
        show_line(s, example_of(example), line)
    else:
        _make(layer, example, offset, s.made)
        show_made(example_of(example), s.made)
    show_more(layer, example, offset, s.on_names, s.on_actions, s.on_count)


@helper
def show_more(layer, example, offset, names, actions, count):
    """Add features made of actions to those shown, and products.

    Args:
        layer, example, offset: as a kernel has them.
        names, actions: addresses of what `add_history` reads.
        count: of the actions.
    """
    s = search_of(layer)
    if s.conditions == uint64(1):
        add_history(s, example_of(example), uint32s_at(names, s.room), uint32s_at(actions, s.room), count)
    if s.multiply != uint64(0):
        call(s.multiply, layer, example, UNLABELED, _1, offset)


@helper
def predict_action(layer, example, offset, learner):
    """The action that the layer below predicts for the line shown, among those allowed."""
    s, e = search_of(layer), example_of(example)
    listed, _ = arrays_of_label(s)
    if s.allowed_count > uint64(0):
        copy(uint32s_at(s.allowed, s.allowed_count), listed)
    label_below(example, s.listed, s.unknown, s.allowed_count)
    action = predict_next(layer, example, UNLABELED, _1, submodel(layer, offset, learner))
    s.features += e.features
    return uint64(action)


@helper
def teach(layer, example, offset, learner, count):
    """Let the layer below learn the line shown from `count` costs, of the classes `listed`, above the least of them."""
    s, shared = search_of(layer), shared_of(example_of(example).shared)
    _, costs = arrays_of_label(s)
    least = UNLABELED
    for k in range(count):
        least = min(least, costs[k])
    for k in range(count):
        costs[k] -= least
    label_below(example, s.listed, s.costs, count)
    for at_home in range(int64(s.folds) + 1):
        at = learner_of(s, shared, s.newest, learner, True, at_home == 1)
        learn_next(layer, example, UNLABELED, _1, submodel(layer, offset, at))
    s.generated += uint64(1)


@helper
def list_actions(s, names, count):
    """Write the classes of a label: `count` actions by name, or all that there are; returns their number."""
    listed, _ = arrays_of_label(s)
    if count == uint64(0):
        for k in range(s.actions):
            listed[k] = uint32(k + uint64(1))
        return s.actions
    copy(uint32s_at(names, count), listed)
    return count


@helper
def _teach_now(layer, example, offset):
    """Without runs that try actions, learn which are right here."""
    s = search_of(layer)
    count = list_actions(s, s.allowed, s.allowed_count)
    listed, costs = arrays_of_label(s)
    for k in range(count):
        if s.priced == uint64(1):
            costs[k] = float32s_at(s.prices, s.room)[k]
        else:
            costs[k] = _0 if _is_right(s, uint64(listed[k])) else _1
    teach(layer, example, offset, s.learner, count)


@helper
def _decide(layer, example, offset):
    """The action of the policy that decides here."""
    s, e = search_of(layer), example_of(example)
    shared = shared_of(e.shared)
    policy, action = policy_here(s, shared), uint64(0)
    learns = s.phase == uint64(ROLL_IN) and s.rollout == uint64(NONE)
    learns = learns and (s.oracle_count > uint64(0) or s.priced == uint64(1))
    if policy < 0:
        action = right_action(s, shared)
    if policy < 0 and not learns:
        return action
    look_up_conditions(s)
    keeps = s.caches == uint64(1) and s.learning == uint64(1) and s.tag != uint64(0)
    known = remembered(s, policy) if keeps else int64(-1)
    if known >= 0:
        return uint64(known)
    _show_step(layer, example, offset, s.line)
    if policy >= 0:
        at = learner_of(s, shared, policy, s.learner, False, s.phase != uint64(TEST))
        action = predict_action(layer, example, offset, at)
    if learns:
        _teach_now(layer, example, offset)
    if keeps:
        remember(s, policy, action)
    return action


@helper
def _next_action(layer, example, offset):
    """The next action to try of the step to learn; with the last one, takes down what is to be learned."""
    s = search_of(layer)
    count = s.allowed_count if s.allowed_count > uint64(0) else s.actions
    k = s.tried
    s.declared, s.tried = uint64(0), k + uint64(1)
    if s.tried >= count:
        s.done = uint64(1)
        s.learn_line, s.learn_learner, s.learn_count = s.line, s.learner, s.on_count
        look_up_conditions(s)
        copy(uint32s_at(s.on_names, s.on_count), uint32s_at(s.learn_names, s.room))
        copy(uint32s_at(s.on_actions, s.on_count), uint32s_at(s.learn_actions, s.room))
        copy(uint32s_at(s.allowed, s.allowed_count), uint32s_at(s.learn_allowed, s.room))
        s.learn_allowed_count = s.allowed_count
        if s.make != uint64(0):
            _make(layer, example, offset, s.kept)
    return uint64(uint32s_at(s.allowed, s.room)[k]) if s.allowed_count > uint64(0) else k + uint64(1)


@inlined
def _set_tag(s, action):
    """Let later steps be conditioned on this action; the tags before it that have none get action 0."""
    address = reserve(s.tagged, uint64(4) * (s.tag + uint64(1)))
    if address != uint64(0):
        tagged = uint32s_at(address, s.tag + uint64(1))
        while s.tags <= s.tag:
            tagged[s.tags] = 0
            s.tags += uint64(1)
        tagged[s.tag] = uint32(action)


@helper
def _note(s, t, action):
    """Note the action of a step for the runs that follow."""
    address = reserve(s.trajectory, uint64(4) * (t + uint64(1)))
    if address != uint64(0):
        uint32s_at(address, t + uint64(1))[t] = uint32(action)


@kernel
def choose(layer, example, label, importance, offset):
    """The action for the step that the task asks about, as the phase of the search has it."""
    s = search_of(layer)
    t = s.step
    s.step = t + uint64(1)
    if s.phase == uint64(ROLL_OUT) and t <= s.learn_at:
        if t < s.learn_at:
            action = uint64(uint32s_at(buffer_of(s.trajectory).address, s.learn_at)[t])
        else:
            action = _next_action(layer, example, offset)
    elif s.phase == uint64(ROLL_OUT) and s.most_steps > uint64(0) and s.declared >= s.most_steps:
        action = uint64(uint32s_at(s.allowed, s.room)[0]) if s.allowed_count > uint64(0) else uint64(1)
    else:
        action = _decide(layer, example, offset)
        if s.phase == uint64(ROLL_IN):
            _note(s, t, action)
    if s.tag != uint64(0):
        _set_tag(s, action)
    if s.hamming == uint64(1):
        if s.priced == uint64(1):
            declare(s, _price(s, action))
        else:
            declare(s, _0 if s.oracle_count == uint64(0) or _is_right(s, action) else _1)
    return np.float32(action)
