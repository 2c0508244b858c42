"""Odd frames for estimators of scikit-learn: learned as what they are, or refused with what is wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

from hutch.core.errors import ConfigError, DataError
from hutch.sklearn import HutchClassifier, HutchRegressor

pd = pytest.importorskip("pandas")
ROWS = 400
RANDOM = np.random.default_rng(0)
NUMBER, WORD = RANDOM.normal(size=ROWS), RANDOM.choice(["a", "b", "c"], ROWS)
KIND = RANDOM.integers(0, 5, ROWS)
LABELS = np.where(NUMBER + 2 * (WORD == "a") > 0.7, "yes", "no")


def test_categories_that_are_numbers_are_words() -> None:
    y = np.isin(KIND, [1, 4])
    frame = pd.DataFrame({"kind": pd.Categorical(KIND)})
    model = HutchClassifier().fit(frame, y)
    assert model.score(frame, y) == 1
    other = pd.DataFrame({"kind": pd.Categorical(KIND, categories=[4, 3, 2, 1, 0])})  # other codes
    np.testing.assert_array_equal(model.decision_function(other), model.decision_function(frame))
    words = HutchClassifier().fit(pd.DataFrame({"kind": KIND.astype(str)}), y)
    np.testing.assert_array_equal(words.decision_function(frame.astype(str)), model.decision_function(frame))


FRAMES: dict[str, Callable[[], Any]] = {
    "nullable": lambda: pd.DataFrame({"number": pd.array(NUMBER, "Float64"), "word": pd.array(WORD, "string")}),
    "categories": lambda: pd.DataFrame({"number": NUMBER, "word": pd.Categorical(WORD)}),
    "ordered": lambda: pd.DataFrame({"number": NUMBER, "word": pd.Categorical(WORD, ordered=True)}),
    "sparse": lambda: pd.DataFrame({"number": pd.arrays.SparseArray(NUMBER), "word": WORD}),
    "two levels of names": lambda: pd.DataFrame({("x", "number"): NUMBER, ("x", "word"): WORD}),
    "numbers as names": lambda: pd.DataFrame({0: NUMBER, 1: WORD}),
    "views of strings": lambda: pa.table({"number": NUMBER, "word": pa.array(WORD, pa.string_view())}),
    "views of bytes": lambda: pa.table({"number": NUMBER, "word": pa.array(list(WORD), pa.string()).cast("binary")}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_of_any_types_are_learned(name: str) -> None:
    frame = FRAMES[name]()
    plain = pd.DataFrame({"number": NUMBER, "word": WORD})
    wanted = HutchClassifier().fit(plain, LABELS).score(plain, LABELS)
    assert wanted > 0.95
    assert HutchClassifier().fit(frame, pd.Series(LABELS, index=range(ROWS, 0, -1))).score(frame, LABELS) == wanted


def frame(**columns: Any) -> Any:
    return pd.DataFrame({"number": NUMBER, **columns})


def with_infinity() -> Any:
    made = frame()
    made.loc[3, "number"] = np.inf
    return made


LAZY = type("LazyFrame", (), {"collect": None, "collect_schema": None})
REFUSED: list[tuple[Callable[[], Any], Any, type[Exception], str]] = [
    (lambda: pd.concat([frame(), frame()], axis=1), LABELS, ValueError, "X: got 2 columns of the name 'number'"),
    (lambda: frame()["number"], LABELS, ValueError, r"X: got a Series, wanted a frame: X.to_frame\(\)"),
    (LAZY, LABELS, ValueError, r"X: got a LazyFrame, wanted a frame: X.collect\(\)"),
    (lambda: ["good"] * ROWS, LABELS, ValueError, "X: got a list of texts, wanted a matrix, or a frame and columns="),
    (lambda: [{"a": 1}] * ROWS, LABELS, ValueError, "X: got a list of records, wanted a matrix, or a frame of them"),
    (lambda: frame(id=[10**30] * ROWS), LABELS, DataError, "X: got an integer beyond 64 bits"),
    (with_infinity, LABELS, DataError, "<table>:4: column 'number': got inf"),
    (lambda: frame(pair=[[1, 2]] * ROWS), LABELS, DataError, "column 'pair' is list"),
    (frame, np.where(np.arange(ROWS) == 5, None, LABELS), ValueError, "y: row 5 has no label"),
    (frame, np.where(np.arange(ROWS) == 5, np.nan, LABELS.astype(object)), ValueError, "y: row 5 has no label"),
    (frame, np.where(np.arange(ROWS) == 5, np.nan, NUMBER > 0), ValueError, "y: row 5 .* 1 are missing"),
    (frame, pd.Series(LABELS, dtype="string").mask(np.arange(ROWS) == 5), ValueError, "y: row 5 has no label, counted"),
    (frame, pd.Series(NUMBER > 0, dtype="boolean").mask(NUMBER > 2), ValueError, "y: row .* has no label, counted"),
    (frame, ["yes", 1] * (ROWS // 2), ValueError, "y: got 'yes' and 1, wanted labels of one kind"),
    (frame, np.ones((ROWS, 2)), ValueError, r"y: got the shape \(400, 2\), wanted one column; sklearn.multioutput"),
    (lambda: frame()[[]], LABELS, ValueError, r"X: got the shape \(400, 0\), wanted at least one row and one column"),
]


@pytest.mark.parametrize("make", [lambda y: y.astype(object), lambda y: pd.Series(y, dtype="boolean"), list])
def test_truths_of_any_type_stay_truths(make: Callable[[Any], Any]) -> None:
    model = HutchClassifier().fit(frame(), make(NUMBER > 0))
    assert model.classes_.dtype == bool
    assert HutchClassifier().fit(frame(), pd.Series(KIND, dtype="Int64")).classes_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"layers": "linear"}, r"layers: got 'linear', wanted a list such as \['linear'\]"),
        ({"class_weight": {"no": -1.0, "yes": 1.0}}, "class_weight: got .*, wanted weights of at least 0"),
        ({"early_stopping": True, "validation_fraction": 0.001}, "validation_fraction: got 0.001, 0 of 400 samples"),
        ({"early_stopping": True, "validation_fraction": 1.5}, "validation_fraction: got 1.5, 600 of 400 samples"),
        ({"columns": {"label": "number"}}, "columns.label: got 'number', wanted it left out of X"),
    ],
)
def test_parameters_that_would_be_overlooked_are_refused(given: Any, words: str) -> None:
    with pytest.raises((ValueError, ConfigError), match=words):
        HutchClassifier(**given).fit(frame(), LABELS)


@pytest.mark.parametrize(("make", "y", "kind", "words"), REFUSED, ids=[words for _, _, _, words in REFUSED])
def test_what_cannot_be_learned_says_what_is_wrong(make: Any, y: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        HutchClassifier().fit(make(), y)


def test_a_class_or_word_that_cannot_be_is_shown_as_it_was_given() -> None:
    model = HutchClassifier().fit(frame(), np.where(LABELS == LABELS[0], "no", "yes"))
    with pytest.raises(ValueError, match="y: got the class 'maybe', wanted one of 'no', 'yes'; hutch.river takes"):
        model.partial_fit(frame(), ["maybe"] * ROWS)
    for make in (frame, lambda: np.ones((ROWS, 2))):
        with pytest.raises(ValueError, match="y: got 'a', wanted numbers; HutchClassifier takes names"):
            HutchRegressor().fit(make(), ["a"] * ROWS)


def test_columns_are_those_of_fit_in_kind_and_name() -> None:
    numbers = pd.DataFrame({"kind": KIND, "gap": [None] * ROWS})
    model = HutchClassifier().fit(numbers, LABELS)
    for same in (numbers.astype({"kind": float}), numbers.assign(kind=KIND > 2), numbers.assign(gap="a")):
        model.predict(same)
    for other, words in ((KIND.astype(str), "words"), (pd.to_datetime(KIND, unit="D"), "dates")):
        with pytest.raises(ValueError, match=f"X: column 'kind' has {words}, wanted numbers, as in `fit`"):
            model.predict(numbers.assign(kind=other))
        with pytest.raises(ValueError, match=words):
            model.partial_fit(numbers.assign(kind=other), LABELS)
    unnamed = HutchClassifier().fit(pd.DataFrame({0: NUMBER, 1: WORD}), LABELS)
    with pytest.raises(ValueError, match=r"got the columns \['5', '6'\], wanted those of `fit`, \['0', '1'\]"):
        unnamed.predict(pd.DataFrame({5: NUMBER, 6: WORD}))


def test_a_frame_of_polars_is_shuffled_and_learned() -> None:
    polars = pytest.importorskip("polars")
    made = polars.DataFrame({"number": NUMBER, "word": WORD})
    assert HutchClassifier().fit(made, polars.Series(LABELS)).score(made, LABELS) > 0.95
    with pytest.raises(ValueError, match="LazyFrame"):
        HutchClassifier().fit(made.lazy(), LABELS)


@pytest.mark.parametrize("passes", [0, -1, 2.5, "3"])
def test_passes_are_counted(passes: Any) -> None:
    with pytest.raises(ValueError, match="passes: got"):
        HutchClassifier(passes=passes).fit(NUMBER[:, None], LABELS)


@pytest.mark.parametrize("seed", [None, np.random.RandomState(1), np.int64(3)], ids=["none", "generator", "numpy"])
def test_seeds_are_those_of_scikit_learn(seed: Any) -> None:
    assert HutchClassifier(random_state=seed).fit(frame(), LABELS).score(frame(), LABELS) > 0.65


def test_counts_are_predicted_not_their_logarithms() -> None:
    counts = np.random.default_rng(1).poisson(np.exp(NUMBER))
    X = NUMBER[:, None]
    model, peer = HutchRegressor(loss="poisson").fit(X, counts), PoissonRegressor(alpha=0).fit(X, counts)
    ours, theirs = (mean_poisson_deviance(counts, each.predict(X)) for each in (model, peer))
    assert theirs <= ours < 1.01 * theirs
    np.testing.assert_allclose(np.exp(X @ model.coef_ + model.intercept_), model.predict(X), rtol=1e-4)


@pytest.mark.parametrize("estimator", [HutchClassifier, HutchRegressor])
def test_columns_that_overflow_are_told(estimator: Any) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    wide = X * [1, 1e30, 1]
    with pytest.warns(
        UserWarning, match="overflowed to nan or infinity: features, labels, importances or a learning rate"
    ):
        estimator(loss="squared").fit(wide, (X[:, 0] > 0).astype(int))
    assert estimator().fit(wide, (X[:, 0] > 0).astype(int)).score(wide, X[:, 0] > 0) > 0.5
