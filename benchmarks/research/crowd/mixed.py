"""People and judges on the same items: the model `mixed` beside one person, all workers alike, and single judges.

    python benchmarks/research/crowd/mixed.py [DATA_DIR] [--seeds N] [--shuffled] [--drawn]

DATA_DIR holds one folder per set, with one.tsv (person TAB item TAB label), judges.tsv (judge TAB item TAB label) and
truth.tsv (item TAB label), which only scores; further columns are not read. Log-loss clips at 1e-6; that of one person
is of .8 on their label. Seeds are those of the folds, online of the order of the items; "before" is what was said of
each item before it was learned. Sets without one.tsv are judges alone: 20 and 100 items, drawn by the seed, are gold,
and the others are scored. --shuffled gives each judge's labels to other items, and reads 200 items. With --drawn,
DATA_DIR holds sets of judges alone, labels.tsv and gold.tsv, and one person is drawn who is right in .65, .8 or .9
whatever the judges say.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import Options, aggregate
from hutch.crowd.data.labels import Labels, from_codes, from_triples
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels

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
    mean = np.mean(found, axis=0)
    return float(mean[0]), float(mean[1])


def judges_alone(folder: Path, seeds: int) -> None:
    """A set without people: gold on some items, scored on the others."""
    lines = (folder / "judges.tsv").read_text(encoding="utf-8").splitlines()
    rows: list[Row] = [(cells[0], cells[1], cells[2]) for cells in (line.split("\t") for line in lines)]
    truth = read_gold(folder / "truth.tsv")
    tasks = sorted(truth)
    print(f"{folder.name}: {len(tasks)} items, {len({row[0] for row in rows})} judges, no people")
    for size in (0, 20, 100):
        for kind in (TwoLevel, Mixed)[: 2 if size else 1]:
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


CELLS: dict[str, tuple[int, list[float], list[float], str, float]] = {
    "independent .8 x 5": (4, [0.8], [0.8] * 5, "", 0.0),
    "independent .6 x 5": (2, [0.8], [0.6] * 5, "", 0.0),
    "independent .6 to .9": (3, [0.85], [0.6, 0.7, 0.8, 0.9], "", 0.0),
    "independent .5 x 8, person .6": (4, [0.6], [0.5] * 8, "", 0.0),
    "independent .8 x 3, person .7": (2, [0.7], [0.8] * 3, "", 0.0),
    "independent .7 x 4, 6 people": (4, [0.5, 0.6, 0.7, 0.7, 0.8, 0.9], [0.7] * 4, "", 0.0),
    "topics": (3, [0.8], [0.5] * 6, "topic", 0.0),
    "one class further": (4, [0.8], [0.7] * 5, "shift", 0.0),
    "misread .3, 2 classes": (2, [0.85], [0.7, 0.76, 0.82, 0.88], "misread", 0.3),
    "misread .5, 2 classes": (2, [0.85], [0.7, 0.76, 0.82, 0.88], "misread", 0.5),
    "misread .3, 3 classes": (3, [0.85], [0.7, 0.76, 0.82, 0.88], "misread", 0.3),
    "misread .5, 3 classes": (3, [0.85], [0.7, 0.76, 0.82, 0.88], "misread", 0.5),
    "misread .3, 3 people": (3, [0.75, 0.8, 0.85], [0.7, 0.76, 0.82, 0.88], "misread", 0.3),
    "hard .2, 3 people": (4, [0.8] * 3, [0.85] * 5, "hard", 0.2),
    "hard .3": (4, [0.8], [0.85] * 5, "hard", 0.3),
    "hard .3, 2 classes": (2, [0.8], [0.85] * 5, "hard", 0.3),
    "outside .4": (3, [0.8], [0.8] * 4, "outside", 0.4),
    "outside .5": (4, [0.6] * 4, [0.6], "outside", 0.5),
    "copies": (2, [0.8], [0.8] * 6, "copies", 0.0),
    "guesses": (4, [0.8], [0.25] * 5, "", 0.0),
    "one judge .8, person .85": (2, [0.85], [0.8], "", 0.0),
    "one judge .9, person .7": (4, [0.7], [0.9], "", 0.0),
    "weak person .35": (4, [0.35], [0.5] * 5, "", 0.0),
}
"""Classes; how often people, then judges, are right; what judges share, and on how many items."""


def cell(
    classes: int, people: list[float], judged: list[float], shared: str, share: float, seed: int
) -> tuple[Labels, np.ndarray]:
    """Labels of 1,000 items, each by one of the people (by two of more than two) and all judges; and the truth.

    `misread`: judges take that share of the last class for the first; `hard`: they see one wrong class on that share of
    the items; `outside`: so do people; `topic`: each is right in .95 on every third item; `shift`: judges name the next
    class; `copies`: they repeat the first judge in .95; and else err alone.
    """
    random = np.random.default_rng(seed)
    truth, item = random.integers(classes, size=1000), np.arange(1000)
    wrong = (truth + random.integers(1, classes, size=1000)) % classes
    lost = random.random(1000) < share
    seen = np.where(lost & (truth == classes - 1), 0, truth) if shared == "misread" else np.where(lost, wrong, truth)
    first, columns = None, []
    each = np.argsort(random.random((1000, len(people))), axis=1)[:, : 2 if len(people) > 2 else 1]
    for worker, right in enumerate(people + judged):
        judge = worker - len(people)
        mine = item if judge >= 0 else item[(each == worker).any(axis=1)]
        meant = seen[mine] if judge >= 0 or shared == "outside" else truth[mine]
        rate = np.where(mine % 3 == judge % 3, 0.95, right) if shared == "topic" and judge >= 0 else right
        noise = (meant + random.integers(1, classes, size=len(mine))) % classes
        said = np.where(random.random(len(mine)) < rate, meant, noise)
        if judge >= 0 and shared == "copies":
            first = said if first is None else first
            said = np.where(random.random(1000) < 0.95, first, said)
        said = (said + 1) % classes if judge >= 0 and shared == "shift" else said
        columns.append(np.stack([np.full(len(mine), worker), mine, said], axis=1))
    names = [[str(n) for n in range(size)] for size in (len(columns), 1000, classes)]
    return from_codes(np.concatenate(columns).astype(np.int32), *names, classes=names[2]), truth.astype(np.int32)


def simulated(seeds: int = 4) -> None:
    """Accuracy and log-loss of people, of all alike and of `mixed` on simulated crowds."""
    print(f"1,000 simulated items, mean of {seeds}   people   two_level       mixed           equal shares")
    for name, case in CELLS.items():
        found = []
        for seed in range(seeds):
            labels, truth = cell(*case, seed)
            people = tuple(labels.worker_names[: len(case[1])])
            alone = labels.chosen(labels.workers < len(people))
            row = [accuracy(aggregate(alone, TwoLevel()).probability if len(people) > 1 else alone.vote_share(), truth)]
            for model in (TwoLevel(), Mixed(reference=people, ordered=False)):
                made = aggregate(labels, model, Options(ordered=False)).probability
                row += [accuracy(made, truth), log_loss(made, truth)]
            found.append(row)
        m = np.mean(found, axis=0)
        shown = f"{m[0]:.3f}    {m[1]:.3f} / {m[2]:.3f}   {m[3]:.3f} / {m[4]:.3f}   {np.log(case[0]):.3f}"
        print(f"  {name:<34} {shown}", flush=True)


def drawn(folder: Path, right: float) -> np.ndarray:
    """Accuracy and log-loss of one person drawn from the truth, of `two_level` and of `mixed`, with real judges."""
    judged, truth = triples(folder / "labels.tsv"), read_gold(folder / "gold.tsv")
    classes = sorted(set(truth.values()) | {row[2] for row in judged})
    random, person = np.random.default_rng(int(right * 100)), []
    for task, name in truth.items():
        wrong = random.random() > right
        code = (classes.index(name) + (random.integers(1, len(classes)) if wrong else 0)) % len(classes)
        person.append(("drawn person", task, classes[code]))
    labels = from_triples(person + judged, classes=classes)
    codes, alone = codes_of(labels, truth), labels.chosen(labels.workers == labels.worker_names.index("drawn person"))
    share = right * alone.vote_share() + (1 - right) / (len(classes) - 1) * (1 - alone.vote_share())
    models = TwoLevel(), Mixed(reference=("drawn person",), ordered=False)
    found = [share, *(aggregate(labels, model, Options(ordered=False)).probability for model in models)]
    return np.array([[accuracy(each, codes), log_loss(each, codes)] for each in found])


def all_drawn(data: Path) -> None:
    """`drawn` on every set of judges, for people of three skills."""
    for right in (0.65, 0.8, 0.9):
        rows = [drawn(path.parent, right) for path in sorted(data.glob("*/labels.tsv"))]
        below = sum(row[2, 0] < row[:2, 0].max() - 0.005 for row in rows)
        shown = "   ".join(f"{a:.3f} / {b:.3f}" for a, b in np.mean(rows, axis=0))
        print(f"person right in {right}: person, two_level, mixed {shown}   below: {below} of {len(rows)}", flush=True)


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
    parser.add_argument("--drawn", action="store_true", help="a drawn person beside the judges of DATA_DIR")
    arguments = parser.parse_args()
    if arguments.drawn:
        all_drawn(arguments.data)
        return
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
