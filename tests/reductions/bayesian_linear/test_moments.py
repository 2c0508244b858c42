"""`covariance: moments` against ridge regression on all rows so far, whatever their order, units and gaps."""

import numpy as np
import pytest

from hutch import Chain
from hutch.core.errors import ConfigError, ModelError

ROW = {"namespace": "x", "features": "named", "loss": "squared", "covariance": "moments", "reach": 10.0}
RANGE = {"min_prediction": -1e9, "max_prediction": 1e9, "extrapolation": None}


def build(dimension, **parameters):
    return Chain.from_config({"chain": [{"bayesian_linear": {**ROW, **RANGE, "dimension": dimension, **parameters}}]})


def batch(X, y, weight=None, reach=10.0):
    """Ridge regression on standardised columns, missing cells at the mean of their column: a function of rows."""
    h = np.ones(len(X)) if weight is None else weight
    known = np.isfinite(X)
    seen = h @ known
    means = h @ np.where(known, X, 0.0) / seen
    away = np.where(known, X - means, 0.0)
    units = np.sqrt(h @ away**2 / seen)
    units[units == 0] = 1.0
    Z, centre = away / units, h @ y / h.sum()
    left = (Z * h[:, None]).T @ Z + X.shape[1] / (2 * reach) * np.eye(X.shape[1])
    weights = np.linalg.solve(left, (Z * h[:, None]).T @ (y - centre))
    return lambda T: centre + np.where(np.isfinite(T), T - means, 0.0) / units @ weights


def in_order(name, rows=240):
    """Streams whose columns move: single precision, so that both sides see the same numbers."""
    random = np.random.default_rng(5)
    t, e = np.arange(rows), random.normal(size=(rows, 4))
    jump, seven = np.where(t < 150, e[:, 0], 1000 * e[:, 0] + 5), np.where(t < 99, 7.0, e[:, 2])
    from_half, at_last = np.where(t < 120, np.nan, np.cumsum(e[:, 1])), np.where(t < 200, np.nan, e[:, 2])
    ones, gaps = np.where(t < 60, 1.0, e[:, 0]), np.where(t % 3 == 0, np.nan, e[:, 1])
    X = {
        "trend": np.column_stack([1e4 + 3.0 * t, np.cumsum(e[:, 0]), e[:, 1] * (1 + t / 10), e[:, 2]]),
        "jump": np.column_stack([jump, e[:, 1], seven]),
        "sorted": np.sort(e, axis=0) * [1.0, 1e-6, 1e6, 1.0],
        "collinear": np.column_stack([e[:, 0], e[:, 0] + 1e-3 * e[:, 1], 1e3 - e[:, 0], np.full(rows, 3.0)]),
        "missing": np.where(random.random((rows, 4)) < 0.3, np.nan, np.cumsum(e, axis=0) + 50),
        "late": np.column_stack([e[:, 0], from_half, at_last]),
        "ones, missing, then not": np.column_stack([ones, gaps]),
        "ones and gaps": np.column_stack([np.where(t % 2 == 0, np.nan, ones), e[:, 1]]),
    }[name]  # fmt: skip
    X = X.astype(np.float32)
    known = np.where(np.isfinite(X), X, 0.0)
    unit = known.std(axis=0)
    steep = known / np.where(unit > 1e-9, unit, 1.0) @ np.arange(1, X.shape[1] + 1)
    return X, (40 + steep + random.normal(size=rows)).astype(np.float32)


STREAMS = ("trend", "jump", "sorted", "collinear", "missing", "late", "ones, missing, then not", "ones and gaps")


