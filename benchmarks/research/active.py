"""Labels that active learning saves: the tables of benchmarks/results/active-learning.md and loss-estimate.md.

    python benchmarks/research/active.py [--seeds 20] [--orders] [--peers PYTHON] [--sms FILE] [--check]
        [--settle] [--stop]

Digits and breast cancer come with scikit-learn, the text is simulated. The SMS Spam Collection is not shipped: `--sms`
is its file (River's `datasets.SMSSpam` downloads it), which then is all that is measured. VW is a wheel: `--peers`
names a Python that has it. A seed is another order and another split into 80% train and 20% test; with `--orders`
another order of one split of the digits. `--check` instead measures the interval of the loss estimate and how exactly a
budget is spent, `--bound` how wide any interval must be with the same labels. `--settle` measures floors and replays on
seven tasks, against as many random labels; `--stop` how much more the rule that says when to stop costs than the best
number of labels on each.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.kernel_approximation import RBFSampler

from hutch.active.estimate import LossSums, score_interval
from hutch.active.simulate import run as follow
from hutch.active.stopping import LEAST, expected_gains, stop_after
from hutch.chain import Chain
from hutch.core.text.parser import TextParser

BUDGETS = (0.05, 0.075, 0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.50, 0.60, 0.80)
LINEAR = {"loss": "logistic", "normalized": False, "learning_rate": 0.5}
_VW = """
import sys
from vowpalwabbit import Workspace
arguments, train, test = sys.argv[1:]
vw = Workspace(arguments)
for line in open(train):
    vw.learn(line)
wrong = total = 0
for line in open(test):
    label, features = line.split(" ", 1)
    wrong += (vw.predict(features) > 0) != (float(label) > 0)
    total += 1
