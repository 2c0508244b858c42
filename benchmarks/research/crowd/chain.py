"""A crowd's labels and a learner together (crowd_em) beside aggregating first and training then.

    python benchmarks/research/crowd/chain.py [--river PYTHON] [--seeds N] [--sets NAME,...] [--workers N,...]
        [--stream]

Simulated crowds over real features: scikit-learn's digits, River's ImageSegments and Phishing (PYTHON is an interpreter
in whose environment `pip install river` was run; without it they are left out) and bags of words. Every item gets R
labels of different workers, 70 % of the items are labelled, the rest is for testing. Workers have a skill, their own
confusions, and a habit; a tenth of them answers from habit alone. 15 % of the items are murky: labels of these mostly
come from habit.
--stream measures the rule that asks while 1 - max posterior > 0.3 instead.
"""

import argparse
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from hutch.chain import Chain
from hutch.core.chain.engine import Engine
from hutch.core.chain.reduction import Kernels, Labels, LayerConfig, Parameters, Predictions, Reduction
from hutch.core.chain.registry import Registry
from hutch.core.config.adapter import checked
from hutch.core.data.sources import to_batches
from hutch.core.kernel.abi import example_at, kernel, layer_at, learn_next, predict_next, view
from hutch.crowd.data.labels import Labels as CrowdLabels
from hutch.crowd.data.labels import from_codes
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.two_level import TwoLevel
from hutch.plugins.manager import installed

BITS = 22
LINEAR = {"linear": {"loss": "logistic", "initial_t": 0.1}}


@dataclass(frozen=True)
class Items:
    """Items with known classes: the features of each as text, and its class from 0."""

    name: str
    features: list[str]
    truth: np.ndarray
    classes: int

    def part(self, places: np.ndarray) -> "Items":
        """Some of the items, in this order."""
        return Items(self.name, [self.features[i] for i in places], self.truth[places], self.classes)


def dense(name: str, matrix: np.ndarray, truth: np.ndarray) -> Items:
    """Columns scaled to 0 to 1."""
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    matrix = (matrix - low) / np.maximum(high - low, 1e-9)
    rows = [" ".join(f"{j}:{x:.5g}" for j, x in enumerate(row) if x) for row in matrix]
    return Items(name, rows, truth.astype(np.int64), int(truth.max()) + 1)


def text(name: str, classes: int, count: int, seed: int = 0) -> Items:
    """Bags of 12 words, a third of them from the class's own 60 words of 4,000."""
    random = np.random.default_rng(seed)
    truth = random.integers(classes, size=count)
    own = random.integers(4000, size=(classes, 60))
    topical = random.random((count, 12)) < 1 / 3
    words = np.where(topical, own[truth[:, None], random.integers(60, size=(count, 12))], random.zipf(1.3, (count, 12)))
    return Items(name, [" ".join(f"w{w}" for w in row) for row in words % 4000], truth, classes)


RIVER = """
import sys
import numpy as np
from river import datasets
for name in ("ImageSegments", "Phishing"):
    pairs = list(getattr(datasets, name)())
    keys, classes = sorted(pairs[0][0]), sorted({str(y) for _, y in pairs})
    np.savez(f"{sys.argv[1]}/{name}.npz", x=np.array([[float(x[k]) for k in keys] for x, _ in pairs]),
             y=np.array([classes.index(str(y)) for _, y in pairs]))
"""


def data_sets(river: str | None) -> list[Items]:
    """All sets."""
    digits = load_digits()
    found = [dense("digits", digits.data, digits.target)]
    if river:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([river, "-c", RIVER, folder], check=True)
            for name in ("ImageSegments", "Phishing"):
                with np.load(Path(folder) / f"{name}.npz") as arrays:
                    found.append(dense(name, arrays["x"], arrays["y"]))
    return [*found, text("text2", 2, 3000), text("text5", 5, 3000), text("text20", 20, 3000)]


