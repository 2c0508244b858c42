"""Chains among River's estimators: its own checks, its metrics, and labels of any kind."""

import pickle
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

pytest.importorskip("river", reason="needs hutch[river]")

from river import checks, datasets, evaluate, linear_model, metrics, optim, preprocessing

from hutch import HutchError
from hutch.river import HutchClassifier, HutchRegressor
from hutch.stream_rows import record_of

BINARY = [{"linear": {"loss": "logistic"}}]
HINGE = ["one_against_all", {"linear": {"loss": "hinge"}}]


@pytest.mark.slow
@pytest.mark.parametrize("make", [HutchClassifier, partial(HutchClassifier, BINARY), HutchRegressor])
def test_checks_of_river(make):
    checks.check_estimator(make())


def test_accuracy_is_at_least_that_of_rivers_own_models():
    ours = evaluate.progressive_val_score(datasets.Phishing(), HutchClassifier(), metrics.Accuracy())
    theirs = preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.1))
    assert ours.get() > 0.89
    assert ours.get() > evaluate.progressive_val_score(datasets.Phishing(), theirs, metrics.Accuracy()).get() - 0.005


def test_targets_need_no_scale():
    """The running scale of the targets: an offset and a factor change nothing but the units."""
    plain, moved, errors = HutchRegressor(), HutchRegressor(), []
    for x, y in datasets.TrumpApproval():
        found = plain.predict_one(x)
        if errors:
            assert (moved.predict_one(x) + 5e5) / 1000 == pytest.approx(found, rel=1e-4)
        errors.append(abs(found - y))
        plain.learn_one(x, y)
        moved.learn_one(x, 1000 * y - 5e5)
    assert sum(errors) / len(errors) < 0.5


@pytest.mark.parametrize("layers", [None, BINARY, HINGE])
@pytest.mark.parametrize("labels", [("spam", "ham"), (False, True), (3, 7)])
def test_labels_of_any_kind(layers, labels):
    model = HutchClassifier(layers)
    assert model.predict_one({"word": "a"}) in (None, *labels)
    for _ in range(20):
        model.learn_one({"word": "a", "n": 1}, labels[1], w=2.0)
        model.learn_one({"word": "b", ("two", "words"): 2.5, "none": None}, labels[0])
    assert [model.predict_one({"word": word}) for word in "ab"] == [labels[1], labels[0]]
    if layers is HINGE:
        with pytest.raises(NotImplementedError):
            model.predict_proba_one({"word": "a"})
    else:
        chances = model.predict_proba_one({"word": "a"})
        assert set(chances) == set(labels)
        assert sum(chances.values()) == pytest.approx(1)
        assert max(chances, key=chances.get) == labels[1]


def test_a_weight_is_so_many_rows_of_importance():
    once, never = HutchRegressor(["linear"]), HutchRegressor(["linear"])
    for model, w in ((once, 1.0), (never, 0.0)):
        for k in range(50):
            model.learn_one({"x": k % 2}, 10.0 + k % 2)
            model.learn_one({"x": k % 2}, 30.0, w=w)
    assert once.predict_one({"x": 1}) > never.predict_one({"x": 1}) + 3


def test_a_copy_goes_on_as_the_original():
    rows = list(datasets.ImageSegments().take(60))
    model = HutchClassifier()
    for x, y in rows[:30]:
        model.learn_one(x, y)
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        for x, y in rows[30:]:
            each.learn_one(x, y)
    assert [model.predict_proba_one(x) for x, _ in rows] == [copy.predict_proba_one(x) for x, _ in rows]


@pytest.mark.parametrize(
    ("make", "x", "y", "text"),
    [
        (partial(HutchClassifier, max_classes=2), {"a": 1}, "c", "got 'c' after 2 other labels; wanted max_classes=3"),
        (HutchClassifier, {"a": 1}, None, "got None, wanted a label"),
        (HutchClassifier, {"a": float("inf")}, "a", "inf"),
        (HutchRegressor, {"a": 1}, float("nan"), "y: got nan, wanted a number"),
        (partial(HutchClassifier, ["cost_sensitive_one_against_all", "linear"]), None, None, "wanted classes"),
        (partial(HutchRegressor, [{"one_against_all": {"classes": 3}}, "linear"]), None, None, "wanted 'simple'"),
    ],
)
def test_what_cannot_be_learned_is_named(make, x, y, text):
    with pytest.raises(HutchError, match=text):
        model = make()
        if isinstance(model, HutchClassifier):
            for label in "ab":
                model.learn_one({"a": 1}, label)
        model.learn_one(x, y)


