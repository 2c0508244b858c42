"""Workers who are not independent: copies, judges who err together, small panels; and intervals of workers.

    python benchmarks/research/crowd/dependence.py [DATA_DIR ...] [--honest N] [--small]

Each DATA_DIR holds one folder per set, with labels.tsv (worker TAB task TAB label) and gold.tsv (task TAB label), which
only scores; `--all-judges` and the default are one run there. "fixed" is `--set rho=0.1`, which assumes one correlation
for all crowds. With --small, few workers and few items are drawn from each set. Without a folder: simulated crowds of
1,000 items, N honest crowds that should raise no alarm, and how often the intervals of `--workers` hold how often a
worker is right.
"""

import argparse
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.copies import find_copies
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.crowd.simulate import simulate

Crowd = tuple[Labels, np.ndarray]


def labels_of(item: np.ndarray, worker: np.ndarray, said: np.ndarray, shape: tuple[int, int, int]) -> Labels:
    """Labels of so many items by so many workers in so many classes."""
    codes = np.stack([worker, item, said], axis=1).astype(np.int32)
    names = [[str(n) for n in range(size)] for size in shape]
    return from_codes(codes, names[1], names[0], names[2], classes=names[2])


def crowd(
    seed: int, workers: int, ratings: int, classes: int, right: tuple[float, float], copies: int = 0,
    source: float | None = None, rate: float = 1.0, items: int = 1000,
) -> Crowd:  # fmt: skip
    """Labels and truth; the first workers copy a source that is right in a share, or random, at a rate."""
    random = np.random.default_rng(seed)
    truth, skill = random.integers(classes, size=items), random.uniform(*right, workers)
    item = np.repeat(np.arange(items), ratings)
    worker = np.argsort(random.random((items, workers)), axis=1)[:, :ratings].reshape(-1)

    def noisy(of: np.ndarray, share: np.ndarray | float) -> np.ndarray:
        wrong = (of + random.integers(1, classes, size=len(of))) % classes
        return np.where(random.random(len(of)) < share, of, wrong)

    shared = noisy(truth, 1 / classes if source is None else source)
    copied = (worker < copies) & (random.random(len(item)) < rate)
    said = np.where(copied, shared[item], noisy(truth[item], skill[worker]))
    return labels_of(item, worker, said, (items, workers, classes)), truth.astype(np.int32)


def row(name: str, labels: Labels, truth: np.ndarray) -> list[float]:
    """Print and return accuracy and log-loss of the vote, of one assumed correlation, and of the default."""
    options = Options(ordered=False)
    vote, fixed, found = labels.vote_share(), aggregate(labels, TwoLevel(rho=0.1), options), aggregate(labels)
    numbers = [accuracy(vote, truth), log_loss(fixed.probability, truth)]
    numbers += [accuracy(found.probability, truth), log_loss(found.probability, truth), np.log(len(labels.classes))]
    voices = len(np.unique(labels.workers)) - sum(len(g.workers) - 1 for g in found.copies if g.one_voice)
    shown = f"{numbers[0]:.3f}   {numbers[1]:.3f}   {numbers[2]:.4f} / {numbers[3]:.4f}   {numbers[4]:.3f}"
    print(f"{name:<34} {shown}   {voices:>3}   {found.doubt[:40]}", flush=True)
    return numbers


def data_sets(folder: Path) -> None:
    """A row for each set, and their mean."""
    print(f"\n{folder.name:<34} vote    fixed   default           uniform  voices")
    rows = []
    for path in sorted(folder.glob("*/labels.tsv")):
        labels = read_labels(path, gold=read_gold(path.parent / "gold.tsv"))
        truth, unknown = labels.gold, np.full_like(labels.gold, -1)
        rows.append(row(path.parent.name, Labels(**vars(labels) | {"gold": unknown}), truth))
    mean = np.mean(rows, axis=0)
    print(f"{'mean of ' + str(len(rows)):<34} " + "   ".join(f"{value:.4f}" for value in mean))


