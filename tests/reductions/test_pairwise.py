"""Preferences in a chain: the contract, a NumPy twin, and votes with workers and contexts."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError
from hutch.plugins.checks import checks_of_reduction
from hutch.plugins.manager import installed

STEPS = {"adaptive": False, "normalized": False, "invariant": False, "power_t": 0.0}
PLAIN = {"linear": {"loss": "logistic", "learning_rate": 0.2, **STEPS}}
DYADIC = {"dyadic": {"left": "words", "right": "numbers", "loss": "logistic"}}
BELOW = {"linear": [{"linear": {"loss": "logistic"}}], "dyadic": [DYADIC]}
PAIRWISE = installed().registry.reductions["pairwise"]
CHECKS = [
    pytest.param(check, id=f"{below}: {check.name}")
    for below, layers in BELOW.items()
    for check in checks_of_reduction(PAIRWISE, {"worker": "words", "slots": 8}, layers)
    if check.name != "loss"  # workers who differ in ties have other losses at the same expected score
]


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    check()


def votes_of(count=300, players=6, workers=5, seed=0):
    """Lines, and true halves of the log-odds."""
    random = np.random.default_rng(seed)
    strength = np.linspace(-1.5, 1.5, players)
    reliability = np.array([1.0, 1.2, 0.8, 1.0, -1.0])[:workers]
    lines = []
    for _ in range(count):
        i, j = random.choice(players, 2, replace=False)
        w, prompt = random.integers(workers), random.integers(3)
        shift = 2.0 * (prompt == 0) * ((i == 0) - float(j == 0))  # the weakest is strong in one context
        m = reliability[w] * (strength[i] - strength[j] + shift) / 2
        p = np.exp([m, -m, -0.3])
        label = (1, -1, 0)[random.choice(3, p=p / p.sum())]
        lines.append(f"{label} |player p{i} p{j}:-1 |worker w{w} |prompt t{prompt}")
    return lines


def test_twin():
    lines = votes_of(120)
    chain = Chain.from_config({
        "chain": [{"pairwise": {"worker": "worker", "slots": 1024}}, PLAIN], "input": {"constant": False},
        "weights": {"bits": 18},
    })  # fmt: skip
    found = chain.learn(lines)
    weights: dict[str, float] = {}
    t, v = 0.0, 100.0
    reliability: dict[str, list[float]] = {}
    for line, got in zip(lines, found, strict=True):
        label, *rest = line.split(" |")
        names = [(f"{part.split()[0]} {cell.split(':')[0]}", -1.0 if ":-1" in cell else 1.0)
                 for part in rest for cell in part.split()[1:]]  # fmt: skip
        worker = reliability.setdefault(rest[1], [0.0, 0.15, 0.0, 1.0])
        m = sum(weights.get(name, 0.0) * x for name, x in names)
        r, ties = 1 + worker[0], t + worker[2]
        p = np.exp([r * m, -r * m, ties])
        left, right, tie = p / p.sum()
        assert got == pytest.approx(left + tie / 2, abs=1e-4)
        y = float(label)
        slope = r * (left - right - y)
        side = -1 if slope > 0 else 1
        importance = abs(slope) * (1 + np.exp(side * m))
        for name, x in names:  # a plain step of logistic loss
            weights[name] = weights.get(name, 0.0) + 0.2 * importance * side * x / (1 + np.exp(side * m))
        pull, information = left - right - y, left + right - (left - right) ** 2
        gain = worker[1] * m / (1 + information * worker[1] * m * m)
        worker[0], worker[1] = worker[0] - gain * pull, worker[1] / (1 + information * worker[1] * m * m)
        for place, mean, spread in ((worker, worker[2], worker[3]), (None, t, v)):
            whole = 1 + tie * (1 - tie) * spread
            mean, spread = mean - spread * (tie - (y == 0)) / whole, spread / whole
            if place is None:
                t, v = mean, spread
            else:
                place[2:] = mean, spread


def log_loss(chain, lines):
    chain.learn(lines[:-1000])
    before = chain.statistics.sum_loss
    chain.learn(lines[-1000:])
    return (chain.statistics.sum_loss - before) / 1000


def test_workers_and_contexts_help():
    lines = votes_of(6000, seed=3)
    contexts = {"linear": {"loss": "logistic", "interactions": [["player", "prompt"]]}}
    chains = {
        "plain": [{"pairwise": {}}, {"linear": {"loss": "logistic"}}],
        "workers": [{"pairwise": {"worker": "worker"}}, {"linear": {"loss": "logistic"}}],
        "contexts": [{"pairwise": {"worker": "worker"}}, contexts],
        "dyadic": [
            {"pairwise": {"worker": "worker"}},
            {"dyadic": {"left": "prompt", "right": "player", "loss": "logistic"}},
        ],
    }
    losses = {name: log_loss(Chain.from_config({"chain": layers}), lines) for name, layers in chains.items()}
    assert losses["plain"] < np.log(3) - 0.02
    assert losses["workers"] < losses["plain"] - 0.01
    assert losses["contexts"] < losses["workers"] - 0.005
    assert losses["dyadic"] < losses["workers"]


def test_ties_are_learned_at_once():
    chain = Chain.from_config({"chain": ["pairwise", {"linear": {"loss": "logistic"}}]})
    chain.learn(["0 |player a b:-1", "0 |player c d:-1", "1 |player a c:-1", "-1 |player a c:-1"] * 50)
    [p] = chain.predict(["|player a b:-1"])
    assert p == pytest.approx(0.5, abs=0.02)


def test_a_worker_without_name_is_average():
    chain = Chain.from_config({"chain": [{"pairwise": {"worker": "worker"}}, {"linear": {"loss": "logistic"}}]})
    lines = votes_of(500)
    chain.learn(lines)
    p = chain.predict(["|player p5 p0:-1", "|player p5 p0:-1 |worker nobody"])
    assert p[0] == pytest.approx(p[1], abs=0.1) and p[0] > 0.6


def test_another_loss_is_refused():
    with pytest.raises(ConfigError, match="wanted loss logistic"):
        Chain.from_config({"chain": ["pairwise", "linear"]})
    with pytest.raises(ConfigError, match="power of two"):
        Chain.from_config({"chain": [{"pairwise": {"slots": 3}}, {"linear": {"loss": "logistic"}}]})
