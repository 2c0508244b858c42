"""Tables as data scientists have them: Hutch's defaults beside scikit-learn's linear models, LightGBM and River.

    pip install 'hutch[sklearn,arrow,river]' pandas lightgbm vega_datasets plotnine statsmodels
    python benchmarks/research/table_jobs.py [--rows 20000] [--folds 5] [--ratings DIR] [--only NAME,...]

Frames go in raw, with dates, words and gaps; a linear model gets the pipeline that its users write, LightGBM integers
and categories. Printed are the mean over folds of the accuracy or R², CPU seconds of fitting and predicting in all
folds, and lines of code to make the model. `--ratings`: a folder with train.tsv and test.tsv, user TAB item TAB rating;
the figure is the root mean squared error. Streams are tested one row at a time before they are learned, accuracy over
all rows. The frames are those that vega_datasets, plotnine and statsmodels ship, and scikit-learn's own. Text is what
seven packages say of their functions; the class is the package, whose names are taken out of the text.
"""

import argparse
import ast
import inspect
import re
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hutch import Chain
from hutch.sklearn import HutchClassifier, HutchRegressor

Job = tuple[pd.DataFrame, pd.Series]


def hutch(classes: bool) -> Any:
    return HutchClassifier() if classes else HutchRegressor()


def linear(classes: bool) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000) if classes else Ridge())


def lightgbm(classes: bool) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if classes else LGBMRegressor)(n_jobs=1, verbose=-1)


def with_parts_of_dates(X: pd.DataFrame) -> pd.DataFrame:
    """Dates as numbers, for models that take none."""
    for name in X.select_dtypes("datetime").columns:
        date = X[name].dt
        X = X.drop(columns=name).assign(year=date.year, month=date.month, weekday=date.weekday)
    return X


def with_categories(X: pd.DataFrame) -> pd.DataFrame:
    """Words as categories, for LightGBM."""
    return X.astype({name: "category" for name in X.select_dtypes(exclude="number").columns})


def hutch_text(classes: bool) -> Any:
    return HutchClassifier(columns={"text": ["text"]})


def linear_text(classes: bool) -> Any:
    return make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))


def hutch_counts(classes: bool) -> Any:
    return HutchRegressor(loss="poisson")


def linear_counts(classes: bool) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(numbers, PoissonRegressor(max_iter=1000))


def lightgbm_counts(classes: bool) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(objective="poisson", n_jobs=1, verbose=-1)


def words_alone(X: pd.DataFrame) -> pd.Series:
    """The text, for models that take nothing else."""
    return X["text"]


Maker = tuple[Callable[[bool], Any], Callable[[pd.DataFrame], Any]]
MODELS: dict[str, Maker] = {
    "Hutch": (hutch, lambda X: X),
    "linear": (linear, with_parts_of_dates),
    "LightGBM": (lightgbm, lambda X: with_categories(with_parts_of_dates(X))),
}


OTHERS: dict[str, dict[str, Maker]] = {
    "text, 7 packages": {
        "Hutch": (hutch_text, lambda X: X),
        "linear": (linear_text, words_alone),
    },
    "counts, visits to doctors": {
        "Hutch": (hutch_counts, lambda X: X),
        "linear": (linear_counts, lambda X: X),
        "LightGBM": (lightgbm_counts, lambda X: X),
    },
}
"""Jobs for which other models are made."""
PACKAGES = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "statsmodels", "pyarrow")


def docstrings(package: str, most: int = 1000) -> list[str]:
    """What a package says of its functions and classes, without names of packages."""
    found: dict[str, None] = {}
    for path in sorted(shipped(package, "").rglob("*.py")):
        if "test" not in str(path):
            try:
                tree = ast.parse(path.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue
            kinds = (ast.FunctionDef, ast.ClassDef)
            told = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds))
            found |= dict.fromkeys(text for text in told if text and len(text) > 100)
    texts = [re.sub("|".join(PACKAGES) + r"|\bsm\b|\bnp\b|\bpd\b|\bplt\b|\bpa\b", "", text) for text in found]
    return [texts[k] for k in np.random.default_rng(0).permutation(len(texts))[:most]]


def shipped(package: str, name: str) -> Path:
    """A file in a package, which need not be imported."""
    found = find_spec(package)
    assert found and found.origin, f"pip install {package}"
    return Path(found.origin).parent / name


def jobs(rows: int) -> Iterator[tuple[str, Callable[[], Job]]]:
    """Names, and what reads the columns and the target."""

    def weather() -> Job:
        frame = pd.read_csv(shipped("vega_datasets", "_data/seattle-weather.csv"), parse_dates=["date"])
        return frame.drop(columns="weather"), frame["weather"]

    def diamonds(target: str) -> Job:
        frame = pd.read_csv(shipped("plotnine", "data/diamonds.csv")).sample(rows, random_state=0)
        return frame.drop(columns=target), frame[target]

    def cars() -> Job:
        frame = pd.read_json(shipped("vega_datasets", "_data/cars.json"), convert_dates=["Year"])
        frame = frame.dropna(subset="Miles_per_Gallon")
        return frame.drop(columns="Miles_per_Gallon"), frame["Miles_per_Gallon"]

    yield "weather, 5 classes", weather
    yield "diamonds, cut", lambda: diamonds("cut")
    yield "diamonds, price", lambda: diamonds("price")
    yield "cars, miles per gallon", cars
    for name, load in (("digits", load_digits), ("cancer", load_breast_cancer), ("wine", load_wine)):
        yield name, lambda load=load: load(return_X_y=True, as_frame=True)

    def text() -> Job:
        told = [(each, package) for package in PACKAGES for each in docstrings(package)]
        frame = pd.DataFrame(told, columns=["text", "package"])
        return frame[["text"]], frame["package"]

    def counts() -> Job:
        frame = pd.read_csv(shipped("statsmodels", "datasets/randhie/src/randhie.csv"))
        return frame.drop(columns="mdvis"), frame["mdvis"].astype(float)

    yield "text, 7 packages", text
    yield "counts, visits to doctors", counts
    yield "diabetes", lambda: load_diabetes(return_X_y=True, as_frame=True, scaled=False)


