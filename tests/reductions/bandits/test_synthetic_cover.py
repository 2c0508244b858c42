"""Votes that make their choice dearer: against a queue of Python, decision by decision."""

import heapq

import numpy as np
import pytest

from hutch import Chain
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bandits.explore_synthetic_cover import ExploreSyntheticCover

BELOW = ["contextual_bandit", "cost_sensitive_with_features", "linear"]


def shares_by_queue(scores, low, high, policies, psi):
    queue = [(min(max(np.float32(score), low), high), k) for k, score in enumerate(scores)]
    heapq.heapify(queue)
    shares, share = np.zeros(len(scores), np.float32), np.float32(1) / np.float32(policies)
    for _ in range(policies):
        score, k = heapq.heappop(queue)
        while True:  # a tie stays with the one that has just voted
            shares[k] += share
            score += share * np.float32(psi)
            if shares.sum() > 1 - share / 2 or (queue and queue[0][0] < score):
                break
        heapq.heappush(queue, (score, k))
        if shares.sum() > 1 - share / 2:
            return shares
    return shares


def decisions(count=80):
    random = np.random.default_rng(1)
    for _ in range(count):
        actions = [{"a": {f"a{k}": 1.0, f"b{random.integers(3)}": 1.0}} for k in range(4)]
        chosen = int(random.integers(4))
        yield {"actions": actions, "chosen": chosen, "cost": float(random.normal()), "probability": 0.25}


@pytest.mark.parametrize(("policies", "psi"), [(100, 0.1), (7, 1.5), (20, 4.0)])
def test_shares_of_votes_by_a_queue(policies, psi):
    explorer = {"explore_synthetic_cover": {"policies": policies, "psi": psi}}
    chain, twin = Chain.from_config({"chain": [explorer, *BELOW]}), Chain.from_config({"chain": BELOW})
    low = high = np.float32(0)
    several = 0
    for each in decisions():
        [found] = [chain.run_batch(batch)[0].predictions for batch in chain.batches([each])]
        [scores] = [twin.run_batch(batch)[0].predictions for batch in twin.batches([each])]
        wanted = shares_by_queue(scores, low, high, policies, psi)
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        several += (wanted > 0).sum() > 1
        low, high = min(low, np.float32(each["cost"])), max(high, np.float32(each["cost"]))
    assert several > 20


def test_contract_with_other_parameters():
    for check in checks_of_reduction(ExploreSyntheticCover, {"policies": 9, "psi": 2.0, "epsilon": 0.1}):
        check()