def test_a_row_of_weight_0_does_not_set_the_scale():
    found, wanted = HutchRegressor(bits=10), HutchRegressor(bits=10)
    found.learn_one({"a": 1.0}, 1e9, w=0.0)
    for k in range(50):
        for model in (found, wanted):
            model.learn_one({"a": k % 7, "b": k % 3}, float(k % 7))
    assert found.predict_one({"a": 1, "b": 1}) == pytest.approx(wanted.predict_one({"a": 1, "b": 1}), rel=0.05)


@pytest.mark.parametrize("Model", [HutchClassifier, HutchRegressor])
@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (lambda k: f"{k},5", "x: 'a': words such as '0,5' look like numbers with a decimal comma: convert them$"),
        (lambda k: "NA" if k == 5 else float(k), "x: 'a': 'NA' looks missing: give None for missing values$"),
        (lambda k: 1_700_000_000 + k, r"x: column 'a' goes from 1700000000.0 to 1700000031.0; subtract"),
    ],
)
def test_columns_in_disguise_are_said_once(Model, value, wanted):
    model = Model(bits=10)
    with pytest.warns(UserWarning, match=wanted) as caught:
        for k in range(300):
            model.learn_one({"a": value(k), "b": "x"}, k % 2)
    assert len(caught) == 1


ODD = {
    "seen": lambda k: datetime(2024, 1 + k % 12, 1 + k % 28, k % 24),
    "day": lambda k: date(2000 + k % 30, 1 + k % 12, 3),
    "hour": lambda k: time(k % 24, 5),
    "took": lambda k: timedelta(seconds=k * 1.5),
    "flag": lambda k: bool(k % 3),
    "n": lambda k: None if k % 7 == 0 else k / 3,
    "word": lambda k: None if k % 5 == 0 else "abcde"[k % 5],
}


def odd_frame(rows):
    return pd.DataFrame({name: [of(k) for k in range(rows)] for name, of in ODD.items()}).astype({"word": "str"})


def rows_of(frame):
    """The rows as a stream has them: of NumPy and pandas, with names in another order."""
    return [{str(name): row[name] for name in reversed(frame.columns)} for row in frame.to_dict("records")]


ROW = {"loss": "squared", "namespace": "", "dimension": 40, "features": "named"}
POSTERIOR = ["standardise", "multinomial", {"bayesian_linear": ROW}]
MOMENTS = [{"bayesian_linear": {**ROW, "covariance": "moments"}}]
KINDS = [(HutchClassifier, None), (HutchClassifier, POSTERIOR), (HutchRegressor, None), (HutchRegressor, MOMENTS)]


@pytest.mark.parametrize(("Model", "layers"), KINDS)
def test_frames_are_learned_as_their_rows_are(Model, layers):
    one, many, frame = Model(layers), Model(layers), odd_frame(140)
    y = [f"label {k % 5}" if Model is HutchClassifier else 100.0 + k * 3 % 70 for k in range(140)]
    weights = np.where(np.arange(140) % 6 == 5, 0.0, 1.0 + np.arange(140) % 2)
    for x, label, weight in zip(rows_of(frame)[:100], y, weights, strict=False):
        if weight or Model is HutchClassifier:
            one.learn_one(x, label, w=weight)
    many.learn_many(frame[:33], pd.Series(y[:33]), weights[:33])
    many.learn_many(pl.from_pandas(frame[33:100]), y[33:100], weights[33:100])
    rest = frame[100:].set_index(np.arange(40) * 2)
    found = many.predict_many(rest)
    assert found.index.tolist() == rest.index.tolist()
    assert found.tolist() == [one.predict_one(x) for x in rows_of(rest)]
    assert many.predict_many(pl.from_pandas(rest)).to_list() == found.tolist()
    if Model is HutchClassifier:
        chances = many.predict_proba_many(rest)
        assert chances.to_dict("records") == [one.predict_proba_one(x) for x in rows_of(rest)]


def test_cells_of_every_kind_are_what_they_are_in_frames():
    rows = [
        {"a": np.bool_(True), "b": Decimal("1.5"), "c": pd.NA, "d": pd.NaT, "e": np.datetime64("2024-05-06T07:00")},
        {"a": True, "b": 1.5, "e": datetime(2024, 5, 6, 7)},
        {"a": 1, "b": np.float32(1.5), "c": None, "e": pd.Timestamp("2024-05-06T07:00")},
    ]
    assert (
        record_of(rows[0]) == record_of(rows[1]) == {"": {k: v for k, v in record_of(rows[2])[""].items() if k != "c"}}
    )
    assert record_of({"t": np.timedelta64(90, "m"), "u": np.timedelta64("NaT", "s")}) == {"": {"t": 5400.0}}
    with pytest.raises(HutchError, match="got complex"):
        HutchRegressor().learn_one({"a": 1j}, 1.0)


