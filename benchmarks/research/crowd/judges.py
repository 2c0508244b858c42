"""The lab for judges on simulated logs with known truth: coverage of intervals, false alarms, position bias.

    python benchmarks/research/crowd/judges.py [--runs N] [--only PART]

Items come in clusters (conversations) of 1 to 8; how often a judge is right differs between clusters by a Beta
distribution with the correlation that a row names. Nominal are 95 % and, of tests, 5 % over all rows together.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from hutch.estimate.means import Interval
from hutch.judges import errors, lab, measures
from hutch.judges.runs import Runs

Random = np.random.Generator


def runs_of(
    judge: Any, item: Any, label: Any, truth: Any, swapped: Any = None, cluster: Any = None, values: Any = None,
    slices: dict[str, Any] | None = None,
) -> Runs:  # fmt: skip
    """Runs from arrays; `truth` is the class of each item, or its score."""
    judge, item, label, truth = (np.asarray(each) for each in (judge, item, label, truth))
    count, classes = len(truth), int(label.max()) + 1 if values is None else len(values)
    told = np.eye(classes)[truth] if values is None else truth[:, None].astype(float)
    swapped = np.zeros(len(label), bool) if swapped is None else swapped
    return Runs(
        [f"judge{j}" for j in range(int(judge.max()) + 1)], [f"item{i:05d}" for i in range(count)],
        [str(k) for k in range(classes)], judge.astype(np.int32), item.astype(np.int32), label.astype(np.int32),
        swapped, told, None, np.arange(count) if cluster is None else cluster,
        {name: (codes, [str(k) for k in range(int(codes.max()) + 1)]) for name, codes in (slices or {}).items()},
        values, (0, 1) if swapped.any() else None, [],
    )  # fmt: skip


def clusters_of(random: Random, count: int, largest: int = 8) -> Any:
    """The cluster of each item."""
    return np.repeat(np.arange(count), random.integers(1, largest + 1, count))


def alike(random: Random, cluster: Any, mean: float, correlation: float) -> Any:
    """A probability for each item, equal within a cluster."""
    if correlation == 0:
        return np.full(len(cluster), mean)
    strength = 1 / correlation - 1
    return random.beta(mean * strength, (1 - mean) * strength, cluster.max() + 1)[cluster]


def holds(found: Interval, true: float) -> list[float]:
    """Whether an interval holds the truth, and half its width."""
    return [float(found.low <= true <= found.high), found.half_width]


def accuracy(random: Random, clusters: int, mean: float, correlation: float) -> list[float]:
    """One judge's accuracy."""
    cluster = clusters_of(random, clusters)
    truth = random.integers(0, 2, len(cluster))
    right = random.random(len(cluster)) < alike(random, cluster, mean, correlation)
    runs = runs_of(np.zeros(len(truth)), np.arange(len(truth)), np.where(right, truth, 1 - truth), truth, None, cluster)
    return holds(measures.agreement(runs, measures.judged(runs, 0), 0.95)["accuracy"], mean)


def order(random: Random, pairs: int, shift: float, spread: float = 1.5) -> list[float]:
    """Position bias of a judge on pairs of answers of different strength: coverage, half-width, estimate."""
    strength, truth = random.normal(0, spread, pairs), random.integers(0, 2, pairs)
    first = [random.random(pairs) < 1 / (1 + np.exp(-(sign * strength + shift))) for sign in (1, -1)]
    label = np.concatenate([np.where(first[0], 0, 1), np.where(first[1], 1, 0)])
    item, swapped = np.tile(np.arange(pairs), 2), np.repeat([False, True], pairs)
    runs = runs_of(np.zeros(2 * pairs), item, label, truth, swapped)
    found = measures.order(runs, measures.judged(runs, 0), 0.95)["shift"]
    wide = found.high - found.low < 20
    return [*holds(found, shift), found.estimate] if wide else [float(found.low <= shift <= found.high), np.nan, np.nan]


def repeats(random: Random, clusters: int, runs_each: int) -> list[float]:
    """Bias and noise of a judge asked repeatedly: of an item it is right with a probability from Beta(4, 1)."""
    cluster = clusters_of(random, clusters, 1)
    count = len(cluster)
    truth, right = random.integers(0, 2, count), random.beta(4, 1, count)
    item = np.repeat(np.arange(count), runs_each)
    label = np.where(random.random(len(item)) < right[item], truth[item], 1 - truth[item])
    runs = runs_of(np.zeros(len(item)), item, label, truth, None, cluster)
    row = measures.repeats(runs, measures.judged(runs, 0), 0.95)
    noise = 4 / (5 * 6)  # mean of p (1 - p): a b / (a + b) / (a + b + 1)
    return [*holds(row["bias"], 0.2 - noise), *holds(row["noise"], noise), *holds(row["flips"], 2 * noise)]


