"""Accuracy of the vote, of the models and of the default where classes are many, and what the default chose.

    python benchmarks/research/crowd/many_classes.py [--seeds N] [--classes K...] [--quick]

Crowds of *neighbours*: half of the errors are the next class; the classes are as common as 1 / rank. In crowds of *own
ways*, each worker takes each class for another of their own. `gain` is what rows of single workers gain for halves of
the workers (`hutch.crowd.models.halves`), `own` on how many crowds the default took `two_level` for that.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.aggregate import aggregate
from hutch.crowd.choice import suited
from hutch.crowd.data.labels import Labels, from_triples
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.halves import gain_of_rows
from hutch.crowd.models.many_classes import ManyClasses
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.two_level import TwoLevel

Crowd = tuple[Labels, NDArray[np.int32]]


def neighbours(seed: int, items: int = 2000, workers: int = 60, classes: int = 300, per_item: int = 3) -> Crowd:
    """Labels, and the true class of each item."""
    random = np.random.default_rng(seed)
    common = 1 / np.arange(1, classes + 1)
    truth = random.choice(classes, items, p=common / common.sum())
    skill = random.uniform(0.55, 0.9, workers)

    def wrong(_: int, k: int) -> int:
        return min(k ^ 1, classes - 1) if random.random() < 0.5 else int(random.integers(classes))

    return _labelled(random, truth, skill, classes, per_item, wrong)


def own_ways(seed: int, items: int = 1000, workers: int = 10, classes: int = 50, per_item: int = 3) -> Crowd:
    """The same where four errors of five are the worker's own."""
    random = np.random.default_rng(seed)
    truth, skill = random.integers(0, classes, items), random.uniform(0.5, 0.9, workers)
    taken_for = random.integers(0, classes, (workers, classes))

    def wrong(worker: int, k: int) -> int:
        return int(taken_for[worker, k] if random.random() < 0.8 else random.integers(classes))

    return _labelled(random, truth, skill, classes, per_item, wrong)


def _labelled(
    random: np.random.Generator, truth: NDArray[np.int64], skill: NDArray[np.float64], classes: int, per_item: int,
    wrong: Callable[[int, int], int],
) -> Crowd:  # fmt: skip
    names = [f"c{k:03}" for k in range(classes)]
    rows = [
        (f"w{w}", f"t{i}", names[k if random.random() < skill[w] else wrong(w, k)])
        for i, k in enumerate(truth.tolist())
        for w in random.choice(len(skill), per_item, replace=False).tolist()
    ]
    return from_triples(rows, classes=names), truth.astype(np.int32)


def row(crowds: list[Crowd], quick: bool) -> str:
    """Means over crowds: accuracy / log-loss of each, CPU seconds of the default, gain of rows, choices of rows."""
    found: dict[str, list[tuple[float, float]]] = {}
    gains, chosen, seconds = [], 0, 0.0
    for labels, truth in crowds:
        models = {"one_coin": OneCoin(), "many_classes": ManyClasses()} | ({} if quick else {"two_level": TwoLevel()})
        votes = labels.vote_share()
        found.setdefault("vote", []).append((accuracy(votes, truth), log_loss(votes, truth)))
        for name, model in models.items():
            p = aggregate(labels, model).probability
            found.setdefault(name, []).append((accuracy(p, truth), log_loss(p, truth)))
        before = time.process_time()
        p = aggregate(labels).probability
        seconds += time.process_time() - before
        found.setdefault("default", []).append((accuracy(p, truth), log_loss(p, truth)))
        chosen += suited(labels).name == TwoLevel.name
        gains.append(gain_of_rows(labels, ManyClasses())[0])
    cells = [f"{name} {np.mean(each, axis=0)[0]:.3f} / {np.mean(each, axis=0)[1]:.3f}" for name, each in found.items()]
    return " | ".join([*cells, f"{seconds / len(crowds):.2f} s", f"gain {np.mean(gains):+.3f}", f"own {chosen}"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--classes", type=int, nargs="*", default=[13, 20, 30, 50, 100, 300])
    parser.add_argument("--quick", action="store_true", help="without two_level, which is slow")
    given = parser.parse_args()
    for classes in given.classes:
        for workers in (20, 60):
            crowds = [neighbours(seed, workers=workers, classes=classes) for seed in range(given.seeds)]
            print(f"| neighbours, {classes} classes, {workers} workers | {row(crowds, given.quick)} |", flush=True)
        for workers in (10, 30) if classes <= 100 else ():
            crowds = [own_ways(seed, workers=workers, classes=classes) for seed in range(given.seeds)]
            print(f"| own ways, {classes} classes, {workers} workers | {row(crowds, given.quick)} |", flush=True)


if __name__ == "__main__":
    main()
