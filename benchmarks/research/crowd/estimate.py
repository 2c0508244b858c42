"""Coverage and width of the intervals of `hutch estimate`, over simulations and draws from real labels.

    python benchmarks/research/crowd/estimate.py [--sets FOLDER...] [--runs N] [--first SEED]

Each simulation has 2,000 items of 3 classes, 5 judges of different accuracy who share errors, and 200 labels of people.
`drawn` asks for items with probabilities that grow with the judges' disagreement; `noisy` has 5 people of different
accuracy per item; `anytime` looks after every 25 labels from 50 on, and all looks must hold; `rounds` draws as `drawn`
does, in four rounds, in each with more of a preference, as a label store does. A FOLDER has judges.tsv (judge TAB item
TAB label) and truth.tsv (item TAB label), from which 200 items are drawn in each run.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hutch.active.drawn import over_rounds
from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import from_codes
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.estimate import questions
from hutch.estimate.files import PEOPLE
from hutch.estimate.questions import Answer, Items, Question

ITEMS, CLASSES, LABELS = 2000, 3, 200
NAMES = [str(k) for k in range(CLASSES)]
JUDGES = ["good", "fair", "poor", "copy", "other"]
QUESTIONS: dict[str, Callable[[Items], Question]] = {
    "rate": lambda items: questions.rate(items, items.classes[0]),
    "mean": questions.mean,
    "accuracy": lambda items: questions.accuracy(items, items.judges[0]),
    "difference": lambda items: questions.difference(items, *items.judges[:2]),
    "left": lambda items: questions.left(items, items.classes[0]),
}


@dataclass(frozen=True)
class World:
    """All items, and what is true of them (items)."""

    items: Items
    truth: np.ndarray


def simulated(random: np.random.Generator) -> World:
    """Items and judges; nothing is labelled yet."""
    truth = random.choice(CLASSES, ITEMS, p=[0.3, 0.5, 0.2])
    hard = random.random(ITEMS) < 0.25
    shared = (truth + random.integers(1, CLASSES, ITEMS)) % CLASSES
    columns = []
    for right in (0.9, 0.8, 0.6, 0.6, 0.75):
        own = np.where(random.random(ITEMS) < right, truth, random.integers(0, CLASSES, ITEMS))
        columns.append(np.where(hard & (random.random(ITEMS) < 0.6), shared, own))
    columns[3] = np.where(random.random(ITEMS) < 0.9, columns[2], columns[3])
    judged = np.stack(columns, axis=1).astype(np.int32)
    return World(Items(NAMES, JUDGES, judged, np.zeros(0, np.int64), np.zeros((0, CLASSES))), truth)


def labelled(
    world: World, places: np.ndarray, said: np.ndarray | None = None, chance: np.ndarray | None = None
) -> Items:
    """The items, some of them labelled: truly unless something else was said."""
    exact = np.eye(len(world.items.classes))[world.truth[places]]
    return replace(world.items, labelled=places, said=exact if said is None else said, probability=chance)


def true_answer(world: World, items: Items, make: Callable[[Items], Question]) -> float:
    """The answer if every item were labelled."""
    everything = labelled(world, np.arange(len(world.truth)))
    question = make(everything)
    values = np.einsum("nk,nk->n", question.value, everything.said)[question.inside]
    plus = make(items).plus
    return float(question.factor * values.mean() + plus)


def noisy(world: World, places: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """P(class) of some items by a crowd model of five people each."""
    skill = random.uniform(0.55, 0.95, 20)
    people = np.stack([random.permutation(20)[:5] for _ in places])
    right = random.random(people.shape) < skill[people]
    labels = np.where(right, world.truth[places][:, None], random.integers(0, CLASSES, people.shape))
    codes = np.stack([people.ravel(), np.repeat(np.arange(len(places)), 5), labels.ravel()], axis=1).astype(np.int32)
    rows = from_codes(codes, [f"w{k}" for k in range(20)], [str(k) for k in range(len(places))], NAMES, NAMES)
    return aggregate(rows, PEOPLE).fit.posterior


def in_rounds(world: World, doubt: np.ndarray, random: np.random.Generator) -> Items:
    """Labels drawn in four rounds, each from what is left."""
    drawn: dict[str, tuple[int, float]] = {}
    asked: dict[int, int] = {}
    left = np.arange(ITEMS)
    for number in range(1, 5):
        wanted = doubt[left] ** (number / 2)
        chance = np.minimum(1.0, LABELS / 4 * wanted / wanted.sum())
        taken = random.random(len(left)) < chance
        drawn |= {str(place): (number, p) for place, p in zip(left[taken], chance[taken], strict=True)}
        asked[number], left = int(taken.sum()), left[~taken]
    chances = over_rounds(drawn, asked)
    return labelled(world, np.array([int(name) for name in chances]), chance=np.array(list(chances.values())))


def runs(first: int, count: int) -> Iterator[tuple[str, float, list[Answer]]]:
    """Every simulation's kind, truth and answers; of `anytime` one answer for each look."""
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        world = simulated(random)
        places = random.permutation(ITEMS)[:500]
        items = labelled(world, places[:LABELS])
        for kind, make in QUESTIONS.items():
            yield kind, true_answer(world, items, make), [questions.ask(items, make(items))]
        rate = QUESTIONS["rate"]
        doubt = 0.3 + (world.items.judged != world.items.judged[:, :1]).sum(axis=1)
        chance = np.minimum(1.0, LABELS * doubt / doubt.sum())
        drawn = np.flatnonzero(random.random(ITEMS) < chance)
        items = labelled(world, drawn, chance=chance[drawn])
        yield "drawn", true_answer(world, items, rate), [questions.ask(items, rate(items))]
        said = noisy(world, places[:LABELS], random)
        items = replace(labelled(world, places[:LABELS], said), noisy=True)
        yield "noisy", true_answer(world, items, rate), [questions.ask(items, rate(items))]
        looks = (labelled(world, places[:n]) for n in range(50, 501, 25))
        answers = [questions.ask(look, rate(look), always=LABELS) for look in looks]
        yield "anytime", true_answer(world, items, rate), answers
        items = in_rounds(world, doubt, random)
        yield "rounds", true_answer(world, items, rate), [questions.ask(items, rate(items))]


