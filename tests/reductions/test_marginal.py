"""Marginals: the same in plain Python, over a learner that is given the means."""

import math

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import HutchError
from hutch.plugins.checks import checks_of_reduction
from hutch.reductions.marginal import Marginal
from hutch.vw.model_binary import vw_model


def lines(count=80, seed=0):
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        user, item = (int(k) for k in random.integers(0, 6, 2))
        label = round(float(user / 6 + item / 9 + random.normal() / 8), 3)
        found.append((label, float(random.choice([1, 0.5, 2])), user, item, f"w{random.integers(4)}"))
    return found


def record(label, importance, user, item, word):
    ids = {"user": 1.0, f"u{user}": 1.0, "item": 1.0, f"i{item}": 1.0}
    return {"label": label, "importance": importance, "ids": ids, "words": {word: 1.0}}


def chain_of(*above, loss="squared", **parameters):
    layers = [*above, {"marginal": {"namespaces": ["ids"], **parameters}}, {"linear": {"loss": loss}}]
    return Chain.from_config({"chain": layers})


class Expert:
    def __init__(self):
        self.regret = self.squares = 0.0
        self.weight = 1.0

    def learn(self, regret, importance):
        self.regret += regret * importance
        self.squares += regret**2 * importance
        r, c = max(self.regret, 0), 3 * self.squares
        self.weight = 2 * r * math.exp(r * r / c) / c if r and c else 0.0


class Twin:
    """The layer in plain Python."""

    def __init__(self, numerator=0.5, denominator=1.0, decay=0.0, weighted=True, update_first=False, compete=False):
        self.below = Chain.from_config({"chain": ["linear"]})
        self.first = (numerator, denominator)
        self.decay, self.weighted, self.update_first, self.compete = decay, weighted, update_first, compete
        self.means, self.experts = {}, {}
        self.low = self.high = 0.0

    def loss(self, p, label):
        if label == self.low and p < label or label == self.high and p > label:
            return 0.0
        return (np.clip(p, self.low, self.high) - label) ** 2  # what VW's squared loss is within the range of labels

    def shown(self, user, item, word):
        means = {name: np.divide(*self.means.get(key, self.first)) for name, key in (("user", user), ("item", item))}
        return {"ids": {name: float(np.float32(mean)) for name, mean in means.items()}, "words": {word: 1.0}}

    def learn(self, label, importance, user, item, word):
        keys = f"u{user}", f"i{item}"
        self.low, self.high = min(self.low, label), max(self.high, label)
        self.below.shared["min_label"], self.below.shared["max_label"] = self.low, self.high
        shown = self.shown(*keys, word)
        [below] = self.below.predict([shown])
        means = list(shown["ids"].values())
        pairs = [self.experts.setdefault(key, (Expert(), Expert())) for key in keys]
        weights = [mean.weight for mean, _ in pairs] + [sum(trust.weight for _, trust in pairs)]
        if sum(weights) == 0:
            weights[-1] = 1.0
        found = np.average([*means, below], weights=weights) if self.compete else below
        mixed = np.average([self.loss(p, label) for p in (*means, below)], weights=weights)
        if self.update_first:
            self.update(keys, label, importance, means, below, mixed)
            shown = self.shown(*keys, word)
        self.below.learn([{"label": label, "importance": importance, **shown}])
        if not self.update_first:
            self.update(keys, label, importance, means, below, mixed)
        return found

    def update(self, keys, label, importance, means, below, mixed):
        importance = importance if self.weighted else 1.0
        for key, mean in zip(keys, means, strict=True):
            numerator, denominator = self.means.get(key, self.first)
            for expert, p in zip(self.experts[key], (mean, below), strict=True):
                expert.learn(mixed - self.loss(p, label), importance)
            keep = 1 - self.decay
            self.means[key] = numerator * keep + label * importance, denominator * keep + importance


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"numerator": 1.5, "denominator": 3.0, "decay": 0.05},
        {"weighted": False, "update_first": True},
        {"compete": True},
        {"compete": True, "update_first": True, "weighted": False, "decay": 0.1},
    ],
    ids=str,
)
def test_by_plain_python(parameters):
    twin = Twin(**parameters)
    chain = chain_of(**parameters)
    wanted = [twin.learn(*line) for line in lines()]
    np.testing.assert_allclose(chain.learn([record(*line) for line in lines()]), wanted, rtol=2e-4, atol=2e-4)


def test_one_weight_serves_all_ids():
    """A new id of many labels is predicted from its mean at once; `linear` has to learn a weight for each."""
    data = [(float(k % 50 > 24), 1.0, k % 50, 0, "w") for k in np.random.default_rng(0).permutation(1000)]
    losses = []
    for chain in (Chain.from_config({"chain": ["linear"]}), chain_of()):
        found = chain.learn([record(*line) for line in data])
        losses.append(np.mean((found - [line[0] for line in data])[:300] ** 2))
    assert losses[1] < losses[0] * 0.9


def test_features_that_are_no_pairs_are_left_out():
    chain, plain = chain_of(), Chain.from_config({"chain": ["linear"]})
    chain.learn([{"label": 1.0, "ids": {"kind": 2.0, "id": 1.0, "odd": 1.0}, "words": {"a": 1.0}}] * 3)
    plain.learn([{"label": 1.0, "words": {"a": 1.0}}] * 3)
    np.testing.assert_array_equal(chain.weights, plain.weights)
    assert not chain.layers[0].saved()["means"].any()


def test_predicting_meets_no_ids():
    chain = chain_of(compete=True)
    chain.predict([record(*line) for line in lines(10)])
    assert not chain.layers[0].saved()["means"].any()


@pytest.mark.parametrize("parameters", [{"compete": True}, {"update_first": True, "decay": 0.1}], ids=str)
def test_contract_with_other_parameters(parameters):
    for check in checks_of_reduction(Marginal, {"namespaces": ["left", "words"], **parameters}):
        if check.name != "shuffled_features":  # its features are pairs
            check()


def test_sub_models_have_means_of_their_own():
    whole = chain_of({"one_against_all": {"classes": 2, "first_class": 1}})
    alone = chain_of()
    data = [record(1 + (line[2] + k) % 2, *line[1:]) for k, line in enumerate(lines())]
    whole.learn(data)
    alone.learn([{**each, "label": 1.0 if each["label"] == 1 else -1.0} for each in data])
    test = [{name: each[name] for name in ("ids", "words")} for each in data]
    np.testing.assert_array_equal(whole.scores(test)[:, 0], alone.predict(test))


def test_vw_models_of_it_are_refused():
    with pytest.raises(HutchError, match="VW models do not keep the state of marginal"):
        vw_model(chain_of())
