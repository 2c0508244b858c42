"""Frames as Arrow tables."""

from typing import Any

import numpy as np

from hutch.core.data.arrow import array_of, arrow
from hutch.core.errors import DataError

_WIDE, _PLAIN = 64, ("float64", "float32", "int64", "int32")


def table_of(X: Any) -> Any:
    """A frame as an Arrow table, its rows in order, without an index.

    Args:
        X: a frame of pandas or polars, a relation of duckdb, or an Arrow table.

    Raises:
        DataError: a column of several types, or of a type that Arrow lacks.

    >>> import pyarrow
    >>> table_of(pyarrow.table({"a": [1, 2]})).column_names
    ['a']
    """
    pa = arrow()
    if hasattr(X, "iloc") and X.shape[1] >= _WIDE and len(kinds := set(X.dtypes)) == 1 and str(*kinds) in _PLAIN:
        columns = np.asfortranarray(X.to_numpy())  # a table takes Arrow 0.2 ms for each column
        kind = pa.from_numpy_dtype(columns.dtype)
        return pa.table({str(name): array_of(each, kind) for name, each in zip(X, columns.T, strict=True)})
    try:
        table = pa.Table.from_pandas(X, preserve_index=False) if hasattr(X, "iloc") else pa.table(X)
    except pa.ArrowException as error:
        raise DataError(f"X: {'; '.join(map(str, error.args))}") from None
    except OverflowError:
        raise DataError("X: got an integer beyond 64 bits, wanted floats or words, as of astype") from None
    words = [field.name for field in table.schema if _is_of_pandas(pa, field.type)] if hasattr(X, "iloc") else []
    if words:  # intervals of `cut`, periods: names of classes
        return table_of(X.assign(**{name: X[name].astype("string") for name in X if str(name) in words}))
    views = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}  # Arrow cannot take rows of these
    return table.cast(pa.schema([field.with_type(views.get(str(field.type), field.type)) for field in table.schema]))


def _is_of_pandas(pa: Any, kind: Any) -> bool:
    """Whether a type is one of pandas' own, or of categories of these."""
    return isinstance(kind.value_type if pa.types.is_dictionary(kind) else kind, pa.BaseExtensionType)


def kind_of(kind: Any) -> str:
    """The kind that values of an Arrow type become: numbers, words or dates; none where all are missing."""
    types = arrow().types
    if types.is_null(kind):
        return ""
    if types.is_dictionary(kind) or types.is_large_string(kind) or types.is_string(kind):
        return "words"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "dates"
    return "times of day" if types.is_time(kind) else "words" if "binary" in str(kind) else "numbers"
