"""Logs whose policy and costs are known, without probabilities."""

import numpy as np

BELOW = ["contextual_bandit", "cost_sensitive_with_features", {"linear": {"interactions": [["u", "a"]]}}]
CHAIN = {"chain": ["explore_epsilon", *BELOW]}
UNIFORM = {"chain": [{"explore_epsilon": {"epsilon": 1.0}}, *BELOW]}
LIKELY = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
COSTS = np.array([[0.2, 0.5, 0.8], [0.7, 0.4, 0.1]])


def log(seed: int, count: int = 1000, likely: np.ndarray = LIKELY) -> list[dict]:
    """Decisions among three actions for one of two people, without probabilities."""
    random, found = np.random.default_rng(seed), []
    for _ in range(count):
        user = int(random.integers(2))
        chosen = int(random.choice(3, p=likely[user]))
        cost = float(random.random() < COSTS[user, chosen])
        actions = [{"a": [f"x{k}"]} for k in range(3)]
        found.append({"shared": {"u": [f"u{user}"]}, "actions": actions, "chosen": chosen, "cost": cost})
    return found


def text(decisions: list[dict], labels: str = "{}:{:g}") -> str:
    lines = []
    for one in decisions:
        lines.append(f"shared |u {one['shared']['u'][0]}")
        for k, action in enumerate(one["actions"]):
            label = labels.format(k, one["cost"]) + " " if k == one["chosen"] else ""
            lines.append(f"{label}|a {action['a'][0]}")
        lines.append("")
    return "\n".join(lines) + "\n"
