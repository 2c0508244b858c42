"""How often the shares of right labels hold that `hutch crowd` ends in, and how many of the workers it names do guess.

    python benchmarks/research/crowd/verdict.py [DATA_DIR] [--draws N] [--models]

Simulated crowds of many kinds, each drawn N times, and the public sets of DATA_DIR (one folder each, with labels.tsv:
worker TAB task TAB label, and gold.tsv: task TAB label), whole and in parts. "held" is how often the interval of
Hutch's labels and of the majority's contains their accuracy, "width" how wide it is, "told" how often there is one at
all. The gold of a set is not learned from; where it is a sample, its own sampling error is allowed for. With --models:
the same for models other than the default, over all kinds. With --streams: the same for `hutch crowd --stream`, by
`two_level` with all tasks open and a tenth of them, labels in random order, and by the models that read task by task.
"""

import argparse
import zlib
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import Aggregate, Options, aggregate
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.label_stream import read_tasks, run_blocks, run_pieces
from hutch.crowd.models.any_order_stream import AnyOrderStream
from hutch.crowd.models.calibration import accuracy
from hutch.crowd.models.dawid_skene import DawidSkene
from hutch.crowd.models.model import CrowdModel
from hutch.crowd.models.one_coin import OneCoin
from hutch.crowd.models.online import stream_of
from hutch.crowd.models.ordinal import Ordinal
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.crowd.right import Share, estimated, votes
from hutch.crowd.running import Running
from hutch.crowd.simulate import simulate
from hutch.crowd.verdict import findings

Crowd = tuple[Labels, np.ndarray]
"""Labels, and the truth of each item."""
Random = np.random.Generator


def labels_of(worker: np.ndarray, said: np.ndarray, workers: int, classes: int) -> Labels:
    """Labels of items in rows: who (items, labels) said what (items, labels)."""
    items, each = worker.shape
    codes = np.stack([worker.ravel(), np.repeat(np.arange(items), each), said.ravel()], axis=1).astype(np.int32)
    names = [[str(n) for n in range(size)] for size in (workers, items, classes)]
    return from_codes(codes, *names, classes=names[2])


def noisy(random: Random, truth: np.ndarray, right: np.ndarray | float, classes: int) -> np.ndarray:
    """The truth in a share of the cases, else any other class."""
    wrong = (truth + random.integers(1, classes, truth.shape)) % classes
    return np.where(random.random(truth.shape) < right, truth, wrong)


def chosen(random: Random, items: int, workers: int, each: int) -> np.ndarray:
    """Some workers for each item (items, each)."""
    return np.argsort(random.random((items, workers)), axis=1)[:, :each]


def crowd(
    random: Random, classes: tuple[int, ...] = (2, 3, 5), each: tuple[int, ...] = (3, 5), items: int = 1000,
    workers: int = 30, right: tuple[float, float] = (0.6, 0.95), prior: tuple[float, ...] = (), hard: float = 0.0,
    decoys: float = 0.0, fooled: float = 0.55, guess: float = 0.0, copies: int = 0, near: bool = False,
    merged: float = 0.0,
) -> Crowd:  # fmt: skip
    """A crowd whose classes and labels per item are drawn from the given ones.

    `hard` is the deviation of the items' ease in logits; on a share `decoys` of the items a share `fooled` of the
    labels is one wrong class; `near` errors are those of neighbours; a share `merged` of the workers calls the last
    class by the name of the first.
    """
    k, n = (int(random.choice(sizes)) for sizes in ((len(prior),) if prior else classes, each))
    k = len(prior) or k
    truth = random.choice(k, items, p=prior or None)
    worker, asked = chosen(random, items, workers, n), np.repeat(truth[:, None], n, axis=1)
    skill = random.uniform(*right, workers)[worker]
    if hard:
        skill = 1 / (1 + (1 - skill) / skill * np.exp(hard * random.normal(size=(items, 1))))
    said = noisy(random, asked, skill, k)
    if near:
        beside = np.clip(asked + random.choice((-1, 1), asked.shape), 0, k - 1)
        said = np.where((said != asked) & (random.random(asked.shape) < 0.8), beside, said)
    bait = (truth + random.integers(1, k, items)) % k
    bitten = (random.random((items, 1)) < decoys) & (random.random(asked.shape) < fooled)
    said = np.where(bitten, bait[:, None], said)
    said = np.where((random.random(workers) < merged)[worker] & (said == k - 1), 0, said)
    guesses = random.random(workers) < guess
    said = np.where(guesses[worker], random.integers(k, size=said.shape), said)
    source = noisy(random, truth, 0.7, k)
    said = np.where(worker < copies, source[:, None], said)
    return labels_of(worker, said, workers, k), truth.astype(np.int32)