vw.finish()
print(wrong / total)
"""


def sms(path):
    """SMS spam as lines: words in lower case, binary features."""
    lines = []
    for row in Path(path).read_text(encoding="utf-8").splitlines():
        label, body = row.split("\t", 1)
        words = sorted(set(re.findall(r"[a-z0-9']+", body.lower().replace(":", " "))))
        lines.append(f"{1 if label == 'spam' else -1} |w {' '.join(words)}")
    return lines


def digits():
    """Odd or even digits as lines: pixels from 0 to 1."""
    images, labels = load_digits(return_X_y=True)
    return [
        f"{1 if label % 2 else -1} |p " + " ".join(f"x{j}:{x / 16:.4f}" for j, x in enumerate(image) if x)
        for image, label in zip(images, labels, strict=True)
    ]


def cancer():
    """Breast cancer as lines: standardised measurements."""
    rows, labels = load_breast_cancer(return_X_y=True)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    return [
        f"{1 if label else -1} |m " + " ".join(f"x{j}:{x:.4f}" for j, x in enumerate(row))
        for row, label in zip(rows, labels, strict=True)
    ]


def text():
    """Simulated short messages: 5,574 lines of rare and common words, 13% of the rarer class, as SMS spam has."""
    rng = np.random.default_rng(0)
    common = 1 / np.arange(3, 9003)
    tilt = np.where(rng.random(9000) < 0.05, 3.0 * rng.standard_normal(9000), 0.0)
    kinds = [common * np.exp(side * tilt / 2) for side in (-1, 1)]
    lines = []
    for _ in range(5574):
        label = int(rng.random() < 0.13)
        words = rng.choice(9000, 6 + rng.poisson(9), p=kinds[label] / kinds[label].sum())
        lines.append(f"{2 * label - 1} |w {' '.join(f'w{j}' for j in np.unique(words))}")
    return lines


def lines_of(rows, labels):
    """Rows of numbers and their labels, True or False, as lines."""
    return [
        f"{1 if label else -1} |m " + " ".join(f"x{j}:{x:.4f}" for j, x in enumerate(row))
        for row, label in zip(rows, labels, strict=True)
    ]


def settling_tasks():
    """Seven tasks, dense and sparse, by name."""
    images, labels = load_digits(return_X_y=True)
    images = images / 16
    waves = RBFSampler(gamma=0.06, n_components=128, random_state=0).fit_transform(images)
    projected = images @ np.random.default_rng(1).normal(size=(64, 32)) / 8
    rows, kinds = make_classification(2000, 40, n_informative=12, flip_y=0.05, class_sep=0.8, random_state=2)
    return {
        "digits": digits(),
        "digits, 128 random features": lines_of(waves, labels % 2),
        "digits, 32 projections, below 5": lines_of(projected, labels < 5),
        "breast cancer": cancer(),
        "forty columns": lines_of(rows / 3, kinds),
        "simulated text": text()[:3000],
        "stream of words": stream(7, 2000, 0.05),
    }


def settle(seeds):
    """Print test errors of floors and replays less those of random labels, in units of .0001, with standard errors."""
    for name, lines in settling_tasks().items():
        print(f"\n### {name}: {len(split(lines, 0)[0])} training lines, {len(seeds)} seeds\n", flush=True)
        print("| budget | random | .2 b, 1 replay | .4 b, 1 replay | .2 b, 3 replays | .4 b, 3 replays |")
        print("|---|---|---|---|---|---|")
        for budget in (0.1, 0.2, 0.3):
            random_errors = [run(lines, seed, {"rule": "random", "budget": budget})[1] for seed in seeds]
            cells = [f"{np.mean(random_errors):.4f}"]
            for replay in (1, 3):
                for floor in (0.2, 0.4):
                    given = {"rule": "budget", "budget": budget, "floor": floor * budget, "replay": replay}
                    gaps = np.array([run(lines, seed, given)[1] for seed in seeds]) - random_errors
                    spread = gaps.std(ddof=1) / np.sqrt(len(gaps))
                    cells.append(f"{1e4 * gaps.mean():+.0f} ({1e4 * spread:.0f})")
            print(f"| {budget:.0%} | {' | '.join(cells)} |", flush=True)


def stop(seeds):
    """Print labels at which the rule stops, and their cost beside the least cost of the mean curve over all seeds."""
    print("| task | predictions | best labels | stop | least, most | cost / least cost | greatest |")
    print("|---|---|---|---|---|---|---|")
    for name, lines in settling_tasks().items():
        runs = []
        for seed in seeds:
            train, test = split(lines, seed)
            chain = build({"budget": 0.5, "horizon": len(train)}, seed=seed)
            data, kept = (TextParser(chain.parser).parse(("\n".join(part) + "\n").encode()) for part in (train, test))
            runs.append(follow("active", chain, lambda data=data: [data], lambda kept=kept: [kept], len(train)))
        labels = np.arange(LEAST, min(one.end.queries for one in runs) + 1)
        errors = np.mean([curve_at(one, labels) for one in runs], axis=0)
        for predictions in (1000, 3000, 10000):
            costs = labels + predictions * errors
            found = [stop_after(expected_gains(one.probabilities, one.errors), predictions) for one in runs]
            stops = np.array([labels[-1] if n is None else min(n, labels[-1]) for n in found])
            ratios = costs[stops - LEAST] / costs.min()
            cells = [f"{labels[costs.argmin()]}", f"{np.median(stops):.0f}", f"{stops.min()}, {stops.max()}"]
            cells += [f"{ratios.mean():.3f}", f"{ratios.max():.2f}"]
            print(f"| {name} | {predictions:,} | {' | '.join(cells)} |", flush=True)


def curve_at(one, labels):
    """Test errors of a run after so many labels; half before the first."""
    points = [(0, 0.5), *((point.queries, point.test_loss) for point in one.curve)]
    return np.interp(labels, *zip(*points, strict=True))


def build(active, linear=LINEAR, seed=0):
    """A chain with an active layer above a linear one."""
    return Chain.from_config({"seed": seed, "chain": [{"active": active}, {"linear": linear}]})


def wrong(chain, lines):
    """Part of the lines that are predicted on the wrong side of 0."""
    labels = np.array([float(line.split(" ", 1)[0]) for line in lines])
    return float(np.mean((chain.predict(lines) > 0) != (labels > 0)))


def split(lines, seed):
    """(lines to train on, lines to test on): another split and order for each seed."""
    order = np.random.default_rng(seed).permutation(len(lines))
    cut = int(0.8 * len(lines))
    return [lines[i] for i in order[:cut]], [lines[i] for i in order[cut:]]


def reorder(lines, seed):
    """The same for one split, the lines to train on in another order for each seed."""
    numbers = list(range(len(lines)))
    random.Random(11).shuffle(numbers)
    cut = len(lines) // 5
    order = np.random.RandomState(seed).permutation(len(lines) - cut)
    return [lines[numbers[cut + i]] for i in order], [lines[i] for i in numbers[:cut]]


def run(lines, seed, active, passes=1, divide=split):
    """(labels bought, test error) of one learner."""
    train, test = divide(lines, seed)
    chain = build({"horizon": len(train), **active}, seed=seed)
    for _ in range(passes):
        chain.learn(train)
    return int(chain.statistics.queries), wrong(chain, test)


def run_vw(peers, lines, seed, arguments):
    """The same for VW."""
    with tempfile.TemporaryDirectory() as folder:
        for name, part in zip(("train", "test"), split(lines, seed), strict=True):
            (Path(folder) / name).write_text("\n".join(part) + "\n")
        command = [peers, "-c", _VW, arguments, f"{folder}/train", f"{folder}/test"]
        found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        sys.exit(found.stderr)
    bought = re.search(r"total queries = (\d+)", found.stdout + found.stderr)
    return int(bought[1]), float(found.stdout.split()[-1])


def mean(results):
    """Mean labels, mean error and its standard deviation over seeds."""
    array = np.array(results)
    return array[:, 0].mean(), array[:, 1].mean(), array[:, 1].std(ddof=1) if len(array) > 1 else 0.0


def crossings(curve, bar):
    """Labels at the first budget at or below the bar, and at the one from which all are."""
    passing = [error <= bar for _, error, _ in curve]
    first = next((curve[i][0] for i, passed in enumerate(passing) if passed), None)
    stable = next((curve[i][0] for i in range(len(curve)) if all(passing[i:])), None)
    return first, stable


def curve_of(lines, seeds, divide=split, **active):
    """(labels, error, deviation) for each budget."""
    return [mean([run(lines, seed, {"budget": b, **active}, divide=divide) for seed in seeds]) for b in BUDGETS]


def show(name, curve, bar):
    """Print one rule's row."""
    first, stable = (f"{x:.0f}" if x else "never" for x in crossings(curve, bar))
    at = {b: error for b, (_, error, _) in zip(BUDGETS, curve, strict=True)}
    row = " | ".join(f"{at[b]:.4f}" for b in (0.1, 0.2, 0.3))
    print(f"| {name} | {row} | {at[0.3] * 1.02 / bar:.2f} | {first} | {stable} |", flush=True)


