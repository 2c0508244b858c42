"""Coverage and width of the intervals of `hutch estimate` where labels are few, classes rare or draws uneven.

    python benchmarks/research/crowd/few_labels.py [--runs N] [--only TEXT...] [--sets FOLDER...]

Each row is a question about simulated items of two classes with two judges, nominal 95 %. `P = a, b` draws items that
the first judge suspects with probability a, others with b. `looks`: a run is covered if the intervals of
--anytime hold at every look. Last come the false alarms of the test whether labels were drawn by lot, and its finds.

A FOLDER has judges.tsv or labels.tsv (judge TAB item TAB label) and truth.tsv or gold.tsv (item TAB label), from which
20, 40 and 100 items are drawn in each run. Beside it stands Wilson's interval from people's labels alone.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hutch.crowd.read.labels import read_gold, read_labels
from hutch.estimate import questions
from hutch.estimate.lot import SUSPECT, examine
from hutch.estimate.means import Interval
from hutch.estimate.questions import Items, Question

LOOKS = [1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 55, 75, 100, 150, 200, 300]


@dataclass(frozen=True)
class Row:
    """A question about simulated items.

    Attributes:
        name: in the table.
        question: rate, accuracy or difference.
        labels: how many, or the probabilities of suspected items and of others.
        rights: how often either judge is right.
        rate: of the class 1.
        items: how many.
        expected: with --anytime, narrowest at so many labels; None: one look.
    """

    name: str
    question: str
    labels: int | tuple[float, float]
    rights: tuple[float, float] = (0.85, 0.75)
    rate: float = 0.3
    items: int = 1000
    expected: int | None = None


ROWS = [
    Row("rate, 100 labels", "rate", 100),
    Row("accuracy, 100 labels", "accuracy", 100),
    Row("difference, 100 labels", "difference", 100),
    Row("rate, 40 labels", "rate", 40),
    Row("accuracy, 40 labels", "accuracy", 40),
    Row("rate, 20 labels", "rate", 20),
    Row("accuracy, 20 labels", "accuracy", 20),
    Row("difference, 20 labels", "difference", 20),
    Row("rate, 5 labels", "rate", 5),
    Row("accuracy, 5 labels", "accuracy", 5),
    Row("rate, 2 labels", "rate", 2),
    Row("accuracy, 1 label", "accuracy", 1),
    Row("rate of 2 %, 100 labels", "rate", 100, rate=0.02),
    Row("rate of 2 %, 50 labels, judges .98 and .95", "rate", 50, (0.98, 0.95), 0.02),
    Row("accuracy of .99, 50 labels", "accuracy", 50, (0.99, 0.75)),
    Row("accuracy of .97, 30 labels", "accuracy", 30, (0.97, 0.75)),
    Row("difference of .99 and .98, 50 labels", "difference", 50, (0.99, 0.98)),
    Row("rate, P = .5, .01", "rate", (0.5, 0.01)),
    Row("accuracy, P = .5, .01", "accuracy", (0.5, 0.01)),
    Row("rate, P = .5, .01, 2,000 items", "rate", (0.5, 0.01), items=2000),
    Row("rate, P = .5, .005, 2,000 items", "rate", (0.5, 0.005), items=2000),
    Row("rate, P = .4, .02, 2,000 items", "rate", (0.4, 0.02), items=2000),
    Row("accuracy, P = .4, .02, 2,000 items", "accuracy", (0.4, 0.02), items=2000),
    Row("rate, P = .3, .05, 2,000 items", "rate", (0.3, 0.05), items=2000),
    Row("rate, P = .1, .1, 2,000 items", "rate", (0.1, 0.1), items=2000),
    Row("rate, all looks up to 300", "rate", 300, expected=100),
    Row("rate of 2 %, all looks, judges .98 and .95", "rate", 300, (0.98, 0.95), 0.02, expected=100),
    Row("accuracy of .99, all looks", "accuracy", 300, (0.99, 0.75), expected=100),
]


def world(row: Row, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the truth of all items, and the judges' labels (items, 2)."""
    truth = (random.random(row.items) < row.rate).astype(np.int32)
    judged = np.stack([np.where(random.random(row.items) < right, truth, 1 - truth) for right in row.rights], axis=1)
    return truth, judged.astype(np.int32)


def labelled(
    truth: np.ndarray, judged: np.ndarray, places: np.ndarray, chance: np.ndarray | None = None, names: int = 2
) -> Items:
    """The items, of which some places are labelled."""
    classes, judges = ([str(k) for k in range(number)] for number in (names, judged.shape[1]))
    return Items(classes, judges, judged, places, np.eye(names)[truth[places]], chance)


def draw(row: Row, truth: np.ndarray, judged: np.ndarray, random: np.random.Generator) -> Items:
    """The items with the labels of a row."""
    if isinstance(row.labels, int):
        return labelled(truth, judged, random.permutation(row.items)[: row.labels])
    chance = np.where(judged[:, 0] == 1, *row.labels)
    places = np.flatnonzero(random.random(row.items) < chance)
    return labelled(truth, judged, places, chance[places])


def ask(kind: str, items: Items) -> Question:
    """The question about the first class that matters, or the first judges."""
    names = {"rate": items.classes[1:2], "accuracy": items.judges[:1], "difference": items.judges[:2]}[kind]
    found: Question = getattr(questions, kind)(items, *names)
    return found


def true_answer(kind: str, truth: np.ndarray, judged: np.ndarray) -> float:
    """The answer if every item were labelled."""
    right = [(truth == column)[column >= 0].mean() for column in judged.T[:2]]
    both = (judged[:, :2] >= 0).all(axis=1)
    apart = [(truth == column)[both].mean() for column in judged.T[:2]]
    return float({"rate": (truth == 1).mean(), "accuracy": right[0], "difference": apart[0] - apart[-1]}[kind])


