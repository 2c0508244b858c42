"""Estimators without settings on raw tables, beside `linear` and logistic regression on scaled, one-hot columns.

    python benchmarks/research/dense/estimators.py [--seeds 3] [--sets DIR] [--regression] [--passes] [--reaches]

Half of the rows are learned, the other half is for error and log-loss; a seed is another split. The sets are those of
scikit-learn in their own units and made tables with columns of numbers and words; `--sets` adds a folder of multiclass
lines `NAME.vw.gz` as tables: `name:value` is a number, `name=value` a word. Hutch gets pyarrow tables, or arrays where
there are no words. A set is clearly better or worse if the gap is more than two standard errors over seeds.
`--regression`: R² of ten folds instead. `--passes`: the default beside 1, 3, 10 and 100 of `linear`. `--reaches`:
the priors among which `fit` chooses, beside logistic regression on the half of the sets by which they were not chosen.
"""

import argparse
import gzip
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.compose import make_column_transformer
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_friedman1,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import hutch.table_estimator
from hutch.sklearn import HutchClassifier, HutchRegressor

REACHES = [(10.0,), (2.0, 50.0), (3.0, 30.0), (2.0, 10.0, 50.0), (1.0, 10.0, 100.0), (1.0, 3.0, 10.0, 30.0, 100.0)]


def made(seed):
    """A table of numbers in odd units and of words, of which half matter, and its classes."""
    random = np.random.default_rng(seed)
    rows, numbers, words = int(random.integers(300, 2000)), int(random.integers(2, 15)), int(random.integers(1, 10))
    classes = int(random.integers(2, 6))
    X = random.normal(size=(rows, numbers))
    scores = X @ (random.normal(size=(numbers, classes)) * (random.random((numbers, 1)) < 0.5))
    columns = {}
    for k in range(numbers):
        unit, offset = 10 ** random.uniform(-3, 4), 10 ** random.uniform(-1, 3)
        columns[f"n{k}"] = unit * (X[:, k] + offset * random.choice([0, 1]))
    for k in range(words):
        names = int(random.integers(2, 12))
        drawn = random.choice(names, rows, p=random.dirichlet(np.ones(names)))
        scores += (random.random() < 0.5) * random.normal(size=(names, classes))[drawn]
        columns[f"w{k}"] = np.array([f"v{i}" for i in range(names)])[drawn]
    scores *= 1.5 / scores.std()
    return pa.table(columns), (scores + random.gumbel(size=scores.shape)).argmax(axis=1)


def read(path):
    """A file of lines as a table, and the classes."""
    labels, rows = [], []
    for line in gzip.open(path, "rt"):
        label, _, features = line.partition("|x ")
        labels.append(int(label))
        row = {}
        for feature in features.split():
            name, equals, value = feature.rpartition("=") if "=" in feature else feature.rpartition(":")
            row[name] = value if equals == "=" else float(value)
        rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        mixed = len({type(value) for value in values if value is not None}) > 1
        columns[name] = [None if value is None else str(value) for value in values] if mixed else values
    return pa.table(columns), np.array(labels)


def sets(folder):
    """Name, table or array, classes."""
    for load in (load_breast_cancer, load_wine, load_iris, load_digits):
        yield load.__name__.removeprefix("load_"), *load(return_X_y=True)
    X, y = make_classification(1000, 15, n_informative=8, n_classes=3, n_clusters_per_class=1, random_state=0)
    yield "15 columns", X * 10.0 ** np.arange(-3, 12) + 30, y
    for seed in range(8):
        yield f"numbers and words {seed}", *made(seed)
    for path in sorted(Path(folder).glob("*.vw.gz")) if folder else ():
        yield path.name.removesuffix(".vw.gz"), *read(path)


def batch(X):
    """Logistic regression on scaled columns of numbers and one-hot words."""
    regression = LogisticRegression(max_iter=2000)
    if isinstance(X, np.ndarray):
        return make_pipeline(StandardScaler(), regression)
    words = [field.name for field in X.schema if pa.types.is_string(field.type)]
    numbers = [name for name in X.column_names if name not in words]
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore"), words),
        ),
        regression,
    )


def learners(X, passes):
    """Estimators by name."""
    if passes:
        counts = {f"`linear`, {n}": HutchClassifier(loss="log_loss", passes=n) for n in (1, 3, 10, 100)}
        return {"HutchClassifier()": HutchClassifier(), **counts}
    return {
        "HutchClassifier()": HutchClassifier(),
        "`linear`": HutchClassifier(loss="log_loss", passes=10),
        "LogisticRegression": batch(X),
    }


