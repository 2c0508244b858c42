"""Chains among River's estimators: its own checks, its metrics, and labels of any kind."""

import pickle
from functools import partial

import pytest

pytest.importorskip("river", reason="needs hutch[river]")

from river import checks, datasets, evaluate, linear_model, metrics, optim, preprocessing

from hutch import HutchError
from hutch.river import HutchClassifier, HutchRegressor

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