@pytest.mark.parametrize("name", STREAMS)
def test_equals_ridge_on_all_rows_so_far(name):
    X, y = in_order(name)
    for count in (2, 7, 100, len(X)):
        chain = build(X.shape[1])
        chain.learn(X[:count], y[:count])
        used = np.isfinite(X[:count]).any(axis=0)
        if name == "ones and gaps" and count < 100:
            continue  # all values are 1 and others are missing: words, until a value is not 1
        expected = batch(X[:count, used].astype(float), y[:count].astype(float))(X[:, used].astype(float))
        close = 1e-6 * (np.abs(expected) + y.std())
        assert np.all(np.abs(chain.predict(X) - expected) <= close), count


@pytest.mark.parametrize("name", STREAMS)
def test_order_and_chunks_do_not_matter(name):
    X, y = in_order(name)
    whole, chunks, turned = build(X.shape[1]), build(X.shape[1]), build(X.shape[1])
    whole.learn(X, y)
    for start in range(0, len(X), 17):
        chunks.learn(X[start : start + 17], y[start : start + 17])
    order = np.random.default_rng(1).permutation(len(X))
    turned.learn(X[order], y[order])
    assert np.array_equal(whole.predict(X), chunks.predict(X))
    np.testing.assert_allclose(turned.predict(X), whole.predict(X), atol=2e-6 * y.std(), rtol=1e-6)


@pytest.mark.parametrize("name", ["trend", "jump", "sorted", "missing", "late"])
def test_weights_are_exact_in_double(name):
    X, y = in_order(name)
    chain, twin = build(X.shape[1]), batch(X.astype(float), y.astype(float))
    chain.learn(X, y)
    chain.predict(X[:1])
    exact, size = chain.layers[-1]._moments.exact[0], X.shape[1]
    places = [int(np.flatnonzero(chain.layers[-1]._features == index)[0]) for index in columns(chain, size)]
    base, known = np.full((1, size), np.nan), np.nanmean(X.astype(float), axis=0)
    for j in range(size):
        row = base.copy()
        row[0, j] = known[j] + X[:, j].astype(float)[np.isfinite(X[:, j])].std()
        slope = (twin(row)[0] - twin(base)[0]) / (row[0, j] - known[j])
        assert exact[places[j]] == pytest.approx(slope, rel=1e-10), j


def columns(chain, size):
    """Indices of the features of a matrix's columns."""
    return next(iter(chain.batches(np.ones((1, size), np.float32)))).indices[:size].tolist()


def test_importance_is_repetition():
    X, y = in_order("missing")
    h = np.tile([1.0, 2.0, 3.0], 80)
    weighted, repeated = build(4), build(4)
    weighted.learn(list(weighted.batches(X, y, h.astype(np.float32))))
    repeated.learn(np.repeat(X, h.astype(int), axis=0), np.repeat(y, h.astype(int)))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    np.testing.assert_allclose(weighted.predict(X), batch(X.astype(float), y, h)(X.astype(float)), rtol=1e-5)


