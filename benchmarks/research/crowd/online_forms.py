"""Online forms of crowd models beside batch and the vote share, on crowds whose truth is known.

    python benchmarks/research/crowd/online_forms.py [--crowds N] [--items N] [--seed N] [--blocks]
        [--people FOLDER ...]

Each simulated crowd has --items items with 5 labels each; half of the crowds have 60 workers, half 200. `nominal`
crowds have 4 classes and are drawn by Mineiro's model, `ratings` are degrees from 1 to 5, `questions` have 2 classes,
as each label of tasks with several labels has. Printed are means over the crowds of accuracy and log-loss of the vote
share, of batch, and of one pass, afterwards and (not calibrated) of each item before it was learned (two_level: after),
and the crowd that is farthest below batch. Scores are 0, 2, .. 100: the truth with a bias and a noise of each worker.
--blocks varies the first block, the others and the iterations. --people names folders with labels.tsv (worker TAB item
TAB label) and gold.tsv (item TAB label). Streams of a million labels in ten pieces show their state, memory, time.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import Labels, from_triples
from hutch.crowd.models import block_stream
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.model import CrowdModel
from hutch.crowd.models.nominal import Nominal
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.online import stream_of
from hutch.crowd.models.ordered import ratings
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.crowd.simulate import simulate

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.crowd.models.simulated_ratings import simulate_ratings  # noqa: E402

Array = np.ndarray


@dataclass
class Crowd:
    """Labels and the truth, -1 where it is not known."""

    labels: Labels
    truth: Array


KINDS: dict[str, tuple[Callable[[int, int, int], Crowd], tuple[type[CrowdModel], ...]]] = {
    "nominal": (lambda i, w, s: simulate(i, w, 4, 5, s), (TwoLevel, Nominal, DawidSkene, OneCoin)),
    "ratings": (lambda i, w, s: simulate_ratings(i, w, 5, 5, seed=s), (TwoLevel, Ordinal)),
    "questions": (lambda i, w, s: simulate(i, w, 2, 5, s), (TwoLevel, DawidSkene)),
}


def figures(probability: Array, truth: Array) -> tuple[float, float]:
    """Accuracy and log-loss."""
    return accuracy(probability, truth), log_loss(probability, truth)


def online(model: CrowdModel, crowd: Crowd) -> tuple[Array, Array]:
    """Posteriors after one pass, and of each item before it was learned."""
    before = []
    after = aggregate(crowd.labels, model, Options("online"), report=lambda _, p: before.append(p.posterior))
    return after.probability, np.concatenate(before)


def compare(name: str, crowds: list[Crowd], models: Iterable[type[CrowdModel]]) -> None:
    """Print the means over some crowds, a line for each model."""
    votes = [figures(crowd.labels.vote_share(), crowd.truth) for crowd in crowds]
    print(f"{name}: vote share {np.mean(votes, axis=0).round(4).tolist()}, {len(crowds)} crowds")
    for kind in models:
        batch = [figures(aggregate(crowd.labels, kind()).probability, crowd.truth) for crowd in crowds]
        after, before = zip(*[[figures(p, c.truth) for p in online(kind(), c)] for c in crowds], strict=True)
        cells = [f"{np.mean(found, axis=0)[0]:.4f} {np.mean(found, axis=0)[1]:.3f}" for found in (batch, after, before)]
        worst = int(np.argmin(np.subtract(after, batch)[:, 0]))
        line = f"  {kind.name:<12} batch {cells[0]}   one pass {cells[1]}   before learning {cells[2]}"
        print(f"{line}   farthest below batch {batch[worst][0]:.4f} {after[worst][0]:.4f}", flush=True)


def blocks(crowds: dict[str, list[Crowd]]) -> None:
    """Print what the sizes of blocks and the iterations do, as accuracy and log-loss after one pass."""
    for first, size, rounds in ((2000, 2000, 2), (8000, 500, 2), (8000, 2000, 1), (8000, 2000, 2), (8000, 2000, 10),
                                (8000, 8000, 2), (16000, 2000, 2)):  # fmt: skip
        block_stream.FIRST, block_stream.BLOCK, block_stream.ROUNDS = first, size, rounds
        cells = []
        for kind, model in (("nominal", DawidSkene), ("nominal", OneCoin), ("ratings", Ordinal)):
            found = np.mean([figures(online(model(), crowd)[0], crowd.truth) for crowd in crowds[kind]], axis=0)
            cells.append(f"{model.name} {found[0]:.4f} {found[1]:.3f}")
        print(f"  first {first:>5}, blocks of {size:>4}, {rounds:>2} rounds: {'   '.join(cells)}", flush=True)


def scores(crowds: int, items: int) -> None:
    """Print the error of scores from 0 to 100, and how often low..high holds the truth."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(crowds):
        random = np.random.default_rng(seed)
        truth, bias, spread = (
            random.normal(50, 18, items),
            random.normal(0, 8, 60),
            6 * np.exp(random.normal(0, 0.5, 60)),
        )
        workers = np.argsort(random.random((items, 60)), axis=1)[:, :5]
        said = truth[:, None] + bias[workers] + spread[workers] * random.normal(size=workers.shape)
        grid = np.clip(2 * np.round(said / 2), 0, 100).astype(int)
        rows = [(f"w{w}", f"t{i}", str(y)) for i in range(items) for w, y in zip(workers[i], grid[i], strict=True)]
        labels = from_triples(rows, classes=[str(k) for k in range(0, 101, 2)])
        found.setdefault("mean of the labels", []).append((np.sqrt(np.mean((grid.mean(axis=1) - truth) ** 2)), np.nan))
        for method in ("batch", "online"):
            result = aggregate(labels, Ordinal(), Options(method, ordered=True))
            rated = ratings(result.probability, result.scale)
            inside = np.mean((truth >= rated.low - 1) & (truth <= rated.high + 1))
            found.setdefault(f"ordinal {method}", []).append((np.sqrt(np.mean((rated.mean - truth) ** 2)), inside))
    print(f"scores: root mean squared error, share in low..high, {crowds} crowds of {items} items")
    for name, values in found.items():
        print(f"  {name:<20} {np.mean(values, axis=0)[0]:.3f}   {np.mean(values, axis=0)[1]:.3f}", flush=True)