def table(name, lines, seeds, peers, divide=split):
    """Print the table of one data set."""
    print(f"\n### {name}: {len(divide(lines, 0)[0])} training lines, {len(seeds)} seeds\n")
    for title, replay, passes in (("10 passes", 0, 10), ("1 pass", 0, 1), ("1 pass and replay", 1, 1)):
        everything = {"rule": "random", "budget": 1.0, "replay": replay}
        _, error, deviation = mean([run(lines, seed, everything, passes, divide) for seed in seeds])
        print(f"passive, {title}: {error:.4f} ({deviation:.4f})")
    bar = 1.02 * error
    print("\n| rule | 10% | 20% | 30% | 30% / passive | first | stable |\n|---|---|---|---|---|---|---|")
    for rule in ("budget", "margin", "iwal", "random"):
        show(f"`{rule}`", curve_of(lines, seeds, divide, rule=rule), bar)
    show("`budget`, `replay: 0`", curve_of(lines, seeds, divide, rule="budget", replay=0), bar)
    if peers:
        few = seeds[:5]
        for kind, grid in (
            ("--active --simulation --mellowness", (1e-3, 1e-2, 3e-2, 1e-1, 3e-1)),
            ("--active_cover --mellowness", (1e-2, 1e-1, 1.0, 8.0)),
        ):
            for mellowness in grid:
                arguments = f"{kind} {mellowness} --loss_function logistic -b 18"
                bought, error, deviation = mean([run_vw(peers, lines, seed, arguments) for seed in few])
                print(f"VW {kind} {mellowness:g}: {bought:.0f} labels, {error:.4f} ({deviation:.4f})", flush=True)