def small(folder: Path, draws: int = 3) -> None:
    """How often small parts of each set are worse than equal shares by more than .01 of log-loss.

    "by chance" is how many would be if each truth were drawn from the probabilities that are given: few items scatter.
    """
    print(f"\n{folder.name:<26} log-loss over that of equal shares, mean   above .01   by chance   most")
    for workers, items in ((3, None), (4, None), (5, None), (None, 10), (None, 20), (3, 10), (5, 10)):
        excess, chance = [], 0.0
        for path in sorted(folder.glob("*/labels.tsv")):
            labels = read_labels(path, gold=read_gold(path.parent / "gold.tsv"))
            given = np.bincount(labels.workers, minlength=len(labels.worker_names))
            for seed in range(draws):
                random = np.random.default_rng(seed)
                busy = np.flatnonzero(given >= min(100, np.sort(given)[-5]))
                mine = busy if workers is None else random.choice(busy, min(workers, len(busy)), replace=False)
                seen = np.unique(labels.label_items[np.isin(labels.workers, mine)])
                known = seen[labels.gold[seen] >= 0]
                chosen = known if items is None else random.choice(known, min(items, len(known)), replace=False)
                keep = np.isin(labels.workers, mine) & np.isin(labels.label_items, chosen)
                codes = np.stack([labels.workers, labels.label_items, labels.labels], axis=1)[keep]
                part = labels_of_codes(codes, labels)
                truth = labels.gold[[labels.item_names.index(name) for name in part.item_names]]
                found, least = aggregate(part).probability, 0.01 + np.log(len(labels.classes))
                excess.append(log_loss(found, truth) - least + 0.01)
                drawn = (random.random((400, len(found), 1)) > found.cumsum(axis=1)).sum(axis=2)
                drawn = drawn.clip(0, found.shape[1] - 1)
                losses = -np.log(found[np.arange(len(found)), drawn]).mean(axis=1)
                chance += float((losses > least).mean())
        name = f"{workers or 'all'} workers, {items or 'all'} items"
        above = np.sum(np.array(excess) > 0.01)
        shown = f"{above} of {len(excess)}   {chance:.1f}   {max(excess):+.3f}"
        print(f"{name:<26} {np.mean(excess):+.3f}   {shown}", flush=True)


def labels_of_codes(codes: np.ndarray, labels: Labels) -> Labels:
    """Some of the labels, with the same classes."""
    order = np.unique(codes[:, 1], return_inverse=True)
    names = [labels.item_names[i] for i in order[0].tolist()]
    rows = np.stack([codes[:, 0], order[1], codes[:, 2]], axis=1).astype(np.int32)
    return from_codes(rows, labels.worker_names, names, labels.classes, classes=labels.classes)


CASES: dict[str, dict[str, object]] = {
    "50 independent labels, .3 to .6": {"workers": 100, "ratings": 50, "classes": 4, "right": (0.3, 0.6)},
    "50 independent labels, .5 to .7": {"workers": 100, "ratings": 50, "classes": 2, "right": (0.5, 0.7)},
    "5 independent labels, .5 to .9": {"workers": 40, "ratings": 5, "classes": 4, "right": (0.5, 0.9)},
    "10 experts": {"workers": 10, "ratings": 10, "classes": 4, "right": (0.98, 1.0)},
    "4 of 10 collude": {"workers": 10, "ratings": 5, "classes": 4, "right": (0.8, 0.8), "copies": 4},
    "4 of 10 collude, 2 classes": {"workers": 10, "ratings": 5, "classes": 2, "right": (0.8, 0.8), "copies": 4},
    "4 of 10 collude, 100 items": {
        "workers": 10, "ratings": 5, "classes": 4, "right": (0.8, 0.8), "copies": 4, "items": 100
    },
    "4 of 10 copy seven labels of ten": {
        "workers": 10, "ratings": 5, "classes": 4, "right": (0.8, 0.8), "copies": 4, "rate": 0.7
    },
    "7 of 20 collude": {"workers": 20, "ratings": 5, "classes": 4, "right": (0.8, 0.8), "copies": 7},
    "2 of 5 collude": {"workers": 5, "ratings": 3, "classes": 4, "right": (0.8, 0.8), "copies": 2},
    "10 of 30 copy one who is right in .55": {
        "workers": 30, "ratings": 5, "classes": 2, "right": (0.7, 0.7), "copies": 10, "source": 0.55
    },
    "5 judges who know nothing": {"workers": 5, "ratings": 5, "classes": 4, "right": (0.25, 0.25)},
    "3 judges who know nothing, 10 items": {
        "workers": 3, "ratings": 3, "classes": 4, "right": (0.25, 0.25), "items": 10
    },
}  # fmt: skip


