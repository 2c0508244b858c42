"""Estimators of scikit-learn on frames, tuned, inside other estimators, explained; regressors on raw targets."""

import datetime
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, make_classification, make_regression
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, SGDRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hutch.sklearn import HutchClassifier, HutchRegressor

TREE = [{"filter_tree": {}}, "linear"]


def frame_of(rows: int = 600) -> tuple[Any, np.ndarray]:
    """A table in which each column tells something of the label."""
    rng = np.random.default_rng(0)
    city, age = rng.choice(["Oslo", "Rome", "Lima"], rows), rng.normal(size=rows)
    mood, month = rng.choice(["so good", "very BAD!", ""], rows), rng.integers(1, 13, rows)
    score = 2.0 * (city == "Oslo") + age + 2.0 * (mood == "very BAD!") - 2.0 * (month > 6)
    dates = [datetime.date(2024, int(m), 5) for m in month]
    ages = pa.array([None if i % 10 == 0 else float(a) for i, a in enumerate(age)])
    return pa.table({"city": city, "age": ages, "comment": mood, "day": dates}), np.where(score > 0.7, "yes", "no")


@pytest.fixture(params=["pyarrow", "pandas", "polars"])
def frame(request: Any) -> tuple[Any, np.ndarray]:
    table, y = frame_of()
    if request.param == "pandas":
        pytest.importorskip("pandas")
        table = table.to_pandas().set_index(np.arange(len(y)) * 7 % 601)  # an index that must not be learned from
    elif request.param == "polars":
        table = pytest.importorskip("polars").from_arrow(table)
    return table, y


def test_frames_are_learned_as_they_are(frame: tuple[Any, np.ndarray]) -> None:
    table, y = frame
    model = HutchClassifier(columns={"text": ["comment"]}).fit(table, y)
    assert model.score(table, y) > 0.93
    assert list(model.feature_names_in_) == ["city", "age", "comment", "day"] and model.n_features_in_ == 4
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(table), model.predict(table))
    plain = HutchClassifier(columns={"text": ["comment"]}).fit(frame_of()[0], y)
    np.testing.assert_array_equal(plain.decision_function(frame_of()[0]), model.decision_function(table))


