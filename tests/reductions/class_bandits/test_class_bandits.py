"""Bandits with a model per class: learning by hand as an oracle, in float64 and with plain gradient descent."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.core.text.parser import TextParser
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.class_bandits.bandit_per_class import BanditPerClass
from hutch.reductions.class_bandits.explore_classes import ExploreClasses
from hutch.reductions.class_bandits.simulate import SimulateBanditPerClass
from hutch.vw.decisions import decision_layers
from hutch.vw.parse import parse

K, RATE = 3, 0.1
PLAIN = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": RATE}
BELOW = [{"cost_sensitive_one_against_all": {"classes": K}}, {"linear": PLAIN}]


def chain_of(*layers):
    return Chain.from_config({"chain": [*layers, *BELOW], "input": {"constant": False}})


def logged(count=80, seed=0):
    """Feature, class that was chosen, its cost and probability."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        feature, chosen = int(random.integers(4)), int(random.integers(K))
        yield feature, chosen, float((feature + chosen) % 3), float(random.choice([0.25, 0.5]))


def record(feature, chosen, cost, probability):
    return {"a": [f"f{feature}"], "label": {"class": chosen + 1, "cost": cost, "probability": probability}}


class ByHand:
    """Costs of classes and their estimates, a weight for each class and feature, which moves by 2 η i (c - w)."""

    def __init__(self, kind):
        self.kind, self.costs, self.estimates, self.range = kind, np.zeros((K, 4)), np.zeros((K, 4)), [0.0, 0.0]

    def clipped(self, x):
        return np.clip(x, *self.range)

    def choose(self, feature):
        judged = self.clipped(self.estimates) if self.kind == "dm" else self.costs
        return int(np.argmin(judged[:, feature]))

    def learn(self, feature, chosen, cost, probability):
        wanted = np.zeros(K)
        if self.kind != "ips":
            wanted = self.clipped(self.estimates[:, feature])
            self.widen(cost)
            wanted[chosen] = self.clipped(self.estimates[chosen, feature])
            for k in range(chosen + 1, K):
                wanted[k] = self.clipped(self.estimates[k, feature])
            self.estimates[chosen, feature] += 2 * RATE / probability * (cost - wanted[chosen])
        x = wanted.copy()
        wanted[chosen] += (cost - wanted[chosen]) / probability
        if self.kind != "dm":
            for k in range(K):
                self.widen(wanted[k])
                seen = self.clipped(self.costs[k, feature])
                self.costs[k, feature] += 2 * RATE * (wanted[k] - seen)
        return x

    def widen(self, label):
        self.range = [min(self.range[0], label), max(self.range[1], label)]


@pytest.mark.parametrize("kind", ["dr", "ips", "dm"])
def test_choices_and_losses_by_hand(kind):
    chain, twin = chain_of({"bandit_per_class": {"classes": K, "type": kind}}), ByHand(kind)
    chosen_classes = set()
    for feature, chosen, cost, probability in logged():
        best = twin.choose(feature)
        x = twin.learn(feature, chosen, cost, probability)
        loss = x[best] + (cost - x[best]) / probability * (best == chosen)
        for batch in chain.batches([record(feature, chosen, cost, probability)]):
            outputs, _ = chain.run_batch(batch)
            assert outputs.predictions[0] == best + 1
            assert outputs.losses[0] == pytest.approx(loss, abs=1e-4)
        chosen_classes.add(best)
    assert chosen_classes == set(range(K))


def probabilities(explorer, count=40):
    chain = chain_of({"explore_classes": {"classes": K} | explorer}, {"bandit_per_class": {"classes": K}})
    found = []
    for batch in chain.batches([record(*each) for each in logged(count)]):
        outputs, _ = chain.run_batch(batch)
        found += outputs.scores.tolist()
    return np.array(found)


