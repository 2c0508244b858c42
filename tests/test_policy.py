"""Decisions of a program: each is learned once, with its reward or without one, and a restart loses nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hutch
from hutch import Chain, Policy
from hutch.core.errors import ConfigError, DataError, ModelError

CHAIN: dict[str, Any] = {
    "weights": {"bits": 10},
    "chain": [
        "explore_squarecb",
        "contextual_bandit",
        "cost_sensitive_with_features",
        {"linear": {"interactions": [["s", "m"]]}},
    ],
}


def decision(k: int) -> dict[str, Any]:
    return {"shared": {"s": [f"s{k % 3}"]}, "actions": [{"m": ["a"]}, {"m": ["b"], "n": {"price": 0.25}}]}


def weights(policy: Policy) -> dict[str, Any]:
    return policy.chain.arrays()


def same(one: Policy, other: Policy) -> None:
    for name, array in weights(one).items():
        np.testing.assert_array_equal(array, weights(other)[name], name)


def test_it_learns_what_a_chain_learns_from_the_log() -> None:
    policy, chain = Policy(CHAIN), Chain.from_config(CHAIN)
    for k in range(30):
        decided = policy.decide(decision(k))
        assert decided.probability == decided.probabilities[decided.action] > 0
        assert policy.reward(decided.id, k % 4 - 1.5, importance=1 + k % 2)
        label = {"chosen": decided.action, "cost": 1.5 - k % 4, "probability": decided.probability}
        chain.learn([{**decision(k), **label, "importance": 1 + k % 2}])
    for name, array in weights(policy).items():
        np.testing.assert_array_equal(array, chain.arrays()[name], name)
    assert policy.chain.statistics == chain.statistics


def test_draws_follow_the_probabilities_and_the_seed() -> None:
    found = [[Policy(CHAIN, seed=seed).decide(decision(0)).action for _ in range(1)] for seed in range(400)]
    assert 150 < np.sum(found) < 250
    ones = [Policy(CHAIN, seed=7) for _ in range(2)]
    same_draws = [[policy.decide(decision(k)).action for k in range(50)] for policy in ones]
    assert same_draws[0] == same_draws[1]


def test_without_a_reward_the_default_is_learned_once_when_the_wait_is_over() -> None:
    policy = Policy(CHAIN, wait=10, default=-1.0)
    first, second = policy.decide(decision(0), now=100), policy.decide(decision(1), now=105)
    assert policy.settle(now=109.9) == 0 and policy.open == 2
    assert policy.reward(second.id, 1.0, now=110) and policy.open == 0  # the first one's wait is over
    assert (policy.rewarded, policy.defaulted) == (1, 1)
    assert not policy.reward(first.id, 1.0, now=111)  # too late
    assert not policy.reward(second.id, 1.0, now=111)  # again
    assert policy.settle(now=10_000) == 0
    assert policy.chain.statistics.examples == 2


def test_without_a_default_nothing_is_learned_from_a_decision_without_a_reward() -> None:
    policy = Policy(CHAIN, wait=10)
    policy.decide(decision(0), now=0)
    assert policy.settle(now=20) == 1 and policy.open == 0
    assert policy.chain.statistics.examples == 0 and policy.defaulted == 0


@pytest.mark.parametrize(("several", "reward"), [("first", 1.0), ("last", 0.25), ("sum", 3.25)])
def test_which_of_several_rewards_counts(several: Any, reward: float) -> None:
    policy, other = Policy(CHAIN, wait=10, several=several), Policy(CHAIN)
    decided, wanted = policy.decide(decision(1), now=0), other.decide(decision(1))
    counted = [policy.reward(decided.id, value, now=k) for k, value in enumerate((1.0, 2.0, 0.25))]
    assert counted == ([True, False, False] if several == "first" else [True] * 3)
    policy.settle(now=10)
    other.reward(wanted.id, reward)
    assert decided.action == wanted.action
    same(policy, other)


def test_what_the_program_changes_later_has_no_effect() -> None:
    policy, other = Policy(CHAIN), Policy(CHAIN)
    reused = decision(0)
    decided = policy.decide(reused)
    reused["shared"]["s"][0] = "other"
    reused["actions"][decided.action].clear()
    policy.reward(decided.id, 1.0)
    other.reward(other.decide(decision(0)).id, 1.0)
    same(policy, other)


MOVES = st.lists(
    st.tuples(st.sampled_from(["decide", "reward", "late", "wait", "restart"]), st.integers(0, 20)), max_size=40
)


@settings(max_examples=25, deadline=None)
@given(moves=MOVES, several=st.sampled_from(["first", "last", "sum"]))
def test_a_restart_between_any_two_calls_changes_nothing(
    moves: list[tuple[str, int]], several: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("policy") / "model"
    one = Policy(CHAIN, wait=15, default=0.5, several=several)
    other, now, ids = Policy(CHAIN, wait=15, default=0.5, several=several), 0, []
    for move, k in moves:
        if move == "decide":
            ids.append(f"visit {len(ids)}")
            assert one.decide(decision(k), id=ids[-1], now=now) == other.decide(decision(k), id=ids[-1], now=now)
        elif move in ("reward", "late") and ids:
            now += 20 if move == "late" else 0
            assert one.reward(ids[k % len(ids)], k, now=now) == other.reward(ids[k % len(ids)], k, now=now)
        elif move == "wait":
            now += k
            assert one.settle(now) == other.settle(now)
        else:
            other.save(path)
            other = Policy.load(path)
    assert repr(one) == repr(other)
    assert one.decided == one.rewarded + one.defaulted + one.open == len(ids)
    same(one, other)


def test_the_model_of_a_policy_is_the_chains(tmp_path: Path) -> None:
    policy = Policy(CHAIN, wait=60, default=0)
    policy.decide({"actions": [{"m": ("a",), np.str_("n"): {"x": np.float32(0.5), "y": np.int64(2)}}, {"m": "b"}]})
    policy.save(tmp_path / "model")
    assert Policy.load(tmp_path / "model").open == 1 and not policy.chain.remarks
    chain = Chain.load(tmp_path / "model")
    chain.save(tmp_path / "other")
    assert len(chain.predict(decision(0))) == 2
    Chain.from_config(CHAIN).save(tmp_path / "plain")
    with pytest.raises(ModelError, match=r"plain: holds no policy; Policy\(Chain.load"):
        Policy.load(tmp_path / "plain")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"wait": 0}, "wait: got 0, wanted a number of seconds above 0"),
        ({"default": 0}, "default: got 0 without an end, wanted wait"),
        ({"several": "sum"}, "several: got 'sum' without an end, wanted wait"),
        ({"several": "frist"}, "several: got 'frist'; did you mean 'first'"),
        ({"wait": "5"}, "wait: got '5', wanted a number of seconds above 0"),
        ({"wait": 5, "default": float("nan")}, "default: got nan, wanted a number"),
        ({"wait": 5, "default": 1e39}, r"default: got 1e\+39, wanted a number"),
        ({"wait": 5, "default": "1"}, "default: got '1', wanted a number"),
        ({"seed": -1}, "seed: got -1, wanted an integer ≥ 0"),
    ],
)
def test_wrong_settings(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Policy(CHAIN, **given)


@pytest.mark.parametrize("layers", [["linear"], ["contextual_bandit", "cost_sensitive_with_features", "linear"]])
def test_a_chain_that_does_not_explore(layers: list[str]) -> None:
    with pytest.raises(ConfigError, match="wanted decisions over actions with features below an explorer"):
        Policy({"chain": layers})


def test_wrong_calls_change_nothing() -> None:
    policy = hutch.Policy(CHAIN)
    decided = policy.decide(decision(0), id="visit 1")
    for text, call in {
        "got 'visit 1' again": lambda: policy.decide(decision(0), id="visit 1"),
        "got the key 'chosen'": lambda: policy.decide({**decision(0), "chosen": 0}),
        "actions: got": lambda: policy.decide({"actions": []}),
        "no decision 'visit 2' that waits for a reward; did you mean 'visit 1'": lambda: policy.reward("visit 2", 1),
        "value: got nan": lambda: policy.reward("visit 1", float("nan")),
        "value: got '1'": lambda: policy.reward("visit 1", "1"),  # type: ignore[arg-type]
        "importance: got -1": lambda: policy.reward("visit 1", 1, importance=-1),
        r"id: got 5 \(int\), wanted a text": lambda: policy.decide(decision(0), id=5),  # type: ignore[arg-type]
        r"id: got None \(NoneType\), wanted a text": lambda: policy.reward(None, 1),  # type: ignore[arg-type]
        r"decision: got None \(NoneType\), wanted": lambda: policy.decide(None),  # type: ignore[arg-type]
        r"decision: got \[1\] \(list\), wanted": lambda: policy.decide([1]),  # type: ignore[arg-type]
    }.items():
        with pytest.raises(DataError, match=text):
            call()
    assert policy.decided == policy.open == 1
    assert policy.reward(decided.id, 1)


def test_a_sum_that_cannot_be_learned_is_refused_when_it_is_told() -> None:
    policy = Policy(CHAIN, wait=10, several="sum")
    decided = policy.decide(decision(0), now=0)
    assert policy.reward(decided.id, 3e38, now=1)
    with pytest.raises(DataError, match=r"value: got 3e\+38 after 3e\+38, wanted a sum below 3.4e38"):
        policy.reward(decided.id, 3e38, now=2)
    assert policy.reward(decided.id, -3e38, now=3) and policy.settle(now=20) == 1
    assert repr(policy).startswith("<hutch policy: 1 decision, 1 rewarded, 0 by default, 0 open; mean reward 0;")


def test_settings_may_be_numbers_of_numpy(tmp_path: Path) -> None:
    policy = Policy(CHAIN, wait=np.float32(5), default=np.float64(0.5), seed=np.int64(3))  # type: ignore[arg-type]
    policy.decide(decision(0), now=0)
    policy.save(tmp_path / "model")
    found = Policy.load(tmp_path / "model")
    assert found.settle(now=20) == policy.settle(now=20) == found.defaulted == 1


METRICS: dict[str, Any] = {
    "weights": {"bits": 10},
    "chain": [
        {"explore_posterior": {"width": 1}},
        "contextual_bandit",
        "cost_sensitive_with_features",
        {"weighted_metrics": {"weights": {"right": 1, "price": -20}}},
        {"bayesian_linear": {"covariance": "blocks", "dimension": 16, "loss": "squared", "interactions": [["s", "m"]]}},
    ],
}


def told(k: int, decided: hutch.policy.Decided, **seen: float) -> dict[str, Any]:
    """The decision as a log has it, with metrics."""
    actions = decision(k)["actions"]
    actions[decided.action]["metrics"] = seen
    label = {"chosen": decided.action, "cost": 0.0, "probability": decided.probability}
    return {**decision(k), "actions": actions, **label}


def learned(policy: Policy) -> list[float]:
    """How much each metric has learned: price, right."""
    found: list[float] = weights(policy)["layer.4.bayesian_linear.importance"].tolist()
    return found


def test_metrics_are_learned_as_from_the_log() -> None:
    policy, chain = Policy(METRICS), Chain.from_config(METRICS)
    for k in range(30):
        decided = policy.decide(decision(k))
        seen = {"right": float(k % 4 > 1), "price": 0.01 * (1 + decided.action)}
        assert policy.reward(decided.id, seen) and not policy.reward(decided.id, seen)
        chain.learn([told(k, decided, **seen)])
    for name, array in weights(policy).items():
        np.testing.assert_array_equal(array, chain.arrays()[name], name)
    assert (policy.open, policy.rewarded) == (0, 30) and "mean reward" in repr(policy)


def test_metrics_come_one_after_the_other_and_each_is_learned_once() -> None:
    policy, chain = Policy(METRICS, wait=10), Chain.from_config(METRICS)
    decided = policy.decide(decision(0), id="a", now=0)
    assert policy.reward("a", {"price": 0.01}, now=1) and learned(policy) == [1, 0] and policy.open == 1
    assert not policy.reward("a", {"price": 0.5}, now=2)  # the first counts
    assert policy.reward("a", {"price": 0.5, "right": 1}, now=3) and learned(policy) == [1, 1] and policy.open == 0
    chain.learn([told(0, decided, price=0.01)])
    chain.learn([told(0, decided, right=1.0)])
    for name, array in weights(policy).items():
        np.testing.assert_array_equal(array, chain.arrays()[name], name)
    policy.decide(decision(1), id="b", now=4)
    policy.reward("b", {"price": 0.01}, now=5)
    assert policy.settle(now=14) == 1 and learned(policy) == [2, 1] and policy.rewarded == 2
    assert not policy.reward("b", {"right": 1}, now=15)  # too late


@pytest.mark.parametrize(("several", "wanted"), [("last", 0.03), ("sum", 0.04)])
def test_metrics_are_collected_until_the_wait_is_over(several: Any, wanted: float) -> None:
    policy, chain = Policy(METRICS, wait=10, several=several, default={"right": 0.5}), Chain.from_config(METRICS)
    decided = policy.decide(decision(0), id="a", now=0)
    policy.reward("a", {"price": 0.01}, now=1)
    policy.reward("a", {"price": 0.03}, now=2)
    assert learned(policy) == [0, 0]
    policy.settle(now=11)
    chain.learn([told(0, decided, price=wanted, right=0.5)])
    for name, array in weights(policy).items():
        np.testing.assert_array_equal(array, chain.arrays()[name], name)
    assert (policy.rewarded, policy.defaulted) == (1, 0)
    policy.decide(decision(1), now=12)
    policy.settle(now=30)
    assert (policy.rewarded, policy.defaulted) == (1, 1) and learned(policy) == [1, 2]


def test_a_restart_keeps_metrics_and_may_change_their_weights(tmp_path: Path) -> None:
    policy = Policy(METRICS, wait=100, default={"right": 0.0})
    for k in range(20):
        policy.decide(decision(k), id=f"d{k}", now=k)
        policy.reward(f"d{k}", {"price": 0.01} if k % 2 else {"price": 0.01, "right": 1}, now=k)
    policy.save(tmp_path / "policy")
    same(policy, other := Policy.load(tmp_path / "policy"))
    for each in (policy, other):
        assert each.open == 10 and each.reward("d3", {"right": 1}, now=30) and each.settle(now=200) == 9
    same(policy, other)
    dear = Policy.load(tmp_path / "policy", ["weighted_metrics.weights.price=-5"])
    assert dear.chain.layers[3].parameters.weights == {"right": 1, "price": -5}
    with pytest.raises(ConfigError, match="did you mean 'weights'"):
        Policy.load(tmp_path / "policy", ["weighted_metrics.wieghts.prise=-5"])


def test_rewards_that_the_chain_does_not_learn_are_refused() -> None:
    plain, policy = Policy(CHAIN), Policy(METRICS)
    for each in (plain, policy):
        each.decide(decision(0), id="a")
    for chosen, value, said in (
        (plain, {"right": 1}, "wanted a number: no layer of the chain weighs metrics"),
        (policy, 1.0, "wanted some of the chain's metrics by name: price, right"),
        (policy, {}, "wanted some of the chain's metrics"),
        (policy, {"rigth": 1}, "got 'rigth'; did you mean 'right'"),
        (policy, {"right": float("nan")}, "right: got nan, wanted a number"),
        (policy, {"right": True, "price": "1"}, "price: got '1', wanted a number"),
    ):
        with pytest.raises(DataError, match=said):
            chosen.reward("a", value)  # type: ignore[arg-type]
    assert (plain.open, policy.open) == (1, 1) and learned(policy) == [0, 0]
    with pytest.raises(ConfigError, match="default: got 0.0, wanted some of the chain's metrics"):
        Policy(METRICS, wait=1, default=0.0)
    with pytest.raises(ConfigError, match="default: got {'right': 0}, wanted a number"):
        Policy(CHAIN, wait=1, default={"right": 0})
    with pytest.raises(DataError, match="metrics of an action that has no label"):
        policy.decide({"actions": [{"m": ["a"], "metrics": {"right": 1}}, {"m": ["b"]}]})


def test_a_sum_of_a_metric_beyond_float32_is_refused() -> None:
    policy = Policy(METRICS, wait=10, several="sum")
    policy.decide(decision(0), id="a", now=0)
    policy.reward("a", {"price": 3e38}, now=1)
    with pytest.raises(DataError, match=r"value: got price 3e\+38 after 3e\+38, wanted a sum below"):
        policy.reward("a", {"price": 3e38}, now=2)