def nominal(random: Random) -> Crowd:
    """A crowd of `hutch.crowd.simulate`, with its kinds of workers."""
    sizes = 60, int(random.choice((2, 3, 5))), int(random.choice((3, 5, 8)))
    made = simulate(1000, *sizes, int(random.integers(1 << 30)))
    return made.labels, made.truth


def teams(random: Random) -> Crowd:
    """Thirty teams of three, each with items of its own."""
    worker = 3 * np.repeat(np.arange(30), 40)[:, None] + np.arange(3)
    truth = random.integers(4, size=len(worker))
    said = noisy(random, np.repeat(truth[:, None], 3, axis=1), random.uniform(0.45, 0.95, 90)[worker], 4)
    return labels_of(worker, said, 90, 4), truth.astype(np.int32)


def herd(random: Random) -> Crowd:
    """Six labels per item; after the second, half of the workers repeat the majority so far in half of the cases."""
    worker, truth = chosen(random, 1000, 30, 6), random.integers(3, size=1000)
    said = noisy(random, np.repeat(truth[:, None], 6, axis=1), random.uniform(0.45, 0.9, 30)[worker], 3)
    follows = np.where(random.random(30) < 0.5, 0.5, 0.0)
    for n in range(2, 6):
        count = np.stack([(said[:, :n] == k).sum(axis=1) for k in range(3)], axis=1) + random.random((1000, 3)) * 0.1
        said[:, n] = np.where(random.random(1000) < follows[worker[:, n]], count.argmax(axis=1), said[:, n])
    return labels_of(worker, said, 30, 3), truth.astype(np.int32)


def family(random: Random) -> Crowd:
    """Four judges who take most of their errors from one base model."""
    truth = random.integers(3, size=1000)
    base, worker = noisy(random, truth, 0.75, 3), np.tile(np.arange(4), (1000, 1))
    own = noisy(random, np.repeat(truth[:, None], 4, axis=1), 0.65, 3)
    said = np.where(random.random(worker.shape) < 0.7, base[:, None], own)
    return labels_of(worker, said, 4, 3), truth.astype(np.int32)


KINDS: dict[str, Callable[[Random], Crowd]] = {
    "independent errors": lambda random: crowd(random, (2, 3, 4, 8), (3, 5, 10), right=(0.5, 0.9)),
    "good workers": lambda random: crowd(random, right=(0.75, 0.98)),
    "poor workers, 2 classes": lambda random: crowd(random, (2,), (5, 9), right=(0.5, 0.75)),
    "30 tasks": lambda random: crowd(random, (2, 3), (5,), items=30, workers=8, right=(0.5, 0.9)),
    "100 tasks": lambda random: crowd(random, (2, 3), items=100, workers=10, right=(0.5, 0.9)),
    "3 workers": lambda random: crowd(random, (2, 3, 4), (3,), workers=3),
    "4 workers, 300 tasks": lambda random: crowd(random, (2, 3), (4,), items=300, workers=4),
    "2 labels per task": lambda random: crowd(random, (2, 4), (2,)),
    "1 label per task": lambda random: crowd(random, (3,), (1,)),
    "40 classes": lambda random: crowd(random, (40,), (3,), items=1500, right=(0.55, 0.9)),
    "errors to neighbours": lambda random: crowd(random, (5,), near=True, right=(0.5, 0.8)),
    "a class of .1": lambda random: crowd(random, prior=(0.9, 0.1)),
    "a class of .03": lambda random: crowd(random, prior=(0.97, 0.03), right=(0.75, 0.97)),
    "a class of .003": lambda random: crowd(random, prior=(0.997, 0.003), each=(3,), items=3000, right=(0.9, 0.99)),
    "shares .7 to .05": lambda random: crowd(random, prior=(0.7, 0.15, 0.1, 0.05), right=(0.5, 0.9)),
    "a third guesses": lambda random: crowd(random, (2, 4), guess=0.33),
    "two thirds guess": lambda random: crowd(random, (2, 4), (5, 10), guess=0.66),
    "kinds of workers": nominal,
    "4 of 10 copy": lambda random: crowd(random, (4,), (5,), workers=10, right=(0.7, 0.9), copies=4),
    "two readings": lambda random: crowd(random, (3,), (5,), merged=0.4, right=(0.8, 0.95)),
    "closed teams": teams,
    "hard tasks": lambda random: crowd(random, (2, 4), (3, 5, 10), hard=1.5),
    "very hard tasks": lambda random: crowd(random, (2, 4), (5, 10), hard=3.0),
    "a tenth misleads": lambda random: crowd(random, (3, 5), decoys=0.1),
    "a fifth misleads": lambda random: crowd(random, (3, 5), (3, 5, 10), decoys=0.2),
    "followers": herd,
    "15 % mislead most": lambda random: crowd(random, (2,), (3, 5, 10), decoys=0.15, fooled=0.8),
    "judges of one family": family,
}
BLIND = ("followers", "15 % mislead most", "judges of one family")
"""Kinds whose errors no labels show."""


