"""Coverage of the intervals of `hutch evaluate`, on simulated logs with known truth and on a real pair of logs.

    python benchmarks/research/off_policy.py [--runs N] [--decisions N] [--least P] [--obd FOLDER]

A log chooses one of five actions for each of four kinds of decisions: mostly one of them, each other with the least
probability. Judged are chains that learn from the log; what they would have cost is known from the costs of actions.
Half of the chains take decisions with features, half classes. `rare` costs are a tenth of the others.

FOLDER has random.csv and bts.csv of the Open Bandit data (columns item_id, position, click, propensity_score): two logs
of one shop. The mean click of one is the truth for estimates from draws of the other; what the policy of one does is
taken from how often each item stands at each position of its log.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hutch import Chain
from hutch.evaluation.off_policy import OffPolicyValue, estimator_of, evaluate, value_of

KINDS, ACTIONS = 4, 5
MEANS = np.random.default_rng(7).uniform(0.1, 0.9, (KINDS, ACTIONS))
FAVOURITE = np.random.default_rng(8).integers(0, ACTIONS, KINDS)
EXPLORERS: dict[str, list[Any]] = {
    "uniform": [{"explore_epsilon": {"epsilon": 1.0}}],
    "epsilon": [{"explore_epsilon": {"epsilon": 0.1}}],
    "squarecb": ["explore_squarecb"],
    "softmax": [{"explore_softmax": {"rate": 5.0}}],
    "greedy": [],
}
BELOW = ["contextual_bandit", "cost_sensitive_with_features", "linear"]
NAMES = ("ips", "snips", "dr")


def log(random: np.random.Generator, count: int, least: float, scale: float) -> tuple[np.ndarray, ...]:
    """Kind, chosen action, its cost and its probability, of each decision."""
    kind = random.integers(0, KINDS, count)
    likely = np.full((count, ACTIONS), least)
    likely[np.arange(count), FAVOURITE[kind]] = 1 - (ACTIONS - 1) * least
    chosen = (random.random(count)[:, None] > likely.cumsum(axis=1)).sum(axis=1).clip(0, ACTIONS - 1)
    cost = random.random(count) < scale * MEANS[kind, chosen]
    return kind, chosen, cost.astype(np.float64), likely[np.arange(count), chosen]


def lines(kind: np.ndarray, chosen: np.ndarray, cost: np.ndarray, likely: np.ndarray, features: bool) -> list[str]:
    """The log as text."""
    rows = []
    for k, a, c, p in zip(kind, chosen, cost, likely, strict=True):
        if not features:
            rows.append(f"{a + 1}:{c:g}:{p:.6g} |kind of_{'abcd'[k]}")
            continue
        for b in range(ACTIONS):
            rows.append((f"0:{c:g}:{p:.6g} " if a == b else "") + f"|pair of_{'abcd'[k]}_{'vwxyz'[b]}")
        rows.append("")
    return rows


def judged(config: dict[str, Any], rows: list[str], kind: np.ndarray, scale: float) -> tuple[OffPolicyValue, float]:
    """The estimates of a chain's cost from the log, and the true cost of its decisions."""
    chain, twin = Chain.from_config(config), Chain.from_config(config)
    found = evaluate(chain, Chain.from_config(estimator_of(config)), chain.batches(rows))
    policies = []
    for batch in twin.batches(rows):
        outputs = twin.run_batch(batch)[0]
        if outputs.scores.size:
            values, best = outputs.scores, outputs.ranked.reshape(outputs.scores.shape)[:, 0]
        else:
            values = outputs.predictions.reshape(-1, ACTIONS)
            best = outputs.ranked.reshape(-1, ACTIONS)[:, 0]
        policies.append(values if twin.predicts.value == "action_probabilities" else np.eye(ACTIONS)[best])
    policy = np.concatenate(policies)
    return found, float((policy * scale * MEANS[kind]).sum(axis=1).mean())


def simulated(runs: int, count: int, least: float) -> Iterator[tuple[str, list[OffPolicyValue], np.ndarray]]:
    """The name of each row, its estimates and their truths."""
    for costs, scale in (("", 1.0), (", rare", 0.1)):
        for number, (name, explorer) in enumerate(EXPLORERS.items()):
            features = number % 2 == 0
            config = {"chain": [*([] if features else [{"action_per_class": {"classes": ACTIONS}}]), *explorer, *BELOW]}
            found, truths = [], []
            for seed in range(runs):
                kind, *rest = log(np.random.default_rng(seed), count, least, scale)
                value, truth = judged(config, lines(kind, *rest, features), kind, scale)
                found.append(value)
                truths.append(truth)
            yield name + costs, found, np.array(truths)


def open_bandit(folder: Path, runs: int, count: int) -> Iterator[tuple[str, list[OffPolicyValue], np.ndarray]]:
    """Either policy of a shop from draws of the log of the other."""
    logs = {}
    for name in ("random", "bts"):
        with (folder / f"{name}.csv").open(newline="") as file:
            rows = [
                [float(row[c]) for c in ("item_id", "position", "click", "propensity_score")]
                for row in csv.DictReader(file)
            ]
        logs[name] = np.array(rows).T
    for judge, other in (("bts", "random"), ("random", "bts")):
        item, position, click, likely = logs[other]
        pairs, times = np.unique(logs[judge][:2].T, axis=0, return_counts=True)
        places = {
            tuple(pair): count / np.sum(logs[judge][1] == pair[1]) for pair, count in zip(pairs, times, strict=True)
        }
        wanted = np.array([places.get(pair, 0.0) for pair in zip(item, position, strict=True)])
        found = []
        for seed in range(runs):
            at = np.random.default_rng(seed).permutation(len(click))[:count]
            seen = np.cumsum(click[at]) / np.arange(1, count + 1) - click[at] / np.arange(1, count + 1)
            found.append(value_of(wanted[at] / likely[at], click[at], seen, seen))
        yield f"{judge} from {other}", found, np.full(runs, logs[judge][2].mean())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--least", type=float, default=0.01, metavar="P")
    parser.add_argument("--obd", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    print(f"{arguments.runs} logs of {arguments.decisions} decisions, least probability {arguments.least:g}\n")
    print("| policy | effective | " + " | ".join(f"{name} | half-width" for name in NAMES) + " |")
    print("|---|---|" + "---|---|" * len(NAMES))
    if arguments.obd:
        rows = open_bandit(arguments.obd, arguments.runs, arguments.decisions)
    else:
        rows = simulated(arguments.runs, arguments.decisions, arguments.least)
    for name, found, truths in rows:
        cells = [f"{np.mean([value.effective for value in found]):.0f}"]
        for kind in NAMES:
            ends = np.array([(getattr(value, kind).low, getattr(value, kind).high) for value in found])
            held = (ends[:, 0] <= truths) & (truths <= ends[:, 1])
            cells += [f"{held.mean():.3f}", f"{np.mean(ends[:, 1] - ends[:, 0]) / 2:.4f}"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
