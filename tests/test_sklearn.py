"""The scikit-learn estimators keep scikit-learn's contract and give what the chain gives."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from hutch.chain import Chain
from hutch.core.errors import ConfigError
from hutch.sklearn import EXPECTED_FAILURES, CrowdAggregator, HutchClassifier, HutchRegressor

HINGE_TREE = [{"scoring_filter_tree": {}}, {"linear": {"loss": "hinge"}}]


@parametrize_with_checks(
    [HutchClassifier(bits=10), HutchRegressor(bits=10)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def flowers() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return StandardScaler().fit_transform(X)[order], np.array(["a", "b", "c"])[y][order]


def test_classes_keep_their_names(flowers: Any) -> None:
    X, y = flowers
    model = HutchClassifier(bits=10).fit(X, y)
    assert model.score(X, y) > 0.9
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))


def test_it_is_the_chain(flowers: Any) -> None:
    X, y = flowers
    labels = np.where(y == "a", 1.0, -1.0)
    chain = Chain.from_config({"weights": {"bits": 10}, "chain": [{"linear": {"loss": "logistic"}}]})
    lines = [
        f"{label:g} |x " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row.tolist()))
        for row, label in zip(X, labels, strict=True)
    ]
    chain.learn(X, labels=labels)
    model = HutchClassifier(loss="log_loss", bits=10, passes=1, shuffle=False).fit(X, labels)
    np.testing.assert_array_equal(model.decision_function(X), chain.predict(X))
    np.testing.assert_allclose(chain.predict(lines), chain.predict(X), rtol=1e-5, atol=1e-5)


def test_partial_fit_goes_on(flowers: Any) -> None:
    X, y = flowers
    whole = HutchClassifier(bits=10, passes=1, shuffle=False).fit(X, y)
    pieces = HutchClassifier(bits=10)
    for part in np.array_split(np.arange(len(y)), 4):
        pieces.partial_fit(X[part], y[part], classes=np.unique(y))
    np.testing.assert_array_equal(pieces.decision_function(X), whole.decision_function(X))


def test_pickling_keeps_every_bit(flowers: Any) -> None:
    X, y = flowers
    model = HutchClassifier(bits=10).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(
        other.partial_fit(X, y).decision_function(X), model.partial_fit(X, y).decision_function(X)
    )


def test_sparse_and_dense_agree(flowers: Any) -> None:
    X, y = flowers
    model = HutchClassifier(loss="log_loss", bits=10)
    dense, sparse = clone(model).fit(X, y), model.fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.decision_function(X), sparse.decision_function(scipy.sparse.csr_array(X)))


def test_weights_are_importances(flowers: Any) -> None:
    X, y = flowers
    weight = (y != "c").astype(float)
    some = HutchClassifier(bits=10).fit(X, y == "a", sample_weight=weight)
    fewer = HutchClassifier(bits=10).fit(X[weight > 0], (y == "a")[weight > 0])
    np.testing.assert_array_equal(some.decision_function(X), fewer.decision_function(X))


def test_weights_of_classes_multiply_those_of_rows_and_go_with_their_rows(flowers: Any) -> None:
    X, y = flowers
    weight = np.random.default_rng(0).uniform(0.1, 2, len(y))
    both = HutchClassifier(bits=10, class_weight={"a": 1, "b": 3, "c": 0.5}).fit(X, y, sample_weight=weight)
    of_rows = weight.astype(np.float32) * np.array([1, 3, 0.5])[np.searchsorted(["a", "b", "c"], y)]
    once = HutchClassifier(bits=10).fit(X, y, sample_weight=of_rows)
    np.testing.assert_array_equal(both.decision_function(X), once.decision_function(X))
    order = np.random.default_rng(0).permutation(len(y))  # what `fit` learns them in
    turned = HutchClassifier(bits=10, shuffle=False).fit(X[order], y[order], sample_weight=of_rows[order])
    np.testing.assert_array_equal(both.decision_function(X), turned.decision_function(X))


def test_search_and_pipelines(flowers: Any) -> None:
    X, y = flowers
    search = GridSearchCV(
        make_pipeline(StandardScaler(), HutchClassifier(bits=10)), {"hutchclassifier__passes": [1, 5]}, cv=2
    )
    assert search.fit(X, y).best_score_ > 0.8


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (["linear"], "3 classes need a multiclass layer such as 'one_against_all' on top"),
        ([{"lineer": {}}], "unknown reduction 'lineer'; did you mean 'linear'?"),
    ],
)
def test_layers_that_do_not_fit_are_named(flowers: Any, layers: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        HutchClassifier(layers).fit(*flowers)


VOTES = [("ann", "t1", "cat"), ("bob", "t1", "cat"), ("cy", "t1", "dog"), ("ann", "t2", "dog"), ("bob", "t2", "dog")]


def test_crowd_in_one_go_and_in_pieces() -> None:
    whole = CrowdAggregator().fit(VOTES)
    assert whole.predict(["t2", "t1"]).tolist() == ["dog", "cat"]
    assert whole.confusions_.shape == (3, 2, 2)
    np.testing.assert_allclose(whole.predict_proba(["t1", "t3"]).sum(axis=1), 1)
    pieces = CrowdAggregator().partial_fit(VOTES[:2]).partial_fit(VOTES[2:])
    np.testing.assert_array_equal(pieces.probability_, whole.probability_)


def test_crowd_of_many_classes_is_that_of_aggregate() -> None:
    random = np.random.default_rng(0)
    votes = [(f"w{w}", f"t{i}", f"c{i % 20 if random.random() < 0.7 else random.integers(20)}")
             for i in range(100) for w in range(3)]  # fmt: skip
    many, default = CrowdAggregator(model="many_classes").fit(votes), CrowdAggregator().fit(votes)
    assert np.array_equal(many.probability_, default.probability_)
    named = CrowdAggregator(model="two_level").fit(votes)
    assert not np.array_equal(named.probability_, default.probability_)


def test_crowd_weights_choose_rows() -> None:
    some = CrowdAggregator().fit(VOTES, sample_weight=[1, 1, 0, 1, 1])
    np.testing.assert_array_equal(some.probability_, CrowdAggregator().fit(VOTES[:2] + VOTES[3:]).probability_)
    with pytest.raises(ValueError, match="sample_weight"):
        CrowdAggregator().fit(VOTES, sample_weight=[2] * 5)


def test_crowd_tells_people_from_judges():
    random = np.random.default_rng(0)
    truth = random.integers(2, size=200)
    votes = [("ann", f"t{i}", "ab"[truth[i] if random.random() < 0.9 else 1 - truth[i]]) for i in range(200)]
    for j in range(4):  # all of them say a where it is b, and the reverse
        votes += [(f"judge{j}", f"t{i}", "ab"[1 - truth[i] if random.random() < 0.9 else truth[i]]) for i in range(200)]
    tasks = [f"t{i}" for i in range(200)]
    expected = np.array(list("ab"))[truth]
    assert np.mean(CrowdAggregator(reference="ann").fit(votes).predict(tasks) == expected) > 0.9
    assert np.mean(CrowdAggregator(reference=["ann"]).fit(votes).predict(tasks) == expected) > 0.9
    assert np.mean(CrowdAggregator().fit(votes).predict(tasks) == expected) < 0.2


@pytest.mark.filterwarnings("ignore:Can't test estimator:sklearn.exceptions.SkipTestWarning")
def test_crowd_keeps_what_of_the_contract_applies() -> None:
    """scikit-learn checks matrices of numbers; rows of words it only clones, so the rest is checked here."""
    check_estimator(CrowdAggregator())
    crowd = clone(CrowdAggregator("dawid_skene", {"iterations": 5}))
    assert crowd.get_params() == {"model": "dawid_skene", "parameters": {"iterations": 5}, "reference": None}
    for method in (crowd.predict, crowd.predict_proba):
        with pytest.raises(NotFittedError):
            method(["t1"])
    with pytest.raises(ValueError, match=r"X: row 1: got \('bob', 't1'\), wanted \(worker, task, label\)"):
        CrowdAggregator().fit([VOTES[0], VOTES[1][:2]])
    with pytest.raises(ValueError, match="sample_weight: got zero for every row"):
        CrowdAggregator().fit(VOTES, sample_weight=[0] * 5)
    fitted = CrowdAggregator().fit(np.array(VOTES))
    again = pickle.loads(pickle.dumps(fitted))
    assert fitted.fit(VOTES) is fitted
    np.testing.assert_array_equal(again.predict_proba(["t2"]), fitted.predict_proba(["t2"]))


def test_copies_of_fitted_estimators(flowers: Any, tmp_path: Any) -> None:
    X, y = flowers
    model = HutchClassifier(bits=10).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (copy.deepcopy(model), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        other.partial_fit(X[:10], y[:10])
        assert not np.array_equal(other.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "chain_")


def test_without_scikit_learn_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import hutch.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("pip install 'hutch[sklearn]'")


def test_nothing_else_imports_scikit_learn() -> None:
    code = (
        "import sys, hutch, hutch.chain, hutch.plugins.manager as m; m.installed(); sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_files_sorted_by_class_are_learned() -> None:
    X, y = load_wine(return_X_y=True)
    assert HutchClassifier(loss="log_loss").fit(X, y).score(X, y) > 0.9
    assert HutchClassifier(loss="log_loss", shuffle=False, passes=10).fit(X, y).score(X, y) < 0.75


def test_balanced_weights_need_all_rows_in_one_pass_too(flowers: Any) -> None:
    X, y = flowers
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows"):
        HutchClassifier(class_weight="balanced", passes=1).partial_fit(X, y, classes=np.unique(y))


def test_several_targets_are_scikit_learns_own_wrappers() -> None:
    """One estimator for each target, of matrices and of frames; no code of ours."""
    from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > X[:, 2]])
    for wrapper in (MultiOutputClassifier, ClassifierChain):
        assert (wrapper(HutchClassifier()).fit(X, Y).predict(X) == Y).mean() > 0.95
    regressor = MultiOutputRegressor(HutchRegressor()).fit(X, X[:, :2] + 3.0)
    assert regressor.score(X, X[:, :2] + 3.0) > 0.95
    frame = pytest.importorskip("pandas").DataFrame({"city": np.where(Y[:, 0], "Oslo", "Rome"), "n": X[:, 1]})
    kinds = np.where(Y, "yes", "no")
    found = MultiOutputClassifier(HutchClassifier()).fit(frame, kinds).predict(frame)
    assert (found[:, 0] == kinds[:, 0]).all()
