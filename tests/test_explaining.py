"""Why a model says what it says: contributions of columns, and weights of words."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_diabetes, load_iris

from hutch.sklearn import HutchClassifier, HutchRegressor

RANDOM = np.random.default_rng(0)
CITY = RANDOM.choice(["Oslo", "Rome", "Bonn"], 400)
NOTE = np.array([" ".join(RANDOM.choice(["good", "Bad", "so-so", "film"], 3)) for _ in CITY])
FRAME = pa.table({"city": CITY, "age": RANDOM.normal(40, 10, 400), "note": NOTE})
GOOD = np.char.count(NOTE, "good") + (CITY == "Oslo") > np.char.count(NOTE, "Bad")


def linear(**given):
    return HutchClassifier([{"linear": {"loss": "logistic"}}], columns={"text": ["note"]}, passes=2, **given)


def test_contributions_against_a_background_are_the_shapley_values_of_a_linear_model() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = HutchRegressor(["linear"]).fit(X, y)
    expected = model.coef_ * (X[:50] - X.mean(axis=0))
    np.testing.assert_allclose(model.explain(X[:50], background=X), expected, atol=2e-3)
    X, y = load_iris(return_X_y=True)
    many = HutchClassifier(["one_against_all", {"linear": {"loss": "logistic"}}]).fit(X, y)
    of = many.coef_[many.decision_function(X).argmax(axis=1)]
    np.testing.assert_allclose(many.explain(X, background=X), of * (X - X.mean(axis=0)), atol=1e-4)


def test_contributions_sum_to_the_score_less_its_mean() -> None:
    model = linear().fit(FRAME, GOOD)
    found = model.explain(FRAME, background=FRAME)
    assert found.shape == (400, 3)
    scores = model.decision_function(FRAME)
    np.testing.assert_allclose(found.sum(axis=1), scores - scores.mean(), atol=1e-4)


def test_weights_of_words_are_what_they_add_to_a_score() -> None:
    model = linear().fit(FRAME, GOOD)
    names, weights = model.word_weights(FRAME)
    assert set(names) == {("city", c) for c in ("Oslo", "Rome", "Bonn")} | {
        ("note", word) for word in ("good", "bad", "so", "film")
    }
    assert (np.diff(np.abs(weights)) <= 0).all()
    of = dict(zip(names, weights, strict=True))
    assert of["note", "good"] > 0 > of["note", "bad"] and of["city", "Oslo"] > of["city", "Rome"]
    row = FRAME.slice(0, 1).set_column(1, "age", pa.array([None], pa.float64()))
    words = [("city", str(CITY[0])), *(("note", word) for word in NOTE[0].lower().replace("-", " ").split())]
    nothing = pa.table(
        {name: pa.nulls(1, kind.type) for name, kind in zip(FRAME.column_names, FRAME.schema, strict=True)}
    )
    [constant] = model.decision_function(nothing)
    assert model.decision_function(row)[0] == pytest.approx(constant + sum(of[word] for word in words), abs=1e-4)


def test_weights_of_words_by_class() -> None:
    kinds = np.where(GOOD, "good", CITY)
    layers = ["one_against_all", {"linear": {"loss": "logistic"}}]
    model = HutchClassifier(layers, columns={"text": ["note"]}).fit(FRAME, kinds)
    names, weights = model.word_weights(FRAME)
    assert weights.shape == (7, 4)
    assert model.classes_[weights[names.index(("city", "Bonn"))].argmax()] == "Bonn"


def test_a_matrix_has_no_words() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="fitted to a matrix, wanted a frame"):
        HutchClassifier(passes=1).fit(X, y).word_weights(X)
