"""Estimators without settings on made tables of every awkward kind, beside a pipeline and the best constant.

    python benchmarks/research/dense/made_tables.py [--seeds 3] [--only NAME,...]

Each table is learned with four kinds of targets drawn from one score: two classes, a rare class (about 1 %), four
classes, and numbers with noise. Printed are error / log-loss on further rows, of numbers R², and CPU seconds of fitting
and predicting. The pipeline imputes, scales, encodes, and ends in LogisticRegression or Ridge. Nothing in Hutch was
chosen on these tables.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hutch.sklearn import HutchClassifier, HutchRegressor

TARGETS = ("two classes", "rare class", "four classes", "numbers")


def frame(X):
    """A frame of numbers."""
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def plain(random, rows, columns=10, relevant=10):
    """Normal columns of which some matter."""
    X = random.normal(size=(rows, columns))
    return frame(X), X[:, :relevant] @ random.normal(size=relevant) * 2 / np.sqrt(relevant)


def heavy(random, rows):
    """Student's t with 1.5 degrees of freedom; the effect of a column ends at ±3."""
    X = random.standard_t(1.5, size=(rows, 8))
    return frame(X), np.clip(X, -3, 3) @ random.normal(size=8) * 0.8


def counts(random, rows):
    """Counts that are mostly 0, with effects in proportion."""
    X = (random.random((rows, 60)) < 0.05) * random.poisson(3, (rows, 60)) * 1.0
    return frame(X), X @ random.normal(size=60) * 0.7


def constants(random, rows):
    """A column that never varies, one without values and one with a single word beside four that matter."""
    X, score = plain(random, rows, 4, 4)
    return X.assign(same=7.0, missing=np.nan, word="same"), score


def levels(random, rows):
    """A column of 1,000 words, each with an effect."""
    X, score = plain(random, rows, 3, 3)
    word, effects = random.integers(1000, size=rows), random.normal(size=1000) * 1.5
    return X.assign(word=[f"v{k}" for k in word]), score + effects[word]


def gaps(random, rows):
    """Values that are the likelier to be missing the larger they are."""
    X, score = plain(random, rows, 6, 6)
    return X.mask(random.random(X.shape) < 0.8 / (1 + np.exp(-2 * X))), score


def nothing(random, rows):
    """Columns that say nothing of the target."""
    X, score = plain(random, rows)
    return X, 0 * score


def far(random, rows):
    """600 columns about 1,000, in five units, of which 30 matter."""
    X, score = plain(random, rows, 600, 30)
    return X * 10.0 ** random.integers(-2, 3, 600) + 1000, score


TABLES = {
    "10 columns": (plain, 2000),
    "20 rows": (plain, 20),
    "heavy tails": (heavy, 2000),
    "counts": (counts, 2000),
    "constant columns": (constants, 500),
    "1,000 levels": (levels, 4000),
    "missing not at random": (gaps, 2000),
    "noise": (nothing, 500),
    "200 rows, 2,000 columns": (lambda random, rows: plain(random, rows, 2000, 10), 200),
    "600 columns about 1,000": (far, 1000),
}


def targets(random, score, kind):
    """Classes or numbers of a score."""
    if kind == "numbers":
        return 300 * score + 5000 + 300 * random.normal(size=len(score))
    if kind == "four classes":
        scores = np.c_[score, -score, np.full_like(score, 0.5), np.full_like(score, random.normal())]
        return (scores + random.gumbel(size=scores.shape)).argmax(axis=1)
    away = 4.6 + 0.5 * score.var() if kind == "rare class" else 0
    return random.random(len(score)) < 1 / (1 + np.exp(min(away, 9) - score))


def pipeline(model):
    """The model behind what its users write for such tables."""
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, model)


def found(model, X, y, rows):
    """Error and log-loss, or 0 and R², of a model of the first rows on the others, and CPU seconds."""
    start, tested = time.process_time(), y[rows:]
    model.fit(X[:rows], y[:rows])
    if not hasattr(model, "classes_"):
        away = np.mean((model.predict(X[rows:]) - tested) ** 2)
        return 0.0, 1 - away / tested.var(), time.process_time() - start
    return *losses(model.predict_proba(X[rows:]), model.classes_, tested), time.process_time() - start


def losses(chances, classes, tested):
    """Error and log-loss of probabilities; a class that was not learned counts in the error alone."""
    known = np.isin(tested, classes)
    of_label = chances[known, np.searchsorted(classes, tested[known])]
    error = np.mean(classes[chances.argmax(axis=1)] != tested)
    return float(error), float(-np.log(np.maximum(of_label, 1e-9)).mean())


def constant(y, rows):
    """What the shares of the classes learned, or their mean, come to."""
    if y.dtype.kind == "f":
        return 0.0, 1 - np.mean((y[:rows].mean() - y[rows:]) ** 2) / y[rows:].var(), 0.0
    classes, counts = np.unique(y[:rows], return_counts=True)
    shares = (counts + 0.5) / (counts + 0.5).sum()
    return *losses(np.tile(shares, (len(y) - rows, 1)), classes, y[rows:]), 0.0


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="beginnings of names")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | target | Hutch | pipeline | constant | CPU s |\n|---|---|---|---|---|---|")
    for name, (make, rows) in TABLES.items():
        for kind in TARGETS if name.startswith(tuple(options.only.split(","))) else ():
            kept = []
            for seed in range(options.seeds):
                random = np.random.default_rng([seed, rows])
                X, score = make(random, rows + 2000)
                y = targets(random, score, kind)
                if len(np.unique(y[:rows])) < 2:
                    continue
                ours = HutchRegressor() if kind == "numbers" else HutchClassifier()
                theirs = pipeline(Ridge() if kind == "numbers" else LogisticRegression(max_iter=2000))
                kept.append([found(ours, X, y, rows), found(theirs, X, y, rows), constant(y, rows)])
            if kept:
                means = np.mean(kept, axis=0)
                shown = [f"{v:.3f}" if kind == "numbers" else f"{e:.3f} / {v:.3f}" for e, v, _ in means]
                print(f"| {name} | {kind} | {' | '.join(shown)} | {means[0, 2]:.2f}, {means[1, 2]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