def scores(random: Random, clusters: int) -> list[float]:
    """Scores from 0 to 100 of a judge who is 5 too high and compresses the scale; bias and correlation."""
    cluster = clusters_of(random, clusters)
    common = random.normal(0, 12, clusters)[cluster]
    people = 50 + common + random.normal(0, 9, len(cluster))
    judge = 55 + 0.8 * (people - 50) + random.normal(0, 9, len(cluster))
    values = np.arange(-100.0, 201)
    runs = runs_of(np.zeros(len(judge)), np.arange(len(judge)), np.round(judge) + 100, people, None, cluster, values)
    row = measures.scores(runs, measures.judged(runs, 0), 0.95)
    spread = 12**2 + 9**2
    correlation = 0.8 * spread / np.sqrt(spread * (0.64 * spread + 81))
    return [*holds(row["bias"], 5.0), *holds(row["correlation"], correlation)]


def slices(random: Random, clusters: int, effect: float = 0.0) -> list[float]:
    """Whether any of 4 judges x 6 slices is called different, if one slice is by `effect` or none is."""
    cluster = clusters_of(random, clusters)
    truth, language = random.integers(0, 2, len(cluster)), random.integers(0, 6, clusters)[cluster]
    chance = alike(random, cluster, 0.8, 0.2)
    judge, item = np.repeat(np.arange(4), len(truth)), np.tile(np.arange(len(truth)), 4)
    right = random.random(len(item)) < chance[item] - effect * ((language[item] == 0) & (judge == 0))
    label = np.where(right, truth[item], 1 - truth[item])
    runs = runs_of(judge, item, label, truth, None, cluster, None, {"language": language})
    rows = lab.slices_of(runs, [measures.judged(runs, j) for j in range(4)], 0.95, int(random.integers(1 << 30)))
    hit = [(row["p of all"] or 1.0) <= 0.05 for row in rows]
    return [float(any(hit)), float(hit[0])]


def versions(random: Random, clusters: int, drift: float) -> list[float]:
    """Whether two versions of a judge are called different, and whether the interval of the change holds."""
    cluster = clusters_of(random, clusters)
    truth, count = random.integers(0, 2, len(cluster)), len(cluster)
    chance = alike(random, cluster, 0.8, 0.2)
    label = [np.where(random.random(count) < chance - d, truth, 1 - truth) for d in (0, drift)]
    runs = runs_of(np.repeat([0, 1], count), np.tile(np.arange(count), 2), np.concatenate(label), truth, None, cluster)
    both = [measures.judged(runs, j) for j in range(2)]
    row = lab.compared(runs, *both, 0.95, int(random.integers(1 << 30)))[0]
    clipped = float(np.mean(np.maximum(chance - drift, 0) - chance)) if drift else 0.0
    return [float(row["p of all"] <= 0.05), *holds(row["change"], clipped)]


def kappa(random: Random, items: int, right: float, prior: float) -> list[float]:
    """Cohen's kappa and Krippendorff's alpha of a judge and people."""
    truth = (random.random(items) < prior).astype(int)
    label = np.where(random.random(items) < right, truth, 1 - truth)
    label[-1] |= not label.any()  # both classes have a name
    runs = runs_of(np.zeros(items), np.arange(items), label, truth)
    found = errors.beyond_chance(runs, measures.judged(runs, 0), 0.95)
    says = prior * right + (1 - prior) * (1 - right)
    chance, middle = prior * says + (1 - prior) * (1 - says), (prior + says) / 2
    true = {"kappa": (right - chance) / (1 - chance), "alpha": 1 - (1 - right) / (2 * middle * (1 - middle))}
    some = [holds(each, true[name]) if isinstance(each, Interval) else [np.nan] * 2 for name, each in found.items()]
    return [*some[0], *some[1]]