class Crowd:
    """Workers who answer when asked.

    Args:
        truth: class of each item.
        classes: how many.
        workers: how many.
        seed: of all draws.
    """

    def __init__(self, truth: np.ndarray, classes: int, workers: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.truth, self.workers = truth, workers
        skill = self.random.beta(2.5, 2, workers) * (self.random.random(workers) > 0.1)
        rows = self.random.dirichlet(np.full(classes, 0.5), (workers, classes)) * (1 - np.eye(classes))
        rows /= np.maximum(rows.sum(axis=2, keepdims=True), 1e-12)
        self.habit = self.random.dirichlet(np.full(classes, 1.0), workers)
        known = (skill + (1 - skill) / classes)[:, None, None]  # who does not know guesses right by chance
        skilled = known * np.eye(classes) + (1 - known) * rows
        spam = (skill == 0)[:, None, None]
        self.rows = np.where(spam, self.habit[:, None, :], skilled)
        self.clarity = np.where(self.random.random(len(truth)) < 0.15, 0.15, 1.0)

    def ask(self, item: int, worker: int) -> int:
        """A worker's label of an item."""
        g = self.clarity[item]
        return int(
            self.random.choice(
                self.rows.shape[1], p=g * self.rows[worker, self.truth[item]] + (1 - g) * self.habit[worker]
            )
        )

    def labels(self, count: int) -> list[list[tuple[int, int]]]:
        """(worker, label) pairs of every item, `count` each, of different workers."""
        people = [self.random.choice(self.workers, count, replace=False) for _ in self.truth]
        return [[(int(w), self.ask(i, w)) for w in some] for i, some in enumerate(people)]


def block(pairs: Sequence[tuple[int, int]], features: str) -> str:
    """The lines of an item; the features stand on its last line only."""
    if not pairs:
        return f"|item {features}\n"
    lines = [f"{label + 1} |worker w{worker}" for worker, label in pairs]
    return "\n".join(lines) + f" |item {features}\n"


def batch(chain: Engine, blocks: Sequence[str]) -> Any:
    """All blocks as one batch of the chain."""
    [found] = to_batches("\n".join(blocks), chain.parser)
    return found


def unlabelled(chain: Engine, items: Items) -> Any:
    """A batch of items without labels."""
    return batch(chain, [block([], features) for features in items.features])


@dataclass
class Result:
    """Test error of the learner; accuracy and log-loss of the posteriors of the labelled items."""

    error: float
    accuracy: float
    log_loss: float


def scored(chain: Engine, test: Items, posterior: np.ndarray, truth: np.ndarray) -> Result:
    """Score a trained chain and the posteriors of the items that it was trained on."""
    predicted = chain.run_batch(unlabelled(chain, test), learn=False)[0].predictions
    gold = truth.astype(np.int32)
    return Result(
        float(np.mean(predicted != test.truth + 1)), accuracy(posterior, gold), log_loss(posterior.astype(float), gold)
    )


def crowd_chain(items: Items, passes: int, teach: int, **parameters: Any) -> Callable[..., Result]:
    """crowd_em with so many passes that infer and so many that teach a fresh learner."""
    classes = items.classes
    layers = [{"crowd_em": {"classes": classes, "passes": passes, **parameters}}]
    layers += [{"one_against_all": {"classes": classes}}, LINEAR]

    def run(train: Items, test: Items, labels: list[list[tuple[int, int]]]) -> Result:
        chain = Chain.from_config({"weights": {"bits": BITS}, "chain": layers})
        data = batch(chain, [block(*pair) for pair in zip(labels, train.features, strict=True)])
        for number in range(passes + teach):
            if number:
                chain.end_pass()
            outputs, _ = chain.run_batch(data, scores=True)
        posterior = outputs.scores[~np.isnan(outputs.predictions)]
        return scored(chain, test, posterior, train.truth)

    return run


class NoParameters(Parameters):
    """None."""


SOFT = np.dtype([("targets", "u8"), ("classes", "u8")])
soft_at = view(SOFT)


@kernel
def soft_learn(layer, example, label, importance, offset):
    """Learn with the soft label of the example's number."""
    s, e = soft_at(layer_at(layer)[0].state)[0], example_at(example)[0]
    e.targets = s.targets + np.uint64(4) * s.classes * np.uint64(e.group)
    prediction = learn_next(layer, example, label, importance, offset)
    e.targets = np.uint64(0)
    return prediction


@kernel
def soft_predict(layer, example, label, importance, offset):
    """Predict."""
    return predict_next(layer, example, label, importance, offset)


class SoftLabels(Reduction):
    """Gives example i row i of `targets`."""

    name = "soft_labels"
    Parameters = NoParameters
    asks = (Labels.MULTICLASS, Predictions.CLASS)
    targets: np.ndarray

    @property
    def kernels(self) -> Kernels:
        """The compiled functions."""
        return Kernels(soft_learn, soft_predict)

    def teach(self, targets: np.ndarray) -> None:
        """Set the soft labels (examples, classes)."""
        self.targets = np.ascontiguousarray(targets, np.float32)
        self.state = np.array([(self.targets.ctypes.data, targets.shape[1])], SOFT)


def aggregated(fit: Callable[[CrowdLabels], np.ndarray], hard: bool, passes: int) -> Callable[..., Result]:
    """Aggregate first, then train on the posteriors or on their best classes."""

    def run(train: Items, test: Items, labels: list[list[tuple[int, int]]]) -> Result:
        codes = np.array([(w, i, x) for i, pairs in enumerate(labels) for w, x in pairs], np.int32)
        names = [str(k) for k in range(max(train.classes, len(labels), int(codes[:, 0].max()) + 1))]
        crowd = from_codes(codes, names, names[: len(labels)], names[: train.classes], classes=names[: train.classes])
        posterior = fit(crowd)
        best = posterior >= posterior.max(axis=1, keepdims=True) - 1e-12
        broken = (best * np.random.default_rng(0).random(best.shape)).argmax(axis=1)  # ties by lot
        registry = Registry(dict(installed().registry.reductions), dict(installed().registry.losses))
        registry.reductions["soft_labels"] = SoftLabels
        layers = [
            LayerConfig(name, checked(registry.reductions[name].Parameters, given))
            for name, given in (
                ("soft_labels", {}),
                ("one_against_all", {"classes": train.classes}),
                ("linear", LINEAR["linear"]),
            )
        ]
        chain = Engine(layers, registry, bits=BITS)
        chain.layers[0].teach(np.eye(train.classes)[broken] if hard else posterior)  # type: ignore[attr-defined]
        chain.stack.link()
        data = batch(chain, [f"1 |item {features}\n" for features in train.features])
        data.group[:] = np.arange(len(data))
        for _ in range(passes):
            chain.run_batch(data)
        return scored(chain, test, posterior, train.truth)

    return run


def methods(items: Items) -> dict[str, Callable[..., Result]]:
    """Everything that is compared."""
    found = {}
    sources = {
        "votes": lambda labels: labels.vote_share(),
        "Dawid-Skene": lambda labels: DawidSkene().fit(labels).posterior,
        "two-level": lambda labels: TwoLevel().fit(labels).posterior,
    }
    for name, fit in sources.items():
        for hard in (True, False):
            found[f"{name} {'hard' if hard else 'soft'}, 5 passes"] = aggregated(fit, hard, 5)
    found["votes soft, 1 pass"] = aggregated(sources["votes"], False, 1)
    found["chain, 1 pass"] = crowd_chain(items, 1, 0)
    found["chain, 2 passes"] = crowd_chain(items, 2, 0)
    found["chain, 2 passes + 3"] = crowd_chain(items, 2, 3)
    found["chain, crossfit 5 passes + 3"] = crowd_chain(items, 5, 3, crossfit=True, vote_share=0.1)
    return found


def stream(items: Items, test: Items, crowd: Crowd, threshold: float) -> tuple[Result, float]:
    """Ask while the posterior is in doubt; returns the scores and the labels an item."""
    classes = items.classes
    layers = [{"crowd_em": {"classes": classes}}, {"one_against_all": {"classes": classes}}, LINEAR]
    chain = Chain.from_config({"weights": {"bits": BITS}, "chain": layers})
    draws, asked, decided = np.random.default_rng(1).random(len(items.truth)), 0, []
    for i, features in enumerate(items.features):
        pairs: list[tuple[int, int]] = []
        people = crowd.random.permutation(crowd.workers)
        while True:
            posterior = chain.run_batch(batch(chain, [block(pairs, features)]), learn=False, scores=True)[0].scores[-1:]
            share = 1.0 if i < 150 else 0.05
            by_lot = draws[i] < share and len(pairs) < 3
            if not by_lot and (len(pairs) >= 7 or 1 - posterior[0].max() <= threshold):
                break
            worker = int(people[len(pairs)])
            pairs.append((worker, crowd.ask(i, worker)))
        asked += len(pairs)
        decided.append(posterior[0])
        chain.learn(block(pairs, features))
    return scored(chain, test, np.array(decided), items.truth), asked / len(items.truth)


def split(items: Items, seed: int) -> tuple[Items, Items]:
    """70 % to label, the rest to test."""
    order = np.random.default_rng(seed).permutation(len(items.truth))
    cut = int(0.7 * len(order))
    return items.part(order[:cut]), items.part(order[cut:])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--river", metavar="PYTHON")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", default="")
    parser.add_argument("--workers", default="50,500")
    parser.add_argument("--labels", default="1,2,3,5")
    parser.add_argument("--stream", action="store_true")
    arguments = parser.parse_args()
    wanted = [name for name in arguments.sets.split(",") if name]
    sets = [items for items in data_sets(arguments.river) if not wanted or items.name in wanted]
    crowds = [int(n) for n in arguments.workers.split(",")]
    counts = [int(n) for n in arguments.labels.split(",")]
    found: dict[tuple[str, str, int], list[Result]] = defaultdict(list)
    spent: dict[float, list[float]] = defaultdict(list)
    for items in sets:
        for seed in range(arguments.seeds):
            train, test = split(items, seed)
            for workers in crowds:
                if arguments.stream:
                    for threshold in (0.2, 0.3, 0.4):
                        crowd = Crowd(train.truth, items.classes, workers, 1000 * seed + workers)
                        result, labels = stream(train, test, crowd, threshold)
                        found[f"ask while 1 - max > {threshold}", items.name, 0].append(result)
                        spent[threshold].append(labels)
                for count in counts:
                    labels_of = Crowd(train.truth, items.classes, workers, 1000 * seed + workers).labels(count)
                    chosen = {"chain, 1 pass": crowd_chain(items, 1, 0)} if arguments.stream else methods(items)
                    for name, run in chosen.items():
                        found[name, items.name, count].append(run(train, test, labels_of))
    report(found, [items.name for items in sets], [0, *counts] if arguments.stream else counts)
    for threshold, labels in spent.items():
        print(f"1 - max > {threshold}: {np.mean(labels):.2f} labels an item")


def report(found: dict[tuple[str, str, int], list[Result]], sets: list[str], counts: list[int]) -> None:
    """Means over sets, seeds and numbers of workers; then the test errors of each set."""
    names = list(dict.fromkeys(name for name, _, _ in found))
    head = "".join(f"{f'R={count}':>24}" for count in counts)
    print(f"{'test error, label accuracy, log-loss':<38}{head}")
    for name in names:
        cells = []
        for count in counts:
            rows = [r for set_ in sets for r in found.get((name, set_, count), [])]
            values = [(r.error, r.accuracy, r.log_loss) for r in rows]
            cells.append("{:8.3f}{:8.3f}{:8.2f}".format(*np.mean(values, axis=0)) if values else " " * 24)
        print(f"{name:<38}" + "".join(cells))
    for count in counts:
        print(f"\n{f'test error at R={count}' if count else 'test error':<38}" + "".join(f"{s:>15}" for s in sets))
        for name in names:
            if (name, sets[0], count) in found:
                cells = [f"{np.mean([r.error for r in found[name, s, count]]):15.3f}" for s in sets]
                print(f"{name:<38}" + "".join(cells))


if __name__ == "__main__":
    main()
