"""How often `hutch label` keeps its guarantee, and its cost beside a cascade with a guarantee.

    python benchmarks/research/label/guarantee.py [--sets FOLDER...] [--simulated N,...] [--runs N]
        [--targets P,...] [--before]

A FOLDER has labels.tsv or judges.tsv (worker TAB item TAB label) and gold.tsv or truth.tsv (item TAB label), which is
what people say, for 1 each. Files labels.tsv are of crowds: one worker drawn by lot per item is cheap (.002 per item),
the others are a panel (.04 per item, at most 15). Files judges.tsv are of language models: each is a kind of its own,
at .002, those of LARGE at .04. Simulated judges claim probabilities: see `hutch label simulate`. `--before` compares
bills with the plan before anything is bought, which knows the judges' accuracies, and with that of all judges' votes.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from hutch.crowd.data.labels import Labels
from hutch.crowd.read.labels import read_gold, read_labels
from hutch.label.loop import Loop, Settings
from hutch.label.market import Hidden, Seller
from hutch.label.posterior import Votes
from hutch.label.simulate import DIFFICULTIES, World, compare, invented, simulated

LARGE = ("gpt-4o", "gemini_pro")
CHEAP, DEAR, PANEL = 0.002, 0.04, 15
PEOPLE = Seller("people", 1.0)
Drawn = tuple[list[Seller], Callable[[int], World], int]


def of_folder(folder: Path) -> Drawn:
    """Judges, their prices, and how items are drawn, of a folder."""
    crowd = (folder / "labels.tsv").is_file()
    gold = read_gold(folder / ("gold.tsv" if crowd else "truth.tsv"))
    labels = read_labels(folder / ("labels.tsv" if crowd else "judges.tsv"), gold=gold)
    places = np.full(labels.items, -1)
    places[labels.gold >= 0] = np.arange(int((labels.gold >= 0).sum()))
    truth, classes = labels.gold[labels.gold >= 0], len(labels.classes)
    place, items = places[labels.label_items], len(truth)
    if crowd:
        mean = min(PANEL, np.bincount(place[place >= 0]).mean() - 1)
        judges = [Seller("one", CHEAP), Seller("panel", DEAR / mean, PANEL)]
        return judges, lambda run: World(classes, truth, crowd_votes(labels, place, items, run)), items
    names = sorted(labels.worker_names, key=lambda name: (name in LARGE, name))
    votes = []
    for name in names:
        mine = (labels.workers == labels.worker_names.index(name)) & (place >= 0)
        votes.append(Votes.none(items, 1))
        votes[-1].label[place[mine], 0] = labels.labels[mine]
    judges = [Seller(name, DEAR if name in LARGE else CHEAP) for name in names]
    return judges, lambda run: World(classes, truth, votes), items


def crowd_votes(labels: Labels, place: np.ndarray, items: int, run: int) -> list[Votes]:
    """One random worker per item, and the panel of the others."""
    random = np.random.default_rng([run, *b"crowd"])
    order = np.lexsort((random.random(len(place)), place))
    order = order[place[order] >= 0]
    at = place[order]
    rank = np.arange(len(order)) - np.searchsorted(at, np.arange(items))[at]
    one, panel = Votes.none(items, 1), Votes.none(items, PANEL)
    for votes, chosen, first in ((one, rank == 0, 0), (panel, (rank > 0) & (rank <= PANEL), 1)):
        votes.label[at[chosen], rank[chosen] - first] = labels.labels[order[chosen]]
        votes.worker[at[chosen], rank[chosen] - first] = labels.workers[order[chosen]]
    return [one, panel]


def of_simulation(items: int, errors: str, right: tuple[float, float]) -> Drawn:
    """Two judges who claim probabilities."""
    judges = [Seller("cheap", CHEAP), Seller("dear", DEAR)]
    return judges, lambda run: simulated(items, list(right), 2, errors, [items, run]), items


def cases(arguments: argparse.Namespace) -> Iterator[tuple[str, Drawn]]:
    """Names and items."""
    for folder in arguments.sets:
        yield Path(folder).name, of_folder(Path(folder))
    for items in filter(None, arguments.simulated.split(",")):
        for errors in DIFFICULTIES:
            for right in ((0.7, 0.85), (0.8, 0.93), (0.9, 0.93)):
                name = f"{int(items):,} {errors} {right[0]}/{right[1]}"
                yield name, of_simulation(int(items), errors, right)


def before(drawn: Drawn, target: float, runs: int) -> str:
    """Medians of bills, and of both plans over them, with judges to buy and with their votes at hand."""
    judges, draw, items = drawn
    rows = []
    for run in range(runs):
        world, settings = draw(run), Settings(target, seed=run)
        guesses = []
        for judge, votes in zip(judges, world.votes, strict=True):
            counts = (votes.label[:, :, None] == np.arange(world.classes)).sum(axis=1)
            right = counts.argmax(axis=1) == world.truth
            guesses.append(replace(judge, accuracy=min(round(float(right[votes.there].mean()), 2), 0.99)))
        for sellers, votes, given in ((guesses, world.votes, []), ([], [], world.votes)):
            market = Hidden(sellers, PEOPLE, votes, world.truth)
            bill = Loop(items, world.classes, sellers, PEOPLE, market, settings, given).run().spent
            low, high = invented(items, world.classes, sellers, PEOPLE, settings, given)
            rows.append((bill / items, low / bill, high / bill))
    middle = np.median(np.array(rows).reshape(runs, 6), axis=0)
    return " | ".join(f"{x:.{3 if k % 3 == 0 else 2}f}" for k, x in enumerate(middle.tolist()))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--simulated", default="")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--targets", default="0.9,0.95")
    parser.add_argument("--before", action="store_true")
    arguments = parser.parse_args()
    if arguments.before:
        print(f"| items | target{' | bill | independent | misled' * 2} |\n|{'---|' * 8}")
        for name, drawn in cases(arguments):
            for target in map(float, arguments.targets.split(",")):
                print(f"| {name} | {target} | {before(drawn, target, arguments.runs)} |", flush=True)
        return
    columns = "items | target | held | bill | of cascade's | of cascade's with credit | random | audits | plan | within"
    print(f"| {columns} | s |\n|{'---|' * 11}")
    for name, (judges, draw, _) in cases(arguments):
        for target in map(float, arguments.targets.split(",")):
            start = time.perf_counter()
            found = compare(draw, judges, PEOPLE, Settings(target), arguments.runs)
            ours = found["hutch"]
            beside = [ours.bill / found[rule].bill for rule in ("cascade", "cascade with credit", "random")]
            seconds = (time.perf_counter() - start) / arguments.runs
            figures = " | ".join(f"{x:.2f}" for x in beside)
            plan = f"{ours.plan:.2f} | {ours.within:.2f}"
            row = f"{ours.held:.3f} | {ours.share:.3f} | {figures} | {ours.audited:.0f} | {plan} | {seconds:.2f}"
            print(f"| {name} | {target} | {row} |", flush=True)


if __name__ == "__main__":
    main()