def test_epsilon_goes_to_all_classes():
    plain = chain_of({"bandit_per_class": {"classes": K}})
    best = [
        int(plain.run_batch(batch)[0].predictions[0]) - 1
        for each in logged(40)
        for batch in plain.batches([record(*each)])
    ]
    np.testing.assert_allclose(probabilities({"epsilon": 0.3}), 0.1 + 0.7 * np.eye(K)[best], rtol=1e-6)


def test_the_first_predictions_are_at_random_and_a_learned_one_counts_twice():
    found = probabilities({"method": "first", "decisions": 5})
    np.testing.assert_allclose(found[:3], 1 / K, rtol=1e-6)
    assert (np.sort(found[3:], axis=1) == [0, 0, 1]).all()


def test_policies_of_a_bag_vote():
    found = probabilities({"method": "bag", "policies": 4}) * 4
    np.testing.assert_allclose(found, np.round(found), atol=1e-5)
    assert len(np.unique(found)) > 3


@pytest.mark.parametrize("uniform", [True, False])
def test_cover_keeps_the_least_probability(uniform):
    found = probabilities({"method": "cover", "policies": 2, "uniform": uniform}, 60)
    least = np.minimum(1 / K, 1 / np.sqrt(np.maximum(np.arange(60), 1e-9) * K))
    assert (found >= least[:, None] - 1e-6).all() == uniform
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    assert np.isclose(found, least[:, None] if uniform else 0).any(axis=1).mean() > 0.5


def test_a_label_with_other_classes_leaves_these_alone_to_choose():
    chain = chain_of({"bandit_per_class": {"classes": K}})
    chain.learn([record(0, 0, -1.0, 0.5)] * 5)
    free, bound = (TextParser(chain.parser).parse(line) for line in (b"|a f0\n", b"2 3 |a f0\n"))
    assert [chain.run_batch(each, learn=False)[0].predictions[0] for each in (free, bound)] == [1, 2]


@pytest.mark.parametrize(
    ("reduction", "parameters"),
    [
        (BanditPerClass, {"classes": 4, "type": "ips"}),
        (BanditPerClass, {"classes": 2, "type": "dm"}),
        (ExploreClasses, {"classes": 4, "method": "first", "decisions": 7}),
        (ExploreClasses, {"classes": 2, "method": "bag", "policies": 2}),
        (ExploreClasses, {"classes": 2, "method": "cover", "policies": 4, "uniform": False, "psi": 0.3}),
        (SimulateBanditPerClass, {"classes": 2, "right": -1.0, "wrong": 0.5}),
    ],
    ids=str,
)
def test_contract_with_other_parameters(reduction, parameters):
    classes = {"classes": parameters["classes"]}
    stack = [{"explore_classes": classes}, {"bandit_per_class": classes}, {"cost_sensitive_one_against_all": classes}]
    place = [SimulateBanditPerClass, ExploreClasses, BanditPerClass].index(reduction)
    for check in checks_of_reduction(reduction, parameters, [*stack[place:], {"linear": {"normalized": False}}]):
        check()


def test_layers_that_do_not_fit_are_refused():
    tree = [{"cost_sensitive_filter_tree": {"classes": K}}, "linear"]
    with pytest.raises(ConfigError, match="^bandit_per_class: got cost_sensitive_filter_tree with 2 sub-models below"):
        Chain.from_config({"chain": [{"bandit_per_class": {"classes": K}}, *tree]})
    with pytest.raises(ConfigError, match="^bandit_per_class.classes: got 4, but the layer below has 3"):
        chain_of({"bandit_per_class": {"classes": 4}})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--cb 3 --cbify 3", "^--cb_force_legacy: got --cb and --cbify, wanted one of"),
        ("--cb_explore 3 --squarecb", "^--squarecb: got it with --cb_force_legacy"),
        ("--cb_explore 3 --epsilon 2", "^--epsilon: got 2.0, wanted a number from 0 to 1"),
    ],
)
def test_options_that_contradict_it_are_refused(words, message):
    with pytest.raises(UsageError, match=message):
        decision_layers(parse(["--cb_force_legacy", *words.split()]))
