"""What scikit-learn's users take for granted: rows of weight 0, classes and scores, and a `fit` that does not end."""

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score

from hutch.all_or_nothing import all_or_nothing
from hutch.chain import Chain
from hutch.core.errors import DataError
from hutch.sklearn import HutchClassifier, HutchRegressor

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 3))
Y = X @ [1.0, -2.0, 0.5] + 3 + 0.1 * RANDOM.normal(size=300)
ABSURD_X, ABSURD_Y = np.vstack([X, 1e6 * np.ones((2, 3))]), np.append(Y, [1e8, -1e7])
WEIGHT = np.append(RANDOM.uniform(0.5, 2, 300), [0, 0])


@pytest.mark.parametrize("given", [{}, {"layers": ["standardise", "linear"]}, {"loss": "quantile"}, {"shuffle": False}])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_rows_of_weight_0_count_for_nothing(given: dict[str, Any], method: str) -> None:
    wanted = getattr(HutchRegressor(bits=10, **given), method)(X, Y, sample_weight=WEIGHT[:-2])
    found = getattr(HutchRegressor(bits=10, **given), method)(ABSURD_X, ABSURD_Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(found.predict(X), wanted.predict(X))
    first = getattr(HutchRegressor(bits=10, **given), method)(ABSURD_X[::-1], ABSURD_Y[::-1], WEIGHT[::-1])
    assert first.score(X, Y) > 0.9


@pytest.mark.parametrize("shuffle", [True, False])
def test_classes_of_rows_of_weight_0_are_none(shuffle: bool) -> None:
    y, absurd = np.where(Y > 3, "yes", "no"), np.append(np.where(Y > 3, "yes", "no"), ["typo", "no"])
    wanted = HutchClassifier(bits=10, shuffle=shuffle).fit(X, y, WEIGHT[:-2])
    found = HutchClassifier(bits=10, shuffle=shuffle).fit(ABSURD_X, absurd, WEIGHT)
    assert found.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found.decision_function(X), wanted.decision_function(X))
    balanced = HutchClassifier(bits=10, class_weight="balanced")
    by_hand = {c: 300 / (2 * np.sum(y == c)) for c in ("no", "yes")}
    np.testing.assert_array_equal(
        balanced.fit(ABSURD_X, absurd, WEIGHT).decision_function(X),
        HutchClassifier(bits=10, class_weight=by_hand).fit(X, y, WEIGHT[:-2]).decision_function(X),
    )
    with pytest.raises(ValueError, match="got 1 class, wanted at least two classes"):
        HutchClassifier().fit(X, y, sample_weight=(y == "no").astype(float))


def test_a_class_of_weight_0_teaches_nothing_but_stays_a_class() -> None:
    y = np.digitize(Y, [2.0, 4.0])
    model = HutchClassifier(bits=10, class_weight={0: 1.0, 1: 1.0, 2: 0.0}).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.chain_.statistics.examples == np.sum(y < 2)


POINTS, BLOB = make_blobs(400, centers=5, cluster_std=2.5, random_state=3)
TWO = BLOB % 2


@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
@pytest.mark.parametrize("top", [None, "one_against_all", "scoring_filter_tree"])
def test_the_predicted_class_has_the_highest_score(loss: str, top: str | None) -> None:
    layers = None if top is None else ["standardise", top, "linear"]
    model = HutchClassifier(layers, loss=loss, bits=12).fit(POINTS, BLOB)
    scores = model.decision_function(POINTS)
    assert scores.shape == (400, 5)
    np.testing.assert_array_equal(model.predict(POINTS), scores.argmax(axis=1))
    assert model.score(POINTS, BLOB) > 0.55