def drawn(kind: str, draws: int) -> list[Crowd]:
    """Crowds of a kind."""
    return [KINDS[kind](np.random.default_rng([seed, zlib.crc32(kind.encode())])) for seed in range(draws)]


def holds(share: Share, right: float, sampled: int = 0) -> bool:
    """Whether an interval contains an accuracy, or one that is within its sampling error of so many items."""
    slack = 1.96 * np.sqrt(right * (1 - right) / sampled) if sampled else 0.0
    return bool(share.low - slack <= right <= share.high + slack)


def as_default(result: Aggregate) -> Aggregate:
    """A result that is told as if the default model had made it."""
    return replace(result, model="two_level")


def checked(result: Aggregate, truth: np.ndarray, sampled: int = 0) -> tuple[float, ...]:
    """Told, held by Hutch's interval, its width, the same of the majority; NaN where nothing is told."""
    right = estimated(result)
    if right.found is None or right.vote is None:
        return (0.0, *(np.nan,) * 4)
    pairs = (right.found, result.probability), (right.vote, votes(result.labels))
    both = [(holds(share, accuracy(of, truth), sampled), share.high - share.low) for share, of in pairs]
    return (1.0, *both[0], *both[1])


def streamed(labels: Labels, truth: np.ndarray, model: CrowdModel, open_: int) -> tuple[float, ...]:
    """The same of a stream; open_ is the number of open tasks of a model that takes labels in any order."""
    codes = np.stack([labels.workers, labels.label_items, labels.labels], axis=1).astype(np.int32)
    names = labels.worker_names, labels.item_names, labels.classes
    stream = stream_of(model, labels.classes, 1 << 16)
    if isinstance(stream, AnyOrderStream):
        stream.hold(open_)
        order = np.random.default_rng(0).permutation(len(codes))
        pieces = (
            from_codes(codes[order[a : a + 2000]], *names, classes=labels.classes, arrivals=True)
            for a in range(0, len(codes), 2000)
        )
        totals = run_pieces(stream, pieces, None, 1)
        file = BytesIO()
        running, read_from = read_tasks(stream, totals.met, file, None)
        right = running.findings(read_from, totals.piece).right
    else:
        running, file = Running(), BytesIO()
        blocks = ({"": labels.between(a, min(a + 500, labels.items))} for a in range(0, labels.items, 500))
        run_blocks({"": stream}, blocks, True, None, file, running={"": running})
        right = running.findings(stream).right
    if right.found is None:
        return (0.0, *(np.nan,) * 4)
    lines = [line.split("\t") for line in file.getvalue().decode().splitlines()[1:]]
    place = {name: n for n, name in enumerate(labels.item_names)}
    exact = np.mean([labels.classes[truth[place[line[0]]]] == line[1] for line in lines])
    held = holds(right.found, float(exact)), right.found.high - right.found.low
    if right.vote is None:
        return (1.0, *held, np.nan, np.nan)
    return (1.0, *held, holds(right.vote, accuracy(votes(labels), truth)), right.vote.high - right.vote.low)


def row(name: str, rows: list[tuple[float, ...]]) -> None:
    """Print a row of the table."""
    told = np.array(rows)
    if not (some := told[told[:, 0] > 0]).size:
        print(f"| {name} | 0.00 | | | | |")
        return
    numbers = " | ".join(f"{value:.2f}" for value in (told[:, 0].mean(), *some[:, 1:].mean(axis=0)))
    print(f"| {name} | {numbers} |", flush=True)


def simulated(draws: int, run: Callable[[Labels], Aggregate] = aggregate, quiet: bool = False) -> None:
    """A row for each kind of crowd, for those that labels can show, and the workers that are named."""
    whole: list[tuple[float, ...]] = []
    named = found = 0
    for kind in KINDS:
        rows = []
        for labels, truth in drawn(kind, draws):
            result = run(labels)
            rows.append(checked(result, truth))
            if not quiet:
                names = findings(result).guessers
                by_chance = sum(no_better(labels, truth, labels.worker_names.index(name)) for name in names)
                named, found = named + len(names), found + by_chance
        whole += rows if kind not in BLIND else []
        if not quiet:
            row(kind, rows)
    row("all but the last three kinds", whole)
    if not quiet:
        print(f"\nworkers named: {named}; {found} of them agree with the truth no more than by chance")


