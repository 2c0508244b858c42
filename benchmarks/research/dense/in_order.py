"""Rows in the order of time: `partial_fit` beside batch regression on the same rows.

    python benchmarks/research/dense/in_order.py

Every second row of a stream is learned, 100 at a time; the others, of the whole time, are for R² or log-loss. Streams
are made, or tables that ship with scikit-learn and River, sorted by one of their columns or as they come. Batch is
ridge or logistic regression on standardised columns with the prior of the estimator.
"""

import numpy as np
from river import datasets
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hutch.sklearn import HutchClassifier, HutchRegressor

CHUNK, ROWS = 100, 1200


def numbers():
    """Name, columns and label of each stream, rows in the order of time."""
    random, t = np.random.default_rng(1), np.arange(ROWS)
    e = random.normal(size=(ROWS, 6))
    walk = np.cumsum(e[:, 0])
    X = np.column_stack([walk, 1e4 + 3.0 * t, e[:, 1] * (1 + t / 100), np.sin(t / 90), e[:, 2]])
    yield "a walk, a trend, a growing column", X, X @ [2, 0.01, -0.3, 5, 0] + e[:, 3]
    many = np.cumsum(random.normal(size=(ROWS, 20)), axis=0)
    yield "20 walks", many, many @ random.normal(size=20) + 5 * e[:, 0]
    late = np.where(t > 0.6 * ROWS, e[:, 4], 0.0)
    yield "a late column", np.column_stack([e[:, :3], late]), e[:, :3] @ [1, 2, -1] + 3 * late + e[:, 5]
    X, y = load_diabetes(return_X_y=True)
    order = np.argsort(X[:, 2], kind="stable")
    yield "diabetes by body mass", X[order], y[order]
    rows = list(datasets.TrumpApproval())
    yield "approval by day", np.array([list(row.values()) for row, _ in rows]), np.array([y for _, y in rows])


def classes():
    """The same with classes."""
    random, t = np.random.default_rng(2), np.arange(ROWS)
    e = random.normal(size=(ROWS, 4))
    walk = np.cumsum(e[:, 0])
    X = np.column_stack([walk, 1e4 + 3.0 * t, e[:, 1] * (1 + t / 100), np.sin(t / 90)])
    yield "a walk and a trend", X, (0.15 * (walk - walk.mean()) + 2 * e[:, 1] + e[:, 3] > 0).astype(int)
    for name, load, column in (("cancer by radius", load_breast_cancer, 0), ("wine by colour", load_wine, 9)):
        X, y = load(return_X_y=True)
        order = np.argsort(X[:, column], kind="stable")
        yield name, X[order], y[order]


def in_chunks(model, X, y, **given):
    """The model after `partial_fit` of all rows."""
    for start in range(0, len(y), CHUNK):
        model.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK], **given)
    return model


def main():
    """Print both tables."""
    print("| stream | batch | moments | below `standardise` |\n|---|---|---|---|")
    for name, X, y in numbers():
        width = X.shape[1]
        row = {"namespace": "x", "dimension": width, "features": "named", "loss": "squared", "reach": 10.0}
        bounds = {"min_prediction": -1e9, "max_prediction": 1e9, "constant_variance": 4.0}
        below = ["standardise", {"bayesian_linear": {**row, **bounds}}]
        batch = make_pipeline(StandardScaler(), Ridge(alpha=width / 20)).fit(X[::2], y[::2])
        models = [batch, *(in_chunks(HutchRegressor(layers), X[::2], y[::2]) for layers in (None, below))]
        print("|", name, *(f"| {r2_score(y[1::2], model.predict(X[1::2])):.3f}" for model in models), "|")
    print("\n| stream | batch | sites | below `standardise` | `fit` |\n|---|---|---|---|---|")
    for name, X, y in classes():
        width, count = X.shape[1], len(np.unique(y))
        row = {"namespace": "x", "dimension": width, "features": "named", "reach": 10.0, "constant_variance": 4.0}
        row["loss"] = "logistic" if count == 2 else "squared"
        above = [] if count == 2 else [{"multinomial": {"classes": count}}]
        batch = make_pipeline(StandardScaler(), LogisticRegression(C=10 / width)).fit(X[::2], y[::2])
        below = HutchClassifier(["standardise", *above, {"bayesian_linear": row}])
        streamed = (in_chunks(model, X[::2], y[::2], classes=np.unique(y)) for model in (HutchClassifier(), below))
        models = [batch, *streamed, HutchClassifier().fit(X[::2], y[::2])]
        print("|", name, *(f"| {log_loss(y[1::2], model.predict_proba(X[1::2])):.3f}" for model in models), "|")


if __name__ == "__main__":
    main()
