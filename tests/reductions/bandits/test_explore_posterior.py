"""Thompson sampling: probabilities against draws, and what uncertainty does to them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.core.kernel.cache import compiled
from hutch.reductions.bandits.explore_posterior import chances_of_least
from hutch.vw import Workspace

ADF = ["contextual_bandit", "cost_sensitive_with_features"]
DYADIC = {"dyadic": {"left": "user", "right": "item", "rank": 0}}
POSTERIOR = [{"explore_posterior": {"width": 0.5}}, *ADF, DYADIC]


@compiled
def _chances(means, deviations, out):
    chances_of_least(means, deviations, out)


def _least(means, deviations):
    out = np.zeros(len(means), np.float32)
    _chances(np.array(means, np.float32), np.array(deviations, np.float32), out)
    return out


@pytest.mark.parametrize(
    ("means", "deviations"),
    [
        ([0.0, 0.0], [1.0, 1.0]),
        ([0.0, 1.0], [1.0, 0.5]),
        ([0.0, 0.1, 0.5, -0.2], [0.3, 0.01, 2.0, 0.2]),
        ([5.0, 5.1, 5.2], [1e-4, 0.2, 0.1]),
        ([0.0] * 20, np.linspace(0.1, 2.0, 20)),
        ([1.0, 0.0, 2.0], [0.05, 1.0, 1.0]),
    ],
)
def test_chances_are_those_of_draws(means, deviations):
    draws = np.random.default_rng(1).normal(means, deviations, (200_000, len(means)))
    wanted = np.bincount(draws.argmin(axis=1), minlength=len(means)) / len(draws)
    found = _least(means, deviations)
    assert_allclose(found, wanted, atol=0.006)
    assert_allclose(found.sum(), 1, rtol=1e-6)


def test_without_deviations_the_least_is_chosen():
    assert_array_equal(_least([0.5, 0.2, 0.7], [0, 0, 0]), [0, 1, 0])
    assert_array_equal(_least([0.2, 0.2, 0.7], [0, 0, 0]), [0.5, 0.5, 0])
    assert_array_equal(_least([np.nan, np.nan], [1, 1]), [0.5, 0.5])
    assert_array_equal(_least([3.0], [1]), [1])


def _chain(top=POSTERIOR):
    return Chain.from_config({"chain": top})


def _decision(chosen=None, cost=0.0, probability=1 / 3):
    found = {"shared": {"user": ["u"]}, "actions": [{"item": [name]} for name in "abc"]}
    return found if chosen is None else {**found, "chosen": chosen, "cost": cost, "probability": probability}


def test_what_is_little_known_is_tried_and_what_is_known_is_not():
    chain = _chain()
    assert_allclose(chain.predict([_decision()]), [1 / 3] * 3, rtol=1e-5)
    random = np.random.default_rng(2)
    chain.learn([_decision(int(k), float(random.random() < (0.2, 0.8)[k])) for k in random.integers(0, 2, 60)])
    few = chain.predict([_decision()])
    assert few[0] > few[1] and few[2] > 0.01  # nobody has tried c
    chain.learn([_decision(int(k), float(random.random() < (0.2, 0.8, 0.5)[k])) for k in random.integers(0, 3, 3000)])
    assert chain.predict([_decision()])[0] > 0.99


def test_optimism_tries_each_action_and_stays_with_the_best():
    chain = _chain([{"explore_posterior": {"method": "optimism", "width": 1.0}}, *ADF, DYADIC])
    random, chosen = np.random.default_rng(3), []
    assert_allclose(chain.predict([_decision()]), [1 / 3] * 3)  # nothing tells them apart
    for _ in range(400):
        chances = chain.predict([_decision()])
        assert_allclose(chances[chances > 0], 1 / np.count_nonzero(chances))
        chosen.append(int(chances.argmax()))
        chain.learn([_decision(chosen[-1], float(random.random() < (0.7, 0.2, 0.7)[chosen[-1]]), 1.0)])
    assert set(chosen) == {0, 1, 2} and np.mean(np.array(chosen[200:]) == 1) > 0.9


def test_the_probability_of_a_choice_does_not_change_what_is_learned():
    one, other = _chain(), _chain()
    one.learn([_decision(1, 0.7, 0.01)])
    other.learn([_decision(1, 0.7, 1.0)])
    assert_array_equal(one.weights, other.weights)


def test_the_spread_of_costs_is_that_of_two_passes():
    chain, costs = _chain(), 100 + np.random.default_rng(4).normal(size=30).astype(np.float32).astype(float)
    chain.learn([_decision(k % 3, cost) for k, cost in enumerate(costs.tolist())])
    found = chain.layers[0].saved()
    assert found["decisions"][0] == 30
    assert_allclose(found["mean"][0], costs.mean(), rtol=1e-6)
    assert_allclose(found["squares"][0], 30 * costs.var(), rtol=1e-4)


def test_thompson_is_an_option_of_the_command_and_of_the_workspace():
    log = ["1:0.7:0.5 |user u |item a", "|user u |item b"]
    workspace = Workspace("--quiet --cb_explore_adf --thompson --posterior_width 0.5 --epsilon 0.1")
    chain = _chain([{"explore_posterior": {"width": 0.5, "epsilon": 0.1}}, *ADF, "linear"])
    workspace.learn(log)
    chain.learn(["\n".join(log)])
    assert_allclose(sorted(workspace.predict(["|user u |item a", "|user u |item b"])), sorted(chain.predict([_two()])))


def _two():
    return {"actions": [{"user": ["u"], "item": [name]} for name in "ab"]}


def test_epsilon_is_a_floor():
    chain = _chain([{"explore_posterior": {"epsilon": 0.3, "width": 0.0}}, *ADF, DYADIC])
    chain.learn([_decision(k, cost) for k, cost in enumerate((1.0, 0.2, 0.6))] * 5)
    assert_allclose(chain.predict([_decision()]), [0.1, 0.8, 0.1], rtol=1e-5)


def test_costs_must_be_regressed():
    with pytest.raises(ConfigError, match="explore_posterior needs contextual_bandit.type mtr"):
        _chain(["explore_posterior", {"contextual_bandit": {"type": "dr"}}, ADF[1], DYADIC])
