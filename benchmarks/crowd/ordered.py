"""Ordered labels of people and judges: mean absolute error of what the model says, beside plain means and medians.

    python benchmarks/crowd/ordered.py DATA_DIR [--seeds N]

DATA_DIR as in mixed.py; the sets whose classes are 3 to 12 whole numbers are read. Means, medians and one person are of
all labels of an item, of the judges' alone, and of the one person's. Seeds are those of the folds.
"""

import argparse
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import Labels, from_triples, read_gold, read_labels
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.ordered import ratings, scale, whole_numbers
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.report import krippendorff_alpha

Row = tuple[str, str, str]


def triples(path: Path) -> list[Row]:
    """The rows of a file."""
    labels = read_labels(path)
    return [
        (labels.worker_names[w], labels.item_names[i], labels.classes[k])
        for w, i, k in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    ]


def show(name: str, labels: Labels, truth: dict[str, str], probability: np.ndarray) -> None:
    """Print the errors of mode, median and mean."""
    values = scale(labels.classes)
    true = np.array([float(truth.get(task, "nan")) for task in labels.item_names])
    known, found = np.isfinite(true), ratings(probability, values)
    guesses = values[probability.argmax(axis=1)], found.median, found.mean
    errors = [float(np.abs(guess[known] - true[known]).mean()) for guess in guesses]
    inside = np.mean((true >= found.low)[known] & (true <= found.high)[known])
    print(f"  {name:<22} mode {errors[0]:.4f}   median {errors[1]:.4f}   mean {errors[2]:.4f}   in 95 % {inside:.3f}")


def measure(folder: Path, seeds: int) -> None:
    """One set."""
    people, judged, truth = triples(folder / "one.tsv"), triples(folder / "judges.tsv"), read_gold(folder / "truth.tsv")
    names = sorted({row[2] for row in people + judged} | set(truth.values()), key=lambda name: (len(name), name))
    if not whole_numbers(names):
        return
    labels = from_triples(people + judged, classes=names)
    alphas = [krippendorff_alpha(labels, level) for level in ("nominal", "ordinal", "interval")]
    print(f"{folder.name}: {labels.items} items; alpha " + ", ".join(f"{alpha:.3f}" for alpha in alphas))
    for name, rows in (("labels", people + judged), ("judges' labels", judged), ("one person", people)):
        some = from_triples(rows, classes=names)
        show(name, some, truth, some.vote_share())
    show("dawid_skene", labels, truth, aggregate(labels, DawidSkene()).probability)
    show("two_level", labels, truth, aggregate(labels, TwoLevel()).probability)
    reference = tuple({row[0] for row in people})
    for seed in range(seeds):
        show(f"mixed, seed {seed}", labels, truth, aggregate(labels, Mixed(reference=reference, seed=seed)).probability)
    show("mixed online", labels, truth, aggregate(labels, Mixed(reference=reference), Options("online")).probability)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="divisions into folds")
    arguments = parser.parse_args()
    for path in sorted(arguments.data.glob("*/one.tsv")):
        measure(path.parent, arguments.seeds)


if __name__ == "__main__":
    main()
