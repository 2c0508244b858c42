"""Active learning with a cover: a twin in NumPy, and what it is for."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.core.kernel.random import merand48

RATE = 0.05
PLAIN = {"loss": "classic", "adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0,
         "learning_rate": RATE, "min_prediction": -99.0, "max_prediction": 99.0}  # fmt: skip


def chain_of(*above, **parameters):
    layers = [*above, {"active_cover": parameters}, {"linear": PLAIN}]
    return Chain.from_config({"chain": layers, "input": {"constant": False}, "weights": {"bits": 10}})


def data(count=150, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 4)).astype(np.float32)
    y = np.where(X @ [1, -2, 0.5, 0] + random.normal(size=count) / 2 > 0, 1, -1).astype(np.float32)
    return X, y, random.choice([0.5, 1.0, 2.0], count)


def sign(x):
    return np.where(x > 0, 1.0, -1.0)


class Twin:
    """One example after the other in float64."""

    def __init__(self, policies, c0, alpha, beta, seed=0):
        self.w, self.up, self.down = np.zeros((policies + 1, 4)), np.zeros(policies), np.full(policies, 1 / 8)
        self.c0, self.alpha, self.beta = c0, alpha, beta
        self.t = self.losses = 0.0
        self.state = np.uint64(seed)

    def uniform(self):
        self.state, found = merand48(self.state)
        return float(found)

    def step(self, k, x, label, weight):
        self.w[k] += 2 * RATE * weight * (label - self.w[k] @ x) * x

    def see(self, x, y, h):
        p, t, mean = self.w[0] @ x, self.t, self.losses / self.t if self.t else 0.0
        threshold = 1.0 if t < 3 else (self.c0 * mean / t) ** 0.5 + max(2 * self.alpha, 4) * self.c0 * np.log(t) / t
        least = 1.0 if t <= 2 else min(1 / ((t * mean) ** 0.5 + np.log(t)), 0.5)
        early, asked = t + h <= 3, -1.0
        unsure = early or abs(p) / (RATE * x @ x) / t <= threshold
        if unsure:
            q = 4 * least**2 + sum((self.up / self.down)[sign(self.w[1:] @ x) != sign(p)])
            chance = 1.0 if early else q**0.5 / (1 + q**0.5)
            asked = 1.0 if early else (1 / chance if self.uniform() <= chance else -1.0)
        label, weight = (y, h * asked) if unsure else (sign(p), h)
        if weight > 0:
            self.losses += weight * (p - label) ** 2
            self.step(0, x, label, weight)
        else:
            weight = 0.0
        self.t += weight
        r, q = 2 * threshold * t * self.alpha / self.c0 / self.beta, 4 * least**2
        for k in range(len(self.up)):
            chance = q**0.5 / (1 + q**0.5)
            cost = r * max(asked, 0) * (sign(p) != sign(y))
            gain = 2 * cost - r * max(asked, 0) - 2 * self.alpha**2 + 1 / chance if unsure else -r
            self.step(k + 1, x, -sign(gain) * sign(p), h * abs(gain))
            differs = sign(self.w[k + 1] @ x) != sign(p)
            self.up[k] = max(self.up[k] + 2 * differs * gain, 0)
            self.down[k] += (differs and unsure) / q**1.5
            q += differs * self.up[k] / self.down[k]
        return p, asked if asked > 0 else -1.0


@pytest.mark.parametrize("given", [{}, {"policies": 3, "alpha": 2.0, "beta": 4.0}, {"mellowness": 0.01, "policies": 2}])
def test_by_its_formula(given):
    X, y, h = data(14)  # later a probability that differs in its last digit may decide otherwise
    chain = chain_of(**given)
    twin = Twin(
        given.get("policies", 12), given.get("mellowness", 8.0), given.get("alpha", 1.0), given.get("beta", 10.0)
    )
    twin.state, twin.t = chain.shared["random_state"][0], float(chain.shared["time"][0])
    wanted = [twin.see(x.astype(float), float(label), weight) for x, label, weight in zip(X, y, h, strict=True)]
    found = chain.learn(X, y, h)
    np.testing.assert_allclose(found, [p for p, _ in wanted], rtol=2e-2, atol=2e-3)
    assert chain.statistics.queries == sum(asked > 0 for _, asked in wanted)
    assert chain.statistics.sum_loss == pytest.approx(twin.losses, rel=1e-2)


def test_it_asks_for_part_of_the_labels_and_learns():
    X, y, _ = data(2000, 1)
    chain = Chain.from_config({"chain": [{"active_cover": {"mellowness": 0.1}}, {"linear": {"loss": "logistic"}}]})
    chain.learn(X, y)
    assert 0.01 < chain.statistics.queries / len(y) < 0.6
    assert (sign(chain.predict(X)) == y).mean() > 0.85


def test_oracular_asks_for_all_that_is_unsure_and_has_no_cover():
    X, y, _ = data(300, 1)
    chain, drawn = chain_of(oracular=True, mellowness=0.001), chain_of(mellowness=0.001)
    assert chain.layers[-1].context.submodels == 1
    for each in (chain, drawn):
        each.learn(X, y)
    assert chain.statistics.queries > drawn.statistics.queries


def test_the_loss_of_binary_decisions_is_that_of_labels_asked_for():
    X, y, _ = data(400, 2)
    chain = chain_of("binary", mellowness=0.001)
    queries, total = [], 0.0
    for x, label in zip(X, y, strict=True):
        before, seen = chain.statistics.queries, chain.statistics.weighted_labeled
        made = chain.learn(x[None], label[None])[0]
        queries.append(chain.statistics.queries - before)
        weight = chain.statistics.weighted_labeled - seen
        total += weight * (made != label) if queries[-1] else 0.0
    assert chain.statistics.sum_loss == pytest.approx(total, rel=1e-6)
    assert 0 < sum(queries) < 400


def test_it_is_asked_once_per_example_and_needs_sensitivity():
    with pytest.raises(ConfigError, match="a label is asked for once per example"):
        Chain.from_config({"chain": [{"one_against_all": {"classes": 3}}, "active_cover", "linear"]})
    with pytest.raises(ConfigError, match="active_cover needs sensitivity from the layer below, which 'pistol' lacks"):
        Chain.from_config({"chain": ["active_cover", "pistol"]})
