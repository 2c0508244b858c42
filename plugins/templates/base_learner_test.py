"""The contract of a base learner, and that it learns."""

import numpy as np
import pytest
from hutch_mine import Mine

from hutch import Chain
from hutch.plugin import checks_of_reduction


@pytest.mark.parametrize("check", checks_of_reduction(Mine), ids=str)
def test_contract(check):
    check()


def test_it_learns_a_plane():
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 5)).astype(np.float32)
    y = np.sign(X @ np.array([1, -2, 0.5, 0, 1])).astype(np.float32)
    chain = Chain.from_config({"chain": ["mine"]})
    chain.learn(X[:2000], y[:2000])
    assert np.mean(np.sign(chain.predict(X[2000:])) == y[2000:]) > 0.95
