"""Frames as Arrow tables."""

from typing import Any

from hutch.core.data.arrow import arrow
from hutch.core.errors import DataError


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
    try:
        table = pa.Table.from_pandas(X, preserve_index=False) if hasattr(X, "iloc") else pa.table(X)
    except pa.ArrowException as error:
        raise DataError(f"X: {'; '.join(map(str, error.args))}") from None
    except OverflowError:
        raise DataError("X: got an integer beyond 64 bits, wanted floats or words, as of astype") from None
    views = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}  # Arrow cannot take rows of these
    return table.cast(pa.schema([field.with_type(views.get(str(field.type), field.type)) for field in table.schema]))
