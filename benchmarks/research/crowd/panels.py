"""Panels of judges without people: log-loss beside equal shares and single judges, without gold and with a little.

    python benchmarks/research/crowd/panels.py [FOLDER ...] [--draws N] [--gold N,...] [--least-accuracy P]
    python benchmarks/research/crowd/panels.py --simulate N

FOLDER has labels.tsv (judge TAB item TAB label) and gold.tsv (item TAB label), or folders that have them. Gold scores;
N items of it, drawn by the seed, are learned from under the headings that say so, and the others are scored. "votes"
have one pseudo-vote for each class; "free" is Bayes' rule with the judges' true rows, if they erred independently, and
"closed" the part of the gap from the plurality to it that the panel closes. "best" is the single judge that is best on
the scored items, "chosen" the one that leave-one-out on the same gold prefers.

--simulate: N draws of panels of judges whose accuracy is .5 to .95 whatever input they share, and of which a third may
repeat somebody who is wrong in .8: how far the log-loss is above that of equal shares.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from hutch.crowd.aggregate import aggregate
from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.mixed.model import Mixed
from hutch.crowd.models.calibration import accuracy, log_loss
from hutch.crowd.models.trust import Trust
from hutch.crowd.models.two_level import TwoLevel
from hutch.crowd.read.labels import read_gold, read_labels

MOST = 30
"""Single judges that are measured: the busiest."""


def read(folder: Path) -> tuple[Labels, np.ndarray]:
    """Labels, and the truth by item, -1 where it is not known."""
    gold = read_gold(folder / "gold.tsv")
    labels = read_labels(folder / "labels.tsv", sorted(set(gold.values())))
    codes = {name: code for code, name in enumerate(labels.classes)}
    return labels, np.array([codes.get(gold.get(name, ""), -1) for name in labels.item_names], np.int32)


def folders(given: list[Path]) -> Iterator[Path]:
    """The folders with labels."""
    for folder in given:
        inside = [folder] if (folder / "labels.tsv").is_file() else sorted(folder.iterdir())
        yield from (each for each in inside if (each / "labels.tsv").is_file())


def free(labels: Labels, truth: np.ndarray, draws: int = 20) -> float:
    """Accuracy of Bayes' rule with the judges' true rows, if each erred as often and the same way, but by itself."""
    classes, known = len(labels.classes), truth >= 0
    item = labels.label_items
    keep = known[item]
    w, i, said = labels.workers[keep], item[keep], labels.labels[keep]
    rows = np.zeros((len(labels.worker_names), classes, classes))
    np.add.at(rows, (w, truth[i], said), 1.0)
    pooled = rows.sum(axis=0) + 0.1
    rows += (1 if len(rows) <= 20 else 5) * pooled / pooled.sum(axis=1, keepdims=True)
    rows /= rows.sum(axis=2, keepdims=True)
    prior = np.log(np.bincount(truth[known], minlength=classes) + 1.0)
    random, up, logs, right = np.random.default_rng(0), rows[w, truth[i]].cumsum(axis=1), np.log(rows), []
    for _ in range(draws):
        drawn = (random.random(len(w))[:, None] > up).sum(axis=1).clip(0, classes - 1)
        score = np.stack([np.bincount(i, logs[w, k, drawn], labels.items) for k in range(classes)], axis=1) + prior
        right.append((score.argmax(axis=1) == truth)[known].mean())
    return float(np.mean(right))


def singles(labels: Labels, truth: np.ndarray, gold: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each judge by its confusions on gold (judges, items, classes), its leave-one-out scores, and the class shares."""
    classes = len(labels.classes)
    busy = np.argsort(-np.bincount(labels.workers, minlength=len(labels.worker_names)), kind="stable")[:MOST]
    said = np.full((len(labels.worker_names), labels.items), -1)
    said[labels.workers, labels.label_items] = labels.labels
    t, found, scores = truth[gold], [], []
    counts = np.bincount(t, minlength=classes) + 1.0
    shares = counts / counts.sum()
    for mine in said[busy]:
        table = np.zeros((classes, classes))
        there = mine[gold] >= 0
        np.add.at(table, (t[there], mine[gold][there]), 1.0)
        own = 0.0
        for truth_of, label in zip(t.tolist(), mine[gold].tolist(), strict=True):
            left = counts - np.eye(classes)[truth_of]
            if label >= 0:
                less = table.copy()
                less[truth_of, label] -= 1
                left = left * (less[:, label] + 1) / (less.sum(axis=1) + classes)
            own += np.log(left[truth_of] / left.sum())
        rows = (table + 1) / (table.sum(axis=1, keepdims=True) + classes)
        q = np.where((mine >= 0)[:, None], rows[:, np.maximum(mine, 0)].T * shares, shares)
        found.append(q / q.sum(axis=1, keepdims=True))
        scores.append(own)
    return np.array(found), np.array(scores), np.tile(shares, (labels.items, 1))


def without_gold(labels: Labels, truth: np.ndarray, least: float | None) -> list[float]:
    """The row of a set without gold."""
    classes = len(labels.classes)
    result = aggregate(labels, TwoLevel(judges=True, least_accuracy=least))
    counts = labels.vote_share() * np.diff(labels.item_ptr)[:, None]
    votes = (counts + 1) / (counts.sum(axis=1, keepdims=True) + classes)
    trust = Trust(*result.fit.state.shared["trust"].tolist())
    ratings = np.diff(labels.item_ptr)
    worth = float((trust.exponents(ratings) * ratings).mean())
    plurality, right, best = accuracy(votes, truth), accuracy(result.probability, truth), free(labels, truth)
    losses = [log_loss(each, truth) for each in (votes, result.probability)]
    return [plurality, right, best, (right - plurality) / (best - plurality), worth, np.log(classes), *losses]


