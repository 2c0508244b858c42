"""The loss keeps Hutch's contract and does what it is for."""

import numpy as np
import pytest
from hutch_huber import HUBER

import hutch
from hutch.plugin import checks_of_loss


@pytest.mark.parametrize("check", [*checks_of_loss(HUBER), *checks_of_loss(HUBER, {"delta": 0.25})], ids=str)
def test_contract(check):
    check()


def fit(loss):
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, 3000)
    y = 2 * x + random.normal(0, 0.1, len(x))
    wild = random.random(len(x)) < 0.1
    y[wild] = 50
    chain = hutch.Chain.from_config({"chain": [{"linear": {"loss": loss}}]})
    chain.learn(x[:, None], labels=y)
    return float(np.mean(np.abs(chain.predict(x[:, None]) - 2 * x)))


def test_wild_labels_pull_less():
    assert fit({"huber": {"delta": 0.5}}) < 0.25 * fit("squared")
