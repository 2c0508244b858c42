"""Costs that are asked for: a twin in NumPy that solves for the ranges exactly, and what the parameters do."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.vw.main import run

RATE = 0.05
PLAIN = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0, "learning_rate": RATE}


def chain_of(**parameters):
    layers = [{"cost_sensitive_active": {"classes": 3} | parameters}, {"linear": PLAIN}]
    return Chain.from_config({"chain": layers, "input": {"constant": False}, "weights": {"bits": 10}})


def data(count=120, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 4)).astype(np.float32)
    truth = random.normal(size=(4, 3)) / 4
    return X, np.clip(0.4 + X @ truth + random.normal(size=(count, 3)) / 20, 0, 1).astype(np.float32)


def lines(X, costs, listed=(1, 2, 3)):
    return [
        " ".join(f"{k}:{row[k - 1]:.9g}" for k in listed)
        + " | "
        + " ".join(f"{j}:{x:.9g}" for j, x in enumerate(values))
        for values, row in zip(X, costs, strict=True)
    ]


def reach(distance, most, sensitivity):
    """The importance w of which w (d² - (d - s w)²) = most, up to that which moves the prediction all the way."""
    whole = distance / sensitivity
    if whole * distance**2 <= most:
        return whole
    roots = np.roots([-(sensitivity**2), 2 * distance * sensitivity, 0, -most])
    return min(r.real for r in roots if abs(r.imag) < 1e-9 and 0 <= r.real <= whole)


def twin(X, costs, mellowness, width, of_best):
    w, asked, choices = np.zeros((3, 4)), [], []
    for t, (x, row) in enumerate(zip(X, costs, strict=True), 1):
        p, s = np.clip(w @ x, 0, 1), RATE * x @ x
        low, high = np.zeros(3), np.ones(3)
        if t > 1:
            most = mellowness * np.log(3 * max(t - 1, 1))
            high = np.array([min(q + s * reach(1 - q, most, s), 1) for q in p])
            low = np.array([max(q - s * reach(q, most, s), 0) for q in p])
        wide = (high - low > width / np.sqrt(t)) | (t == 1)
        best = low <= high.min()
        chosen = wide & (best & (best.sum() > 1) if of_best else True)
        choices.append(int(np.argmin(w @ x)) + 1)
        w[chosen] += (2 * RATE * (row - p))[chosen, None] * x
        asked.append(chosen)
    return np.array(asked), choices, w


@pytest.mark.parametrize(
    ("mellowness", "width", "of_best"), [(0.003, 0.5, True), (0.01, 0.2, False), (0.002, 1.0, True)]
)
def test_by_its_formula(mellowness, width, of_best):
    X, costs = data()
    chain = chain_of(mellowness=mellowness, width=width, of_best=of_best)
    asked, choices, _ = twin(X, costs, mellowness, width, of_best)
    found = []
    for line in lines(X, costs):
        before = chain.statistics.queries
        found.append((int(chain.learn([line])[0]), chain.statistics.queries - before))
    assert [count for _, count in found] == asked.sum(axis=1).tolist()
    assert [choice for choice, _ in found] == choices
    assert 3 < asked.sum() < asked.size


def test_it_needs_fewer_costs_for_the_same_choices():
    X, costs = data(600, 1)
    all_costs = {"cost_sensitive_one_against_all": {"classes": 3, "first_class": 1}}
    section = {"input": {"constant": False}, "weights": {"bits": 10}}
    chain, everything = (
        chain_of(mellowness=0.002),
        Chain.from_config({"chain": [all_costs, {"linear": PLAIN}], **section}),
    )
    excess = []
    for each in (chain, everything):
        each.learn(lines(X, costs))
        choices = each.predict(lines(X, costs)).astype(int) - 1
        excess.append(float((costs[np.arange(600), choices] - costs.min(axis=1)).mean()))
    assert chain.statistics.queries < 0.7 * costs.size
    assert excess[0] < excess[1] + 0.02


def test_a_budget_is_not_exceeded_by_more_than_an_example():
    X, costs = data()
    chain = chain_of(mellowness=1.0, budget=10)
    chain.learn(lines(X, costs))
    assert 10 <= chain.statistics.queries <= 12
    kept = chain.weights.copy()
    chain.learn(lines(X, costs))
    np.testing.assert_array_equal(chain.weights, kept)


def test_only_listed_classes_are_predicted_and_others_are_left_out():
    X, costs = data(20)
    chain = chain_of()
    assert set(chain.learn(lines(X, costs, (2, 3))).tolist()) <= {2.0, 3.0}
    with pytest.warns(UserWarning, match="label 7 .*learned nothing from it, wanted classes from 1 to 3"):
        chain.learn(["7:1 | a b", "2:0 | a"])


def test_range_and_loss_are_checked(tmp_path):
    with pytest.raises(ConfigError, match="lowest_cost 1 is not below highest_cost 1"):
        chain_of(lowest_cost=1.0)
    with pytest.raises(ConfigError, match="needs squared loss from the layer below, which 'linear' does not have"):
        Chain.from_config({"chain": [{"cost_sensitive_active": {"classes": 2}}, {"linear": {"loss": "logistic"}}]})
    with pytest.raises(ConfigError, match="needs sensitivity from the layer below, which 'pistol' lacks"):
        Chain.from_config({"chain": [{"cost_sensitive_active": {"classes": 2}}, "pistol"]})
    (tmp_path / "data").write_text("1:0 2:1 |a b\n")
    with pytest.raises(UsageError, match="--cs_active: wanted --simulation with it: without it VW learns nothing"):
        run(["-d", str(tmp_path / "data"), "--cs_active", "2"])