def halves(X, y, model, seed):
    """Error, log-loss and CPU seconds of a model of one half on the other."""
    order = np.random.default_rng(seed).permutation(len(y))
    learned, tested = order[: len(y) // 2], order[len(y) // 2 :]
    framed = not isinstance(X, np.ndarray)
    parts = [X.take(rows) if framed else X[rows] for rows in (learned, tested)]
    if isinstance(model, HutchClassifier):
        pass
    elif framed:
        parts = [part.to_pandas() for part in parts]
    started = time.process_time()
    model.fit(parts[0], y[learned])
    chances = model.predict_proba(parts[1])
    seconds = time.process_time() - started
    known = np.isin(y[tested], model.classes_)
    loss = log_loss(
        y[tested][known],
        np.clip(chances, 1e-6, 1)[known] / np.clip(chances, 1e-6, 1)[known].sum(axis=1, keepdims=True),
        labels=model.classes_,
    )
    return float(np.mean(model.classes_[chances.argmax(axis=1)] != y[tested])), loss, seconds


def regression():
    """Print R² of ten folds."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    random = np.random.default_rng(0)
    skewed = random.exponential(size=(1000, 3)) ** 2
    tables = {
        "diabetes": (X, y),
        "Friedman 1": make_friedman1(1000, noise=1, random_state=0),
        "skewed columns": (skewed, skewed @ [1, 2, 3] + random.normal(size=1000)),
        "columns about 1,000": (1000 + X / X.std(axis=0), y),
    }
    print("| data | HutchRegressor() | `linear` | StandardScaler, RidgeCV |\n|---|---|---|---|")
    for name, (X, y) in tables.items():
        models = HutchRegressor(), HutchRegressor(loss="squared"), make_pipeline(StandardScaler(), RidgeCV())
        folds = KFold(10, shuffle=True, random_state=0)
        print(f"| {name} |", *(f"{cross_val_score(model, X, y, cv=folds).mean():.3f} |" for model in models))


def reaches(folder, seeds):
    """Print how the reaches that suit every other set best do on the sets between them."""
    found = []
    for _, X, y in sets(folder):
        rows = [[halves(X, y, batch(X), seed)[:2] for seed in range(seeds)]]
        for tried in REACHES:
            hutch.table_estimator._REACHES = tried
            rows.append([halves(X, y, HutchClassifier(), seed)[:2] for seed in range(seeds)])
        found.append(np.mean(rows, axis=1))
    for first in (0, 1):
        best = int(np.mean(found[first::2], axis=0)[1:, 1].argmin())
        apart = np.array([each[1 + best] - each[0] for each in found[1 - first :: 2]])
        for what, gap in zip(("error", "log-loss"), apart.T, strict=True):
            told = f"{np.sum(gap < 0)} less, {np.sum(gap > 0)} more, {gap.mean():+.4f}"
            print(f"{what} against logistic regression, reaches {REACHES[best]}, {len(gap)} sets: {told}")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets")
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--reaches", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.regression:
        return regression()
    if options.reaches:
        return reaches(options.sets, options.seeds)
    found, apart = [], []
    for name, X, y in sets(options.sets):
        models = learners(X, options.passes)
        rows = [[halves(X, y, model, seed) for seed in range(options.seeds)] for model in models.values()]
        found.append(np.mean(rows, axis=1))
        apart.append([_clear(rows[0], other) for other in rows])
        if len(found) == 1:
            print(f"| set | {' | '.join(models)} |\n|---|" + "---|" * len(models))
        print(f"| {name} |", *(f"{error:.3f} / {loss:.2f} |" for error, loss, _ in found[-1]), flush=True)
    means, all_of = np.mean(found, axis=0), np.array(found)
    print("| mean |", *(f"{error:.4f} / {loss:.3f} |" for error, loss, _ in means))
    print("| CPU seconds |", *(f"{seconds:.2f} |" for _, _, seconds in means))
    for k, name in enumerate(models):
        for m, what in enumerate(("error", "log-loss")):
            gap, clear = all_of[:, 0, m] - all_of[:, k, m], np.array(apart)[:, k, m]
            told = f"{np.sum(gap < 0)} better, {np.sum(gap > 0)} worse, {gap.mean():+.4f}"
            print(f"{what} against {name}: {told}; clearly {np.sum(clear < 0)} and {np.sum(clear > 0)}")


def _clear(ours, theirs):
    """The signs of the gaps in error and log-loss that are more than two standard errors, over seeds; else 0."""
    gaps = np.array(ours)[:, :2] - np.array(theirs)[:, :2]
    mean, deviation = gaps.mean(axis=0), gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    return np.where(np.abs(mean) > 2 * deviation, np.sign(mean), 0)


if __name__ == "__main__":
    main()
