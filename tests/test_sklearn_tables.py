"""Tables of numbers and words as they come: any unit, any offset, holes; text and sparse matrices as ever."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_classification
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hutch.sklearn import HutchClassifier, HutchRegressor

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("offset", [0, 30, 1000, 1e6])
def test_columns_far_from_zero(offset: float) -> None:
    x = RANDOM.normal(size=2000)
    X, y = (x + offset)[:, None], x + 0.1 * RANDOM.normal(size=2000)
    assert HutchRegressor().fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.95
    assert HutchClassifier().fit(X[:1000], y[:1000] > 0).score(X[1000:], y[1000:] > 0) > 0.95
    stream = HutchRegressor()
    for rows in np.array_split(np.arange(1000), 100):
        stream.partial_fit(X[rows], y[rows])
    assert stream.score(X[1000:], y[1000:]) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits, load_diabetes])
def test_units_do_not_matter(load: Any) -> None:
    X, y = load(return_X_y=True, **({"scaled": False} if load is load_diabetes else {}))
    model: Any = HutchRegressor() if load is load_diabetes else HutchClassifier()
    folds = 5 if load is load_diabetes else StratifiedKFold(5, shuffle=True, random_state=0)
    linear = make_pipeline(StandardScaler(), model.__class__(loss="squared" if load is load_diabetes else "log_loss"))
    found = cross_val_score(model, X, y, cv=folds).mean()
    assert found > cross_val_score(linear, X, y, cv=folds).mean() - 0.008
    assert found == pytest.approx(cross_val_score(model, X * 7 + 100, y, cv=folds).mean(), abs=0.008)


def mixed(rows: int = 800) -> tuple[pa.Table, Any]:
    """A table of numbers with holes and of words, some of them rare, and its classes."""
    age, height = 40 + 12 * RANDOM.normal(size=rows), 1e4 * RANDOM.normal(size=rows)
    city, mood = RANDOM.choice(["Oslo", "Rome", "Lima"], rows), RANDOM.choice([f"m{k}" for k in range(40)], rows)
    score = (age - 40) / 6 + height / 1e4 + 2.0 * (city == "Oslo") + (mood < "m2") + RANDOM.logistic(size=rows) / 2
    ages = pa.array([None if i % 10 == 0 else value for i, value in enumerate(age)])
    return pa.table({"age": ages, "height": height, "city": city, "mood": mood}), np.digitize(score, [-1, 2])


def test_words_and_numbers_share_one_row() -> None:
    table, y = mixed()
    model = HutchClassifier().fit(table.slice(0, 400), y[:400])
    assert [layer.name for layer in model.chain_.layers] == ["standardise", "multinomial", "bayesian_linear"]
    linear = HutchClassifier(loss="log_loss").fit(table.slice(0, 400), y[:400])
    found, before = (each.score(table.slice(400), y[400:]) for each in (model, linear))
    assert found > 0.7 and found > before + 0.1
    regression = HutchRegressor().fit(table.slice(0, 400), y[:400])
    assert regression.score(table.slice(400), y[400:]) > 0.6


@pytest.mark.parametrize("classes", [2, 3])
def test_fit_takes_the_prior_that_suits_the_rows(classes: int) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 20))
    told, noise = np.digitize(X[:, 0], [0, 0.5][: classes - 1]), random.integers(0, classes, 600)
    for y, reach in ((told, 50), (noise, 2)):
        assert HutchClassifier().fit(X, y).chain_.layers[-1].parameters.reach == reach
    assert HutchClassifier(passes=1).fit(X, noise).chain_.layers[-1].parameters.reach == 10


@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_is_one_pass_in_the_order_of_the_rows(classes: int) -> None:
    X, y = make_classification(300, 6, n_informative=4, n_classes=classes, random_state=0)
    X = X * [1, 10, 100, 1, 1, 1] + 50
    whole, pieces = HutchClassifier(passes=1, shuffle=False).fit(X, y), HutchClassifier()
    for rows in np.array_split(np.arange(300), 7):
        pieces.partial_fit(X[rows], y[rows], classes=np.arange(classes))
    np.testing.assert_array_equal(pieces.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_are_those_of_the_columns_as_they_come(classes: int) -> None:
    X, y = make_classification(2000, 4, n_informative=3, n_redundant=0, n_classes=classes, random_state=0)
    X = X * [1, 1e3, 1e-3, 1] + [0, 1e4, 1, 0]
    model = HutchClassifier([{"standardise": {"clip": 100.0}}, *HutchClassifier().fit(X, y)._layers(classes)[1:]])
    scores = X @ model.fit(X, y).coef_.T + model.intercept_
    if classes == 2:
        np.testing.assert_allclose(scores[:, 0], model.decision_function(X), rtol=0, atol=0.02)
    else:
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(
            shares / shares.sum(axis=1, keepdims=True), model.predict_proba(X), rtol=0, atol=0.01
        )
    assert model.explain(X[:5]).shape == (5, 4)


def test_what_is_explained_is_the_distance_from_the_mean() -> None:
    X = RANDOM.normal(size=(1000, 2)) * [1, 100] + [0, 500]
    model = HutchRegressor().fit(X, X @ [3.0, 0.2])
    np.testing.assert_allclose(model.explain(X), (X - X.mean(axis=0)) * [3.0, 0.2], rtol=0, atol=0.3)


@pytest.mark.parametrize("kind", ["sparse", "text", "namespaces"])
def test_other_data_is_learned_as_ever(kind: str) -> None:
    X = np.where(RANDOM.random((200, 30)) < 0.2, RANDOM.normal(size=(200, 30)), 0)
    y, columns, data = X[:, 0] + X[:, 1] > 0, None, X
    if kind == "sparse":
        data = csr_array(X)
    elif kind == "namespaces":
        columns = {"namespaces": {"a": [0, 1], "b": "*"}}
    else:
        data, columns = pa.table({"t": [" ".join(f"w{j}" for j in np.flatnonzero(row)) for row in X]}), {"text": ["t"]}
    model = HutchClassifier(columns=columns).fit(data, y)
    given = HutchClassifier([{"linear": {"loss": "logistic"}}], columns=columns).fit(data, y)
    np.testing.assert_array_equal(model.decision_function(data), given.decision_function(data))
    np.testing.assert_array_equal(
        HutchRegressor(columns=columns, passes=10).fit(data, y).predict(data),
        HutchRegressor(columns=columns, passes=10, loss="squared").fit(data, y).predict(data),
    )


def test_classes_of_wide_tables_are_as_rare_as_they_are() -> None:
    X, y = RANDOM.normal(size=(400, 1000)) + 100, RANDOM.random(400) < 0.02
    model = HutchClassifier().fit(X[:300], y[:300])
    assert model.chain_.layers[1].name == "bayesian_linear"
    np.testing.assert_array_equal(model.predict(X[300:]), False)
    assert model.predict_proba(X[300:])[:, 1].mean() < 0.1


def test_numbers_are_learned_from_wide_tables_far_from_zero() -> None:
    X = RANDOM.normal(size=(900, 600))
    y = X[:, :20] @ RANDOM.normal(size=20)
    model = HutchRegressor().fit(X[:600] + 1000, y[:600])
    ridge = Ridge(alpha=100).fit(X[:600], y[:600])
    assert model.score(X[600:] + 1000, y[600:]) > ridge.score(X[600:], y[600:]) - 0.1 > 0.3


@pytest.mark.parametrize(("rows", "passes"), [(80, 100), (1000, 100), (4000, 25), (79, 10)])
def test_passes_go_by_rows_unless_columns_are_many(rows: int, passes: int) -> None:
    X = RANDOM.normal(size=(rows, 10))
    assert HutchClassifier().fit(csr_array(X), X[:, 0] > 0).n_iter_ == passes
    assert HutchClassifier(["linear"]).fit(X, X[:, 0] > 0).n_iter_ == 10


@pytest.mark.parametrize("make", [np.asarray, lambda X: pa.table({"column": X[:, 0]})], ids=["matrix", "frame"])
def test_columns_beyond_the_digits_of_a_feature_are_doubted(make: Any) -> None:
    X = RANDOM.normal(size=(100, 1))
    with pytest.warns(UserWarning, match=r"X: column .* goes from 99999.* to 1000000.*; subtract 99999"):
        HutchRegressor().fit(make(X + 1e8), X[:, 0])
    HutchRegressor().fit(make(X + 1e5), X[:, 0])


@pytest.mark.parametrize("chunk", [1, 37, 600])
def test_a_regressor_finds_in_the_order_of_time_what_fit_finds(chunk: int) -> None:
    random, t = np.random.default_rng(3), np.arange(600)
    walk, noise = np.cumsum(random.normal(size=600)), random.normal(size=(600, 2))
    X = pd.DataFrame({"walk": walk, "day": 1e4 + 3.0 * t, "word": np.array(list("abc"))[t // 200], "late": noise[:, 0]})
    X.loc[:299, "late"] = np.nan
    y = 1e6 + 40 * walk + t + 30 * (t // 200) + 20 * np.nan_to_num(X["late"]) + 5 * noise[:, 1]
    fitted, streamed, whole = HutchRegressor().fit(X, y), HutchRegressor(), HutchRegressor().partial_fit(X, y)
    for start in range(0, 600, chunk):
        streamed.partial_fit(X[start : start + chunk], y[start : start + chunk])
    assert fitted.score(X, y) > 0.99
    assert np.array_equal(streamed.predict(X), whole.predict(X))
    np.testing.assert_allclose(streamed.predict(X), fitted.predict(X), atol=1e-5 * y.std())


def test_words_leave_places_to_numbers_that_come_late() -> None:
    random = np.random.default_rng(6)
    words, late = random.integers(0, 600, 2000), random.normal(size=2000) * 1e6
    late[:1000] = np.nan
    X = pd.DataFrame({"word": [f"w{k}" for k in words], "late": late})
    y = words % 5 + np.nan_to_num(late) / 1e5
    model = HutchRegressor().partial_fit(X, y)
    assert model.score(X, y) > 0.97
    classes = HutchClassifier().partial_fit(X, y > 2, classes=[False, True])
    assert classes.score(X[1000:], y[1000:] > 2) > 0.9


def test_a_class_that_depends_on_columns_that_move_is_learned_in_the_order_of_time() -> None:
    random, t = np.random.default_rng(7), np.arange(1000)
    walk, noise = np.cumsum(random.normal(size=1000)), random.normal(size=(1000, 3))
    X = np.column_stack([walk, 1e4 + 3.0 * t, noise[:, 0] * (1 + t / 100), noise[:, 1]])
    y = 0.15 * (walk - walk.mean()) + 2 * noise[:, 0] + noise[:, 2] > 0
    model = HutchClassifier()
    for start in range(0, 1000, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50], classes=[False, True])
    assert model.score(X, y) > HutchClassifier().fit(X, y).score(X, y) - 0.02
