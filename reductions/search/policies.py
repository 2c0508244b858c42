"""Which policy decides a step: a mixture of those learned and of the labels, by Vowpal Wabbit's random numbers."""

import math

import numpy as np
from numpy import int64, uint64

from hutch.core.kernel.abi import float32s_at, uint32s_at
from hutch.core.kernel.decorators import helper
from hutch.core.kernel.random import merand48
from hutch.reductions.search.record import MIX_PER_ROLL, NONE, ORACLE, POLICY, ROLL_IN, ROLL_OUT, TEST

BY_LABELS = -1
"""The policy that follows the labels."""
_0, _1 = np.float32(0), np.float32(1)
_LN_2 = np.float32(0.6931471805599453)
_LARGEST = np.float32(np.finfo(np.float32).max)


@helper
def draw(shared):
    """The next random number in [0, 1)."""
    shared.random_state, u = merand48(shared.random_state)
    return u


@helper
def place(shared, count):
    """A random number below `count`."""
    return uint64(draw(shared) * np.float32(count))


@helper
def begin_run(s, shared):
    """Begin a run through the block: nothing is decided, and random numbers begin as they do for its last line."""
    s.step = s.declared = s.features = s.done = s.tags = uint64(0)
    s.test_loss = s.roll_loss = _0
    s.run_policy = int64(-2)
    x = np.float32(-np.float32(math.log1p(-s.alpha)) * np.float32(s.generated))
    s.beta = np.float32(-math.expm1(-x)) if x <= _LN_2 else np.float32(_1 - np.float32(math.exp(-x)))
    s.beta = min(s.beta, _1)
    number = (s.read + s.count - uint64(1)) * uint64(147483) + uint64(4831921)
    shared.random_state = (number * uint64(2147483647)) & uint64(0xFFFFFFFF)


@helper
def _drawn(s, shared, by_labels):
    """A policy: with the probability beta the newest, else with beta the one before, and so on; last the labels."""
    if s.beta >= _1:
        return s.newest
    policies = s.newest + 1 + (1 if by_labels else 0)
    k = int64(0)
    if policies == 2:
        k = int64(1) if draw(shared) >= s.beta else int64(0)
    elif policies > 2:
        r = draw(shared)
        if r > s.beta:
            r -= s.beta
            while r > _0 and k < policies - 1:
                k += 1
                r -= np.float32(s.beta * np.float32(math.pow(_1 - s.beta, np.float32(k))))
    return int64(BY_LABELS) if by_labels and k == policies - 1 else s.newest - k


@helper
def policy_here(s, shared):
    """The policy that decides this step; BY_LABELS: the labels."""
    if s.phase == uint64(TEST):
        return _drawn(s, shared, False)
    method = s.rollin if s.phase == uint64(ROLL_IN) else s.rollout
    if method == uint64(ORACLE):
        return int64(BY_LABELS)
    if method == uint64(MIX_PER_ROLL):
        if s.run_policy == -2:
            state = shared.random_state
            s.run_policy = _drawn(s, shared, True)
            if s.peeks == uint64(1) and (s.phase == uint64(ROLL_OUT) or s.rollout != uint64(NONE)):
                shared.random_state = state  # VW has drawn it before, to see whether features are needed
        return s.run_policy
    return _drawn(s, shared, method != uint64(POLICY))


@helper
def right_action(s, shared):
    """A right action: one of the cheapest, or of those that the task named; without any, one that there is."""
    allowed, oracles = uint32s_at(s.allowed, s.room), uint32s_at(s.oracles, s.room)
    if s.priced == uint64(1):
        prices, count = float32s_at(s.prices, s.room), s.allowed_count if s.allowed_count > 0 else s.actions
        least, ties, found = _LARGEST, 0, uint64(0)
        for k in range(count):
            least = min(least, prices[k])
        for k in range(count):
            if prices[k] <= least:
                ties += 1
                if ties == 1 or draw(shared) < 1.0 / np.float32(ties):
                    found = uint64(allowed[k]) if s.allowed_count > 0 else k + uint64(1)
        return found
    right = s.oracle_count
    if s.perturbation > _0 and s.phase == uint64(ROLL_IN) and draw(shared) < s.perturbation:
        right = uint64(0)
    if right > 0:
        return uint64(oracles[place(shared, right)])
    if s.allowed_count > 0:
        return uint64(allowed[place(shared, s.allowed_count)])
    return uint64(1) + place(shared, s.actions)


@helper
def learner_of(s, shared, policy, learner, trains, at_home):
    """The sub-model of a policy; with `folds` one of three, the first at home, else one of the two others."""
    if s.folds == uint64(1):
        learner *= uint64(3)
        if not at_home:
            odd = (shared.examples + (uint64(1) if trains else uint64(0))) & uint64(1)
            learner += uint64(1) + (odd ^ (uint64(1) if trains else uint64(0)))
        return uint64(policy) * s.learners * uint64(3) + learner
    return uint64(policy) * s.learners + learner
