"""People and judges on the same items: the model `mixed` beside one person, all workers alike, and single judges.

    python benchmarks/crowd/mixed.py [DATA_DIR] [--seeds N] [--shuffled]

DATA_DIR holds one folder per set, with one.tsv (person TAB item TAB label), judges.tsv (judge TAB item TAB label) and
truth.tsv (item TAB label), which only scores; further columns are not read. Log-loss clips at 1e-6; that of one person
is of .8 on their label. Seeds are those of the folds, online of the order of the items; "before" is what was said of
each item before it was learned. Sets without one.tsv are judges alone: 20 and 100 items, drawn by the seed, are gold,
and the others are scored. Judges are reported on with the labels of all people, people.tsv, for `alt_test`. --shuffled
gives each judge's labels to other items, and reads 200 items.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import Labels, from_triples, read_gold, read_labels
from hutch.crowd.judges import judges
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.two_level import TwoLevel

MANY_CLASSES = 100
"""Classes above which all workers alike and online are not measured: time and memory."""
Row = tuple[str, str, str]


def triples(path: Path) -> list[Row]:
    """The rows of a file."""
    labels = read_labels(path)
    return [
        (labels.worker_names[w], labels.item_names[i], labels.classes[k])
        for w, i, k in zip(labels.workers, labels.label_items, labels.labels, strict=True)
    ]


def shuffled(rows: list[Row], items: list[str]) -> list[Row]:
    """The rows of some items, the items of each judge permuted."""
    random, wanted, result = np.random.default_rng(0), set(items), []
    for judge in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == judge and row[1] in wanted]
        order = random.permutation(len(own))
        result += [(judge, own[i][1], row[2]) for i, row in zip(order, own, strict=True)]
    return result


def show(name: str, truth: np.ndarray, probability: np.ndarray, note: str = "") -> tuple[float, float]:
    """Print and return accuracy and log-loss."""
    found = accuracy(probability, truth), log_loss(probability, truth)
    print(f"  {name:<24} {found[0]:.4f} / {found[1]:.4f} {note}", flush=True)
    return found


def measure(folder: Path, seeds: int, shuffle: bool) -> tuple[float, float]:
    """One set; returns accuracy and log-loss of `mixed`."""
    people, judged, truth = triples(folder / "one.tsv"), triples(folder / "judges.tsv"), read_gold(folder / "truth.tsv")
    if shuffle:
        items = [row[1] for row in people][:: max(len(people) // 200, 1)][:200]
        people, judged = [row for row in people if row[1] in set(items)], shuffled(judged, items)
    everybody = sorted({row[2] for row in people + judged} | set(truth.values()))
    labels = from_triples(people + judged, classes=sorted(everybody, key=lambda name: (len(name), name)))
    codes = codes_of(labels, truth)
    print(f"{folder.name}: {labels.items} items, {len(labels.classes)} classes, {len({r[0] for r in judged})} judges")
    alone = from_triples(people, classes=labels.classes)
    vote = 0.8 * alone.vote_share() + 0.2 / len(labels.classes)
    show("one person", codes_of(alone, truth), vote)
    if len(labels.classes) <= MANY_CLASSES:
        show("two_level, all alike", codes, aggregate(labels, TwoLevel()).probability)
    names, found = tuple({row[0] for row in people}), []
    for seed in range(seeds):
        begin = time.process_time()
        result = aggregate(labels, Mixed(reference=names, seed=seed)).probability
        seconds = time.process_time() - begin
        found.append(show(f"mixed, seed {seed}", codes, result, f"{seconds:.2f} CPU s"))
    for seed in range(seeds if len(labels.classes) <= MANY_CLASSES else 0):
        order = np.random.default_rng(seed).permutation(labels.items).tolist()
        rows: dict[str, list[Row]] = {name: [] for name in labels.item_names}
        for row in people + judged:
            rows[row[1]].append(row)
        drawn = from_triples([row for i in order for row in rows[labels.item_names[i]]], classes=labels.classes)
        before: list[np.ndarray] = []
        online = aggregate(
            drawn,
            Mixed(reference=names),
            Options("online"),
            report=lambda _, made, to=before: to.append(made.posterior),
        )
        show(f"online, order {seed}", codes_of(drawn, truth), online.probability)
        show(f"online, order {seed}, before", codes_of(drawn, truth), before[0])
    if not shuffle:
        report(folder, truth)
    mean = np.mean(found, axis=0)
    return float(mean[0]), float(mean[1])


def report(folder: Path, truth: dict[str, str]) -> None:
    """Estimated and true accuracy of the judges, from one person's labels; winning rates, from all people's."""
    judged = triples(folder / "judges.tsv")
    reports = []
    for name in ("one.tsv", "people.tsv"):
        people = triples(folder / name)
        model = Mixed(reference=tuple({row[0] for row in people}))
        labels = from_triples(people + judged)
        reports.append(judges(aggregate(labels, model), model))
    for judge, beside in zip(*reports, strict=True):
        right = np.mean(
            [truth[task] == label for worker, task, label in judged if worker == judge.name and task in truth]
        )
        print(
            f"  {judge.name:<14} accuracy {judge.accuracy:.3f}, true {right:.3f}   use {judge.use:.4f}"
            f"   winning rate {beside.winning_rate:.2f} of {beside.people}",
            flush=True,
        )


def judges_alone(folder: Path, seeds: int) -> None:
    """A set without people: gold on some items, scored on the others."""
    lines = (folder / "judges.tsv").read_text(encoding="utf-8").splitlines()
    rows: list[Row] = [(cells[0], cells[1], cells[2]) for cells in (line.split("\t") for line in lines)]
    truth = read_gold(folder / "truth.tsv")
    tasks = sorted(truth)
    print(f"{folder.name}: {len(tasks)} items, {len({row[0] for row in rows})} judges, no people")
    for size in (20, 100):
        for kind in (TwoLevel, Mixed):
            found = []
            for seed in range(seeds):
                chosen = np.random.default_rng(100 + seed).permutation(len(tasks))[:size]
                labels = from_triples(rows, gold={tasks[i]: truth[tasks[i]] for i in chosen})
                codes = codes_of(labels, truth)
                codes[labels.gold >= 0] = -1
                probability = aggregate(labels, kind()).probability
                found.append((accuracy(probability, codes), log_loss(probability, codes)))
            mean = np.mean(found, axis=0)
            print(f"  {kind.name}, {size} gold".ljust(26), f"{mean[0]:.4f} / {mean[1]:.4f}", flush=True)


def simulated(seeds: int = 4) -> None:
    """Judges who are independent, and judges who all misread a share of the last class for the first."""
    print("1,000 simulated items: one person is right in .80 or .85, judges in the shares given")
    cases: list[tuple[int, list[float], float, float]] = [(4, [0.8] * 5, 0.0, 0.8), (2, [0.6] * 5, 0.0, 0.8)]
    cases += [(classes, [0.7, 0.76, 0.82, 0.88], misread, 0.85) for classes in (2, 3) for misread in (0.3, 0.5)]
    for classes, judged, misread, person in cases:
        found = []
        for seed in range(seeds):
            random = np.random.default_rng(seed)
            truth = random.integers(classes, size=1000)
            seen = np.where((truth == classes - 1) & (random.random(1000) < misread), 0, truth)
            rows: list[Row] = []
            for name, right, meant in [("ann", person, truth), *((f"j{j}", r, seen) for j, r in enumerate(judged))]:
                wrong = (meant + random.integers(1, classes, size=1000)) % classes
                said = np.where(random.random(1000) < right, meant, wrong)
                rows += [(name, f"t{i}", str(x)) for i, x in enumerate(said.tolist())]
            labels = from_triples(rows)
            codes, alone = truth.astype(np.int32), from_triples(rows[:1000]).labels == truth
            models = Mixed(reference=("ann",), ordered=False), TwoLevel()
            found.append([alone.mean(), *(accuracy(aggregate(labels, m).probability, codes) for m in models)])
        mean = np.mean(found, axis=0)
        print(
            f"  {classes} classes, judges {judged}, misread {misread}: "
            f"person {mean[0]:.3f}   mixed {mean[1]:.3f}   two_level {mean[2]:.3f}",
            flush=True,
        )


def codes_of(labels: Labels, truth: dict[str, str]) -> np.ndarray:
    """True classes by item, -1 where unknown."""
    codes = {name: code for code, name in enumerate(labels.classes)}
    return np.array([codes[truth[name]] if name in truth else -1 for name in labels.item_names], np.int32)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", help="without it, simulated crowds only")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="divisions into folds to average over")
    parser.add_argument("--shuffled", action="store_true", help="judges who say nothing")
    arguments = parser.parse_args()
    if not arguments.data:
        simulated()
        return
    folders = sorted(path.parent for path in arguments.data.glob("*/one.tsv"))
    alone = [path.parent for path in arguments.data.glob("*/judges.tsv") if path.parent not in folders]
    found = {folder.name: measure(folder, arguments.seeds, arguments.shuffled) for folder in folders}
    for folder in alone if not arguments.shuffled else []:
        judges_alone(folder, arguments.seeds)
    print(f"mean of {len(found)}: {np.mean(list(found.values()), axis=0).round(4)}")
    four = [found[name] for name in ("framing", "cebab_aspects", "10k_prompts", "summeval") if name in found]
    print(f"mean of framing, cebab_aspects, 10k_prompts, summeval: {np.mean(four, axis=0).round(4)}")


if __name__ == "__main__":
    main()