@pytest.mark.parametrize("top", ["scoring_filter_tree", "one_against_all"])
def test_two_classes_have_one_score(top: str) -> None:
    base = {"linear": {"loss": "logistic"}}
    model = HutchClassifier([top, base], bits=12).fit(POINTS, TWO)
    scores = model.decision_function(POINTS)
    assert scores.shape == (400,)
    np.testing.assert_array_equal(model.predict(POINTS), (scores > 0).astype(int))
    areas = cross_val_score(HutchClassifier([top, base], bits=12), POINTS, TWO, scoring="roc_auc", cv=3)
    assert areas.min() > 0.6
    calibrated = CalibratedClassifierCV(HutchClassifier([top, base], bits=12), cv=3).fit(POINTS, TWO)
    assert calibrated.score(POINTS, TWO) >= max(TWO.mean(), 1 - TWO.mean())


def test_an_interrupted_fit_leaves_the_old_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model, regressor = HutchClassifier(bits=10).fit(X, Y > 3), HutchRegressor(bits=10).fit(X, Y)
    scores, predictions = model.decision_function(X), regressor.predict(X)
    learn = Chain.learn

    def interrupted(chain: Chain, *given: Any, **named: Any) -> Any:
        learn(chain, *given, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Chain, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :2], Y > 4)
        with pytest.raises(KeyboardInterrupt):
            regressor.fit(X[:, :2], -1e6 * Y)
        new = HutchClassifier(bits=10)
        with pytest.raises(KeyboardInterrupt):
            new.partial_fit(X, Y > 3, classes=[False, True])
    assert not hasattr(new, "chain_") and model.n_features_in_ == 3
    np.testing.assert_array_equal(model.decision_function(X), scores)
    np.testing.assert_array_equal(regressor.predict(X), predictions)


def test_a_failed_fit_on_a_frame_leaves_the_old_model() -> None:
    model = HutchClassifier(bits=10).fit(pa.table({"a": X[:, 0]}), Y > 3)
    scores = model.decision_function(pa.table({"a": X[:, 0]}))
    with pytest.raises(ValueError, match="got 1 class"):
        model.fit(pa.table({"b": X[:, 0], "c": X[:, 1]}), Y > 1e9)
    np.testing.assert_array_equal(model.decision_function(pa.table({"a": X[:, 0]})), scores)


def test_attributes_made_by_a_failed_method_go() -> None:
    class Model:
        @all_or_nothing
        def fit(self, fails: bool) -> int:
            self.weight = 1
            if fails:
                raise ValueError("no")
            return self.weight

    model = Model()
    with pytest.raises(ValueError, match="no"):
        model.fit(True)
    assert vars(model) == {} and model.fit(fails=False) == 1 and vars(model) == {"weight": 1}


@pytest.mark.parametrize("patience", ["a", 0, 1.5])
def test_the_patience_of_early_stopping_is_a_whole_number(patience: Any) -> None:
    with pytest.raises(ValueError, match=f"n_iter_no_change: got {patience!r}, wanted an integer of at least 1"):
        HutchClassifier(early_stopping=True, n_iter_no_change=patience).fit(X, Y > 3)


def test_lengths_of_time_stay_lengths_of_time() -> None:
    lengths = pa.table({"a": pa.array(list(range(300)), pa.duration("s"))})
    model = HutchClassifier(bits=10).fit(lengths, Y > 3)
    assert len(model.predict(pa.table({"a": pa.array([5000], pa.duration("ms"))}))) == 1
    with pytest.raises(ValueError, match="X: column 'a' has numbers, wanted lengths of time, as in `fit`"):
        model.predict(pa.table({"a": [5]}))


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 3)])
def test_a_column_of_lists_is_a_column_for_each_number(kind: pa.DataType) -> None:
    lists = pa.array(X.tolist(), kind)
    frame = pa.table({"c": Y, "e": lists})
    flat = pa.table({"c": Y, **{f"e.{k}": X[:, k].astype(np.float32) for k in range(3)}})
    for model, target in ((HutchRegressor(), Y**2), (HutchClassifier(), Y > 3)):
        model.fit(frame, target)
        found, wanted = model.predict(frame), type(model)().fit(flat, target).predict(flat)
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-5)
        assert model.explain(frame.slice(0, 4)).shape == (4, 4)
        with pytest.raises(ValueError, match="X: column 'e': got lists of 2 numbers, wanted 3, as in `fit`"):
            model.predict(pa.table({"c": Y, "e": X[:, :2].tolist()}))
        missing = pa.table({"c": Y[:2], "e": pa.array([None, None], kind)})
        numbers = pa.table({"c": Y[:2], **{f"e.{k}": pa.array([None, None], pa.float32()) for k in range(3)}})
        for rows in (missing, missing.set_column(1, "e", pa.nulls(2))):
            np.testing.assert_array_equal(model.predict(rows), model.predict(numbers))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(frame), found)
    with pytest.raises(DataError, match="X: column 'e' becomes 'e.1', which is there, too; rename one"):
        HutchRegressor().fit(frame.append_column("e.1", [Y]), Y)