def ten_digits():
    """Digits as ten classes."""
    labels = load_digits(return_X_y=True)[1]
    return [f"{label + 1} {line.split(' ', 1)[1]}" for label, line in zip(labels, digits(), strict=True)]


def class_table(lines, seeds):
    """Print errors above layers that predict classes."""
    for layer in ("one_against_all", "filter_tree"):
        for rule, budgets in (("budget", (0.2, 0.3, 0.4, 0.6)), ("random", (0.2, 0.3, 0.4, 0.6, 1.0))):
            for budget in budgets:
                results = []
                for seed in seeds:
                    train, test = split(lines, seed)
                    active = {"active": {"rule": rule, "budget": budget, "horizon": len(train)}}
                    layers = [active, {layer: {"classes": 10}}, {"linear": LINEAR}]
                    chain = Chain.from_config({"seed": seed, "chain": layers})
                    chain.learn(train)
                    labels = np.array([float(line.split(" ", 1)[0]) for line in test])
                    results.append((chain.statistics.queries, float(np.mean(chain.predict(test) != labels))))
                bought, error, deviation = mean(results)
                print(f"{layer}, {rule} {budget:.0%}: {bought:.0f} labels, {error:.4f} ({deviation:.4f})", flush=True)


def stream(seed, n, noise, change_at=None):
    """A stream of lines with label noise, and a new concept from `change_at`."""
    rng = np.random.default_rng(seed)
    weights, lines = rng.normal(size=200), []
    for i in range(n):
        if i == change_at:
            weights = rng.normal(size=200)
        words = rng.choice(200, 12, replace=False)
        label = 1 if weights[words].sum() > 0 else -1
        lines.append(f"{-label if rng.random() < noise else label} |w {' '.join(f'w{j}' for j in words)}")
    return lines


def wilson(estimate, labels, examples, z=1.6449):
    """Half-width of the 90% interval that a random sample gives, at a loss found among `labels` of `examples`."""
    part = z**2 * (1 - labels / examples) / labels
    return np.sqrt(part * estimate * (1 - estimate) + part**2 / 4) / (1 + part)


def loss_interval(name, lines_of_seed, budget, floor, streams):
    """Coverage, bias and width of the loss estimate, beside a random sample of as many labels."""
    inside, errors, widths, bought = 0, [], [], []
    for seed in range(streams):
        lines = lines_of_seed(seed)
        chain = build({"budget": budget, "floor": floor * budget}, seed=seed)
        trace = chain.layers[0].trace(len(lines))
        chain.learn(lines)
        low, estimate, high = score_interval(LossSums(*chain.layers[0].loss_sums()))
        truth, labels = float(trace["error"].mean()), int(trace["asked"].sum())
        inside += low <= truth <= high
        errors.append(estimate - truth)
        widths.append([(high - low) / 2, wilson(truth, labels, len(lines))])
        bought.append(labels)
    bias, deviation = np.mean(errors), np.std(errors, ddof=1) / np.sqrt(len(errors))
    ours, random_ones = np.mean(widths, axis=0)
    print(
        f"| {name} | {floor} b | {np.mean(bought):.0f} | {inside / streams:.3f} | {bias:+.4f} ({deviation:.4f}) "
        f"| {ours:.3f} | {random_ones:.3f} |",
        flush=True,
    )


