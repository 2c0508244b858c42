"""Crowd labels one by one, in any order, beside batch on the same labels.

    python benchmarks/research/crowd/any_order.py [PART ...] [--people FOLDER] [--times FILE] [--seeds N]

FOLDER holds one folder per set, with labels.tsv (worker TAB task TAB label) and gold.tsv (task TAB label), which only
scores. FILE has the columns time, worker, item and relations, with several relations divided by |, of which the first
counts. All figures are accuracy/log-loss of calibrated probabilities, means over the sets; every draw is seeded.

Parts: sets (labels shuffled and cut into ten parts, each saved and continued; and item by item), room (few open tasks;
in a *window* the labels of a task come within a tenth of the stream), corrections (a tenth of the labels are wrong at
first), rare (simulated: a class of 3 %), speed (time by labels per item), day (in the order of FILE's times, after each
tenth: share of tasks with labels whose verdict is that of batch).
"""

import argparse
import gzip
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.models.any_order_stream import AnyOrderStream
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.model import State
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.crowd.simulate import simulate

Array = np.ndarray
_FIRST = 9001


class Crowd:
    """Labels as rows of worker, item, label, each pair of worker and item once; the truth, -1 where it is unknown."""

    def __init__(self, labels: Labels, truth: Array) -> None:
        rows = labels.coming.astype(np.int32)
        _, last = np.unique(
            rows[::-1, 1].astype(np.int64) * len(labels.worker_names) + rows[::-1, 0], return_index=True
        )
        self.rows = rows[np.sort(len(rows) - 1 - last)]
        self.names = [*labels.worker_names], [*labels.item_names], [*labels.classes]
        self.truth = truth

    def labels(self, rows: Array) -> Labels:
        """Some rows, in their order."""
        return from_codes(rows, *self.names, classes=self.names[2], arrivals=True)


def figures(probability: Array, truth: Array) -> Array:
    """Accuracy and log-loss."""
    return np.array([accuracy(probability, truth), log_loss(probability, truth)])


def learn(crowd: Crowd, rows: Array, parts: int = 1, room: int = 0, **parameters: float) -> AnyOrderStream:
    """A stream that has learned the rows in some parts, each from the saved state of the one before."""
    state: State | None = None
    for part in np.array_split(rows, parts):
        stream = AnyOrderStream(TwoLevel(**parameters), crowd.names[2], 1 << 16, state)
        stream.hold(room)
        stream.learn(crowd.labels(part), first_pass=True)
        state = stream.final_state()
    return stream


def probability(stream: AnyOrderStream, names: Sequence[str]) -> Array:
    """Calibrated probabilities of tasks."""
    stream = stream.settled()
    labels = stream.kept(names)
    return stream.probability(labels, stream.score(labels)[0])


def shuffled(crowd: Crowd, seed: int) -> Array:
    """Rows in random order."""
    return np.random.default_rng(seed).permutation(crowd.rows)


def adjacent(crowd: Crowd, seed: int) -> Array:
    """Item after item, in random order."""
    order = np.random.default_rng(seed).permutation(len(crowd.names[1]))[crowd.rows[:, 1]]
    return crowd.rows[np.argsort(order, kind="stable")]


def windowed(crowd: Crowd, seed: int) -> Array:
    """Items begin in random order; the labels of each come within a tenth of the stream."""
    random = np.random.default_rng(seed)
    when = random.random(len(crowd.names[1]))[crowd.rows[:, 1]] + 0.1 * random.random(len(crowd.rows))
    return crowd.rows[np.argsort(when, kind="stable")]


