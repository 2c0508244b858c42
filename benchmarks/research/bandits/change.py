"""Decisions whose rewards change at once: the regret before and after, of explorers that forget and of others.

    python benchmarks/research/bandits/change.py [--seeds N]

Three kinds of user, four actions, 4,000 decisions; each kind likes each action with a probability from .1 to .9, and
all probabilities are drawn anew after 2,000. Regret is the probability of the best action less that of the chosen one.
"""

import argparse
from typing import Any

import numpy as np

from hutch import Policy

USERS, ACTIONS, BEFORE, ALL, WINDOW = 3, 4, 2000, 4000, 500
PAIRS = [["user", "action"]]


def posterior(*forgetting: float, clip: float | None = None, explorer: dict[str, Any] | None = None) -> list[Any]:
    """A chain with a posterior in blocks, or with several that forget at different rates."""
    base = {"covariance": "blocks", "dimension": 64, "loss": "squared", "interactions": PAIRS}
    bandit = {"contextual_bandit": {} if clip is None else {"clip": clip}}
    copies = [{"bayesian_linear": {"forgetting": rate}} for rate in forgetting]
    return [
        {"explore_posterior": explorer or {"method": "optimism", "width": 1}},
        bandit,
        "cost_sensitive_with_features",
        *([{"hedge": {"copies": copies}}] if len(copies) > 1 else []),
        {"bayesian_linear": {**base, "forgetting": forgetting[0]}},
    ]


FLOOR = {"method": "optimism", "width": 1, "epsilon": 0.02}
THOMPSON = {"method": "thompson", "width": 0.25, "epsilon": 0.02}
CASES = {
    "`configs/explore.yaml`, pairs": posterior(0.0, 0.003),
    "the same, `clip: 1`": posterior(0.0, 0.003, clip=1.0),
    "copies 0, 0.001 and 0.003": posterior(0.0, 0.001, 0.003),
    "no `hedge`": posterior(0.0),
    "no `hedge`, `clip: 1`": posterior(0.0, clip=1.0),
    "no `hedge`, `forgetting: 0.001`": posterior(0.001),
    "no `hedge`, `forgetting: 0.001`, `clip: 1`": posterior(0.001, clip=1.0),
    "no `hedge`, `forgetting: 0.003`, `clip: 1`": posterior(0.003, clip=1.0),
    "`configs/personalizer.yaml`": posterior(0.0, 0.003, explorer=FLOOR),
    "the same, no `hedge`": posterior(0.0, explorer=FLOOR),
    "by Thompson sampling": posterior(0.0, 0.003, explorer=THOMPSON),
    "by Thompson sampling, no `hedge`": posterior(0.0, explorer=THOMPSON),
    "by Thompson sampling of width 1, no `hedge`": posterior(0.0, explorer={**THOMPSON, "width": 1}),
    "`explore_squarecb`, `linear`": [
        "explore_squarecb", "contextual_bandit", "cost_sensitive_with_features", {"linear": {"interactions": PAIRS}}
    ],
}  # fmt: skip


def regret(layers: list[Any], seed: int, changes: bool) -> np.ndarray:
    """The regret of each decision."""
    random = np.random.default_rng(seed)
    worlds = random.uniform(0.1, 0.9, (2, USERS, ACTIONS))
    policy, found = Policy({"chain": layers}, seed=seed), np.zeros(ALL)
    for number in range(ALL):
        likes = worlds[int(changes and number >= BEFORE)][user := int(random.integers(USERS))]
        actions = [{"action": [f"a{k}"]} for k in range(ACTIONS)]
        decided = policy.decide({"shared": {"user": [f"u{user}"]}, "actions": actions})
        found[number] = likes.max() - likes[decided.action]
        policy.reward(decided.id, float(random.random() < likes[decided.action]))
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=[*CASES], help="rows")
    options = parser.parse_args()
    seeds = range(options.seeds)
    windows = " | ".join(f"{k + 1:,} to {k + WINDOW:,}" for k in range(BEFORE, ALL, WINDOW))
    print(f"| chain | 1,501 to 2,000 | {windows} | sum | no change: sum |\n|{'---|' * 8}")
    for name in options.only:
        layers = CASES[name]
        mean = np.mean([regret(layers, seed, True) for seed in seeds], axis=0)
        still = np.mean([regret(layers, seed, False).sum() for seed in seeds])
        parts = " | ".join(f"{mean[k : k + WINDOW].mean():.3f}" for k in range(BEFORE - WINDOW, ALL, WINDOW))
        print(f"| {name} | {parts} | {mean.sum():.0f} | {still:.0f} |", flush=True)


if __name__ == "__main__":
    main()
