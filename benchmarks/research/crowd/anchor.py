"""A crowd whose workers change: `crowd_em` in a stream, alone and held near anchors by `nat_oem`.

    python benchmarks/research/crowd/anchor.py [--seeds N] [--items N] [--workers N]

Simulated: three classes, five labels an item. After a third of the stream half of the workers change (a new confusion
matrix each), after two thirds they return to the old one; at half time more workers join. Log-loss of the posterior of
each item's class from its labels, before they are learned: of all items, and of the 600 after each event. A setting is
tuned on five worlds and judged on others; in brackets, how many of these it wins against the best `decay` alone.
"""

import argparse
from typing import Any

import numpy as np

from hutch import Chain

CLASSES, LABELS, AFTER = 3, 5, 600
Lines = list[str]


def confusion(random: np.random.Generator) -> np.ndarray:
    """A worker's confusion matrix: skill between 0.4 and 0.95, errors unevenly spread."""
    rows = np.empty((CLASSES, CLASSES))
    for k in range(CLASSES):
        wrong = random.dirichlet(np.ones(CLASSES - 1))
        skill = random.uniform(0.4, 0.95)
        rows[k] = np.insert((1 - skill) * wrong, k, skill)
    return rows


def world(seed: int, items: int, workers: int) -> tuple[Lines, np.ndarray]:
    """Lines of a stream, the epoch in the namespace `time`, and the true classes."""
    random = np.random.default_rng(seed)
    first = [confusion(random) for _ in range(workers + workers // 3)]
    second = [confusion(random) if w < workers // 2 else first[w] for w in range(len(first))]
    truth, lines = random.integers(CLASSES, size=items), []
    for t, z in enumerate(truth):
        epoch = 3 * t // items
        present = len(first) if 2 * t >= items else workers
        for w in random.choice(present, LABELS, replace=False):
            label = 1 + random.choice(CLASSES, p=(second if epoch == 1 else first)[w][z])
            lines.append(f"{label} |time e{epoch} |worker w{w}")
        lines.append("")
    return lines, truth


def log_loss(chain: Chain, lines: Lines, truth: np.ndarray) -> np.ndarray:
    """Of every item, before it is learned."""
    found = []
    for batch in chain.batches(lines):
        outputs = chain.run_batch(batch, learn=True, scores=True)[0]
        found.append(outputs.scores[~np.isnan(outputs.predictions)].copy())
    return -np.log(np.maximum(np.concatenate(found)[np.arange(len(truth)), truth], 1e-12))


def chain_of(crowd_em: dict[str, Any], nat_oem: dict[str, Any] | None) -> Chain:
    """The crowd alone: its items have no features. `time` is for the anchor, and no feature either."""
    above = [] if nat_oem is None else [{"nat_oem": nat_oem}]
    crowd = {"crowd_em": {"classes": CLASSES, "slots": 4096, "warm_up": 100, "powers": [0.0], **crowd_em}}
    below = [{"one_against_all": {"classes": CLASSES}}, {"linear": {"loss": "logistic"}}]
    return Chain.from_config({"weights": {"bits": 14}, "chain": [*above, crowd, *below]})


KNOWN = {"boundary": "namespace", "namespace": "time"}
FAMILIES: dict[str, list[tuple[dict[str, Any], dict[str, Any] | None]]] = {
    "decay": [({"decay": decay}, None) for decay in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)],
    "counting all labels": [({"decay": 1.0}, None)],
    "step anchor": [({"decay": d}, {"mode": "step", "beta": b}) for d in (0.5, 0.8) for b in (0.3, 1.0, 3.0)],
    "class anchor, one table": [({"decay": d, "stored_rows": 1}, KNOWN) for d in (0.8, 1.0)],
    "class anchor": [({"decay": d}, KNOWN) for d in (0.8, 1.0)],
    "class anchor of 20 labels": [({"decay": d}, {**KNOWN, "beta": 20.0}) for d in (0.8, 1.0)],
    "class anchor, drift test": [
        ({"decay": d}, {"boundary": "drift", "threshold": h}) for d in (0.8, 1.0) for h in (6.0, 10.0, 15.0, 25.0)
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--items", type=int, default=6000)
    parser.add_argument("--workers", type=int, default=40)
    options = parser.parse_args()
    tuning, judging = (
        [world(seed, options.items, options.workers) for seed in range(first, first + options.seeds)]
        for first in (0, options.seeds)
    )
    events = {"change": options.items // 3, "join": options.items // 2, "return": 2 * options.items // 3}
    best = np.zeros(0)
    print(f"{'':28s}{'all':>8s}" + "".join(f"{name:>8s}" for name in events) + "  wins  boundaries  setting")
    for name, settings in FAMILIES.items():
        means = [np.mean([log_loss(chain_of(*setting), *some).mean() for some in tuning]) for setting in settings]
        setting = settings[int(np.argmin(means))]
        chains = [chain_of(*setting) for _ in judging]
        losses = np.array([log_loss(chain, *some) for chain, some in zip(chains, judging, strict=True)])
        best = best if len(best) else losses.mean(axis=1)
        cells = [losses.mean(), *(losses[:, at : at + AFTER].mean() for at in events.values())]
        found = [getattr(chain.layers[0], "boundaries", 0) for chain in chains]
        wins = f"({int(np.sum(losses.mean(axis=1) < best))})"
        print(
            f"{name:28s}" + "".join(f"{cell:8.3f}" for cell in cells) + f"{wins:>6s}{np.mean(found):12.1f}  {setting}"
        )


if __name__ == "__main__":
    main()
