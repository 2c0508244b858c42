"""R² of HutchRegressor on raw data and SGDRegressor on standardised data, for benchmarks/results/estimators.md.

Mean over five folds, on the regression sets that scikit-learn ships or makes.
`python benchmarks/research/regression.py`
"""

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hutch.sklearn import HutchRegressor


def sets() -> dict[str, tuple[Any, Any]]:
    """The data by name."""
    linnerud = datasets.load_linnerud()
    return {
        "diabetes": datasets.load_diabetes(return_X_y=True),
        "linnerud, weight": (linnerud.data, linnerud.target[:, 0]),
        "make_regression": datasets.make_regression(1000, 20, noise=5, random_state=0),
        "make_friedman1": datasets.make_friedman1(1000, noise=1, random_state=0),
        "make_friedman2": datasets.make_friedman2(1000, noise=1, random_state=0),
        "make_friedman3": datasets.make_friedman3(1000, noise=0.1, random_state=0),
        "make_sparse_uncorrelated": datasets.make_sparse_uncorrelated(1000, random_state=0),
    }


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    folds = KFold(5, shuffle=True, random_state=0)
    models = [
        HutchRegressor(),
        SGDRegressor(random_state=0),
        make_pipeline(StandardScaler(), SGDRegressor(random_state=0)),
    ]
    print("| data | `HutchRegressor()` | `SGDRegressor()` | `StandardScaler`, `SGDRegressor` |\n|---|---|---|---|")
    for name, (X, y) in sets().items():
        found = [np.mean(cross_val_score(model, X, y, cv=folds, scoring="r2")) for model in models]
        shown = [f"{value:.3f}" if abs(value) < 1e3 else f"{value:.0e}" for value in found]
        print(f"| {name} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