def covers(truth: float, answers: list[Answer]) -> tuple[bool, bool, float, float]:
    """Whether all intervals cover the truth, with judges and by people alone, and the last half-widths."""
    both = [[getattr(answer, name) for answer in answers] for name in ("found", "people_only")]
    held = [all(each.low <= truth <= each.high for each in some) for some in both]
    return held[0], held[1], both[0][-1].half_width, both[1][-1].half_width


def show(rows: dict[str, list[tuple[bool, bool, float, float]]]) -> None:
    """Print a line for each kind."""
    print(f"  {'':<12} {'coverage':>8} {'alone':>6} {'half-width':>10} {'alone':>8} {'ratio':>6}")
    for name, found in rows.items():
        cover, alone, width, wide = np.mean(np.array(found, np.float64), axis=0)
        print(f"  {name:<12} {cover:8.3f} {alone:6.3f} {width:10.4f} {wide:8.4f} {width / wide:6.2f}")


def real(folder: Path, count: int) -> dict[str, list[tuple[bool, bool, float, float]]]:
    """Draws of 200 of the items with a known truth."""
    truth = read_gold(folder / "truth.tsv")
    told = read_labels(folder / "judges.tsv", classes=sorted(set(truth.values())))
    known = np.array([name in truth for name in told.item_names])
    judged = np.full((told.items, len(told.worker_names)), -1, np.int32)
    judged[told.label_items, told.workers] = told.labels
    code = {name: k for k, name in enumerate(told.classes)}
    classes = np.array([code[truth[name]] for name in told.item_names if name in truth])
    none = np.zeros((0, len(told.classes)))
    world = World(Items(told.classes, told.worker_names, judged[known], np.zeros(0, np.int64), none), classes)
    rows: dict[str, list[tuple[bool, bool, float, float]]] = {}
    for seed in range(count):
        places = np.random.default_rng(seed).permutation(len(classes))[:LABELS]
        items = labelled(world, places)
        for kind, make in QUESTIONS.items():
            try:
                answer = questions.ask(items, make(items))
            except questions.UsageError:
                continue
            rows.setdefault(kind, []).append(covers(true_answer(world, items, make), [answer]))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=Path, nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first simulation")
    arguments = parser.parse_args()
    begin = time.process_time()
    rows: dict[str, list[tuple[bool, bool, float, float]]] = {}
    for kind, truth, answers in runs(arguments.first, arguments.runs):
        rows.setdefault(kind, []).append(covers(truth, answers))
    print(f"{arguments.runs} simulations, {time.process_time() - begin:.0f} CPU s")
    show(rows)
    for folder in arguments.sets:
        print(folder.name)
        show(real(folder, arguments.runs))


if __name__ == "__main__":
    main()
