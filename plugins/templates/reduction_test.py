"""The contract of a reduction, and what this one does."""

import numpy as np
import pytest
from hutch_mine import Mine

from hutch import Chain
from hutch.plugin import checks_of_reduction

LINES = ["1 |f a", "-1 |f b", "1 |f a b"] * 20


@pytest.mark.parametrize("check", checks_of_reduction(Mine), ids=str)
def test_contract(check):
    check()


def test_twice_is_an_importance_of_two():
    chain = Chain.from_config({"chain": [{"mine": {"times": 2}}, {"linear": {"loss": "logistic"}}]})
    twin = Chain.from_config({"chain": [{"linear": {"loss": "logistic"}}]})
    chain.learn(LINES)
    twin.learn([line.replace(" |", " 2 |") for line in LINES])
    np.testing.assert_array_equal(chain.predict(LINES), twin.predict(LINES))