def stream(model: CrowdModel, items: int) -> None:
    """Print state, memory and time of a stream of many pieces."""
    labels = simulate_ratings(items // 10, 500, 5, 5, seed=1).labels
    learner, seconds = stream_of(model, labels.classes, 1 << 12), time.process_time()
    for number in range(10):
        learner.learn(learner.in_slots(labels), True)
        if number in (0, 9):
            size = sum(array.nbytes for array in (*learner.state.workers.values(), *learner.state.shared.values()))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            count = (number + 1) * len(labels)
            print(f"  {model.name:<12} {count:>8} labels: state {size / 2**20:.2f} MiB, peak {peak:.0f} MiB")
    print(
        f"  {model.name:<12} {(time.process_time() - seconds) / (10 * len(labels)) * 1e6:.2f} CPU s per million labels"
    )


def people(folder: Path) -> Crowd:
    """A crowd of people."""
    labels, gold = read_labels(folder / "labels.tsv"), read_gold(folder / "gold.tsv")
    codes = {name: code for code, name in enumerate(labels.classes)}
    return Crowd(labels, np.array([codes.get(gold.get(task, ""), -1) for task in labels.item_names], np.int32))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowds", type=int, default=10)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--blocks", action="store_true")
    parser.add_argument("--people", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    made = {
        name: [make(given.items, (60, 200)[n % 2], given.seed + n) for n in range(given.crowds)]
        for name, (make, _) in KINDS.items()
    }
    for name, (_, models) in KINDS.items():
        compare(name, made[name], models)
    if given.people:
        compare("people", [people(folder) for folder in given.people], (TwoLevel, Nominal, DawidSkene, OneCoin))
        degrees = [folder for folder in given.people if folder.name in ("adult", "relevance")]
        for folder in degrees:
            compare(folder.name, [people(folder)], (TwoLevel, Ordinal))
    scores(given.crowds // 2, given.items // 2)
    if given.blocks:
        blocks(made)
    for model in (DawidSkene(), OneCoin(), Ordinal()):
        stream(model, 200_000)
