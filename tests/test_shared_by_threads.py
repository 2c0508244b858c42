"""A chain, a policy and learners that several threads share: each call finds what it finds alone."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hutch import Chain, Policy

DECISIONS = ["explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", "linear"]
ROWS = np.random.default_rng(0).normal(size=(120, 4))
NAMED = [{f"c{k}": float(value) for k, value in enumerate(row)} for row in ROWS]


def in_threads(call: Callable[[int], Any], wanted: list[Any]) -> None:
    def again(start: int) -> list[int]:
        places = [(start + k) % len(wanted) for k in range(4 * len(wanted))]
        return [k for k in places if not np.array_equal(call(k), wanted[k])]

    with ThreadPoolExecutor(4) as threads:
        assert not [wrong for each in threads.map(again, range(0, 40, 10)) for wrong in each]


def chain_of_rows() -> Callable[[int], Any]:
    chain = Chain.from_config({"chain": ["linear"]})
    chain.learn([{**row, "label": row["c0"]} for row in NAMED])
    return lambda k: chain.predict(NAMED[k : k + 1 + k % 3])


def chain_of_text() -> Callable[[int], Any]:
    chain = Chain.from_config({"chain": ["linear"]})
    chain.learn(["1 |a b c", "0 |a d e"] * 50)
    return lambda k: chain.predict("|a " + " ".join("bcdefgh"[: 1 + k % 7]))


def chain_of_decisions() -> Callable[[int], Any]:
    chain = Chain.from_config({"chain": DECISIONS})
    actions = [{"m": [f"m{k}"]} for k in range(6)]
    chain.learn([{"actions": actions, "chosen": k % 6, "cost": k % 5, "probability": 0.5} for k in range(30)])
    return lambda k: chain.predict({"actions": actions[: 1 + k % 6]})


def chain_of_probabilities() -> Callable[[int], Any]:
    chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    chain.learn([{**row, "label": 1 if row["c0"] > 0 else -1} for row in NAMED])
    return lambda k: chain.predict_proba_one(NAMED[k])[1.0]


def estimator() -> Callable[[int], Any]:
    sklearn = pytest.importorskip("hutch.sklearn")
    model = sklearn.HutchRegressor().fit(ROWS, ROWS[:, 0])
    return lambda k: model.predict(ROWS[k : k + 1 + k % 40], return_std=True)[k % 2]


def river() -> Callable[[int], Any]:
    model = pytest.importorskip("hutch.river").HutchRegressor()
    for row in NAMED:
        model.learn_one(row, row["c0"])
    return lambda k: model.predict_one(NAMED[k])


@pytest.mark.slow
@pytest.mark.parametrize(
    "made", [chain_of_rows, chain_of_text, chain_of_decisions, chain_of_probabilities, estimator, river]
)
def test_predictions_are_those_of_one_thread(made: Callable[[], Callable[[int], Any]]) -> None:
    call = made()
    in_threads(call, [call(k) for k in range(80)])


def test_a_thread_predicts_while_another_learns() -> None:
    chain = Chain.from_config({"chain": ["linear"]})
    lines = ["1 |a b c"] * 20_000

    def stream() -> Iterator[str]:
        for line in lines:
            assert len(chain.predict("|a b")) == 1  # between batches
            yield line

    with ThreadPoolExecutor(3) as threads:
        learned = [threads.submit(chain.learn, examples) for examples in (lines, stream())]
        while not all(each.done() for each in learned):
            chain.predict(["|a b", "|a c"])
    assert [len(each.result()) for each in learned] == [20_000, 20_000]
    assert chain.statistics.examples == 40_000


def test_a_policy_counts_each_decision_once(tmp_path: Path) -> None:
    policy = Policy({"chain": DECISIONS}, wait=1, default=0.0)
    actions = [{"m": ["a"]}, {"m": ["b"]}]

    def work(first: int) -> int:
        counted = 0
        for k in range(first, first + 300):
            decided = policy.decide({"actions": actions}, now=k)
            if k % 3:
                counted += policy.reward(decided.id, float(decided.action), now=k)
            if k % 100 == 0:
                policy.save(tmp_path / f"model {first}")
        return counted

    with ThreadPoolExecutor(4) as threads:
        counted = sum(threads.map(work, range(4)))
    assert policy.decided == 1200 == policy.rewarded + policy.defaulted + policy.open
    assert policy.rewarded == counted and policy.chain.statistics.examples == policy.rewarded + policy.defaulted
    assert all(Policy.load(path).decided for path in tmp_path.iterdir())
