"""Bandits whose actions are classes: their contract, and the same arithmetic by hand."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, DataError
from hutch.plugins.checks import checks_of_reduction
from hutch.plugins.manager import installed

LAYERS = (
    "action_per_class",
    "simulate_bandit",
    "simulate_cost_sensitive_bandit",
    "class_bandit",
    "explore_class_epsilon",
    "explore_class_first",
    "explore_class_bag",
    "explore_class_cover",
    "simulate_class_bandit",
    "simulate_cost_sensitive_class_bandit",
    "evaluate_class_policy",
)
CHECKS = ("parameters_documented", "learns", "seeded", "batch_borders", "resume", "zero_importance", "submodels_saved")
CLASSES = 3
COSTS = {"cost_sensitive_one_against_all": {"classes": CLASSES}}
PLAIN = {"linear": {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": 0.1}}


@pytest.mark.parametrize("name", LAYERS)
def test_contract(name):
    for check in checks_of_reduction(installed().registry.reductions[name]):
        if check.name in CHECKS:
            check()


def chain(*above, kind="dr", base=PLAIN, **more):
    layers = [*above, {"class_bandit": {"classes": CLASSES, "type": kind}}, COSTS, base]
    return Chain.from_config({"chain": layers, "input": {"constant": False}, **more})


def log(count, seed=2):
    """Lines, and what they say: features, class, cost, probability."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        x = random.normal(size=4).round(3)
        chosen, cost, p = int(random.integers(CLASSES)), round(random.normal(), 3), round(random.uniform(0.2, 1), 3)
        words = " ".join(f"f{k}:{value}" for k, value in enumerate(x))
        yield f"{chosen + 1}:{cost}:{p} |x {words}", x, chosen, cost, p


def by_hand(kind):
    """The best class of each line before it is learned, and its estimated cost, in float64."""
    policy, regressor = np.zeros((CLASSES, 4)), np.zeros((CLASSES, 4))
    low = high = 0.0

    def clipped(value):
        return np.clip(value, low, high)

    for _, x, chosen, cost, p in log(80):
        known, x_of = np.arange(CLASSES) == chosen, np.zeros(CLASSES)
        scores = policy @ x if kind != "dm" else clipped(regressor @ x)
        best = int(np.argmin(scores))
        if kind != "ips":
            for k in range(CLASSES):
                if known[k]:
                    low, high = min(low, cost), max(high, cost)
                x_of[k] = clipped(regressor[k] @ x)
                if known[k]:
                    regressor[k] += 0.2 / p * (cost - x_of[k]) * x
        costs = x_of + known * (cost - x_of) / p
        yield best + 1, costs[best]
        if kind != "dm":
            for k in range(CLASSES):
                low, high = min(low, costs[k]), max(high, costs[k])
                policy[k] += 0.2 * (costs[k] - clipped(policy[k] @ x)) * x


@pytest.mark.parametrize("kind", ["ips", "dm", "dr"])
def test_learns_as_by_hand(kind):
    engine, wanted = chain(kind=kind), list(by_hand(kind))
    found = [engine.learn([line])[0] for line, *_ in log(80)]
    assert found == [best for best, _ in wanted]
    np.testing.assert_allclose(engine.statistics.average_loss, np.mean([cost for _, cost in wanted]), rtol=1e-4)


def shares(engine, line):
    return engine.scores([line])[0]


def test_epsilon_gives_the_best_class_what_is_left():
    engine, plain = chain({"explore_class_epsilon": {"epsilon": 0.3}}), chain()
    for line, *_ in log(30):
        wanted = np.full(CLASSES, 0.1)
        wanted[int(plain.predict([line])[0]) - 1] += 0.7
        np.testing.assert_allclose(shares(engine, line), wanted, rtol=1e-6)
        engine.learn([line])
        plain.learn([line])


def test_first_is_uniform_for_half_as_many_labelled_lines():
    engine = chain({"explore_class_first": {"examples": 10}})
    uniform = []
    for line, *_ in log(12):
        uniform.append(bool((shares(engine, line) == np.float32(1 / 3)).all()))
        engine.learn([line])
    assert uniform == [True] * 5 + [False] * 7  # each is predicted, which counts, and learned, which counts again


def test_what_was_certain_is_not_learned_after_exploration():
    engine = chain({"explore_class_first": {"examples": 4}})
    before = engine.weights.copy()
    engine.learn(["1:1:1 |x a"])
    np.testing.assert_array_equal(engine.weights, before)
    engine.learn(["1:1:0.5 |x a"])
    assert not np.array_equal(engine.weights, before)


def test_bag_votes_with_equal_shares():
    engine = chain({"explore_class_bag": {"policies": 4}}, seed=3)
    lines = [line for line, *_ in log(60)]
    engine.learn(lines)
    found = np.array([shares(engine, line) for line in lines])
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)
    assert set(np.unique(found * 4)) <= {0, 1, 2, 3, 4}
    assert ((found > 0).sum(axis=1) > 1).any(), "policies that saw different data disagree somewhere"