@pytest.mark.parametrize("make", [HutchClassifier, HutchRegressor, lambda: HutchClassifier(["standardise", "linear"])])
def test_skops_keeps_a_fitted_model(make: Any) -> None:
    skops = pytest.importorskip("skops.io")
    frame = pa.table({"c": Y, "w": ["a", "b", "c"] * 100})
    for table in (X, frame):
        model = make().fit(table, Y > 3)
        saved = skops.dumps(model)
        again = skops.loads(saved, trusted=skops.get_untrusted_types(data=saved))
        np.testing.assert_array_equal(again.predict(table), model.predict(table))
        np.testing.assert_array_equal(
            again.partial_fit(table, Y > 3).predict(table), model.partial_fit(table, Y > 3).predict(table)
        )


def test_settings_of_layers_can_be_searched() -> None:
    layers = ["standardise", {"linear": {"loss": {"quantile": {"tau": 0.5}}}}]
    model = HutchRegressor(layers)
    assert model.get_params()["layers__1__linear__loss__quantile__tau"] == 0.5
    assert model.get_params(deep=False)["layers"] is layers
    model.set_params(
        layers__1__linear__loss__quantile__tau=0.9, layers__1__linear__l2=0.1, layers__0__standardise__clip=3
    )
    assert model.layers == [
        {"standardise": {"clip": 3}},
        {"linear": {"loss": {"quantile": {"tau": 0.9}}, "l2": 0.1}},
    ]
    assert layers == ["standardise", {"linear": {"loss": {"quantile": {"tau": 0.5}}}}]
    search = GridSearchCV(HutchRegressor(["standardise", "linear"]), {"layers__1__linear__l2": [0.9, 0.0]}, cv=2)
    assert search.fit(X, Y).best_params_ == {"layers__1__linear__l2": 0.0}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("layers__2__linear__l2", "layers__2__linear__l2: got '2', wanted a part of .'standardise', 'linear'."),
        ("layers__1__lineer__l2", "layers__1__lineer__l2: got 'lineer', wanted a part of 'linear'"),
        ("layer__1", "Invalid parameter 'layer'"),
    ],
)
def test_settings_of_layers_that_are_not_there_are_named(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        HutchClassifier(["standardise", "linear"]).set_params(**{name: 1})
    with pytest.raises(ValueError, match="layers__0__linear__l2: got no layers"):
        HutchClassifier().set_params(layers__0__linear__l2=1)


def test_verbose_tells_how_far_fit_is(capsys: pytest.CaptureFixture[str]) -> None:
    many = np.tile(X, (30, 1))
    HutchClassifier(passes=2, verbose=1).fit(many, np.tile(Y > 3, 30))
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(" ")[0] for line in lines] == [
        "[HutchClassifier] 4,096 rows, loss",
        "[HutchClassifier] 8,192 rows, loss",
        "[HutchClassifier] pass 1 of 2, loss",
        "[HutchClassifier] pass 2 of 2, loss",
    ]
    HutchClassifier().fit(X, Y > 3)
    assert not capsys.readouterr().out