def bound(name, lines_of_seed, budget, floor, streams):
    """Standard deviations of the loss estimate, over that of a random sample of as many labels.

    That of the estimate itself, and the least that any unbiased estimate from these labels can have, on average over
    the mistakes, whatever is known of the examples: (1 / T^2) sum (1 / P - 1) s^2 (Godambe and Joshi, Annals of
    Mathematical Statistics 36, 1965). s^2, the variance of an example's 0/1 loss, is measured in classes of like P and
    like place in the stream. The last is that of labels bought with P in proportion to s, which is the best design.
    """
    probabilities, errors, places, labels = [], [], [], []
    for seed in range(streams):
        lines = lines_of_seed(seed)
        chain = build({"budget": budget, "floor": floor * budget}, seed=seed)
        trace = chain.layers[0].trace(len(lines))
        chain.learn(lines)
        probabilities.append(trace["probability"].copy())
        errors.append(trace["error"].copy())
        places.append(np.arange(len(lines)) * 8 // len(lines))
        labels.append(trace["asked"].sum() / len(lines))
    p, error, place = (np.concatenate(parts).astype(float) for parts in (probabilities, errors, places))
    edges = np.unique(np.quantile(p, np.linspace(0, 1, 13)))[1:-1]
    kind = (np.searchsorted(edges, p, side="right") * 8 + place).astype(int)
    mean = (np.bincount(kind, error) / np.maximum(np.bincount(kind), 1))[kind]
    spread, loss, part = mean * (1 - mean), error.mean(), np.mean(labels)
    best = np.minimum(1, np.sqrt(spread) * part / np.sqrt(spread).mean())
    variances = [(1 / p - 1) * (error - loss) ** 2, (1 / p - 1) * spread, (1 / np.maximum(best, 1e-3) - 1) * spread]
    ratios = np.sqrt([v.mean() / ((1 / part - 1) * loss * (1 - loss)) for v in variances])
    share = np.mean(p <= 1.001 * floor * budget)
    print(f"| {name} | {floor} b | {share:.2f} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |", flush=True)


def on_streams(measure, streams):
    """Measure with two floors on four kinds of stream."""
    images, sick, words = digits(), cancer(), text()[:2000]

    def shuffled(lines):
        return lambda seed: [lines[i] for i in np.random.default_rng(seed).permutation(len(lines))]

    for floor in (0.4, 0.7):
        for noise in (0.05, 0.005):
            measure(f"2,000 lines, noise {noise}", lambda s, n=noise: stream(s, 2000, n), 0.1, floor, streams)
        measure("digits", shuffled(images), 0.14, floor, streams)
        measure("breast cancer", shuffled(sick), 0.3, floor, streams)
        measure("simulated text", shuffled(words), 0.1, floor, streams)


def check(streams):
    """Coverage and bias of the loss estimate, and how exactly budgets are spent."""
    print("| stream | floor | labels | covers | bias (standard error) | half-width | random sample's |")
    print("|---|---|---|---|---|---|---|")
    on_streams(loss_interval, streams)
    for change in (None, 25_000):
        parts = []
        for seed in range(3):
            chain = build({"budget": 0.1}, seed=seed)
            chain.learn(stream(seed, 50_000, 0.05, change))
            parts.append(chain.statistics.queries / 50_000)
        print(f"50,000 lines, change at {change}: bought {', '.join(f'{part:.4f}' for part in parts)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--orders", action="store_true", help="other orders of one split of the digits only")
    parser.add_argument("--peers", metavar="PYTHON", help="has vowpalwabbit")
    parser.add_argument("--sms", metavar="FILE", help="SMSSpamCollection: ham or spam, TAB, message")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bound", action="store_true")
    parser.add_argument("--streams", type=int, default=1000, help="of --check and --bound")
    parser.add_argument("--settle", action="store_true")
    parser.add_argument("--stop", action="store_true")
    options = parser.parse_args()
    if options.check:
        check(options.streams)
        return
    if options.bound:
        print("| stream | floor | at the floor | estimate | least possible | best design |\n|---|---|---|---|---|---|")
        on_streams(bound, options.streams)
        return
    seeds = range(100, 100 + options.seeds)
    if options.stop:
        stop(seeds)
        return
    if options.settle:
        settle(seeds)
        return
    if options.orders:
        table("digits, odd or even, one split", digits(), seeds, None, reorder)
        return
    if options.sms:
        table("SMS spam", sms(options.sms), seeds, options.peers)
        return
    for name, lines in (("digits, odd or even", digits()), ("breast cancer", cancer()), ("simulated text", text())):
        table(name, lines, seeds, options.peers)
    class_table(ten_digits(), seeds)


if __name__ == "__main__":
    main()