def test_cover_keeps_a_least_probability_that_falls():
    engine, least = chain({"explore_class_cover": {"policies": 3}}), []
    for line, *_ in log(60):
        found = shares(engine, line)
        assert found.sum() == pytest.approx(1, rel=1e-5)
        least.append(found.min())
        engine.learn([line])
    wanted = [min(1 / CLASSES, 1 / np.sqrt(max(n, 1e-9) * CLASSES)) for n in range(60)]
    np.testing.assert_allclose(least, np.minimum(wanted, 1 / CLASSES), rtol=1e-4, atol=1e-6)


def test_a_policy_is_evaluated_without_bias():
    """IPS and DR agree with the true mean cost of a fixed policy on a log made at random."""
    random, lines, true = np.random.default_rng(0), [], []
    for _ in range(4000):
        x = int(random.integers(3))
        logged, policy = int(random.integers(CLASSES)), x % CLASSES
        cost = lambda k: 0.2 + 0.5 * (k != x)  # noqa: B023, E731
        lines.append(f"{policy + 1} {logged + 1}:{cost(logged):g}:{1 / CLASSES:.6f} |x x{x}")
        true.append(cost(policy))
    for kind in ("ips", "dr"):
        layer = {"evaluate_class_policy": {"classes": CLASSES, "type": kind}}
        engine = Chain.from_config({"chain": [layer, COSTS, "linear"]})
        assert engine.learn(lines[:3]).tolist() == [float(line[0]) for line in lines[:3]]
        engine.learn(lines[3:])
        assert engine.statistics.average_loss == pytest.approx(np.mean(true), abs=0.03)


def test_a_record_names_the_class_of_the_policy():
    engines = [
        Chain.from_config({"chain": [{"evaluate_class_policy": {"classes": CLASSES}}, COSTS, "linear"]}) for _ in "ab"
    ]
    words, choice = {"x": ["a"]}, {"class": 1, "cost": 0.5, "probability": 0.25}
    engines[0].learn(["2 1:0.5:0.25 |x a", "3 |x a"])
    engines[1].learn([{"label": {"policy": 2, **choice}, **words}, {"label": {"policy": 3}, **words}])
    np.testing.assert_array_equal(engines[0].weights, engines[1].weights)
    assert engines[0].statistics == engines[1].statistics
    with pytest.raises(DataError, match="<records>:1: label: got .*'policy': 'x'"):
        engines[0].learn([{"label": {"policy": "x", **choice}, **words}])


def test_a_policy_needs_a_class_at_the_front():
    engine = Chain.from_config({"chain": [{"evaluate_class_policy": {"classes": CLASSES}}, COSTS, "linear"]})
    with pytest.raises(DataError, match="begin with a class alone .example 2"):
        engine.learn(["2 1:0.5:0.5 |x a", "1:0.5:0.5 |x a"])


def test_a_simulation_learns_from_its_draw_alone():
    simulated = chain({"simulate_class_bandit": {"classes": CLASSES}}, "explore_class_epsilon", base="linear")
    logged = chain("explore_class_epsilon", base="linear")
    random = np.random.default_rng(1)
    for _ in range(60):
        label, words = int(random.integers(1, CLASSES + 1)), f"|x a{random.integers(4)} b{random.integers(4)}"
        chances = shares(logged, words)
        drawn = int(simulated.learn([f"{label} {words}"])[0])
        logged.learn([f"{drawn}:{int(drawn != label)}:{chances[drawn - 1]:.9g} {words}"])
    np.testing.assert_allclose(simulated.weights, logged.weights, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("between", [{"ngrams": {"size": 2}}, {"merge_namespaces": {"names": {"x": "y"}}}])
def test_cover_needs_its_bandit_directly_below(between):
    below = [{"class_bandit": {"classes": 3}}, {"cost_sensitive_one_against_all": {"classes": 3}}, "linear"]
    cover = {"explore_class_cover": {"policies": 2}}
    with pytest.raises(ConfigError, match=f"needs a bandit directly below it; put '{next(iter(between))}' above"):
        Chain.from_config({"chain": [cover, between, *below]})
    Chain.from_config({"chain": [between, cover, *below]}).learn(["1:1:0.5 |x a b", "2:0:0.5 |x c"])


@pytest.mark.parametrize("top", ["simulate_class_bandit", "simulate_cost_sensitive_class_bandit"])
def test_a_simulation_refuses_the_evaluation_of_a_policy(top):
    layers = [{top: {"classes": CLASSES}}, "explore_class_epsilon", {"evaluate_class_policy": {"classes": CLASSES}}]
    with pytest.raises(ConfigError, match="cannot stand above evaluate_class_policy.* wanted class_bandit"):
        Chain.from_config({"chain": [*layers, COSTS, "linear"]})


def test_layers_must_agree_about_the_classes():
    with pytest.raises(ConfigError, match=r"class_bandit.classes: got 4, wanted 3: so many has cost_sensitive_one_"):
        Chain.from_config({"chain": [{"class_bandit": {"classes": 4}}, COSTS, "linear"]})
