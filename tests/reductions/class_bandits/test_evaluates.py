"""The cost of another policy's choices, from a log of one's own: doubly robust, by a twin in NumPy."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, UsageError
from hutch.vw.parse import parse
from hutch.vw.translate import chain_of

RATE = 0.01
PLAIN = {"linear": {"loss": "classic", "adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0,
                    "learning_rate": RATE, "min_prediction": -99.0, "max_prediction": 99.0}}  # fmt: skip


def chain_of_layer(**parameters):
    layers = [
        {"bandit_per_class": {"classes": 3, "evaluates": True} | parameters},
        {"cost_sensitive_one_against_all": {"classes": 3, "first_class": 1}},
        PLAIN,
    ]
    return Chain.from_config({"chain": layers, "input": {"constant": False}, "weights": {"bits": 10}})


def log(count=300, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 3)).astype(np.float32)
    X[:, 2] = 1.0
    costs = np.clip(0.5 + X / 4 - [0, 0, 0.25], 0, 1).astype(np.float32)
    p = np.array([0.5, 0.3, 0.2])
    chosen, policy = random.choice(3, count, p=p), np.argmin(costs, axis=1)
    lines = [
        f"{a + 1} {k + 1}:{c[k]:.9g}:{p[k]} | " + " ".join(f"{j}:{v:.9g}" for j, v in enumerate(x))
        for x, c, k, a in zip(X, costs, chosen, policy, strict=True)
    ]
    return X, costs, chosen, policy, p.astype(np.float32), lines


@pytest.mark.parametrize("type", ["dr", "ips"])
def test_by_its_formula(type):
    X, costs, chosen, policy, p, lines = log()
    w, total, chain = np.zeros((3, 3)), [], chain_of_layer(type=type)
    for x, c, k, a in zip(X, costs, chosen, policy, strict=True):
        guess = w[a] @ x if type == "dr" else 0.0
        total.append(guess + (a == k) * (c[k] - guess) / p[k])
        w[k] += 2 * RATE / p[k] * (c[k] - w[k] @ x) * x
    found = chain.learn(lines)
    assert found.tolist() == (policy + 1).tolist()
    assert chain.statistics.average_loss == pytest.approx(np.mean(total), rel=1e-4)
    truth = costs[np.arange(len(X)), policy].mean()
    assert chain.statistics.average_loss == pytest.approx(truth, abs=0.05)


def test_regressors_lessen_the_variance():
    X, costs, _, policy, _, _ = log()
    truth, errors = costs[np.arange(len(X)), policy].mean(), {}
    for type in ("dr", "ips"):
        runs = []
        for seed in range(12):
            chain = chain_of_layer(type=type)
            _, own, _, choice, _, lines = log(seed=seed)
            chain.learn(lines)
            runs.append(chain.statistics.average_loss - own[np.arange(len(own)), choice].mean())
        errors[type] = float(np.std(runs))
    assert errors["dr"] < errors["ips"] < 0.2 and 0 < truth < 1


def test_without_a_logged_cost_nothing_is_learned():
    chain = chain_of_layer()
    assert chain.predict(["3 | 0:1", "| 0:1"]).tolist() == [3.0, 1.0]
    chain.learn([*log(20)[-1]])
    kept = chain.weights.copy()
    with pytest.warns(UserWarning, match="no example had a label"):
        chain_of_layer().learn(["2 | 0:1", "1 | 0:2"])
    np.testing.assert_array_equal(chain.weights, kept)


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="evaluates: got it with type dm, whose estimates are biased"):
        chain_of_layer(type="dm")
    with pytest.raises(UsageError, match="--eval: wanted --cb, and --cb_type dr or ips"):
        chain_of(parse("--cb 3 --eval --cb_type dm".split()))