def runs(row: Row, count: int) -> Iterator[tuple[float, list[Interval], list[Interval]]]:
    """The truth of each run, and the intervals of all looks with judges and by people alone."""
    for seed in range(count):
        random = np.random.default_rng(seed)
        truth, judged = world(row, random)
        items = draw(row, truth, judged, random)
        looks = [len(items.labelled)] if row.expected is None else LOOKS
        some = [replace(items, labelled=items.labelled[:n], said=items.said[:n]) for n in looks]
        answers = [questions.ask(look, ask(row.question, look), always=row.expected) for look in some]
        yield (
            true_answer(row.question, truth, judged),
            [each.found for each in answers],
            [each.people_only for each in answers],
        )


def coverage(row: Row, count: int) -> tuple[float, float, int, float, float]:
    """How often the truth is covered, mean half-width, empty intervals; coverage and half-width by people alone."""
    table = []
    for truth, found, alone in runs(row, count):
        held = [all(each.low - 1e-9 <= truth <= each.high + 1e-9 for each in some) for some in (found, alone)]
        empty = any(not each.high > each.low for each in found)  # of a half-width that is not a number, too
        table.append((held[0], found[-1].half_width, empty, held[1], alone[-1].half_width))
    cover, half, empty, alone_cover, alone_half = np.array(table, np.float64).T
    return cover.mean(), half.mean(), int(empty.sum()), alone_cover.mean(), alone_half.mean()


def alarms(row: Row, count: int) -> float:
    """Share of runs in which labels drawn as declared are suspected."""
    found = 0
    for seed in range(count):
        random = np.random.default_rng(seed)
        truth, judged = world(row, random)
        found += examine(draw(row, truth, judged, random)).p_value < SUSPECT
    return found / count


def found_out(labels: int, count: int) -> float:
    """Share of runs in which labels of the first judge's suspects are detected."""
    found = 0
    for seed in range(count):
        truth, judged = world(ROWS[0], np.random.default_rng(seed))
        found += examine(labelled(truth, judged, np.flatnonzero(judged[:, 0])[:labels])).p_value < SUSPECT
    return found / count


def wilson(outcomes: np.ndarray) -> tuple[float, float]:
    """Wilson's interval of 95 %."""
    n, share = len(outcomes), outcomes.mean()
    part = 1.96**2 / n
    middle, reach = (share + part / 2) / (1 + part), np.sqrt(part * share * (1 - share) + part**2 / 4) / (1 + part)
    return float(middle - reach), float(middle + reach)


def real(folder: Path, labels: int, kind: str, count: int) -> tuple[float, float, float, float]:
    """Coverage and half-width of draws from items with a known truth, and those of Wilson's interval."""
    gold, told = (next(folder / name for name in names if (folder / name).exists()) for names in (
        ("truth.tsv", "gold.tsv"), ("judges.tsv", "labels.tsv")))  # fmt: skip
    known = read_gold(gold)
    rows = read_labels(told, classes=sorted(set(known.values())))
    code = {name: k for k, name in enumerate(rows.classes)}
    judged = np.full((rows.items, len(rows.worker_names)), -1, np.int32)
    judged[rows.label_items, rows.workers] = rows.labels
    has = np.array([name in known for name in rows.item_names])
    judged, truth = judged[has], np.array([code[known[name]] for name in rows.item_names if name in known])
    judged = judged[:, np.argsort(-(judged >= 0).sum(axis=0), kind="stable")[:10]]
    wanted, table = true_answer(kind, truth, judged), []
    for seed in range(count):
        places = np.random.default_rng(seed).permutation(len(truth))[:labels]
        items = labelled(truth, judged, places, names=len(rows.classes))
        found = questions.ask(items, ask(kind, items)).found
        outcomes = truth[places] == (1 if kind == "rate" else judged[places, 0])
        low, high = wilson(outcomes if kind == "rate" else outcomes[judged[places, 0] >= 0])
        table.append((found.low <= wanted <= found.high, found.half_width, low <= wanted <= high, (high - low) / 2))
    cover, half, other, wide = np.mean(np.array(table, np.float64), axis=0)
    return cover, half, other, wide


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="rows whose names contain one of them")
    parser.add_argument("--sets", type=Path, nargs="*", default=[], metavar="FOLDER")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if not arguments.only or any(text in row.name for text in arguments.only)]
    print(f"{arguments.runs} runs\n\n| simulated | coverage | half-width | empty | people alone | half-width |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        cover, half, empty, alone, wide = coverage(row, arguments.runs)
        print(f"| {row.name} | {cover:.3f} | {half:.3f} | {empty} | {alone:.3f} | {wide:.3f} |", flush=True)
    if not arguments.only:
        false = {row.name: alarms(row, arguments.runs) for row in ROWS if row.question == "rate" and not row.expected}
        print(f"\nfalse alarms of the draw: at most {max(false.values()):.3f}, in {max(false, key=lambda n: false[n])}")
        print("labels of suspects found out:", {n: found_out(n, arguments.runs) for n in (10, 20, 50, 100)})
    if arguments.sets:
        print("\n| real | question | labels | coverage | half-width | Wilson | half-width |")
        print("|---|---|---|---|---|---|---|")
    for folder in arguments.sets:
        for kind in ("rate", "accuracy"):
            for labels in (20, 40, 100):
                cover, half, other, wide = real(folder, labels, kind, arguments.runs)
                worse = " worse" if half > wide and cover < other else ""
                figures = f"{cover:.3f} | {half:.3f} | {other:.3f} | {wide:.3f}"
                print(f"| {folder.name} | {kind} | {labels} | {figures} |{worse}", flush=True)


if __name__ == "__main__":
    main()