def test_words_are_absent_where_they_are_missing():
    random = np.random.default_rng(2)
    numbers, names = random.normal(size=200) + 1e3, np.array(list("abcd"))[np.arange(200) // 50]
    y = numbers - 1e3 + np.arange(200) // 50 + 0.1 * random.normal(size=200)
    chain = build(8)
    chain.learn(
        [f"{label:.6f} |x n:{number:.6f} w={name}" for label, number, name in zip(y, numbers, names, strict=True)]
    )
    Z = np.column_stack([(numbers - numbers.mean()) / numbers.std(), *(names == name for name in "abcd")])
    Z = Z - Z.mean(axis=0)
    weights = np.linalg.solve(Z.T @ Z + 0.1 * np.eye(5), Z.T @ (y - y.mean()))  # a number and a word in each row
    found = chain.predict([f"|x n:{number:.6f} w={name}" for number, name in zip(numbers, names, strict=True)])
    np.testing.assert_allclose(found, y.mean() + Z @ weights, atol=2e-3)  # the number has 32 bits


@pytest.mark.parametrize("name", STREAMS)
def test_resumes_exactly(name, tmp_path):
    X, y = in_order(name)
    whole, first = build(X.shape[1]), build(X.shape[1])
    whole.learn(X[:130], y[:130])
    first.learn(X[:130], y[:130])
    first.save(tmp_path / "model")
    second = Chain.load(tmp_path / "model")
    for chain in (whole, second):
        chain.losses = [chain.run_batch(each)[0].predictions for each in chain.batches(X[130:], y[130:])]
    assert np.array_equal(np.concatenate(whole.losses), np.concatenate(second.losses))
    assert np.array_equal(whole.predict(X), second.predict(X))
    for key, array in whole.arrays().items():
        assert np.array_equal(array, second.arrays()[key]), key


def test_predictions_while_learning_are_near_ridge():
    X, y = in_order("trend")
    chain, found = build(4), []
    for each in chain.batches(X, y):
        found.append(chain.run_batch(each)[0].predictions.copy())
    found = np.concatenate(found)
    for k in (20, 77, 150, 239):
        expected = batch(X[:k].astype(float), y[:k].astype(float))(X[k : k + 1].astype(float))[0]
        assert abs(found[k] - expected) < 1e-3 * y.std()


def test_predicting_leaves_what_is_learned_as_it_is():
    X, y = in_order("late")
    quiet, asked = build(3), build(3)
    for start in range(0, 240, 40):
        for chain in (quiet, asked):
            chain.learn(X[start : start + 40], y[start : start + 40])
        asked.predict(X)
    for key, array in quiet.arrays().items():
        assert np.array_equal(array, asked.arrays()[key]), key


def test_another_scale_of_labels():
    X, y = in_order("missing")
    plain, scaled = build(4), build(4)
    plain.learn(X, 4 * y + 8)
    scaled.learn(X[:100], y[:100])
    scaled.layers[-1].rescale(scaled.weights, 4.0, 8.0)
    scaled.learn(X[100:], 4 * y[100:] + 8)
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=1e-6)


def test_numbers_without_a_place_are_told():
    chain = build(2)
    with pytest.warns(UserWarning, match="got numbers in more than 2 columns, of which the last are not learned"):
        chain.learn(["1 |x a:2 b:3 c:4", "2 |x a:1 b:5 c:1e9"])
    assert abs(chain.predict(["|x a:1 b:5 c:1e9"])[0]) < 10


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"features": "numbered"}, "features: got numbered beside covariance: moments, wanted named"),
        ({"loss": "logistic"}, "loss: got logistic beside covariance: moments, wanted squared"),
        ({"rank": 3}, "rank: got 3 beside covariance: moments, wanted it left out"),
        ({"forgetting": 0.1}, "forgetting: got 0.1 beside covariance: moments, wanted it left out"),
        ({"dimension": 600}, "dimension: got 600 beside covariance: moments, wanted at most 512"),
    ],
)
def test_refuses_what_it_cannot_keep(parameters, message):
    with pytest.raises(ConfigError, match=message):
        build(**{"dimension": 4, **parameters})


def test_refuses_sums_of_pairs_of_none(tmp_path):
    X, y = in_order("trend")
    chain = build(4)
    chain.learn(X, y)
    arrays = {name: array.copy() for name, array in chain.arrays().items()}
    key = next(name for name in arrays if name.endswith("total_paired"))
    arrays[key][:] = 1
    with pytest.raises(ModelError, match="got sums of 0 sub-models, wanted 1"):
        build(4).layers[-1].check_saved({name.rpartition(".")[2]: array for name, array in arrays.items()})


