"""The columns of a matrix lie in a namespace of their own, so that products of columns are not taken for columns."""

from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.data.sources import to_batches
from hutch.core.text.parser import ParserOptions
from hutch.sklearn import HutchClassifier


def test_products_of_columns_are_told_from_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (4000, 6))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic", "interactions": [["x", "x"]]}}]})
    chain.learn(X[:3000], labels=y[:3000])
    assert (np.sign(chain.predict(X[3000:])) == y[3000:]).mean() > 0.99


@pytest.mark.parametrize("pairs", [[["x", "x"]], [["a", "b"]], [["b", "a"], ["x", "x", "x"]]])
def test_products_of_columns_are_those_of_named_features(pairs: list[list[str]]) -> None:
    """The text that names the same namespaces and columns learns the same, product by product."""
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 0.0, 0.5, 2.0], (300, 5))
    y = np.where(X[:, 0] * X[:, 3] > 0, 1, -1)
    matrix, spaces = {"x": "*"}, {"x": range(5)}
    if pairs[0] != ["x", "x"]:
        matrix, spaces = {"a": [0, 1, 2], "b": [3], "x": [4]}, {"a": (0, 1, 2), "b": (3,), "x": (4,)}
    layers = [{"linear": {"loss": "logistic", "interactions": pairs}}]
    lines = [
        f"{label} " + " ".join(f"|{n} " + " ".join(f"{j}:{row[j]}" for j in js if row[j]) for n, js in spaces.items())
        for label, row in zip(y, X, strict=True)
    ]
    by_matrix = Chain.from_config({"input": {"columns": {"namespaces": matrix}}, "chain": layers})
    by_name = Chain.from_config({"chain": layers})
    assert by_matrix.learn(X, labels=y) == pytest.approx(by_name.learn(lines), rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(by_matrix.weights, by_name.weights, rtol=1e-4, atol=1e-6)
    sure = by_name.predict(lines)
    np.testing.assert_allclose(by_matrix.predict(X), sure, rtol=1e-4, atol=1e-5)
    model = HutchClassifier(layers, columns={"namespaces": matrix}, passes=1, shuffle=False).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), sure, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("order", ["0k", "k0"])
def test_the_product_with_column_0_is_not_column_k(k: int, order: str) -> None:
    """A column named 0 in the anonymous namespace would give the pair 0*k the row of column k."""
    rng = np.random.default_rng(k)
    X = rng.choice([-1.0, 1.0], (3000, 6))
    y = np.where(X[:, 0] * X[:, k] > 0, 1, -1)
    a, b = (0, k) if order == "0k" else (k, 0)
    rest = [j for j in range(6) if j not in (0, k)]
    columns = {"namespaces": {"a": [a], "b": [b], "r": rest}}
    layer = {"linear": {"loss": "logistic", "interactions": [["a", "b"]]}}
    chain = Chain.from_config({"input": {"columns": columns}, "chain": [layer]})
    chain.learn(X[:2000], labels=y[:2000])
    assert (np.sign(chain.predict(X[2000:])) == y[2000:]).mean() > 0.99
    model = HutchClassifier(interactions=[["x", "x"]]).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.99


@pytest.mark.parametrize("mode", ["strings", "all"])
def test_a_column_is_the_feature_that_text_names(mode: str) -> None:
    options = ParserOptions(hash=mode, bits=24)  # type: ignore[arg-type]
    [matrix] = to_batches(np.array([[1.0, 0, 2.0]]), options, {"namespaces": {"x": "*"}})
    [text] = to_batches("|x 0:1 2:2", options)
    np.testing.assert_array_equal(matrix.indices, text.indices)


def test_a_model_from_before_the_name_predicts_as_it_did(tmp_path: Path) -> None:
    X, y = np.eye(5), np.arange(5.0)
    old = Chain.from_config({"input": {"matrix": ""}, "chain": ["linear"]})
    old.learn(X, labels=y)
    metadata = old.metadata()
    del metadata["chain"]["input"]["matrix"]
    loaded = Chain.from_arrays(old.arrays(), metadata, "old.model")
    np.testing.assert_array_equal(loaded.predict(X), old.predict(X))
    assert loaded.predict(X).any()
