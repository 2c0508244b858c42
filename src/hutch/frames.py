"""What scikit-learn's estimators are given as X: matrices, or frames with names, words, categories and dates."""

from collections import Counter
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


def checked(X: Any) -> Any:
    """X, if it is a matrix or a frame whose columns have names of their own; sparse columns become dense.

    Raises:
        ValueError: a series, a list of texts or records, a query that has not been run, or two columns of one name.
    """
    if isinstance(X, list) and X and isinstance(X[0], str | Mapping):
        got, wanted = ("texts", "and columns={'text': [NAME]}") if isinstance(X[0], str) else ("records", "of them")
        raise ValueError(f"X: got a list of {got}, wanted a matrix, or a frame {wanted}")
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise ValueError(f"X: got a {type(X).__name__}, wanted a frame: X.collect()")
    if not is_frame(X):
        return X
    if hasattr(X, "to_frame") and not hasattr(X, "columns"):
        raise ValueError(f"X: got a {type(X).__name__}, wanted a frame: X.to_frame()")
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    for name, count in Counter(map(str, names)).items():
        if count > 1:
            raise ValueError(f"X: got {count} columns of the name {name!r}, wanted one")
    sparse = [name for name in names if hasattr(X, "iloc") and type(X.dtypes[name]).__name__ == "SparseDtype"]
    return X.astype({name: X.dtypes[name].subtype for name in sparse}) if sparse else X


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
        table = pa.Table.from_pandas(X, preserve_index=False) if hasattr(X, "iloc") else pa.table(X)
    except pa.ArrowException as error:
        raise DataError(f"X: {'; '.join(map(str, error.args))}") from None
    except OverflowError:
        raise DataError("X: got an integer beyond 64 bits, wanted floats or words, as of astype") from None
    views = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}  # Arrow cannot take rows of these
    return table.cast(pa.schema([field.with_type(views.get(str(field.type), field.type)) for field in table.schema]))


def check_columns(table: Any, schema: Any) -> None:
    """See that a table has the columns that an estimator was fitted to, of the same kinds.

    Raises:
        ValueError: another column, or one of another kind: its features would not be those that were learned.
    """
    names, wanted = list(table.schema.names), list(schema.schema.names)
    if names != wanted:
        raise ValueError(f"X: got the columns {names}, wanted those of `fit`, {wanted}")
    for ours, theirs in zip(table.schema, schema.schema, strict=True):
        got, kind = _kind(ours.type), _kind(theirs.type)
        if got != kind and "" not in (got, kind):
            raise ValueError(f"X: column {ours.name!r} has {got}, wanted {kind}, as in `fit`")


def _kind(kind: Any) -> str:
    """What values of an Arrow type become: numbers, words or dates; nothing where all are missing."""
    types = arrow().types
    if types.is_null(kind):
        return ""
    if types.is_dictionary(kind) or types.is_large_string(kind) or types.is_string(kind):
        return "words"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "dates"
    return "times of day" if types.is_time(kind) else "words" if "binary" in str(kind) else "numbers"


def check_targets(y: NDArray[Any]) -> None:
    """See that every row has a label.

    Raises:
        ValueError: one is missing.
    """
    missing = [i for i, label in enumerate(y) if label is None or label != label] if y.dtype == object else []
    if missing:
        raise ValueError(f"y: row {missing[0]} has no label, counted from 0; {len(missing)} are missing")


def roles_of(columns: Mapping[str, Any] | Roles | None) -> Roles:
    """The roles of an estimator's X, none of whose columns is the label."""
    return replace(Roles.of(columns), **_NOBODY)


def without_missing(X: Any) -> Any:
    """A matrix whose missing values are zeros, which give no feature, as in frames."""
    values = X if isinstance(X, np.ndarray) else X.data
    if not np.isnan(values).any():
        return X
    X = X.copy()
    np.nan_to_num(X if isinstance(X, np.ndarray) else X.data, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return X


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
        chain: `linear`, or `one_against_all` or `multinomial` over it.
        indices: of the features.
    """
    count, multiplier = chain.score_count or 1, int(chain.shared["multiplier"][0])
    rows = indices.astype(np.int64)[None, :] * multiplier + np.arange(count)[:, None]
    weights = chain.weights[rows & int(chain.shared["mask"][0]), 0].astype(np.float64)
    contraction, gravity = chain.layers[-1].saved()["regularization"]
    return np.asarray(np.sign(weights) * np.maximum(np.abs(weights) - gravity, 0.0) * contraction)
