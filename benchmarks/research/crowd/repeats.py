"""Judges who are asked repeatedly: log-loss and accuracy beside other ways to read their runs.

    python benchmarks/research/crowd/repeats.py [--seeds N] [--items N] [--online]

On each item a judge is right in a share of the runs that is drawn from a Beta distribution: the bias; the runs differ
by chance: the noise. Wrong runs name one wrong class of the judge and the item, or, in a share of the cases, any.
"first" is the first run alone, "majority" the most frequent label, "independent" every run as a label of its own,
"default" what `hutch crowd` does; with --online, in a stream.
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.models.calibration import accuracy, log_loss

CASES: dict[str, tuple[int, int, float, float, float]] = {
    "5 judges, 2 classes, much bias": (5, 2, 1.0, 0.4, 0.0),
    "5 judges, 2 classes, much noise": (5, 2, 6.0, 3.0, 0.0),
    "3 judges, 2 classes": (3, 2, 3.0, 1.3, 0.0),
    "10 judges, 2 classes": (10, 2, 2.0, 1.3, 0.0),
    "5 judges, 4 classes": (5, 4, 3.0, 2.0, 0.0),
    "5 judges, 4 classes, any wrong one": (5, 4, 3.0, 2.0, 1.0),
    "10 judges, 3 classes, half of them any": (10, 3, 6.0, 4.5, 0.5),
}
"""Judges, classes, parameters of the Beta distribution, share of wrong runs that name any wrong class."""


def runs_of(case: tuple[int, int, float, float, float], runs: int, items: int, seed: int) -> tuple[np.ndarray, ...]:
    """Rows (judge, item, label) in the order of the runs, and the truth."""
    judges, classes, a, b, spread = case
    random = np.random.default_rng(seed)
    truth, rows = random.integers(classes, size=items), []
    for judge in range(judges):
        right = random.beta(a * random.uniform(0.5, 1.5), b, items)
        usual, item = (truth + random.integers(1, classes, size=items)) % classes, np.arange(items)
        for _ in range(runs):
            other = (truth + random.integers(1, classes, size=items)) % classes
            wrong = np.where(random.random(items) < spread, other, usual)
            said = np.where(random.random(items) < right, truth, wrong)
            rows.append(np.stack([np.full(items, judge), item, said], axis=1))
    return np.concatenate(rows).astype(np.int32), truth.astype(np.int32)


def measure(case: tuple[int, int, float, float, float], runs: int, items: int, seed: int, how: Options) -> list[Any]:
    """Accuracy and log-loss of the first run, the majority, all runs as independent, and the default."""
    codes, truth = runs_of(case, runs, items, seed)
    names = [[str(n) for n in range(size)] for size in (case[0], items, case[1])]
    first = np.unique(codes[:, :2], axis=0, return_index=True)[1]
    default = from_codes(codes, *names, classes=names[2])
    majority = replace(default, divided=np.zeros(0, np.bool_))
    order = np.argsort(codes[:, 1], kind="stable")
    pointer = np.arange(items + 1) * (case[0] * runs)
    each = replace(majority, item_ptr=pointer, workers=codes[order, 0].copy(), labels=codes[order, 2].copy())
    found: list[Labels] = [from_codes(codes[first], *names, classes=names[2]), majority, each, default]
    posteriors = [aggregate(labels, options=how).probability for labels in found]
    return [[accuracy(each, truth), log_loss(each, truth)] for each in posteriors]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, metavar="N", help="draws of each case")
    parser.add_argument("--items", type=int, default=300, metavar="N", help="items of each draw")
    parser.add_argument("--online", action="store_true", help="in a stream")
    arguments = parser.parse_args()
    how = Options("online" if arguments.online else "batch", ordered=False)
    print(f"{'crowd':<40} runs  first            majority         independent      default")
    for name, case in CASES.items():
        for runs in (1, 3, 10):
            draws = [measure(case, runs, arguments.items, seed, how) for seed in range(arguments.seeds)]
            shown = "   ".join(f"{right:.3f} / {loss:.3f}" for right, loss in np.mean(draws, axis=0))
            print(f"{name:<40} {runs:>4}  {shown}", flush=True)


if __name__ == "__main__":
    main()
