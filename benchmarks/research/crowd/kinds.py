"""Kinds of crowds that nothing was tuned to: the default beside the vote, Dawid and Skene's model and knowing nothing.

    python benchmarks/research/crowd/kinds.py [--seeds N] [--items N]

Accuracy / log-loss; the vote's shares have one pseudo-vote spread over all classes, the posteriors of `dawid_skene` are
as the model gives them. "doubt" is on how many draws the default says that it cannot tell. "worse" marks a log-loss
above the better of the vote and log K by more than .01.
"""

import argparse
from collections.abc import Callable

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.dawid_skene import DawidSkene

Random = np.random.Generator
Crowd = tuple[Labels, np.ndarray]


def crowd(
    random: Random, items: int, skill: np.ndarray, classes: int, ratings: int | None = None,
    prevalence: np.ndarray | None = None, hard: float = 0.0, busy: float = 0.0, hidden: float = 0.0,
) -> Crowd:  # fmt: skip
    """Labels and truth.

    Args:
        skill: how often each worker is right (workers, classes).
        ratings: labels of an item; None: one of each worker.
        prevalence: of the classes; None: equal.
        hard: share of items on which everybody's skill is halfway to guessing.
        busy: share of the items that the first worker labels beside the others.
        hidden: share of wrong labels that are not given.
    """
    workers = len(skill)
    truth = random.choice(classes, items, p=prevalence)
    count = ratings or workers
    worker = np.argsort(random.random((items, workers)), axis=1)[:, :count].reshape(-1)
    item = np.repeat(np.arange(items), count)
    if busy:
        extra = np.flatnonzero(random.random(items) < busy)
        item, worker = np.append(item, extra), np.append(worker, np.zeros(len(extra), np.int64))
    right = skill[worker, truth[item]]
    difficult = random.random(items) < hard
    right = np.where(difficult[item], (right + 1 / classes) / 2, right)
    wrong = (truth[item] + random.integers(1, classes, size=len(item))) % classes
    said = np.where(random.random(len(item)) < right, truth[item], wrong)
    given = (said == truth[item]) | (random.random(len(item)) >= hidden)
    codes = np.stack([worker, item, said], axis=1)[given].astype(np.int32)
    names = [[str(n) for n in range(size)] for size in (workers, items, classes)]
    return from_codes(codes, *names, classes=names[2]), truth.astype(np.int32)


def flat(random: Random, rates: list[tuple[int, float, float]], classes: int) -> np.ndarray:
    """Skills of groups of workers, (how many, from, to), alike for all classes."""
    return np.concatenate([random.uniform(low, high, (count, 1)) for count, low, high in rates]) * np.ones(classes)


def experts(
    classes: int, low: float, high: float, count: int = 2, ratings: int | None = None
) -> Callable[[Random, int], Crowd]:
    """Some experts of .95 among guessers."""

    def made(random: Random, items: int) -> Crowd:
        return crowd(random, items, flat(random, [(count, 0.95, 0.95), (8, low, high)], classes), classes, ratings)

    return made


def per_class(random: Random, items: int) -> Crowd:
    """Two experts for each of four classes, who guess in the others."""
    skill = np.full((8, 4), 0.4)
    skill[np.arange(8), np.arange(8) // 2] = 0.95
    return crowd(random, items, skill, 4)


def inverted(random: Random, items: int) -> Crowd:
    """30 % of the workers say the opposite."""
    skill = flat(random, [(14, 0.7, 0.9), (6, 0.1, 0.3)], 2)
    return crowd(random, items, skill, 2, 5)


KINDS: dict[str, Callable[[Random, int], Crowd]] = {
    "2 experts of .95, 8 of .5 to .55, 2 classes": experts(2, 0.5, 0.55),
    "the same, 5 labels per item": experts(2, 0.5, 0.55, ratings=5),
    "3 experts": experts(2, 0.5, 0.55, count=3),
    "2 experts, 8 of .33 to .4, 3 classes": experts(3, 0.33, 0.4),
    "2 experts, 8 of .25 to .3, 4 classes": experts(4, 0.25, 0.3),
    "the same, 5 labels per item ": experts(4, 0.25, 0.3, ratings=5),
    "2 experts, 8 of .6": experts(2, 0.6, 0.6),
    "experts for each class": per_class,
    "skill falls with difficulty": lambda r, n: crowd(r, n, flat(r, [(20, 0.6, 0.95)], 3), 3, 5, hard=0.4),
    "wrong labels missing more often": lambda r, n: crowd(r, n, flat(r, [(20, 0.5, 0.8)], 3), 3, 5, hidden=0.5),
    "one worker with most labels": lambda r, n: crowd(r, n, flat(r, [(20, 0.6, 0.8)], 3), 3, 2, busy=1.0),
    "30 % inverted": inverted,
    "two labels per item": lambda r, n: crowd(r, n, flat(r, [(20, 0.6, 0.9)], 3), 3, 2),
    "prevalence .02": lambda r, n: crowd(r, n, flat(r, [(20, 0.7, 0.95)], 2), 2, 5, prevalence=np.array([0.98, 0.02])),
    "20 classes, 3 labels": lambda r, n: crowd(r, n, flat(r, [(20, 0.4, 0.8)], 20), 20, 3),
    "20 classes, 3 labels, 100 items": lambda r, n: crowd(r, 100, flat(r, [(20, 0.4, 0.8)], 20), 20, 3),
}


def measure(labels: Labels, truth: np.ndarray) -> tuple[list[float], bool]:
    """Accuracy and log-loss of the vote, of `dawid_skene` and the default; whether that doubts."""
    options, ratings = Options(ordered=False), np.diff(labels.item_ptr)[:, None]
    vote = (labels.vote_share() * ratings + 1 / len(labels.classes)) / (ratings + 1)
    found, rival = aggregate(labels, options=options), aggregate(labels, DawidSkene(rho=0.0), options)
    probabilities = vote, rival.probability, found.probability
    return [f(p, truth) for p in probabilities for f in (accuracy, log_loss)], bool(found.doubt)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, metavar="N", help="draws of each kind")
    parser.add_argument("--items", type=int, default=500, metavar="N", help="items of each draw")
    arguments = parser.parse_args()
    print(f"{'crowd':<46} vote            dawid_skene     default         equal  doubt")
    for name, kind in KINDS.items():
        draws = [kind(np.random.default_rng(seed), arguments.items) for seed in range(arguments.seeds)]
        found = [measure(*draw) for draw in draws]
        m, equal = np.mean([row for row, _ in found], axis=0), np.log(len(draws[0][0].classes))
        shown = "   ".join(f"{m[i]:.3f} / {m[i + 1]:.3f}" for i in (0, 2, 4))
        worse = "worse" if m[5] > min(m[1], equal) + 0.01 else ""
        print(f"{name:<46} {shown}   {equal:.3f}  {sum(doubt for _, doubt in found)}  {worse}", flush=True)


if __name__ == "__main__":
    main()
