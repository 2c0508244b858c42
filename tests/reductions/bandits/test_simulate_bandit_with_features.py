"""Simulations on decisions with all costs: what the layers below learn is the drawn action's cost alone."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import UsageError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.bandits.simulate_bandit_with_features import SimulateBanditWithFeatures
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

BELOW = [{"explore_epsilon": {"epsilon": 0.4}}, "contextual_bandit", "cost_sensitive_with_features", "linear"]


def decisions(count=60):
    random = np.random.default_rng(2)
    for _ in range(count):
        yield [{"a": {f"a{k}": 1.0, f"b{random.integers(3)}": 1.0}} for k in range(3)], random.random(3).tolist()


def test_the_log_of_the_draws_teaches_the_same():
    chain = Chain.from_config({"chain": [{"simulate_bandit_with_features": {"right": -1.0, "wrong": 2.0}}, *BELOW]})
    twin, total, drawn = Chain.from_config({"chain": BELOW}), 0.0, []
    for actions, costs in decisions():
        [outputs] = [chain.run_batch(batch)[0] for batch in chain.batches([{"actions": actions, "costs": costs}])]
        chosen = int(outputs.ranked[0])
        logged = {"actions": actions, "chosen": chosen, "probability": float(outputs.predictions[chosen])}
        twin.learn([logged | {"cost": float(np.float32(-1) + np.float32(3) * np.float32(costs[chosen]))}])
        np.testing.assert_array_equal(chain.weights, twin.weights)
        assert outputs.losses[0] == pytest.approx(costs[chosen])
        total += costs[chosen]
        drawn.append(chosen)
    assert chain.statistics.average_loss == pytest.approx(total / 60)
    assert set(drawn) == {0, 1, 2}


def test_contract_with_other_parameters():
    for check in checks_of_reduction(SimulateBanditWithFeatures, {"right": 0.0, "wrong": 2.0}):
        if check.name != "magnitudes":
            check()


def test_two_simulations_are_refused():
    with pytest.raises(UsageError, match="^got --cbify_ldf and --cbify, wanted one of them"):
        chain_of(parse("--cbify_ldf --cbify 3".split()))
