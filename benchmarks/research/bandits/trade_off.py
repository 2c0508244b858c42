"""A router whose price list changes: the regret before and after, of metrics learned apart and of one sum of them.

    python benchmarks/research/bandits/trade_off.py [--seeds N]

Four subjects, four models, 4,000 decisions. Each model is right about each subject with a probability from .2 to .95,
the dearer the more often, and has a price and a time of its own, with noise. A right answer is worth 1, a dollar costs
2 and a second .01; after 2,000 decisions a dollar costs 20 and a second .05. Regret is the expected worth of the best
model less that of the chosen one.
"""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch import Chain, Policy

SUBJECTS, MODELS, CHANGE, ALL, WINDOW = 4, 4, 2000, 4000, 500
BEFORE = {"right": 1.0, "price": -2.0, "seconds": -0.01}
AFTER = {"right": 1.0, "price": -20.0, "seconds": -0.05}
PRICES, SECONDS = np.array([0.001, 0.004, 0.01, 0.03]), np.array([0.5, 1.0, 2.0, 6.0])
BASE = {"covariance": "blocks", "dimension": 64, "loss": "squared", "interactions": [["subject", "model"]]}
CASES = (
    "metrics",
    "sum, goes on",
    "sum, `forgetting: 0.001`",
    "sum, begins anew",
    "sum, trained anew on the whole log",
)


def layers(metrics: bool, forgetting: float = 0.0) -> list[Any]:
    """A chain that explores by Thompson sampling."""
    weighted = [{"weighted_metrics": {"weights": BEFORE}}] if metrics else []
    return [
        {"explore_posterior": {"method": "thompson", "width": 1}},
        "contextual_bandit",
        "cost_sensitive_with_features",
        *weighted,
        {"bayesian_linear": {**BASE, "forgetting": forgetting}},
    ]


def policy_of(name: str, seed: int) -> Policy:
    """The policy of a case."""
    return Policy({"chain": layers(name == "metrics", 0.001 if "forgetting" in name else 0.0)}, seed=seed)


def changed(name: str, old: Policy, seed: int, log: list[tuple[dict[str, Any], dict[str, float]]]) -> Policy:
    """What goes on after the change."""
    if name == "metrics":
        overrides = [f"weighted_metrics.weights.{metric}={weight}" for metric, weight in AFTER.items()]
        return Policy(
            Chain.from_arrays(old.chain.arrays(), old.chain.metadata(), "the model", overrides), seed=seed + 1
        )
    if name not in CASES[3:]:
        return old
    found = policy_of(name, seed + 1)
    if "log" in name:
        found.chain.learn([{**record, "cost": -worth(seen, AFTER)} for record, seen in log])
    return found


def worth(seen: dict[str, Any], weights: dict[str, float]) -> Any:
    """The weighted sum of metrics."""
    return sum(weight * seen[metric] for metric, weight in weights.items())


def regret(name: str, seed: int) -> NDArray[np.float64]:
    """The regret of each decision."""
    random = np.random.default_rng(seed)
    chances = np.sort(random.uniform(0.2, 0.95, (SUBJECTS, MODELS)), axis=1)  # the dearer, the better
    policy, found, log = policy_of(name, seed), np.zeros(ALL), []
    for number in range(ALL):
        weights = BEFORE if number < CHANGE else AFTER
        if number == CHANGE:
            policy = changed(name, policy, seed, log)
        subject = int(random.integers(SUBJECTS))
        actions = [{"model": [f"m{k}"]} for k in range(MODELS)]
        expected = worth({"right": chances[subject], "price": PRICES, "seconds": SECONDS}, weights)
        record = {"shared": {"subject": [f"s{subject}"]}, "actions": actions}
        decided = policy.decide(record)
        k = decided.action
        found[number] = expected.max() - expected[k]
        seen = {
            "right": float(random.random() < chances[subject, k]),
            "price": float(PRICES[k] * random.lognormal(-0.125, 0.5)),
            "seconds": float(SECONDS[k] * random.lognormal(-0.125, 0.5)),
        }
        log.append(({**record, "chosen": k, "probability": decided.probability}, seen))
        policy.reward(decided.id, seen if name == "metrics" else worth(seen, weights))
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = range(parser.parse_args().seeds)
    windows = " | ".join(f"{k + 1:,} to {k + WINDOW:,}" for k in range(CHANGE, ALL, WINDOW))
    print(f"| chain | 1 to 2,000: sum | {windows} | 2,001 to 4,000: sum |\n|{'---|' * 7}")
    for name in CASES:
        each = np.array([regret(name, seed) for seed in seeds])
        mean, sums = each.mean(axis=0), each[:, CHANGE:].sum(axis=1)
        parts = " | ".join(f"{mean[k : k + WINDOW].mean():.4f}" for k in range(CHANGE, ALL, WINDOW))
        error = sums.std(ddof=1) / np.sqrt(len(sums))
        print(f"| {name} | {mean[:CHANGE].sum():.1f} | {parts} | {sums.mean():.1f} ± {error:.1f} |", flush=True)


if __name__ == "__main__":
    main()
