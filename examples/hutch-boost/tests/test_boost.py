"""The reduction keeps Hutch's contract, equals a plain Python version, and boosts."""

import math

import numpy as np
import pytest
from hutch_boost import Boost

import hutch
from hutch.plugin import checks_of_reduction


@pytest.mark.parametrize("check", checks_of_reduction(Boost, {"learners": 4}), ids=str)
def test_contract(check):
    check()


def data(rows=3000):
    """Six yes-or-no columns; the label is what most of the first three say, which one column alone cannot tell."""
    x = np.random.default_rng(0).integers(0, 2, (rows, 6)).astype(float)
    return x, np.where(x[:, :3].sum(axis=1) > 1.5, 1.0, -1.0)


def test_it_is_adaboost_ol():
    x, y = data(200)
    weak = {"linear": {"loss": "logistic"}}
    chain = hutch.Chain.from_config({"chain": [{"boost": {"learners": 3}}, weak]})
    got = chain.learn(x, labels=y)
    learners = [hutch.Chain.from_config({"chain": [weak]}) for _ in range(3)]
    alphas, wanted = [1 / 3] * 3, []
    for t, (row, label) in enumerate(zip(x, y, strict=True), 1):
        margin = 0.0
        for i, learner in enumerate(learners):
            weight = np.float32(1 / (1 + math.exp(label * margin)))
            z = 1.0 if learner.learn(row[None], labels=[label], importance=[weight])[0] > 0 else -1.0
            margin += alphas[i] * z
            alphas[i] += 4 / math.sqrt(t) * label * z / (1 + math.exp(label * margin))
            alphas[i] = max(-2.0, min(2.0, alphas[i]))
        wanted.append(margin)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_below_a_multiclass_layer():
    x, y = data()
    config = {
        "chain": [{"one_against_all": {"classes": 2}}, {"boost": {"learners": 5}}, {"linear": {"loss": "logistic"}}]
    }
    chain = hutch.Chain.from_config(config)
    labels = (y + 3) / 2
    assert np.mean(chain.learn(x, labels=labels)[-1000:] == labels[-1000:]) > 0.95
