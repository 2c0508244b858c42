"""Streams one row at a time: hutch.river with falling and with constant rates beside River's logistic regression.

    pip install 'hutch[river]'
    python benchmarks/research/dense/streams.py [--rows 5000]

Each row is predicted before it is learned. Printed are the share of rows predicted right and the log-loss, for the
default, for per-feature rates that fall, for other constant rates, and for River's scaled, one-hot logistic
regression; and CPU seconds of all streams. The last three streams change, the others stay as they are. Words are those
of docstrings of installed packages; the class is the package.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from river import compose, datasets, linear_model, multiclass, preprocessing
from river.datasets import synth
from sklearn.datasets import load_breast_cancer, load_digits

from hutch.river import HutchClassifier

sys.path.insert(0, str(Path(__file__).parents[1]))
from table_jobs import docstrings, drifting

Rows = Iterator[tuple[dict[str, Any], Any]]


def table(load: Callable[..., Any]) -> Rows:
    X, y = load(return_X_y=True)
    for k in np.random.default_rng(0).permutation(len(y)):
        yield {f"c{j}": float(v) for j, v in enumerate(X[k])}, int(y[k])


def words(count: int) -> Rows:
    told = [(text, name) for name in ("numpy", "scipy", "sklearn", "pandas", "matplotlib") for text in docstrings(name)]
    for k in np.random.default_rng(0).permutation(len(told))[:count]:
        text, name = told[k]
        yield {word: float(often) for word, often in Counter(text.split()).items()}, name


def constant(rate: float) -> Callable[[], Any]:
    plain = {"adaptive": False, "normalized": False, "power_t": 0, "learning_rate": rate}
    return lambda: HutchClassifier(["standardise", "one_against_all", {"linear": {"loss": "logistic", **plain}}])


def falling() -> Any:
    return HutchClassifier(["standardise", "one_against_all", {"linear": {"loss": "logistic"}}])


def river() -> Any:
    names = compose.SelectType(str) | preprocessing.OneHotEncoder()
    numbers = compose.SelectType(float, int) | preprocessing.StandardScaler()
    return (names + numbers) | multiclass.OneVsRestClassifier(linear_model.LogisticRegression())


MODELS = {
    "default": HutchClassifier,
    "falling": falling,
    **{f"constant {rate}": constant(rate) for rate in (0.02, 0.05)},
    "River": river,
}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000, help="of each made stream")
    n = parser.parse_args().rows
    streams: dict[str, Callable[[], Any]] = {
        "phishing": datasets.Phishing,
        "segments": datasets.ImageSegments,
        "digits": lambda: table(load_digits),
        "breast cancer": lambda: table(load_breast_cancer),
        "SEA": lambda: synth.SEA(seed=1).take(n),
        "hyperplane": lambda: synth.Hyperplane(seed=1, n_features=10).take(n),
        "waveform": lambda: synth.Waveform(seed=1, has_noise=True).take(n),
        "Agrawal": lambda: synth.Agrawal(seed=1).take(n),
        "words": lambda: words(n),
        "hyperplane, drifting": lambda: synth.Hyperplane(1, 10, n_drift_features=5, mag_change=0.01).take(n),
        "radial, drifting": lambda: synth.RandomRBFDrift(1, 1, 4, 10, change_speed=0.001, n_drift_centroids=10).take(n),
        "weights redrawn, 4 times": lambda: islice(drifting(4 * n), 4 * n),
    }
    print(f"| stream | {' | '.join(MODELS)} |\n|---|{'---|' * len(MODELS)}")
    spent = dict.fromkeys(MODELS, 0.0)
    for name, make_stream in streams.items():
        rows, cells = list(make_stream()), []
        for title, make in MODELS.items():
            model, right, loss, start = make(), 0, 0.0, time.process_time()
            for x, y in rows:
                chances = model.predict_proba_one(x)
                right += bool(chances) and max(chances, key=chances.get) == y
                loss -= log(max(chances.get(y, 0.0), 1e-3))
                model.learn_one(x, y)
            spent[title] += time.process_time() - start
            cells.append(f"{right / len(rows):.3f} / {loss / len(rows):.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"| CPU seconds | {' | '.join(f'{seconds:.1f}' for seconds in spent.values())} |")


if __name__ == "__main__":
    main()