def corrected(crowd: Crowd, seed: int) -> dict[str, Array]:
    """Streams in which a tenth of the labels are wrong at first; corrected at some time, at the end, or never."""
    random, rows = np.random.default_rng(seed), shuffled(crowd, seed)
    slips = np.sort(random.permutation(len(rows))[: len(rows) // 10])
    wrong = rows.copy()
    wrong[slips, 2] = (wrong[slips, 2] + random.integers(1, len(crowd.names[2]), size=len(slips))) % len(crowd.names[2])
    at, all_rows = np.r_[np.arange(len(rows)), random.uniform(slips, len(rows))], np.concatenate([wrong, rows[slips]])
    return {
        "never wrong": rows, "corrected at a random time": all_rows[np.argsort(at, kind="stable")],
        "corrected at the end": all_rows, "never corrected": wrong,
    }  # fmt: skip


def published(folder: Path) -> Iterator[tuple[str, Crowd]]:
    """The crowds of a folder."""
    for path in sorted(folder.glob("*/labels.tsv")):
        labels = read_labels(path, gold=read_gold(path.with_name("gold.tsv")))
        yield path.parent.name, Crowd(labels, labels.gold)


def show(name: str, found: Sequence[Array]) -> None:
    """A line of means."""
    mean = np.mean(found, axis=0)
    print(f"{name:34} {mean[0]:.4f}/{mean[1]:.3f}", flush=True)


def part_sets(crowds: dict[str, Crowd], seeds: range) -> None:
    """Each set, and means."""
    found: dict[str, list[Array]] = {"batch": [], "shuffled, ten parts": [], "item by item": []}
    for name, crowd in crowds.items():
        batch = aggregate(crowd.labels(crowd.rows), TwoLevel())
        own = dict(zip(batch.labels.item_names, batch.probability, strict=True))
        each = {"batch": [figures(np.array([own[task] for task in crowd.names[1]]), crowd.truth)]}
        for way, order, parts in (("shuffled, ten parts", shuffled, 10), ("item by item", adjacent, 1)):
            streams = (learn(crowd, order(crowd, seed), parts) for seed in seeds)
            each[way] = [figures(probability(stream, crowd.names[1]), crowd.truth) for stream in streams]
        cells = []
        for way, values in each.items():
            found[way].append(np.mean(values, axis=0))
            cells.append("{:.3f}/{:.3f}".format(*found[way][-1]))
        print(f"{name:12} {'   '.join(cells)}", flush=True)
    for way, values in found.items():
        show(way, values)


def part_room(crowds: dict[str, Crowd], seeds: range) -> None:
    """Few open tasks."""
    for way, order in (("shuffled", shuffled), ("window", windowed)):
        for share in (1.0, 0.2, 0.05):
            found = []
            for crowd in crowds.values():
                room = int(len(crowd.names[1]) * share) if share < 1 else 0
                streams = (learn(crowd, order(crowd, seed), room=room) for seed in seeds)
                found += [figures(probability(stream, crowd.names[1]), crowd.truth) for stream in streams]
            show(f"{way}, {share:.0%} open", found)


def part_corrections(crowds: dict[str, Crowd], seeds: range) -> None:
    """A tenth of the labels are wrong at first."""
    found: dict[str, list[Array]] = {}
    for crowd in crowds.values():
        for seed in seeds:
            for way, rows in corrected(crowd, seed).items():
                given = probability(learn(crowd, rows), crowd.names[1])
                found.setdefault(way, []).append(figures(given, crowd.truth))
    for way, values in found.items():
        show(way, values)


def rare(seed: int) -> Crowd:
    """A thousand items, 3 % of them of the second class, with 5 labels by 40 workers of skills from .5 to .9."""
    random = np.random.default_rng(seed)
    truth, skill = (random.random(1000) < 0.03).astype(np.int32), random.uniform(0.5, 0.9, 40)
    item, worker = np.repeat(np.arange(1000), 5), np.argsort(random.random((1000, 40)), axis=1)[:, :5].reshape(-1)
    said = np.where(random.random(5000) < skill[worker], truth[item], 1 - truth[item])
    names = [[str(number) for number in range(count)] for count in (40, 1000, 2)]
    labels = from_codes(np.stack([worker, item, said], axis=1).astype(np.int32), *names, classes=names[2])
    return Crowd(labels, truth)


def part_rare(seeds: range) -> None:
    """A class of 3 %."""
    found: dict[str, list[Array]] = {"vote share": [], "batch": [], "one by one": [], "one by one, warm_up=0": []}
    for seed in seeds:
        crowd = rare(seed)
        labels = crowd.labels(crowd.rows)
        found["vote share"].append(figures(labels.vote_share(), crowd.truth))
        found["batch"].append(figures(aggregate(labels, TwoLevel()).probability, crowd.truth))
        rows = shuffled(crowd, seed)
        for name, parameters in (("one by one", {}), ("one by one, warm_up=0", {"warm_up": 0})):
            found[name].append(figures(probability(learn(crowd, rows, **parameters), crowd.names[1]), crowd.truth))
    for way, values in found.items():
        show(way, values)


def part_speed() -> None:
    """CPU time of learning, names apart."""
    for items, each in ((2000, 2), (5000, 2), (5000, 5), (5000, 10), (5000, 20), (2500, 40), (50000, 20)):
        simulated = simulate(items, 500, 4, each, seed=1)
        crowd = Crowd(simulated.labels, simulated.truth.astype(np.int32))
        rows = shuffled(crowd, 1).astype(np.int64)
        stream = AnyOrderStream(TwoLevel(), crowd.names[2], 1 << 16, None)
        stream.engine.meet(items, stream.slots_of(crowd.names[0]))
        begun = time.process_time()
        stream.engine.learn(*(np.ascontiguousarray(rows[:, role]) for role in (1, 0, 2)))
        used = time.process_time() - begun
        print(
            f"{len(rows):8} labels, {len(rows) / items:4.1f} an item: {used / len(rows) * 1e6:.1f} us a label",
            flush=True,
        )


def part_day(path: Path) -> None:
    """Verdicts after each tenth of the labels."""
    rows = [line.rstrip("\n").split("\t") for line in gzip.open(path, "rt")][1:]
    names: list[dict[str, int]] = [{}, {}, {}]
    triples = sorted((when, (worker, item, several.split("|")[0])) for when, worker, item, several in rows)
    codes = [[known.setdefault(name, len(known)) for known, name in zip(names, row, strict=True)] for _, row in triples]
    crowd = Crowd.__new__(Crowd)
    crowd.rows, crowd.names = np.array(codes, np.int32), ([*names[0]], [*names[1]], [*names[2]])
    state: State | None = None
    for number, part in enumerate(np.array_split(crowd.rows, 10), 1):
        stream = AnyOrderStream(TwoLevel(), crowd.names[2], 1 << 16, state)
        stream.learn(crowd.labels(part), first_pass=True)
        state = stream.final_state()
        so_far = crowd.labels(crowd.rows[: sum(map(len, np.array_split(crowd.rows, 10)[:number]))])
        some = np.flatnonzero(np.diff(so_far.item_ptr))
        batch = aggregate(so_far, TwoLevel()).probability[some].argmax(axis=1)
        found = stream.score(stream.kept(so_far.item_names))[0][some].argmax(axis=1)
        votes = so_far.vote_share()[some].argmax(axis=1)
        same, vote = np.mean(found == batch), np.mean(votes == batch)
        print(f"{number:3}/10  tasks {len(some):5}  as batch {same:.4f}  vote as batch {vote:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["rare", "speed"])
    parser.add_argument("--people", type=Path)
    parser.add_argument("--times", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    crowds = dict(published(given.people)) if given.people else {}
    seeds = range(_FIRST, _FIRST + given.seeds)
    for part in given.parts:
        print(f"--- {part}", flush=True)
        if part in ("sets", "room", "corrections"):
            {"sets": part_sets, "room": part_room, "corrections": part_corrections}[part](crowds, seeds)
        elif part == "rare":
            part_rare(seeds)
        elif part == "speed":
            part_speed()
        elif part == "day" and given.times:
            part_day(given.times)
        else:
            parser.error(f"got part {part!r}, wanted sets, room, corrections, rare, speed, or day with --times")


if __name__ == "__main__":
    main()
