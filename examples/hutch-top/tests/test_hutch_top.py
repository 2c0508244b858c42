"""The layer keeps Hutch's contract, and gives the best actions equal probability."""

import numpy as np
import pytest
from hutch_top import ExploreTop

import hutch
from hutch.plugin import checks_of_reduction

CHECKS = ("parameters_documented", "learns", "seeded", "batch_borders", "resume", "zero_importance", "submodels_saved")
BELOW = ["contextual_bandit", "cost_sensitive_with_features", "linear"]


@pytest.mark.parametrize("check", [c for c in checks_of_reduction(ExploreTop) if c.name in CHECKS], ids=str)
def test_contract(check):
    check()


def test_the_best_actions_share():
    chain = hutch.Chain.from_config({"chain": [{"explore_top": {"count": 2}}, *BELOW]})
    decision = {"actions": [{"a": [name]} for name in "xyz"]}
    chain.learn([{**decision, "chosen": k, "cost": float(k), "probability": 0.5} for k in (0, 1, 2)] * 5)
    np.testing.assert_array_equal(chain.predict([decision]), np.float32([0.5, 0.5, 0]))
    np.testing.assert_array_equal(chain.predict([{"actions": decision["actions"][:1]}]), [1])
