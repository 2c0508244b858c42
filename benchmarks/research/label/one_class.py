"""How often `hutch label --positive CLASS` keeps its promises, and how many labels it needs, beside BARGAIN and SUPG.

    python benchmarks/research/label/one_class.py both|recall|precision|f1 [--simulated N,...] [--rates P,...]
        [--sets FOLDER...] [--documents FILE.tsv.gz] [--runs N] [--level P]

`both` asks for recall and precision: BARGAIN's rule for both needs no budget, so calls to people are compared. For
`recall` and `precision` its rules and SUPG's take a budget: they get as many labels as Hutch used, and twice as many,
and what they deliver is compared. Simulated items are of the class at some rates; a judge sees them through noise of
standard deviation 1, 2.5 apart (right for 89 % where both are as common), and claims the true probability. Folders are
those of `guarantee.py`; the class is the rarest with at least 2 % of the items, and others' rules get as a score the
posterior of all votes, which are free here. DOCUMENTS is a table with columns subject and prompt: each subject with 300
texts or more is a class to find by words alone.
"""

import argparse
import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from guarantee import of_folder
from thresholds import RULES

from hutch.label.loop import Settings
from hutch.label.market import Hidden, Seller
from hutch.label.one_class.loop import ClassLoop
from hutch.label.one_class.promise import Promise
from hutch.label.one_class.ranker import words_in
from hutch.label.one_class.simulate import least_labels
from hutch.label.posterior import Array, Votes, posterior

CONFIDENCE, APART, COMMON = 0.95, 2.5, 300
PEOPLE = Seller("people", 1.0)
Case = tuple[int, int, Callable[[int], tuple[np.ndarray, list[Votes]]]]
"""Classes, the code of the one to find, and truth and votes of a run."""


def seen_through_noise(items: int, rate: float, run: int) -> tuple[np.ndarray, list[Votes]]:
    """Items of which few are of class 1, and a judge's votes."""
    random = np.random.default_rng([items, int(1e4 * rate), run])
    truth = (random.random(items) < rate).astype(np.int32)
    seen = random.normal(size=items) + (truth - 0.5) * APART
    p = 1 / (1 + np.exp(-(APART * seen + np.log(rate / (1 - rate)))))
    said = np.clip(np.maximum(p, 1 - p), 0.5, 1 - 1e-6)[:, None]
    return truth, [Votes((p > 0.5).astype(np.int32)[:, None], said, np.zeros((items, 1), np.int32))]


def cases(arguments: argparse.Namespace) -> Iterator[tuple[str, Case]]:
    """Names and items."""
    for items in map(int, filter(None, arguments.simulated.split(","))):
        for rate in map(float, arguments.rates.split(",")):
            yield f"{items:,}, {rate:.1%}", (2, 1, lambda run, n=items, p=rate: seen_through_noise(n, p, run))
    for folder in arguments.sets:
        _, draw, items = of_folder(Path(folder))
        world = draw(0)
        counts = np.bincount(world.truth, minlength=world.classes)
        positive = int(np.argmin(np.where(counts >= 0.02 * items, counts, items + 1)))
        name = f"`{Path(folder).name}`, {items:,}, {counts[positive] / items:.1%}"
        yield name, (world.classes, positive, lambda run, draw=draw: (draw(run).truth, draw(run).votes))


def measures(delivered: np.ndarray, true: np.ndarray) -> dict[str, float]:
    """Recall, precision and F1."""
    right, said, there = int((delivered & true).sum()), int(delivered.sum()), int(true.sum())
    return {
        "recall": right / there if there else 1.0,
        "precision": right / said if said else 1.0,
        "f1": 2 * right / (said + there) if said + there else 1.0,
    }


def score_of(votes: list[Votes], classes: int, positive: int) -> Array:
    """What others' rules get: the claim of a single judge, or the posterior of several."""
    first = votes[0]
    if len(votes) == 1 and np.isfinite(first.probability).any():
        return np.where(first.label[:, 0] == positive, first.probability[:, 0], 1 - first.probability[:, 0])
    nobody = np.zeros(0, np.int64)
    return posterior(votes, classes, nobody, nobody.astype(np.int32))[:, positive]


