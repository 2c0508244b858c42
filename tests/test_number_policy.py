"""Decisions of a program for a number: draws, what a cost teaches, and what is refused."""

import numpy as np
import pytest

from hutch import Chain, NumberPolicy
from hutch.core.errors import ConfigError, DataError

CHAIN = {"chain": ["sample_density", {"action_density": {"lowest": 0, "highest": 10, "parts": 8}}, "linear"]}


def test_a_cost_teaches_what_a_line_with_that_label_does():
    policy, chain = NumberPolicy(CHAIN), Chain.from_config(CHAIN)
    for k in range(50):
        decided = policy.decide({"f": [f"w{k % 3}"]})
        value = float(k % 5) - 2
        policy.cost(decided.id, value, importance=1 + k % 2)
        label = {"number": decided.number, "cost": value, "density": decided.density}
        chain.learn([{"f": [f"w{k % 3}"], "label": label, "importance": 1 + k % 2}])
    np.testing.assert_array_equal(policy.chain.weights, chain.weights)
    assert (policy.decided, policy.learned) == (50, 50)
    assert policy.chain.statistics.examples == chain.statistics.examples == 50


def test_each_decision_is_a_new_draw_and_seeds_give_them_again():
    one, other = NumberPolicy(CHAIN | {"seed": 3}), NumberPolicy(CHAIN | {"seed": 3})
    drawn = [[policy.decide({"f": ["a"]}).number for _ in range(30)] for policy in (one, other)]
    assert drawn[0] == drawn[1] and len(set(drawn[0])) == 30


def test_costs_come_in_any_order_and_once():
    policy = NumberPolicy(CHAIN)
    ids = [policy.decide({"f": ["a"]}, id=f"d{k}").id for k in range(3)]
    assert ids == ["d0", "d1", "d2"]
    policy.cost("d2", 1.0)
    policy.cost("d0", 0.5)
    with pytest.raises(DataError, match="there is no decision 'd2' that waits for its cost; valid: d1"):
        policy.cost("d2", 1.0)
    with pytest.raises(DataError, match="got 'd1' again"):
        policy.decide({"f": ["a"]}, id="d1")


@pytest.mark.parametrize("example", [{"f": ["a"], "label": 3}, "|f a", 4])
def test_examples_that_cannot_be_decided_are_refused(example):
    with pytest.raises(DataError, match="example: got"):
        NumberPolicy(CHAIN).decide(example)


@pytest.mark.parametrize(("value", "importance"), [(float("nan"), 1.0), (float("inf"), 1.0), ("1", 1.0), (1.0, -1.0)])
def test_costs_that_cannot_be_learned_are_refused(value, importance):
    policy = NumberPolicy(CHAIN)
    decided = policy.decide({"f": ["a"]})
    with pytest.raises(DataError, match="value: got"):
        policy.cost(decided.id, value, importance=importance)
    policy.cost(decided.id, 1.0)


def test_chains_that_draw_no_number_are_refused():
    with pytest.raises(ConfigError, match="chain: got action_density over linear, wanted sample_density over"):
        NumberPolicy({"chain": CHAIN["chain"][1:]})