def measure(X: pd.DataFrame, y: pd.Series, maker: Maker, folds: int) -> tuple[float, float]:
    """Mean score over folds, and CPU seconds of all."""
    make, prepare = maker
    classes = y.dtype.kind not in "f" and y.nunique() <= 20
    splitter = (StratifiedKFold if classes else KFold)(folds, shuffle=True, random_state=0)
    X, scores = prepare(X), []
    few = next(iter(splitter.split(X, y)))[1]
    make(classes).fit(X.iloc[few], y.iloc[few]).predict(X.iloc[few])  # compiles, or loads what was compiled
    start = time.process_time()
    for train, test in splitter.split(X, y):
        predictions = make(classes).fit(X.iloc[train], y.iloc[train]).predict(X.iloc[test])
        scores.append((accuracy_score if classes else r2_score)(y.iloc[test], predictions))
    return float(np.mean(scores)), time.process_time() - start


def lines_of(make: Callable[..., Any]) -> int:
    """Lines of a function but for its head, its imports and empty ones."""
    lines = [line.strip() for line in inspect.getsource(make).splitlines()[1:]]
    return sum(bool(line) and not line.startswith(("from ", "import ", ")", '"""')) for line in lines)


def drifting(count: int = 20_000) -> Iterator[tuple[dict[str, Any], bool]]:
    """Rows of words and numbers whose weights are redrawn in each quarter of the stream."""
    random = np.random.default_rng(0)
    for k in range(count):
        if k % (count // 4) == 0:
            weights, effects = random.normal(size=5), random.normal(size=(3, 8))
        numbers, words = random.normal(size=5) * [1, 10, 1, 0.1, 1], random.integers(8, size=3)
        score = weights @ (numbers / [1, 10, 1, 0.1, 1]) + effects[np.arange(3), words].sum()
        x = {f"n{j}": float(v) for j, v in enumerate(numbers)} | {f"w{j}": f"v{v}" for j, v in enumerate(words)}
        yield x, bool(score + random.logistic() > 0)


def hutch_stream() -> Any:
    from hutch.river import HutchClassifier as Classifier

    return Classifier()


def river_stream() -> Any:
    from river import compose, linear_model, preprocessing

    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return words + (compose.SelectType(float) | preprocessing.StandardScaler()) | linear_model.LogisticRegression()


def streams() -> None:
    """The drifting stream under both."""
    rows = list(drifting())
    for name, make in (("Hutch", hutch_stream), ("River", river_stream)):
        make().learn_one(*rows[0])  # compiles
        model, right, start = make(), 0, time.process_time()
        for x, y in rows:
            right += model.predict_one(x) == y
            model.learn_one(x, y)
        seconds = time.process_time() - start
        print(
            f"| stream with drift | {name} | {right / len(rows):.3f} | {seconds:.2f} | {lines_of(make)} |", flush=True
        )


def hutch_ratings(train: list[list[str]], test: list[list[str]]) -> Any:
    chain = Chain.from_config({"chain": [{"dyadic": {"left": "user", "right": "item", "rank": 20}}]})
    chain.learn([f"{r} |user {u} |item {i}" for u, i, r in train], passes=20)
    return chain.predict([f"|user {u} |item {i}" for u, i, _ in test])


def river_ratings(train: list[list[str]], test: list[list[str]]) -> Any:
    from river import reco

    model = reco.BiasedMF(n_factors=20, seed=0)
    for _ in range(20):
        for u, i, r in train:
            model.learn_one(u, i, float(r))
    return [model.predict_one(u, i) for u, i, _ in test]


def ratings(folder: Path) -> None:
    """Both on the ratings in a folder."""
    train, test = (
        [row.split("\t") for row in (folder / f"{n}.tsv").read_text().splitlines()] for n in ("train", "test")
    )
    order = np.random.default_rng(0).permutation(len(train))
    train, truth = [train[k] for k in order], np.array([float(r) for _, _, r in test])
    for name, learn in (("Hutch", hutch_ratings), ("River", river_ratings)):
        learn(train[:100], test[:10])  # compiles
        start = time.process_time()
        error = np.sqrt(np.mean((np.asarray(learn(train, test), float) - truth) ** 2))
        seconds = time.process_time() - start
        print(f"| ratings, {folder.name} | {name} | {error:.3f} | {seconds:.2f} | {lines_of(learn)} |", flush=True)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000, help="of the diamonds")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--ratings", type=Path)
    parser.add_argument("--only", default="", help="beginnings of names")
    options = parser.parse_args()
    wanted = tuple(options.only.split(","))
    warnings.simplefilter("ignore")
    print("| job | model | score | CPU s | lines |\n|---|---|---|---|---|")
    for name, read in jobs(options.rows):
        X, y = read() if name.startswith(wanted) else (None, None)
        for model, maker in OTHERS.get(name, MODELS).items() if X is not None else ():
            score, seconds = measure(X, y, maker, options.folds)
            print(f"| {name} | {model} | {score:.3f} | {seconds:.2f} | {lines_of(maker[0])} |", flush=True)
    if "stream".startswith(wanted):
        streams()
    if options.ratings:
        ratings(options.ratings)


if __name__ == "__main__":
    main()