def no_better(labels: Labels, truth: np.ndarray, worker: int) -> bool:
    """Whether a worker's labels agree with known classes by no more than two standard errors above chance."""
    mine = (labels.workers == worker) & (truth[labels.label_items] >= 0)
    said, true = labels.labels[mine], truth[labels.label_items[mine]]
    classes = np.arange(len(labels.classes))
    chance = float((np.equal.outer(said, classes).mean(axis=0) * np.equal.outer(true, classes).mean(axis=0)).sum())
    return bool((said == true).mean() <= chance + 2 * np.sqrt(chance * (1 - chance) / len(said)))


def part(labels: Labels, keep: np.ndarray) -> Labels:
    """Some of the labels, and the items that have some."""
    places = np.unique(labels.label_items[keep])
    place = np.full(labels.items, -1)
    place[places] = np.arange(len(places))
    codes = np.stack([labels.workers, place[labels.label_items], labels.labels], axis=1)[keep].astype(np.int32)
    names = [labels.item_names[i] for i in places.tolist()]
    made = from_codes(codes, labels.worker_names, names, labels.classes, classes=labels.classes)
    return replace(made, gold=labels.gold[places])


def parts(labels: Labels) -> list[Labels]:
    """The labels, three per item, those of half of the workers, of a third of the items, of 200 items with gold."""
    found = [labels]
    for seed in range(2):
        random = np.random.default_rng(seed)
        order, some = random.permutation(len(labels)), np.zeros(len(labels), bool)
        by_item = order[np.argsort(labels.label_items[order], kind="stable")]
        place = np.arange(len(labels)) - labels.item_ptr[labels.label_items[by_item]]
        some[by_item[place < 3]] = True
        known = random.permutation(np.flatnonzero(labels.gold >= 0))[:200]
        keeps = (
            some,
            (random.random(len(labels.worker_names)) < 0.5)[labels.workers],
            (random.random(labels.items) < 1 / 3)[labels.label_items],
            np.isin(labels.label_items, known),
        )
        found += [part(labels, keep) for keep in keeps]
    return found


def public(folder: Path) -> None:
    """A row for each set, over its parts, and for all."""
    whole: list[tuple[float, ...]] = []
    named = found = 0
    for path in sorted(folder.glob("*/labels.tsv")):
        labels = read_labels(str(path), gold=read_gold(str(path.parent / "gold.tsv")))
        rows = []
        for number, each in enumerate(parts(labels)):
            known = int((each.gold >= 0).sum())
            result = aggregate(replace(each, gold=np.full_like(each.gold, -1)), options=Options(ordered=False))
            rows.append(checked(result, each.gold, known if known < each.items else 0))
            for name in findings(result).guessers if not number else ():
                worker = labels.worker_names.index(name)
                if ((labels.workers == worker) & (labels.gold[labels.label_items] >= 0)).sum() >= 5:
                    named, found = named + 1, found + no_better(labels, labels.gold, worker)
        whole += rows
        row(path.parent.name, rows)
    row("all sets", whole)
    print(f"\nworkers named: {named}; {found} of them agree with gold no more than by chance")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--streams", action="store_true")
    given = parser.parse_args()
    header = "| crowd | told | held | width | majority held | width |\n|---|---|---|---|---|---|"
    print(header, flush=True)
    if given.streams:
        ways = {
            "two_level, all open": (TwoLevel(), 0),
            "two_level, 100 open": (TwoLevel(), 100),
            "one_coin": (OneCoin(), 0),
            "ordinal": (Ordinal(), 0),
        }
        for name, way in ways.items():
            kinds = [kind for kind in KINDS if kind not in BLIND]
            row(name, [streamed(*made, *way) for kind in kinds for made in drawn(kind, given.draws)])
        return
    if given.models:
        models: tuple[CrowdModel, ...] = (OneCoin(), DawidSkene(), Ordinal())
        for model in models:
            print(model.name, end=": ")
            simulated(given.draws, lambda labels, model=model: as_default(aggregate(labels, model)), quiet=True)
        print("online", end=": ")
        simulated(given.draws, lambda labels: as_default(aggregate(labels, None, Options("online"))), quiet=True)
        return
    simulated(given.draws)
    if given.folder:
        print(f"\n{header.replace('crowd', 'set')}", flush=True)
        public(given.folder)


if __name__ == "__main__":
    main()
