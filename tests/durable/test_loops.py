"""A model beside its caller: sums against formulas over all events, intervals that hold at every look."""

import math
import sqlite3

import numpy as np
import pytest

from hutch.core.intervals import every_look
from hutch.durable import loops
from hutch.durable.loops import (
    FIRST,
    TABLES,
    Beside,
    Loop,
    count,
    count_reward,
    counts_of,
    keep_loop,
    loop_of,
    put_beside,
)

MODEL = np.array([0.1, 0.8, 0.05, 0.05])
"""Probabilities of the model; the caller always chooses the first action."""


def events(seed: int, count: int, share: float, chances: list[float]) -> list[tuple[Beside, float]]:
    """Events of an apprentice and their rewards."""
    draw = np.random.default_rng(seed)
    shown = share * MODEL + (1 - share) * (np.arange(4) == 0)
    found = []
    for action in draw.choice(4, size=count, p=shown):
        own = float(action == 0)
        beside = Beside((MODEL[action] - own) / shown[action], own / shown[action], float(MODEL[0]))
        found.append((beside, float(draw.random() < chances[action])))
    return found


def test_the_sums_are_those_of_the_formulas() -> None:
    loop, told = Loop(True, 0.1), events(1, FIRST, 0.1, [0.4, 0.6, 0.1, 0.9])
    for beside, reward in told:
        loop = loop.after(beside, reward)
    rewards = np.array([reward for _, reward in told])
    before = np.concatenate([[0], np.cumsum(rewards)[:-1] / np.arange(1, len(rewards))])
    gains = (rewards - before) * [beside.weight for beside, _ in told]
    values = before + (rewards - before) * [beside.caller for beside, _ in told]
    assert (loop.events, loop.counted, loop.period) == (FIRST, FIRST, 0)
    np.testing.assert_allclose([loop.rewards, loop.advantage, loop.caller], [rewards.sum(), gains.sum(), values.sum()])
    ends = loop.interval()
    assert ends is not None
    far = (1 - rewards.mean()) / 0.1
    reach = every_look(FIRST, 0.975, FIRST / 2) * math.sqrt((gains.var() + far**2 / FIRST) / FIRST)
    np.testing.assert_allclose(ends, (gains.mean() - reach, gains.mean() + reach + far / FIRST))
    assert loop.agreed == pytest.approx(0.1 * FIRST)


def test_the_estimates_have_no_bias() -> None:
    gains, values, chances = [], [], [0.4, 0.6, 0.1, 0.9]
    for seed in range(60):
        loop = Loop(True, 0.2)
        for beside, reward in events(seed, FIRST, 0.2, chances):
            loop = loop.after(beside, reward)
        gains.append(loop.advantage / FIRST)
        values.append(loop.caller / FIRST)
    for found, wanted in ((gains, MODEL @ chances - 0.4), (values, 0.4)):
        assert abs(np.mean(found) - wanted) < 4 * np.std(found) / math.sqrt(60)


def test_a_comparison_begins_anew_after_twice_as_many_events() -> None:
    loop, begun = Loop(True, 0.5), []
    for k, (beside, reward) in enumerate(events(2, 7 * FIRST + 1, 0.5, [0.5] * 4)):
        before, loop = loop.period, loop.after(beside, reward)
        begun += [k] if loop.period > before else []
    assert begun == [FIRST, 3 * FIRST, 7 * FIRST] and loop.counted == 1


@pytest.mark.parametrize(("share", "chance"), [(0.1, 0.5), (0.05, 0.05)])
def test_a_model_that_is_as_good_is_not_called_better(share: float, chance: float) -> None:
    wrong = 0
    for seed in range(40):
        loop = Loop(True, share)
        for beside, reward in events(seed, 1200, share, [chance] * 4):
            loop = loop.after(beside, reward)
            ends = loop.interval()
            if loop.better is not None or (ends is not None and ends[1] < 0):
                wrong += 1
                break
    assert wrong <= 5  # of 40 with an error of 5 % at most 5 but once in seventy times


def test_a_model_that_is_better_is_found_and_one_that_becomes_worse_is_not_kept() -> None:
    loop = Loop(True, 0.2)
    for beside, reward in events(3, 3000, 0.2, [0.3, 0.7, 0.3, 0.3]):
        loop = loop.after(beside, reward)
    assert loop.better is not None and FIRST / 5 < loop.better < 3000
    assert "found to be better than the caller" in loops.said_of(loop)
    for beside, reward in events(4, 9000, 0.2, [0.7, 0.3, 0.3, 0.3]):
        loop = loop.after(beside, reward)
    assert loop.better is None and "not yet better" in loops.said_of(loop)


def test_without_draws_only_agreement_is_known() -> None:
    loop = Loop(True, 0.0)
    assert loop.agreement() is None
    for _ in range(400):
        loop = loop.after(Beside(None, 1.0, 0.9), 1.0)
    low, high = loop.agreement() or (0, 0)
    assert (loop.counted, loop.interval()) == (0, None) and 0.8 < low < 0.9 < high < 0.95
    assert "cannot be known" in loops.said_of(loop)
    assert loops.said_of(Loop(True, 0.1)).startswith("0 events with rewards, wanted 50")


def test_loops_and_counts_are_kept() -> None:
    connection = sqlite3.connect(":memory:")
    for table in TABLES:
        connection.execute(table)
    assert loop_of(connection, 1) == Loop() and counts_of(connection, 1) == (0, 0, 0.0)
    keep_loop(connection, 1, Loop(True, 0.25))
    put_beside(connection, 1, "a", Beside(-0.5, 1.25, 0.5))
    assert count_reward(connection, 2, "a", 1.0) is None is count_reward(connection, 1, "b", 1.0)
    found = count_reward(connection, 1, "a", 0.5)
    assert found == loop_of(connection, 1) == Loop(True, 0.25).after(Beside(-0.5, 1.25, 0.5), 0.5)
    assert count_reward(connection, 1, "a", 1.0) is None  # once
    count(connection, 1, 3)
    count(connection, 1, 1, 2, -0.5)
    assert counts_of(connection, 1) == (4, 2, -0.5) and counts_of(connection, 2) == (0, 0, 0.0)