def honest(count: int) -> int:
    """How many of so many honest crowds raise an alarm."""
    alarms = 0
    for seed in range(count):
        random = np.random.default_rng(seed)
        items, workers = int(random.choice([60, 200, 1000, 2000])), int(random.integers(5, 61))
        classes, ratings = int(random.integers(2, 6)), int(min(workers, random.integers(2, 13)))
        right = [(1 / classes + 0.1, 0.95), (0.85, 1.0), (1 / classes, 1 / classes + 0.15)][seed % 3]
        if seed % 2:
            labels = simulate(items, workers, classes, float(ratings), seed=seed).labels
        else:
            labels = crowd(seed, workers, ratings, classes, right, items=items)[0]
        alarms += bool(find_copies(labels))
    return alarms


def intervals(labels_each: int, crowds: int = 10) -> dict[float, float]:
    """How often intervals hold the probability of a right label, by that probability."""
    rates, held = np.repeat([0.5, 0.65, 0.8, 0.95], 5), []
    for seed in range(crowds):
        random, classes = np.random.default_rng(seed), 2 + 2 * (seed % 2)
        truth = random.integers(classes, size=1000)
        skill = np.concatenate([random.uniform(0.6, 0.9, 50), rates])
        worker = np.argsort(random.random((1000, 50)), axis=1)[:, :4].reshape(-1)
        item = np.repeat(np.arange(1000), 4)
        for few in range(50, 70):
            worker = np.append(worker, np.full(labels_each, few))
            item = np.append(item, random.choice(1000, labels_each, replace=False))
        wrong = (truth[item] + random.integers(1, classes, size=len(item))) % classes
        said = np.where(random.random(len(item)) < skill[worker], truth[item], wrong)
        found = aggregate(labels_of(item, worker, said, (1000, 70, classes)), options=Options(ordered=False)).report()
        held.append(((found.low <= skill) & (skill <= found.high))[50:])
    shares = np.mean(held, axis=0)
    return {float(rate): float(shares[rates == rate].mean()) for rate in np.unique(rates)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="*", help="without any, simulated crowds only")
    parser.add_argument("--small", action="store_true", help="few workers and items of each set")
    parser.add_argument("--honest", type=int, default=200, metavar="N", help="crowds that should raise no alarm")
    arguments = parser.parse_args()
    for folder in arguments.data:
        small(folder) if arguments.small else data_sets(folder)
    if arguments.data:
        return
    print(f"{'simulated':<34} vote    fixed   default           uniform  voices")
    for name, case in CASES.items():
        row(name, *crowd(0, **case))  # type: ignore[arg-type]
    print(f"\nalarms in {arguments.honest} honest crowds: {honest(arguments.honest)}")
    print("\nintervals hold how often a worker is right, who is right in .5, .65, .8, .95")
    for count in (3, 8, 20, 100):
        print(f"{count:>4} labels  " + "  ".join(f"{share:.2f}" for share in intervals(count).values()), flush=True)


if __name__ == "__main__":
    main()
