"""The contract of a loss, and what this one is for."""

import pytest
from hutch_mine import MINE

from hutch import Chain
from hutch.plugin import checks_of_loss


@pytest.mark.parametrize("check", [*checks_of_loss(MINE), *checks_of_loss(MINE, {"width": 0.25})], ids=str)
def test_contract(check):
    check()


def test_one_wrong_label_does_not_decide():
    chain = Chain.from_config({"chain": [{"linear": {"loss": "mine"}}]})
    chain.learn(["2 |f a"] * 200 + ["1000 |f a"] + ["2 |f a"] * 50)
    assert abs(chain.predict("|f a")[0] - 2) < 0.5
