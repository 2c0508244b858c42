"""Ordered labels: mean absolute error of what the models say, beside plain means and medians.

    python benchmarks/research/crowd/ordered.py DATA_DIR [--seeds N] [--people FOLDER ...] [--simulated N]

DATA_DIR as in mixed.py; the sets whose classes are 3 to 12 whole numbers are read. Means, medians and one person are of
all labels of an item, of the judges' alone, and of the one person's. Seeds are those of the folds. --people names
folders of people alone, with labels.tsv (person TAB item TAB label) and gold.tsv (item TAB label), whose classes are
degrees. Simulated crowds have 100 to 1,500 items, 8 to 60 workers, 4 to 7 classes, 2 to 8 labels per item, workers
whose labels spread by .4 to 1.2 classes and whose biases have a standard deviation of up to .8. With them
come crowds whose labels of an item share an error (400 items, 5 classes, spread .8, mean of N / 10 crowds each), and
sparse scores from 0 to 100, as of how much anger a headline shows: most are near 0, and many labels there are 0.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.degrees import are_degrees
from hutch.crowd.data.labels import Labels, from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.calibration import log_loss
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.ordered import ratings, scale
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.crowd.report import krippendorff_alpha

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.crowd.models.simulated_ratings import simulate_ratings  # noqa: E402

ALIKE = (DawidSkene, TwoLevel, Ordinal)
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
    if not are_degrees(names):
        return
    labels = from_triples(people + judged, classes=names)
    alphas = [krippendorff_alpha(labels, level) for level in ("nominal", "ordinal", "interval")]
    print(f"{folder.name}: {labels.items} items; alpha " + ", ".join(f"{alpha:.3f}" for alpha in alphas))
    for name, rows in (("labels", people + judged), ("judges' labels", judged), ("one person", people)):
        some = from_triples(rows, classes=names)
        show(name, some, truth, some.vote_share())
    for model in ALIKE:
        show(model.name, labels, truth, aggregate(labels, model()).probability)
    shares = tuple(1.0 + list(truth.values()).count(name) for name in names)
    show("ordinal, true shares", labels, truth, aggregate(labels, Ordinal(class_prior=shares)).probability)
    reference = tuple({row[0] for row in people})
    for seed in range(seeds):
        show(f"mixed, seed {seed}", labels, truth, aggregate(labels, Mixed(reference=reference, seed=seed)).probability)
    taught(people, judged, truth, seeds)
    show("mixed online", labels, truth, aggregate(labels, Mixed(reference=reference), Options("online")).probability)


def taught(people: list[Row], judged: list[Row], truth: dict[str, str], seeds: int) -> None:
    """Print what a softmax regression on the labels' values reaches that is taught by the truths of other items."""
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import KFold, cross_val_predict
    except ImportError:
        print("  taught by truths: wanted scikit-learn")
        return
    items = {row[1]: i for i, row in enumerate(people) if row[1] in truth}
    judges = {name: j for j, name in enumerate(sorted({row[0] for row in judged}))}
    features, true = np.zeros((len(items), 1 + len(judges))), np.zeros(len(items))
    for name, task, label in people + judged:
        if task in items:
            features[items[task], 1 + judges[name] if name in judges else 0] = (float(label) - 3) / 2
            true[items[task]] = float(truth[task])
    errors, values = [], np.unique(true)
    for seed in range(seeds):
        folds = KFold(10, shuffle=True, random_state=seed)
        model = LogisticRegression(C=0.1, max_iter=500)
        chances = cross_val_predict(model, features, true.astype(int), cv=folds, method="predict_proba")
        errors.append(np.abs(ratings(chances, values).median - true).mean())
    print(f"  taught by truths       median {np.mean(errors):.4f}")


def people_alone(folder: Path) -> None:
    """One set of people alone."""
    rows, truth = triples(folder / "labels.tsv"), read_gold(folder / "gold.tsv")
    names = sorted({row[2] for row in rows} | set(truth.values()), key=float)
    labels = from_triples(rows, classes=names)
    print(f"{folder.name}: {labels.items} items, {len(labels)} labels, {len(truth)} truths")
    show("labels", labels, truth, labels.vote_share())
    for model in ALIKE:
        show(model.name, labels, truth, aggregate(labels, model()).probability)


def simulated(crowds: int) -> None:
    """Mean errors of medians and log-losses on simulated crowds, and in how many a model is the best."""
    errors: dict[str, list[float]] = {}
    losses: dict[str, list[float]] = {}
    for seed in range(crowds):
        random = np.random.default_rng(1000 + seed)
        sizes = random.integers((100, 8, 4, 2), (1500, 60, 8, 9)).tolist()
        noise, bias = random.uniform((0.4, 0.0), (1.2, 0.8)).tolist()
        crowd = simulate_ratings(*sizes, noise=noise, bias=bias, seed=seed)
        values, found = scale(crowd.labels.classes), {"labels": crowd.labels.vote_share()}
        found |= {model.name: aggregate(crowd.labels, model()).probability for model in ALIKE}
        for name, probability in found.items():
            error = ratings(probability, values).median - values[crowd.truth]
            errors.setdefault(name, []).append(float(np.abs(error).mean()))
            losses.setdefault(name, []).append(log_loss(probability, crowd.truth))
    least = np.min(list(errors.values()), axis=0)
    print(f"{crowds} simulated crowds: error of the median, log-loss, share of crowds in which it is the least")
    for name, values in errors.items():
        print(f"  {name:<22} {np.mean(values):.4f}   {np.mean(losses[name]):.4f}   {np.mean(values <= least):.2f}")


