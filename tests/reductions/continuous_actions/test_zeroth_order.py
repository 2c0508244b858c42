"""Steps against the cost of numbers: a twin in NumPy, the spikes of densities, and a world with a known best number."""

import numpy as np
import pytest

from hutch import Chain, NumberPolicy
from hutch.core.errors import ConfigError


def chain_of(draws=False, **parameters):
    layers = [{"zeroth_order": parameters}] if not draws else ["sample_density", {"zeroth_order": parameters}]
    return Chain.from_config({"chain": layers})


def records(count=60, seed=1):
    random = np.random.default_rng(seed)
    for _ in range(count):
        x = random.normal(size=2).astype(np.float32)
        label = {"number": float(random.normal()), "cost": float(random.uniform()), "density": 0.5}
        yield {"f": {"a": float(x[0]), "b": float(x[1])}, "label": label, "importance": float(random.integers(1, 3))}


def run(chain, examples, learn=True):
    [batch] = list(chain.batches(examples))
    return chain.run_batch(batch, learn=learn)[0]


@pytest.mark.parametrize("policy", ["linear", "constant"])
@pytest.mark.parametrize(("l1", "l2", "spared"), [(0.0, 0.0, False), (0.02, 0.3, False), (0.02, 0.3, True)])
def test_steps_are_those_of_the_formula(policy, l1, l2, spared):
    rate, examples = 0.01, list(records())
    chain = chain_of(policy=policy, learning_rate=rate, l1=l1, l2=l2, regularize_constant=not spared)
    found = run(chain, examples)
    w = np.zeros(3)
    for k, record in enumerate(examples):
        x, label = np.array([record["f"]["a"], record["f"]["b"], 1.0]), record["label"]
        x = x if policy == "linear" else np.array([0.0, 0.0, 1.0])
        centre = w @ x
        assert found.predictions[k] == pytest.approx(centre, rel=1e-3, abs=1e-4)
        gradient = label["cost"] / (label["number"] - centre) * record["importance"]
        pull = np.where(w >= 0, l1, -l1) + l2 * w
        pull[2] *= not spared
        w = w - rate * (gradient * x + (pull if policy == "linear" else pull * [0, 0, 1]))
        assert found.losses[k] == pytest.approx(label["cost"] * record["importance"], rel=1e-6)


@pytest.mark.parametrize("centre", [-7.25, -1.0, -0.1, 0.1, 0.5, 1.0, 2.0, 3.75, 1e6])
def test_spikes_reach_to_the_neighbours_of_two_numbers(centre):
    chain = chain_of(policy="constant", initial_constant=centre, radius=0.1)
    [scores] = run(chain, [{"f": ["x"]}], learn=False).scores
    for k, side in enumerate((-1, 1)):
        at = np.float32(centre) + side * np.float32(0.1)
        low, high = (
            np.float32(1e-5) * each if at == 0 else np.nextafter(at, np.float32(each * np.inf)) for each in (-1, 1)
        )
        np.testing.assert_array_equal(scores[3 * k : 3 * k + 2], [low, high])
        assert scores[3 * k + 2] == np.float32(0.5 / np.float64(high - low))


def test_it_finds_the_number_that_costs_least_for_each_word():
    policy, random = NumberPolicy(chain_of(draws=True, radius=0.3, learning_rate=0.02)), np.random.default_rng(0)
    best = {"p": 1.5, "q": -0.5}
    for word in random.choice(["p", "q"], 6000).tolist():
        decided = policy.decide({"f": [word]})
        policy.cost(decided.id, (decided.number - best[word]) ** 2)
    for word, number in best.items():
        found = [policy.decide({"f": [word]}).number for _ in range(40)]
        assert np.mean(found) == pytest.approx(number, abs=0.6)


def test_a_number_at_the_centre_itself_teaches_nothing():
    chain = chain_of(initial_constant=1.0)
    before = chain.weights.copy()
    chain.learn(["ca 1:3:0.5 |f a"])
    np.testing.assert_array_equal(chain.weights, before)


def test_centres_stay_within_their_range():
    chain = chain_of(initial_constant=7.0, max_prediction=5.0, min_prediction=-5.0)
    assert chain.predict(["|f a"])[0] == 5.0
    assert chain_of(initial_constant=-7.0, min_prediction=-5.0).predict(["|f a"])[0] == -5.0


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"radius": 0.0}, "radius: got 0.0, wanted more than 0"),
        ({"min_prediction": 2.0, "max_prediction": 1.0}, "min_prediction 2.0 is above max_prediction 1.0"),
        ({"policy": "tree"}, "policy: got 'tree'"),
    ],
)
def test_wrong_parameters_are_refused(parameters, text):
    with pytest.raises(ConfigError, match=text):
        chain_of(**parameters)


def test_a_constant_policy_needs_the_constant():
    with pytest.raises(ConfigError, match="got policy constant and no constant feature"):
        Chain.from_config({"chain": [{"zeroth_order": {"policy": "constant"}}], "input": {"constant": False}})