def run_case(case: Case, promises: list[Promise], what: str, runs: int) -> str:
    """Means over runs, as cells of a table."""
    classes, positive, draw = case
    level, other = promises[0].level, {"recall": "precision", "precision": "recall"}.get(what, "f1")
    rows: dict[str, list[tuple[float, ...]]] = {}
    for run in range(runs):
        truth, votes = draw(run)
        true, judges = (
            truth == positive,
            [Seller(f"judge {k}", 0.0, each.label.shape[1]) for k, each in enumerate(votes)],
        )
        market = Hidden(judges, PEOPLE, votes, truth)
        loop = ClassLoop(
            len(truth), classes, judges, PEOPLE, market, Settings(0.5, CONFIDENCE, seed=run),
            promises=promises, positive=positive,
        )  # fmt: skip
        outcome = loop.find()
        calls = market.bought[-1]

        def note(name: str, delivered: np.ndarray, calls: int) -> None:
            found = measures(delivered, true)  # noqa: B023
            held = all(found[each.measure] >= each.level - 1e-9 for each in promises)
            rows.setdefault(name, []).append((held, calls / len(true), found[other]))  # noqa: B023

        note("hutch", outcome.label == positive, calls)
        score = score_of(votes, classes, positive)
        if what == "both":
            found, used = RULES["bargain"]("both", score, true, level, 1 - CONFIDENCE, 0, run)
            note("bargain", np.isin(np.arange(len(true)), found), used)
        elif what in ("recall", "precision"):
            for name, rule in RULES.items():
                for times in (1, 2):
                    budget = min(times * calls, len(true))
                    found, used = rule(what, score, true, level, 1 - CONFIDENCE, budget, run)
                    note(f"{name} {times}", np.isin(np.arange(len(true)), found), used)
    means = {name: np.mean(np.array(values, float), axis=0) for name, values in rows.items()}
    cells = []
    for name, (held, share, quality) in means.items():
        cells += [f"{held:.2f}", f"{share:.3f}"] if name in ("hutch", "bargain") else [f"{held:.2f}"]
        cells.append(f"{quality:.3f}")
    if what == "both":
        cells.append(f"{means['hutch'][1] / means['bargain'][1]:.2f}")
    return " | ".join(cells)


def documents(path: Path, promises: list[Promise], runs: int) -> None:
    """Print a row per subject: labels that people gave, beside the least that a perfect order would take."""
    with gzip.open(path, "rt") as file:
        head, *rows = (line.rstrip("\n").split("\t") for line in file)
    subject = np.array([row[head.index("subject")] for row in rows])
    words = words_in([{"text": row[head.index("prompt")]} for row in rows])
    print("| class | texts | of all | held | labels | of all | recall | least possible |\n|" + "---|" * 8)
    for name in np.unique(subject):
        true = subject == name
        if true.sum() < COMMON:
            continue
        found = []
        for run in range(runs):
            market = Hidden([], PEOPLE, [], true.astype(np.int32))
            loop = ClassLoop(
                len(true), 2, [], PEOPLE, market, Settings(0.5, CONFIDENCE, seed=run),
                promises=promises, positive=1, words=words,
            )  # fmt: skip
            outcome = loop.find()
            value = measures(outcome.label == 1, true)
            found.append((value[promises[0].measure] >= promises[0].level, outcome.spent, value["recall"]))
        held, labels, recall = np.mean(np.array(found, float), axis=0)
        least = least_labels(len(true), float(true.mean()), promises, CONFIDENCE)
        row = (
            f"{true.sum():,} | {true.mean():.1%} | {held:.2f} | {labels:,.0f} | {labels / len(true):.3f} | {recall:.3f}"
        )
        print(f"| {name} | {row} | {least:,} |", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["both", "recall", "precision", "f1"])
    parser.add_argument("--simulated", default="")
    parser.add_argument("--rates", default="0.005,0.02,0.05,0.1,0.3")
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--level", type=float, default=0.95)
    arguments = parser.parse_args()
    names = ["recall", "precision"] if arguments.what == "both" else [arguments.what]
    promises = [Promise(name, arguments.level) for name in names]
    if arguments.documents:
        documents(arguments.documents, promises, arguments.runs)
        return
    beside = {
        "both": "held | calls | F1 | BARGAIN: held | calls | F1 | calls / BARGAIN's",
        "f1": "held | calls | F1",
        "recall": "held | calls | precision | BARGAIN, same calls: held | precision | twice: held | precision "
        "| SUPG, same calls: held | precision | twice: held | precision",
    }
    columns = (
        beside["recall"].replace("precision", "recall") if arguments.what == "precision" else beside[arguments.what]
    )
    print(f"| items, class | {columns} | s |\n|{'---|' * (columns.count('|') + 3)}")
    for name, case in cases(arguments):
        start = time.perf_counter()
        row = run_case(case, promises, arguments.what, arguments.runs)
        print(f"| {name} | {row} | {time.perf_counter() - start:.0f} |", flush=True)


if __name__ == "__main__":
    main()