def rated(seed: int, workers: int, given: int, bias: float, shared: float) -> tuple[Labels, np.ndarray]:
    """Degrees from 1 to 5 with an error of each item that all its labels share, and their truth."""
    random, items = np.random.default_rng(seed), 400
    truth, level = random.choice(5, items, p=random.dirichlet(np.full(5, 3.0))) + 1, bias * random.normal(size=workers)
    spread, seen = 0.8 * np.exp(0.4 * random.normal(size=workers)), truth + shared * random.normal(size=items)
    rows = []
    for i, mine in enumerate(np.argsort(random.random((items, workers)), axis=1)[:, :given].tolist()):
        for w in mine:
            said = round(seen[i] + level[w] + spread[w] * random.normal())
            rows.append((f"w{w}", f"t{i}", str(int(np.clip(said, 1, 5)))))
    return from_triples(rows, classes=list("12345")), truth


def shared_errors(crowds: int) -> None:
    """How often low..high of `ordinal` holds the truth, least and mean, and its mean width."""
    print(f"{crowds} crowds each, an error that the labels of an item share: in 95 %, least, width")
    for workers, given in ((8, 5), (20, 5), (60, 3)):
        for bias in (0.0, 0.4):
            for shared in (0.0, 0.4, 0.8):
                held, wide = [], []
                for seed in range(crowds):
                    labels, truth = rated(seed, workers, given, bias, shared)
                    result = aggregate(labels, Ordinal())
                    found = ratings(result.probability, scale(labels.classes))
                    true = truth[[int(task[1:]) for task in labels.item_names]]
                    held.append(np.mean((found.low <= true) & (true <= found.high)))
                    wide.append(np.mean(found.high - found.low))
                case = f"{workers} workers, {given} labels, bias {bias}, shared {shared}"
                print(f"  {case:<46} {np.mean(held):.3f}   {min(held):.3f}   {np.mean(wide):.2f}", flush=True)


SPARSE: dict[str, dict[str, float]] = {
    "100 items, steps of 5": {},
    "steps of 10": {"step": 10},
    "steps of 1": {"step": 1},
    "5 labels per item": {"ratings": 5},
    "noisy": {"noise": 25},
    "85 % near 0": {"zero": 0.85},
    "500 items": {"items": 500, "workers": 100},
}


def sparse(
    seed: int,
    items: int = 100,
    workers: int = 38,
    ratings: int = 10,
    noise: float = 15,
    zero: float = 0.6,
    step: int = 5,
) -> tuple[Labels, np.ndarray]:
    """Scores from 0 to 100 and their truth, of which a share is near 0."""
    random = np.random.default_rng(seed)
    near = random.random(items) < zero
    truth = np.where(near, random.gamma(1.0, 4.0, items), random.uniform(10, 95, items)).clip(0, 100)
    scale, bias = random.normal(1, 0.25, workers), random.normal(0, 4, workers)
    spread, rows = noise * random.uniform(0.5, 1.5, workers), []
    for i, mine in enumerate(np.argsort(random.random((items, workers)), axis=1)[:, :ratings].tolist()):
        for w in mine:
            felt = truth[i] * scale[w] + bias[w] + random.normal(0, spread[w] * (0.3 + truth[i] / 60))
            felt = 0.0 if truth[i] < 12 and random.random() < 0.6 else felt
            rows.append((f"w{w}", f"t{i}", str(int(np.clip(round(felt / step) * step, 0, 100)))))
    return from_triples(rows), truth


def scores(crowds: int) -> None:
    """Root mean squared errors and biases of the means of sparse scores, beside those of plain means."""
    print(f"{crowds} crowds each, sparse scores: plain mean, bias; mean, bias; error of the median; in 95 %")
    for name, case in SPARSE.items():
        found = []
        for seed in range(crowds):
            labels, truth = sparse(seed, **case)  # type: ignore[arg-type]
            result = aggregate(labels, options=Options(ordered=True))
            assert result.scale is not None
            true = truth[[int(task[1:]) for task in labels.item_names]]
            told, plain = ratings(result.probability, result.scale), labels.vote_share() @ result.scale - true
            off, inside = told.mean - true, (told.low <= true) & (true <= told.high)
            squares = [float(np.sqrt(np.mean(error**2))) for error in (plain, off, told.median - true)]
            found.append([squares[0], plain.mean(), squares[1], off.mean(), squares[2], inside.mean()])
        a, b, c, d, e, held = np.mean(found, axis=0)
        print(f"  {name:<22} {a:5.2f} {b:+.2f}   {c:5.2f} {d:+.2f}   {e:5.2f}   {held:.3f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="divisions into folds")
    parser.add_argument("--people", type=Path, nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--simulated", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    for path in sorted(arguments.data.glob("*/one.tsv")):
        measure(path.parent, arguments.seeds)
    for folder in arguments.people:
        people_alone(folder)
    if arguments.simulated:
        simulated(arguments.simulated)
        shared_errors(max(arguments.simulated // 10, 1))
        scores(max(arguments.simulated // 10, 1))


if __name__ == "__main__":
    main()
