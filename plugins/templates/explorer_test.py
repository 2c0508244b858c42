"""The contract of an explorer, and whom it chooses."""

import pytest
from hutch_mine import Mine

from hutch import Chain
from hutch.plugin import checks_of_reduction

LAYERS = ["contextual_bandit", "cost_sensitive_with_features", "linear"]


@pytest.mark.parametrize("check", checks_of_reduction(Mine), ids=str)
def test_contract(check):
    check()


def test_the_best_two_are_equally_likely():
    chain = Chain.from_config({"chain": [{"mine": {"count": 2}}, *LAYERS]})
    names = ["tea", "milk", "gin"]
    for k in range(300):
        action = k % 3
        chain.learn([*(f"{f'0:{action}:0.5 ' * (j == action)}|a {name}" for j, name in enumerate(names)), ""])
    chances = chain.predict([*(f"|a {name}" for name in names), ""])
    assert chances.tolist() == [0.5, 0.5, 0.0]
