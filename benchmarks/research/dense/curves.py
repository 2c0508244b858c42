"""Curved boundaries in one pass: the table of docs/reductions/features/random_features.md.

    python benchmarks/research/dense/curves.py [--seeds 5] [--sets DIR]

Progressive error and processor time of a row: each row is predicted, then learned, once. `moons` have noise .15,
`bananas` are two interleaved half rings of 3,000 rows with deviation 1, `line` are 2,000 rows whose classes a plane in
twenty columns parts, five of them with weights, and `digits` are scikit-learn's.
`--sets`: instead, a folder of multiclass lines `NAME.vw.gz`, at most 2,000 rows and 320 features of each, in their own
order, beside River's forest of five adaptive trees (`pip install 'hutch[river]'`).
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_moons

from hutch import Chain

ROW = {"features": "named", "loss": "squared", "covariance": "shared", "constant_variance": 4.0}


def tables(seed):
    """Rows and classes from 0, by name."""
    random = np.random.default_rng(seed)
    turn = random.uniform(0, np.pi, 3000)
    half = random.integers(0, 2, 3000)
    bananas = 5 * np.column_stack([np.cos(turn + np.pi * half) + half - 0.5, np.sin(turn + np.pi * half)])
    plane = random.normal(size=(2000, 20))
    digits, labels = load_digits(return_X_y=True)
    order = random.permutation(len(labels))
    return {
        "moons": make_moons(2000, noise=0.15, random_state=seed),
        "bananas": (bananas + random.normal(size=(3000, 2)), half),
        "line": (plane, (plane[:, :5].sum(axis=1) + random.normal(size=2000) > 0).astype(int)),
        "digits": (digits[order], labels[order]),
    }


def learners(columns, classes):
    """Layers by name."""
    above = {"multinomial": {"classes": classes}}
    line = {"bayesian_linear": {**ROW, "dimension": columns, "reach": 10.0}}
    curve = {"bayesian_linear": {**ROW, "dimension": columns + 256, "reach": 21.0}}
    flat = {"random_features": {"count": 0}}
    copies = [{**flat, "bayesian_linear": {"dimension": columns, "reach": reach}} for reach in (3.0, 30.0)]
    return {
        "without": ["standardise", above, line],
        "`random_features`": ["standardise", "random_features", above, curve],
        "below `hedge`": ["standardise", {"hedge": {"copies": [*copies, {}]}}, "random_features", above, curve],
    }


def forest(lines):
    """The share of rows that River's forest predicts wrong."""
    from river import forest

    model, wrong = forest.ARFClassifier(n_models=5, seed=0), 0
    for line in lines:
        label, _, features = line.partition("|x ")
        pairs = (word.rpartition("=") if "=" in word else word.rpartition(":") for word in features.split())
        x = {name: value if mark == "=" else float(value) for name, mark, value in pairs}
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return wrong / len(lines)


def sets(folder):
    """Print the errors on each set of a folder, and how often one learner beats another."""
    print("| set | without | `random_features` | below `hedge` | River's forest |\n|---|---|---|---|---|")
    rows = []
    for path in sorted(Path(folder).glob("*.vw.gz")):
        lines = gzip.open(path, "rt").read().splitlines()[:2000]
        names = {word.partition(":")[0] for line in lines for word in line.partition("|x ")[2].split()}
        if len(names) > 320:
            continue
        labels = np.array([int(line.split()[0]) for line in lines])
        found = []
        for layers in learners(len(names), int(labels.max())).values():
            chain = Chain.from_config({"chain": layers})
            found.append(np.mean(chain.learn(lines) != labels))
        rows.append([*found, forest(lines)])
        print(
            f"| {path.name.removesuffix('.vw.gz')} | {' | '.join(f'{error:.3f}' for error in rows[-1])} |", flush=True
        )
    all_of = np.array(rows)
    print("| mean |", *(f"{error:.4f} |" for error in all_of.mean(axis=0)))
    for k in (0, 3):
        less, more = np.sum(all_of[:, 2] < all_of[:, k]), np.sum(all_of[:, 2] > all_of[:, k])
        print(f"below `hedge` against column {k + 1}: {less} better, {more} worse")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets")
    options = parser.parse_args()
    if options.sets:
        return sets(options.sets)
    seeds = range(options.seeds)
    print("| | without | `random_features` | below `hedge` |\n|---|---|---|---|")
    for name in tables(0):
        found = {}
        for seed in seeds:
            X, y = tables(seed)[name]
            for learner, layers in learners(X.shape[1], y.max() + 1).items():
                chain, started = Chain.from_config({"chain": layers}), time.process_time()
                wrong = np.mean(chain.learn(X.astype(np.float32), y + 1) != y + 1)
                found.setdefault(learner, []).append((wrong, 1e6 * (time.process_time() - started) / len(y)))
        cells = (f"{np.mean(each, axis=0)[0]:.3f} ({np.min(each, axis=0)[1]:.0f} µs)" for each in found.values())
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