def corrected(
    random: Random, people: int, prior: float, sensitivity: float, specificity: float, by: int
) -> list[float]:
    """A rate over 2,000 items, corrected by recalls and by precisions; people's items by lot 0, class 1, verdict 2."""
    truth = (random.random(2000) < prior).astype(int)
    right = random.random(2000) < np.where(truth == 1, sensitivity, specificity)
    label = np.where(right, truth, 1 - truth)
    runs = runs_of(np.zeros(2000), np.arange(2000), label, truth)
    of = np.zeros(2000, int) if by == 0 else truth if by == 1 else label
    order = random.permutation(2000)
    known = [order[of[order] == k][: people // len(np.unique(of))] for k in np.unique(of)]
    runs.truth[np.setdiff1d(order, np.concatenate(known))] = np.nan
    row = errors.corrected(runs, measures.judged(runs, 0), 0.95)
    both = (row["corrected"], row["by verdict"]) if row else (None, None)
    some = [holds(each, float(truth.mean())) if isinstance(each, Interval) else [np.nan] * 2 for each in both]
    return [*some[0], *some[1]]


def panel(random: Random, items: int, known: int) -> list[float]:
    """Accuracy of a panel of 6 judges of whom two copy a third: cross-fitted, and true on other items."""
    truth = random.integers(0, 2, items)
    right = random.random((6, items)) < np.array([0.85, 0.75, 0.7, 0.7, 0.65, 0.6])[:, None]
    right[4:] = right[3]
    judge, item = np.repeat(np.arange(6), items), np.tile(np.arange(items), 6)
    runs = runs_of(judge, item, np.where(right.ravel(), truth[item], 1 - truth[item]), truth)
    runs.truth[random.permutation(items)[known:]] = np.nan
    found, result = lab.report(runs)
    assert result is not None
    unseen = np.isnan(runs.truth[:, 0])
    place = {name: k for k, name in enumerate(result.labels.item_names)}
    said = result.probability[[place[name] for name in runs.items]].argmax(axis=1)
    true = float((said == truth)[unseen].mean())
    interval = found["panel"][0]["accuracy"]
    return [*holds(interval, true), interval.estimate, true]


PARTS: dict[str, tuple[str, Callable[..., list[float]], list[tuple[Any, ...]]]] = {
    "accuracy": ("coverage, half-width; clusters, accuracy, correlation", accuracy,
                 [(n, p, c) for n in (20, 50, 100) for p in (0.85, 0.97) for c in (0.0, 0.1, 0.5)]),
    "order": ("coverage, half-width, mean estimate; pairs, shift", order,
              [(n, b) for n in (50, 200, 560) for b in (0.0, 0.5, 1.0)]),
    "repeats": ("coverage and half-width of bias, noise, flips; items, runs", repeats, [(50, 2), (100, 3), (200, 10)]),
    "scores": ("coverage and half-width of bias, correlation; clusters", scores, [(20,), (50,), (100,)]),
    "slices": ("any alarm, alarm of the slice that differs; clusters, effect", slices,
               [(60, 0.0), (200, 0.0), (200, 0.3)]),
    "versions": ("alarm, coverage, half-width; clusters, drift", versions, [(20, 0.0), (100, 0.0), (100, 0.1)]),
    "kappa": ("coverage, half-width of kappa and of alpha; items, accuracy, prior", kappa,
              [(n, p, c) for n in (50, 200) for p in (0.7, 0.9) for c in (0.5, 0.1)]),
    "corrected": ("coverage, half-width by recalls, by precisions; people, prior, sensitivity, specificity, drawn by",
                  corrected, [(n, *judge, by) for n in (50, 150) for judge in ((0.7, 0.9, 0.7), (0.9, 0.95, 0.5))
                              for by in (0, 1, 2)]),
    "panel": ("coverage, half-width, estimate, truth; items, known", panel, [(400, 50), (400, 150)]),
}  # fmt: skip


def measure(part: str, row: tuple[Any, ...], runs: int, seed: int = 0) -> Any:
    """The mean of a row over so many draws."""
    random = np.random.default_rng([seed, len(part), *map(int, np.array(row) * 1000)])
    with np.errstate(all="ignore"):
        return np.nanmean([PARTS[part][1](random, *row) for _ in range(runs)], axis=0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400, metavar="N", help="draws of each row")
    parser.add_argument("--only", choices=PARTS, help="one part")
    arguments = parser.parse_args()
    for part in [arguments.only] if arguments.only else PARTS:
        print(f"{part}: {PARTS[part][0]}")
        for row in PARTS[part][2]:
            found = measure(part, row, arguments.runs if part != "panel" else arguments.runs // 4)
            print(f"  {', '.join(f'{x:g}' for x in row):<18} {'  '.join(f'{x:.3f}' for x in found)}", flush=True)


if __name__ == "__main__":
    main()
