"""A thousand actions: cost, regret and time per decision of explorers with and without `few_actions`.

    python benchmarks/research/bandits/many_actions.py [--actions 1000] [--decisions 2000] [--seeds 3]

Each action has six of sixty words, and each of ten users likes some of them more than others: the probability of a
reward is a logistic function of the sum. The users, the words and the rewards are drawn; all chains see the same ones.
Regret is the probability of a reward by the best action less that by the chosen one, on average over all decisions and
over the last quarter. Time is the processor's for a prediction and for learning it, from a text of all actions,
after a warm-up.
"""

import argparse
import time

import numpy as np

from hutch import Chain

WORDS, OF_ACTION, USERS = 60, 6, 10
BELOW = ["contextual_bandit", "cost_sensitive_with_features", {"linear": {"interactions": ["ua"]}}]
CHAINS = {
    "epsilon 0.05": ["explore_epsilon"],
    "epsilon 0.05, spanner": ["few_actions", "explore_epsilon"],
    "squarecb, gamma 10": ["explore_squarecb"],
    "squarecb, gamma 10, spanner": ["few_actions", "explore_squarecb"],
    "squarecb, gamma 1000": [{"explore_squarecb": {"scale": 1000}}],
    "squarecb, gamma 1000, spanner": ["few_actions", {"explore_squarecb": {"scale": 1000}}],
    "softmax 10": [{"explore_softmax": {"rate": 10}}],
}


def run(layers: list[object], actions: int, decisions: int, seed: int) -> tuple[float, float, float]:
    """Mean regret, that of the last quarter, and milliseconds per decision."""
    draw = np.random.default_rng(seed)
    words = np.array([draw.choice(WORDS, OF_ACTION, replace=False) for _ in range(actions)])
    likes = draw.normal(scale=0.8, size=(USERS, WORDS))
    chances = 1 / (1 + np.exp(2 - likes[:, words].sum(axis=2)))
    lines = ["|a " + " ".join(f"w{word}" for word in own) for own in words]
    text = "\n".join(lines)
    chain = Chain.from_config({"chain": [*layers, *BELOW], "input": {"namespaces": "letter"}, "seed": seed})
    regrets, spent = np.zeros(decisions), 0.0
    for k in range(decisions):
        user = int(draw.integers(USERS))
        start = time.process_time()
        p = chain.predict([f"shared |u u{user}\n{text}\n\n"]).astype(np.float64)
        spent += time.process_time() - start if k >= 20 else 0.0
        chosen = int(draw.choice(actions, p=p / p.sum()))
        reward = draw.random() < chances[user, chosen]
        regrets[k] = chances[user].max() - chances[user, chosen]
        labeled = [*lines[:chosen], f"0:{-int(reward)}:{p[chosen]:.9g} {lines[chosen]}", *lines[chosen + 1 :]]
        start = time.process_time()
        chain.learn([f"shared |u u{user}\n" + "\n".join(labeled) + "\n\n"])
        spent += time.process_time() - start if k >= 20 else 0.0
    return regrets.mean(), regrets[-decisions // 4 :].mean(), 1e3 * spent / (decisions - 20)


def main() -> None:
    """Print a row per chain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=1000)
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print("| explorer | regret | of the last quarter | CPU ms per decision |\n|---|---|---|---|")
    for name, layers in CHAINS.items():
        found = np.array([run(layers, given.actions, given.decisions, seed) for seed in range(given.seeds)])
        regret, last, spent = found.mean(axis=0)
        print(f"| {name} | {regret:.3f} ± {found[:, 0].std():.3f} | {last:.3f} | {spent:.1f} |", flush=True)


if __name__ == "__main__":
    main()
