"""The columns of a matrix lie in a namespace of their own, so that products of columns are not taken for columns."""

from pathlib import Path

import numpy as np
import pytest

from hutch import Chain
from hutch.core.data.sources import to_batches
from hutch.core.text.parser import ParserOptions


def test_products_of_columns_are_told_from_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (4000, 6))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    chain = Chain.from_config({"chain": [{"linear": {"loss": "logistic", "interactions": [["x", "x"]]}}]})
    chain.learn(X[:3000], labels=y[:3000])
    assert (np.sign(chain.predict(X[3000:])) == y[3000:]).mean() > 0.99


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