def with_gold(labels: Labels, truth: np.ndarray, size: int, draws: int, least: float | None) -> list[float]:
    """The row of a set with so many gold items: log-losses, then the panel's accuracy."""
    found = []
    for draw in range(draws):
        order = np.random.default_rng(1000 * size + draw).permutation(np.flatnonzero(truth >= 0))
        gold, rest = np.full_like(truth, -1), truth.copy()
        gold[order[:size]], rest[order[:size]] = truth[order[:size]], -1
        each, scores, shares = singles(labels, truth, order[:size])
        panel = aggregate(replace(labels, gold=gold), Mixed(least_accuracy=least)).probability
        alone = [log_loss(one, rest) for one in each]
        found.append(
            [min(alone), alone[scores.argmax()], log_loss(shares, rest), log_loss(panel, rest), accuracy(panel, rest)]
        )
    return np.mean(found, axis=0).tolist()


def panel(
    seed: int, judges: int, classes: int, items: int, shared: float, right: float, bad: bool
) -> tuple[Labels, np.ndarray]:
    """Labels and truth: utilities are slope [k is true] + shared z_ik + own noise, so that each is right in `right`."""
    z = np.random.default_rng(7).standard_normal((200_000, classes))
    slope = float(np.quantile(z[:, 1:].max(axis=1) - z[:, 0], right)) if right > 1 / classes else 0.0
    random = np.random.default_rng(seed)
    truth = random.integers(classes, size=items)
    common = shared * random.standard_normal((items, classes))
    common[np.arange(items), truth] += slope * np.sqrt(1 + shared**2)
    said = (common[None] + random.standard_normal((judges, items, classes))).argmax(axis=2)
    if bad:
        wrong = (truth + random.integers(1, classes, size=items)) % classes
        lie = np.where(random.random(items) < 0.8, wrong, truth)
        for w in range(max(1, judges // 3)):
            said[w] = np.where(random.random(items) < 0.95, lie, random.integers(classes, size=items))
    who, what = (each.ravel() for each in np.indices((judges, items)))
    names = [[str(n) for n in range(size)] for size in (judges, items, classes)]
    labels = from_codes(np.stack([who, what, said.ravel()], axis=1).astype(np.int32), *names, classes=names[2])
    return labels, truth.astype(np.int32)


def simulate(draws: int) -> None:
    """Print how far panels are above equal shares."""
    cells: dict[tuple[int, int, bool], list[float]] = {}
    for items, classes, judges, shared, right, bad in product(
        (30, 300), (2, 3, 5), (3, 6, 12), (0, 1, 3), (0.5, 0.65, 0.8, 0.95), (False, True)
    ):
        above = []
        for seed in range(draws):
            labels, truth = panel(seed, judges, classes, items, shared, right, bad)
            above.append(log_loss(aggregate(labels, TwoLevel(judges=True)).probability, truth) - np.log(classes))
        cells.setdefault((items, shared, bad), []).append(float(np.mean(above)))
    print("items  shared  adversaries     mean    worst  above +.01")
    for (items, shared, bad), found in cells.items():
        over = sum(each > 0.01 for each in found)
        print(
            f"{items:5}{shared:8}  {'a third' if bad else 'none':12}{np.mean(found):8.3f}{max(found):9.3f}{over:8}/36"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--gold", default="20,50,100")
    parser.add_argument("--least-accuracy", type=float)
    parser.add_argument("--simulate", type=int, default=0)
    given = parser.parse_args()
    if given.simulate:
        simulate(given.simulate)
    sets = {folder.name: read(folder) for folder in folders(given.folders)}
    if not sets:
        return
    print("without gold: accuracy of plurality, panel, free, closed; votes it is worth; log-loss equal, votes, panel")
    rows = {name: without_gold(*each, given.least_accuracy) for name, each in sets.items()}
    _print(rows, (3, 3, 3, 2, 1, 3, 3, 3))
    over = [name for name, row in rows.items() if row[-1] > row[-3] + 0.01]
    print(f"above equal shares by more than .01: {', '.join(over) or 'none'}")
    for size in [int(each) for each in given.gold.split(",") if each]:
        print(f"\n{size} gold labels: log-loss of best judge, chosen one, class shares, panel; its accuracy; closed")
        found = {name: with_gold(*each, size, given.draws, given.least_accuracy) for name, each in sets.items()}
        for name, row in found.items():
            plurality, _, best, *_ = rows[name]
            row.append((row[-1] - plurality) / (best - plurality))
        _print(found, (3, 3, 3, 3, 3, 2))
        for column, what in ((1, "the chosen judge"), (2, "the class shares"), (0, "the best judge in hindsight")):
            most = max(found, key=lambda name: found[name][3] - found[name][column])
            print(f"above {what} by at most {found[most][3] - found[most][column]:+.3f} ({most})")


def _print(rows: dict[str, list[float]], digits: tuple[int, ...]) -> None:
    """Rows, and their mean."""
    for name, row in [*rows.items(), ("mean", np.mean([*rows.values()], axis=0).tolist())]:
        cells = [f"{value:8.{digit}f}" for value, digit in zip(row, digits, strict=True)]
        print(f"{name:22}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