@pytest.mark.parametrize("Model", [HutchRegressor, HutchClassifier])
def test_lists_of_numbers_are_what_they_are_in_frames(Model):
    rows = [{"a": float(k), "e": [0.5 * (k % 3), 1.0], "w": "xyz"[k % 3]} for k in range(60)]
    y = [k % 2 for k in range(60)]
    one, many = Model(), Model()
    for x, label in zip(rows, y, strict=True):
        one.learn_one(x, label)
    many.learn_many(pd.DataFrame(rows), pd.Series(y))
    assert one.predict_one(rows[4]) == many.predict_one(rows[4]) == many.predict_many(pd.DataFrame(rows[4:5]))[0]
    predict = Model.predict_proba_one if Model is HutchClassifier else Model.predict_one
    assert predict(one, {**rows[4], "e": [9.0, 9.0]}) != predict(one, rows[4])


@pytest.mark.parametrize(("layers", "close"), [(None, 1e-6), (POSTERIOR, 0.3)])
def test_labels_without_limit_are_learned_as_with_room_from_the_start(layers, close):
    grows, roomy, random = HutchClassifier(layers), HutchClassifier(layers, max_classes=64), np.random.default_rng(0)
    for k in range(400):
        label = int(random.integers(1 + k // 8))
        x = {"a": label % 7 + random.normal() / 9, "b": label // 7 + random.normal() / 9, "word": str(label % 5)}
        if k % 40 == 39:
            assert grows.predict_one(x) == roomy.predict_one(x)
            assert grows.predict_proba_one(x) == pytest.approx(roomy.predict_proba_one(x), abs=close)
        for model in (grows, roomy):
            model.learn_one(x, label)
    assert len(grows.classes) > 40
    assert pickle.loads(pickle.dumps(grows)).predict_one(x) == grows.predict_one(x)
    assert (grows.chain.layers[0].answers.classes, HutchClassifier(BINARY)._grows) == (64, False)


def test_a_given_number_of_classes_is_a_limit():
    for model in (HutchClassifier(max_classes=4), HutchClassifier([{"one_against_all": {"classes": 4}}, "linear"])):
        for k in range(4):
            model.learn_one({"a": k}, k)
        with pytest.raises(HutchError, match="got 4 after 4 other labels"):
            model.learn_one({"a": 4}, 4)


@pytest.mark.parametrize(
    ("X", "y", "w", "text"),
    [
        ([{"a": 1}], [1], 1.0, "X: got list, wanted a frame"),
        (pd.DataFrame({"a": [1, 2]}), [1], 1.0, "y: got 1 labels, wanted one for each of 2 rows"),
        (pd.DataFrame({"a": [1, 2]}), [1, 2], [1.0], "w: got 1 weights, wanted one for each of 2 rows"),
        (pd.DataFrame({"a": [1, 2]}), [1, float("nan")], 1.0, "y: got nan, wanted"),
        (pd.DataFrame({"a": [1, float("inf")]}), [1, 2], 1.0, "column 'a': got inf"),
    ],
)
def test_frames_that_cannot_be_learned_are_named(X, y, w, text):
    for model in (HutchClassifier(), HutchRegressor()):
        with pytest.raises(HutchError, match=text):
            model.learn_many(X, y, w)


@pytest.mark.parametrize("layers", [None, MOMENTS])
def test_intervals_hold_what_they_say(layers):
    random, model, held, y = np.random.default_rng(2), HutchRegressor(layers), [], []
    with pytest.raises(HutchError, match="got 0 rows that were learned, wanted at least 20"):
        model.predict_interval_one({"a": 1.0})
    for k in range(900):
        x = {"a": random.normal(), "b": random.normal()}
        y.append(50 + 20 * x["a"] + (10 if k < 450 else 30) * random.normal())
        if k >= 100:
            found = model.predict_interval_one(x, 0.9)
            assert (found.lower + found.upper) / 2 == pytest.approx(model.predict_one(x))
            held.append(found.lower <= y[-1] <= found.upper)
        model.learn_one(x, y[-1])
    assert np.mean(held) == pytest.approx(0.9, abs=0.03)
    with pytest.raises(ValueError, match="level: got 90, wanted a number between 0 and 1"):
        model.predict_interval_one({"a": 1.0}, 90)


def test_rows_of_a_frame_count_for_intervals_as_they_would_alone():
    frame, y = pd.DataFrame({"a": np.arange(60) % 7 / 7, "b": np.arange(60) % 5}), np.arange(60) % 7 + np.arange(60) % 3
    for layers in (None, MOMENTS):
        one, many = HutchRegressor(layers), HutchRegressor(layers)
        many.learn_many(frame, y)
        for x, target in zip(rows_of(frame), y, strict=True):
            one.learn_one(x, float(target))
        assert one.predict_interval_one({"a": 0.3}) == many.predict_interval_one({"a": 0.3})


def test_a_value_far_outside_those_learned_is_said_once():
    model = HutchRegressor(MOMENTS)
    for k in range(60):
        model.learn_one({"a": float(k % 9)}, 10.0 * (k % 9))
    with pytest.warns(UserWarning, match="1 value far outside those learned, first 900, where 0 to 8 were"):
        assert model.predict_one({"a": 900.0}) == model.predict_one({"a": 8.0})
    assert model.predict_many(pd.DataFrame({"a": [900.0]})).tolist() == [model.predict_one({"a": 8.0})]


def test_frames_without_rows_have_no_predictions():
    empty = pd.DataFrame({"a": np.zeros(0)})
    for model in (HutchRegressor(), HutchClassifier()):
        for learned in (False, True):
            if learned:
                model.learn_many(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), pd.Series([0, 1, 0]))
            model.learn_many(empty, pd.Series([], dtype=int))
            assert len(model.predict_many(empty)) == 0
    assert HutchClassifier().predict_proba_many(empty).shape[0] == 0
    assert list(model.predict_proba_many(empty).columns) == [0, 1]


@pytest.mark.parametrize("y", [None, "x", "3", 1e300, -1e300, pytest.param(10**400, id="huge"), float("inf")])
def test_targets_that_are_no_numbers_of_the_chain_are_refused_before_the_scale_moves(y):
    rows, apart = [({"a": float(k % 5)}, 2.0 * (k % 5)) for k in range(60)], HutchRegressor()
    model = HutchRegressor()
    for k, (x, target) in enumerate(rows):
        if k in (0, 30):
            with pytest.raises(HutchError, match="y: got .*, wanted a number within ±3.4e38"):
                model.learn_one(x, y)
            with pytest.raises(HutchError, match="y: got .*, wanted a number within ±3.4e38"):
                model.learn_many(pd.DataFrame([x]), [y])
        model.learn_one(x, target)
        apart.learn_one(x, target)
    assert model.predict_one({"a": 3.0}) == apart.predict_one({"a": 3.0})


def test_the_target_of_a_row_that_is_refused_does_not_count_in_the_running_scale():
    model, apart = HutchRegressor(), HutchRegressor()
    for k in range(60):
        if k % 7 == 0:
            with pytest.raises(HutchError, match="wanted a number"):
                model.learn_one({"a": {"b": 1}}, 1e6 + k)
        for each in (model, apart):
            each.learn_one({"a": float(k % 5)}, 2.0 * (k % 5))
    assert (model._target.centre, model._target.scale) == pytest.approx(
        (apart._target.centre, apart._target.scale), 0.2
    )
    assert model.predict_one({"a": 3.0}) == pytest.approx(apart.predict_one({"a": 3.0}), rel=0.01)


def test_words_are_paired_below_a_learner_of_pairs():
    """Who eats what: the kinds of both decide, and neither name tells anything alone; frames learn as their rows do."""
    random = np.random.default_rng(0)
    rows = [
        {"animal": f"a{random.integers(30)}", "food": f"f{random.integers(30)}", "size": float(random.normal())}
        for _ in range(3000)
    ]
    eats = [int(row["animal"][1:]) % 2 == int(row["food"][1:]) % 2 for row in rows]
    layers = ["standardise", {"fields": {"rank": 2}}]
    one, many, alone = HutchClassifier(layers), HutchClassifier(layers), HutchClassifier()
    for x, y in zip(rows, eats, strict=True):
        one.learn_one(x, y)
        alone.learn_one(x, y)
    many.learn_many(pd.DataFrame(rows[:1000]), eats[:1000])
    many.learn_many(pd.DataFrame(rows[1000:]), eats[1000:])
    np.testing.assert_array_equal(one.chain.weights, many.chain.weights)
    assert list(many.predict_many(pd.DataFrame(rows[-500:]))) == [one.predict_one(x) for x in rows[-500:]]
    right = [[model.predict_one(x) == y for x, y in zip(rows, eats, strict=True)][-1000:] for model in (one, alone)]
    assert np.mean(right[0]) > 0.97 and np.mean(right[1]) < 0.7