def test_a_frame_with_other_columns_is_refused() -> None:
    table, y = frame_of()
    model = HutchClassifier().fit(table, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename_columns(["town", "age", "comment", "day"]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        HutchClassifier().fit(table, y[:-1])


def test_explanations_name_the_column_that_matters() -> None:
    table, y = frame_of()
    model = HutchClassifier(columns={"text": ["comment"]}).fit(table, y)
    moves = model.explain(table)
    assert moves.shape == (600, 4)
    oslo = np.array(table["city"].to_pylist()) == "Oslo"
    assert moves[oslo, 0].mean() > moves[~oslo, 0].mean() + 0.5
    assert moves[np.array(table["age"].is_null()), 1].max() == 0


@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_are_those_of_the_predictions(classes: int) -> None:
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=classes, random_state=0)
    model = HutchClassifier(l2=1e-6, passes=2).fit(X, y)
    assert model.coef_.shape == (1 if classes == 2 else 3, 5)
    scores = (X.astype(np.float32) @ model.coef_.T + model.intercept_).squeeze()
    inside = np.abs(scores) < 5
    np.testing.assert_allclose(model.decision_function(X)[inside], scores[inside], rtol=1e-4, atol=1e-4)
    moves = model.explain(X)
    if classes == 2:
        np.testing.assert_allclose(moves, X * model.coef_, rtol=1e-3, atol=1e-3)
    with pytest.raises(AttributeError, match="not linear in the columns"):
        _ = HutchClassifier(interactions=[["x", "x"]]).fit(X, y).coef_
    table, words = frame_of()
    with pytest.raises(AttributeError, match="column 'city'"):
        _ = HutchClassifier().fit(table, words).coef_


def test_tuned_parameters_reach_the_base_learner() -> None:
    X, y = make_classification(400, 6, random_state=0)
    X = np.sign(X)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    grid = {
        "loss": ["logistic", "hinge"],
        "interactions": [None, [["x", "x"]]],
        "learning_rate": [0.5, 0.1],
        "l2": [None, 1e-7],
    }
    search = GridSearchCV(HutchClassifier(passes=3), grid, cv=3).fit(X, y)
    assert search.best_params_["interactions"] and search.best_score_ > 0.97
    balanced = HutchClassifier(class_weight="balanced", passes=1).fit(X, y)
    weights = {c: len(y) / (2 * np.sum(y == c)) for c in (0, 1)}
    by_class = HutchClassifier(class_weight=weights, passes=1).fit(X, y)
    np.testing.assert_array_equal(balanced.decision_function(X), by_class.decision_function(X))
    with pytest.raises(ValueError, match="balanced"):
        HutchClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize(
    "meta",
    [
        CalibratedClassifierCV(HutchClassifier(), cv=3),
        CalibratedClassifierCV(HutchClassifier(loss="hinge"), method="isotonic", cv=3),
        StackingClassifier([("a", HutchClassifier()), ("b", LogisticRegression())], cv=3),
        VotingClassifier([("a", HutchClassifier()), ("b", LogisticRegression())], voting="soft"),
        OneVsRestClassifier(HutchClassifier()),
        BaggingClassifier(HutchClassifier(), n_estimators=3, random_state=0),
    ],
    ids=lambda meta: type(meta).__name__,
)
def test_estimators_of_estimators(meta: Any) -> None:
    X, y = make_classification(400, 8, n_informative=5, n_classes=3, random_state=1)
    assert meta.fit(X, y).score(X, y) > 0.55
    assert meta.predict_proba(X).shape == (400, 3)


def test_methods_are_known_before_fit() -> None:
    assert hasattr(HutchClassifier(), "predict_proba") and hasattr(HutchClassifier(loss="hinge"), "decision_function")
    assert not hasattr(HutchClassifier(TREE), "predict_proba")
    X, y = make_classification(100, n_informative=4, n_classes=3, random_state=0)
    assert (
        CalibratedClassifierCV(HutchClassifier([{"scoring_filter_tree": {}}, "linear"]), cv=3)
        .fit(X, y)
        .predict_proba(X)
        .any()
    )


@pytest.mark.parametrize(
    "data",
    [load_diabetes(return_X_y=True), make_regression(300, 10, noise=5, random_state=0)],
    ids=["diabetes", "made"],
)
def test_regression_on_raw_data_is_not_below_that_of_scaled_data(data: Any) -> None:
    X, y = data
    peer = make_pipeline(StandardScaler(), SGDRegressor(random_state=0))
    assert cross_val_score(HutchRegressor(), X, y).mean() > cross_val_score(peer, X, y).mean() - 0.002


def test_what_is_scaled_is_scaled_back() -> None:
    X, y = make_regression(200, 4, noise=1, random_state=0)
    small, large = HutchRegressor().fit(X, y), HutchRegressor().fit(X, 1000 * y + 1e6)
    np.testing.assert_allclose(large.predict(X), 1000 * small.predict(X) + 1e6, rtol=1e-3)
    np.testing.assert_allclose(
        X.astype(np.float32) @ small.coef_ + small.intercept_, small.predict(X), rtol=1e-3, atol=0.1
    )
    assert HutchRegressor(loss="poisson", passes=1).fit(np.abs(X), np.abs(y) / 100)._target.scale == 1
    constant = HutchRegressor().fit(X, np.full(200, 7.0))
    np.testing.assert_allclose(constant.predict(X), 7)
    pieces = HutchRegressor()
    for k in range(4):
        pieces.partial_fit(X[50 * k : 50 * k + 50], y[50 * k : 50 * k + 50])
    assert pieces.score(X, y) > 0.9