def test_predictions_follow_a_column_three_widths_outside_and_no_farther():
    random = np.random.default_rng(3)
    X = random.uniform(-1, 1, (200, 2)).astype(np.float32)
    X[0], X[1] = -1, 1
    y = (X @ [2.0, 5.0] + 40 + random.normal(size=200)).astype(np.float32)
    ridge, chain = batch(X.astype(float), y.astype(float)), build(2, extrapolation=3.0)
    chain.learn(X, y)
    asked = np.array([[0.5, 6.9], [0.5, 7.1], [-7.1, 0.2], [-6.9, 0.2]], np.float32)
    counted = np.array([[0.5, 6.9], [0.5, 1.0], [-1.0, 0.2], [-6.9, 0.2]], np.float32)
    far = chain.layers[-1]
    assert far.far is None
    with pytest.warns(UserWarning, match="2 values far outside those learned, first 7.1, where -1 to 1 were"):
        np.testing.assert_allclose(chain.predict(asked), ridge(counted.astype(float)), rtol=1e-5)
    assert (far.far.value, far.far.low, far.far.high, far.far.values) == (np.float32(7.1), -1, 1, 2)


def test_a_far_value_is_learned_as_it_is():
    random = np.random.default_rng(4)
    X = random.normal(size=(300, 2)).astype(np.float32)
    X[150, 1] = 80.0
    y = (X @ [1.0, 3.0] + random.normal(size=300)).astype(np.float32)
    followed, bounded = build(2), build(2, extrapolation=3.0)
    first, second = followed.learn(X, y), bounded.learn(X, y)
    assert np.flatnonzero(first != second).tolist() == [150]
    assert abs(first[150]) > 200 > 30 > abs(second[150])
    np.testing.assert_array_equal(followed.predict(X), bounded.predict(X))
    assert bounded.layers[-1].far is None


def test_few_rows_do_not_say_what_is_far():
    X = np.arange(29, dtype=np.float32)[:, None]
    chain = build(1, extrapolation=0.0)
    chain.learn(X, 2 * X[:, 0])
    far = np.array([[1000.0]], np.float32)
    assert chain.predict(far)[0] > 1500
    chain.learn(np.array([[29.0]], np.float32), [58.0])
    with pytest.warns(UserWarning, match="first 1000, where 0 to 29 were learned of its column; it counts as 29"):
        assert 50 < chain.predict(far)[0] < 60


@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_the_likeliest_reach_decides(noise):
    """The evidence by the covariance of all labels, rows by rows."""
    random = np.random.default_rng(7)
    X = np.cumsum(random.normal(size=(80, 6)), axis=1) * [1, 10, 0.1, 1, 5, 2]
    y = X @ [3.0, 0.0, 1.0, -2.0, 0.5, 1.0] + noise * random.normal(size=80)
    X, y = X.astype(np.float32), y.astype(np.float32)
    Z, away = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()).astype(float)
    reaches, found = (0.1, 1.0, 10.0, 1e3, 1e5), []
    for reach in reaches:
        K = np.eye(80) + Z @ Z.T * (2 * reach / 6)
        found.append(-0.5 * np.linalg.slogdet(K)[1] - 39.5 * np.log(away @ np.linalg.solve(K, away)))
    best = reaches[int(np.argmax(found))]
    chain = build(6, reaches=list(reaches))
    chain.learn(X, y)
    np.testing.assert_allclose(
        chain.predict(X), batch(X.astype(float), y.astype(float), reach=best)(X), rtol=1e-4, atol=1e-4
    )
    alone = build(6, reach=best)
    alone.learn(X, y)
    [rows] = chain.batches(X)
    ours, theirs = (each.layers[-1].numbers_posterior().variances(rows, each.weights) for each in (chain, alone))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert best == {0.01: 1e5, 1.0: 10.0, 30.0: 0.1}[noise]


@pytest.mark.parametrize(("covariance", "loss"), [("own", "squared"), ("sites", "logistic")])
def test_other_covariances_refuse_extrapolation(covariance, loss):
    row = {**ROW, "dimension": 2, "covariance": covariance, "loss": loss, "extrapolation": 2.0}
    with pytest.raises(ConfigError, match="extrapolation: got 2.0 beside covariance"):
        Chain.from_config({"chain": [{"bayesian_linear": row}]})
