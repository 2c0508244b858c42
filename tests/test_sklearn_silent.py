"""Cases in which an estimator could be wrong silently: it is right, warns or refuses."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification

from hutch.chain import Chain
from hutch.core.errors import ConfigError
from hutch.sklearn import HutchClassifier, HutchRegressor
from hutch.target_scale import rescale

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(1000, 3)).astype(np.float32)
Y = 3000 * (X @ [1.0, -2.0, 0.5]) + 500 + RANDOM.normal(size=1000)


def in_pieces(sizes: list[int], y: Any) -> HutchRegressor:
    model, start = HutchRegressor(bits=10), 0
    for size in sizes:
        model.partial_fit(X[start : start + size], y[start : start + size])
        start += size
    return model


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("quiet", [0, 50], ids=["from the first row", "zeros first"])
def test_partial_fit_follows_the_scale_of_the_targets(scale: float, quiet: int) -> None:
    y = np.where(np.arange(1000) < quiet, 0.0, Y * scale)
    model = in_pieces([10] * 100, y)
    assert model.score(X[quiet:], y[quiet:]) > 0.98
    np.testing.assert_array_equal(in_pieces([10] + [1] * 60 + [930], y).predict(X), model.predict(X))
    near = 200 * scale  # each row counts in its own mean and deviation, so that predictions bend a little
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=0, atol=near)


@pytest.mark.parametrize("loss", ["squared", "quantile"])
def test_another_scale_leaves_what_was_learned(loss: str) -> None:
    chain = HutchRegressor(bits=10, loss=loss, l2=1e-6, layers=["linear"]).fit(X, Y).chain_
    before = chain.predict(X)
    rescale(chain, 1e-3, 5.0)
    np.testing.assert_allclose(chain.predict(X), before * 1e-3 + 5, rtol=1e-5)


def test_a_chain_that_cannot_follow_says_so() -> None:
    layers = [{"dyadic": {"left": "a", "right": "b"}}]
    model = HutchRegressor(layers, bits=10, columns={"namespaces": {"a": [0], "b": [1, 2]}})
    model.partial_fit(X[:50], np.zeros(50))
    with pytest.warns(UserWarning, match="y: it is learned by mean 0 and deviation 1 of the first call, which it has"):
        model.partial_fit(X, Y)


ACTIVE = [{"active": {"budget": 0.1}}, {"linear": {"loss": "logistic"}}]


def test_a_label_is_paid_for_once() -> None:
    y = Y > 500
    model = HutchClassifier(ACTIVE, bits=10).fit(X, y)
    assert model.chain_.statistics.queries < 0.15 * len(y) and model.n_iter_ == 1 and model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="passes: got 2, wanted 1: `active` would pay for labels again in each"):
        HutchClassifier(ACTIVE, bits=10, passes=2).fit(X, y)
    with pytest.raises(ConfigError, match="passes: got 2 with 'active', wanted 1: it pays for labels"):
        Chain.from_config({"chain": ACTIVE}).learn(["1 |f a", "-1 |f b"], passes=2)
    answers = [{"active": {"simulation": False}}, ACTIVE[1]]
    assert HutchClassifier(answers, bits=10, passes=2).fit(X, y).n_iter_ == 2


DYADIC = [{"dyadic": {"left": "user", "right": "film"}}]
SIDES = {"user": ["user"], "film": ["film"]}


def test_ids_that_are_whole_numbers_are_doubted() -> None:
    user, film = RANDOM.integers(0, 40, 2000), RANDOM.integers(0, 30, 2000)
    y = 3 + RANDOM.normal(size=40)[user] + RANDOM.normal(size=30)[film]
    table = pa.table({"user": user, "film": film})
    with pytest.warns(UserWarning, match="dyadic: the namespace 'user' has one feature.*`categorical`") as found:
        HutchRegressor(DYADIC, columns={"namespaces": SIDES}, passes=2).fit(table, y)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        columns = {"namespaces": SIDES, "categorical": ["user", "film"]}
        assert HutchRegressor(DYADIC, columns=columns).fit(table, y).score(table, y) > 0.9
        floats = pa.table({"user": user + 0.5, "film": film + 0.5})
        HutchRegressor(DYADIC, columns={"namespaces": SIDES}, passes=1).fit(floats, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_scores_are_not_clipped_to_the_labels(loss: str, classes: int) -> None:
    data, y = make_classification(1000, 6, n_informative=4, n_classes=classes, random_state=0)
    model = HutchClassifier(loss=loss, bits=12).fit(data, y)
    scores = model.decision_function(data)
    assert len(np.unique(scores)) > 0.99 * scores.size and np.abs(scores).max() > 1.01
    best = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    assert np.mean(best == model.predict(data)) > 0.97  # where all are clipped alike, the first class is predicted
    np.testing.assert_array_equal(scores, model.decision_function(data))
    assert not hasattr(model, "predict_proba") and not hasattr(HutchClassifier(loss=loss), "predict_proba")
    assert hasattr(HutchClassifier(loss="log_loss"), "predict_proba")


@pytest.mark.parametrize("loss", ["poisson", {"quantile": {"tau": 0.9}}, "expectile"], ids=str)
def test_losses_that_tell_no_classes_apart_are_refused(loss: Any) -> None:
    with pytest.raises(ConfigError, match="loss: got '.*', wanted one that tells classes apart"):
        HutchClassifier(loss=loss).fit(X, Y > 0)


def test_a_linked_chain_predicts_both_classes() -> None:
    layers = [{"link": {"function": "logistic"}}, {"linear": {"loss": "logistic"}}]
    model = HutchClassifier(layers, bits=10).fit(X, Y > 500)
    assert model.score(X, Y > 500) > 0.95
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))


def test_a_full_table_is_told_of_as_on_the_command_line() -> None:
    words = pa.table({"text": [" ".join(f"w{i}x{k}" for k in range(20)) for i in range(300)]})
    with pytest.warns(UserWarning, match=r"of the weight table's 2\^12 rows are used, so features share rows") as found:
        HutchClassifier(bits=12, columns={"text": ["text"]}).fit(words, np.arange(300) % 2)
    assert len(found) == 1


@pytest.mark.parametrize("tau", [0.05, 0.1, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("sign", [1, -1], ids=["skewed", "mirrored"])
def test_quantiles_cover(tau: float, sign: int) -> None:
    y = X @ [1.0, -2.0, 0.5] + 10 + sign * np.random.default_rng(1).exponential(2, size=1000)
    model = HutchRegressor(loss={"quantile": {"tau": tau}}, passes=10, bits=10).fit(X[:700], y[:700])
    assert np.mean(y[:700] <= model.predict(X[:700])) == pytest.approx(tau, abs=0.002)
    assert np.mean(y[700:] <= model.predict(X[700:])) == pytest.approx(tau, abs=0.045)  # 300 rows
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_targets_beyond_a_weight_are_refused(method: str) -> None:
    y = np.where(np.arange(1000) == 3, 1e300, Y)
    with pytest.raises(ValueError, match=r"y: row 3, counted from 0: got 1e\+300, wanted numbers within ±3.4e\+38"):
        getattr(HutchRegressor(), method)(X, y)


@pytest.mark.parametrize("kind", ["array", "sparse"])
def test_missing_values_of_a_matrix_give_no_feature_as_in_frames(kind: str) -> None:
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    given = holes if kind == "array" else csr_array(holes)
    frame = pa.table({str(j): pa.array(holes[:, j], from_pandas=True) for j in range(3)})
    model, framed = (HutchRegressor(loss="squared", bits=10).fit(data, Y) for data in (given, frame))
    np.testing.assert_allclose(model.predict(given), framed.predict(frame), rtol=1e-3, atol=5)
    assert np.isnan(holes).any() and model.score(given, Y) > 0.8
    with pytest.raises(ValueError, match="infinity"):
        HutchRegressor().fit(np.where(np.isnan(holes), np.inf, holes), Y)


def test_passes_end_when_rows_held_out_say_so() -> None:
    noise = np.random.default_rng(1)
    wide, y = noise.normal(size=(300, 200)), noise.normal(size=300)
    all_passes = HutchRegressor(bits=10, passes=40).fit(wide, y)
    model = HutchRegressor(bits=10, passes=40, early_stopping=True).fit(wide, y)
    assert all_passes.n_iter_ == len(all_passes.loss_curve_) == 40 > model.n_iter_ == len(model.loss_curve_)
    assert all_passes.loss_curve_[-1] < all_passes.loss_curve_[0]
    best = int(np.argmin(model.loss_curve_)) + 1
    assert best == model.n_iter_ - 3
    order = np.random.default_rng(0).permutation(300)
    labels = ((y - y.mean()) / y.std())[order]
    held = model.chain_.predict(wide[order[:30]].astype(np.float32))
    assert np.mean((held - labels[:30]) ** 2) == pytest.approx(model.loss_curve_[best - 1], rel=1e-5)


@pytest.mark.parametrize("frame", [False, True])
def test_one_wrong_cell_does_not_decide_a_prediction(frame):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    X[:, 1] = X[:, 0] + X[:, 1] / 100
    y = X @ [3.0, 0.0, 1.0] + random.normal(size=400) / 10
    wrong = X[:9].copy()
    wrong[5, 1] *= 1000

    def table(values):
        return pd.DataFrame(values, columns=["height", "width", "depth"]).assign(word="a") if frame else values

    model, name = HutchRegressor().fit(table(X), y), "'width'" if frame else "1"
    with pytest.warns(UserWarning, match=rf"X: column {name}, row 5, counted from 0: got .*extrapolation=None"):
        found = model.predict(table(wrong))
    assert np.max(np.abs(found - y[:9])) < 7
    np.testing.assert_array_equal(model.predict(table(wrong)), found)  # and warns once
    assert np.max(np.abs(HutchRegressor(extrapolation=None).fit(table(X), y).predict(table(wrong)) - y[:9])) > 20


def test_a_trend_is_followed_three_times_as_far_as_it_was_seen():
    time = np.arange(100.0)[:, None]
    model = HutchRegressor().fit(time, 5 * time[:, 0])
    np.testing.assert_allclose(model.predict([[300.0], [390.0]]), [1500, 1950], rtol=0.02)
