"""What scikit-learn's estimators are given as X: matrices, or frames with names, words, categories and dates."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.chain import Chain
from hutch.core.data.arrow import arrow, is_table
from hutch.core.data.roles import Roles
from hutch.core.errors import DataError

_NOBODY: dict[str, Any] = dict.fromkeys(("label", "importance", "base", "tag", "group"), "")


def is_frame(X: Any) -> bool:
    """Whether X has named columns of any types: a frame of pandas or polars, or an Arrow table."""
    return is_table(X) and not isinstance(X, np.ndarray)


def as_table(X: Any, names: Any = None) -> Any:
    """X as an Arrow table, its rows in order, without an index.

    Args:
        X: a frame, or a matrix if names are given.
        names: of a matrix's columns.

    Raises:
        DataError: a column of several types, or of one that Arrow lacks.
    """
    pa = arrow()
    try:
        if not is_frame(X):
            X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
            return pa.table({str(name): column for name, column in zip(names, X.T, strict=True)})
        if hasattr(X, "iloc"):
            return pa.Table.from_pandas(X, preserve_index=False)
        return pa.table(X)
    except pa.ArrowException as error:
        raise DataError(f"X: {'; '.join(map(str, error.args))}") from None


def roles_of(columns: Mapping[str, Any] | Roles | None) -> Roles:
    """The roles of an estimator's X, none of whose columns is the label."""
    return replace(Roles.of(columns), **_NOBODY)


def without_column(X: Any, j: int) -> Any:
    """X with column j missing everywhere."""
    if is_frame(X):
        field = X.schema.field(j)
        return X.set_column(j, field, arrow().nulls(len(X), field.type))
    keep = np.ones(X.shape[1])
    keep[j] = 0
    if hasattr(X, "tocsr"):
        from scipy.sparse import diags_array

        return (X @ diags_array(keep)).tocsr().astype(X.dtype)
    return X * keep.astype(X.dtype)


def single_features(X: Any) -> Any:
    """One example in which every column is 1, of the same columns as X.

    Raises:
        ValueError: a column that is not a number.
    """
    if not is_frame(X):
        return np.ones((1, X.shape[1]), np.float32)
    types = arrow().types
    for field in X.schema:
        kind = field.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
            raise ValueError(f"column {field.name!r} is {kind}: only columns of numbers have a coefficient")
    return arrow().table({name: [1.0] for name in X.schema.names})


def effective_weights(chain: Chain, indices: NDArray[np.uint32]) -> NDArray[np.float64]:
    """What a linear chain's predictions multiply some features by, (sub-models, features).

    Args:
        chain: `linear`, or `one_against_all` over it.
        indices: of the features.
    """
    count, multiplier = chain.score_count or 1, int(chain.shared["multiplier"][0])
    rows = indices.astype(np.int64)[None, :] * multiplier + np.arange(count)[:, None]
    weights = chain.weights[rows & int(chain.shared["mask"][0]), 0].astype(np.float64)
    contraction, gravity = chain.layers[-1].saved()["regularization"]
    return np.asarray(np.sign(weights) * np.maximum(np.abs(weights) - gravity, 0.0) * contraction)
