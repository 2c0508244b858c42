"""The X of scikit-learn's estimators: matrices, or frames with names, words, categories and dates."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from hutch.arrow_tables import kind_of, table_of
from hutch.core.data.arrow import arrow, is_table
from hutch.core.data.disguises import coarse, in_table
from hutch.core.data.roles import Roles
from hutch.core.data.vectors import FixedLists, elements_of
from hutch.core.data.words import words_of
from hutch.core.errors import ConfigError, DataError, warn

_MOST_COLUMNS, _WORDS = 1 << 12, 256
_SHOWN = 10  # columns in a message
_LENGTHS = "lengths of time"  # become numbers of seconds
_NOBODY: dict[str, Any] = dict.fromkeys(("label", "importance", "base", "tag", "group"), "")


def is_frame(X: Any) -> bool:
    """Whether X has named columns of any types: a frame of pandas or polars, or an Arrow table."""
    return is_table(X) and not isinstance(X, np.ndarray)


def checked(X: Any) -> Any:
    """X, if it is a matrix or a frame whose columns have distinct names; sparse columns become dense.

    Raises:
        ValueError: a series, a list of texts or records, a query that has not been run, or two columns with one name.
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
    kinds = zip(names, X.dtypes, strict=True) if hasattr(X, "iloc") else ()
    sparse = {name: kind.subtype for name, kind in kinds if type(kind).__name__ == "SparseDtype"}
    return X.astype(sparse) if sparse else X


def as_table(X: Any, names: Any = None) -> Any:
    """X as an Arrow table, its rows in order, without an index; a column of lists of numbers is several columns.

    Args:
        X: a frame, or a matrix if names are given.
        names: of a matrix's columns.

    Raises:
        DataError: a column of several types, or of a type that Arrow lacks, or lists of different lengths.

    >>> import pyarrow
    >>> as_table(pyarrow.table({"a": [1, 2], "e": [[0.5, 1.5], [2.5, 0.5]]})).column_names
    ['a', 'e.0', 'e.1']
    """
    if is_frame(X):
        return _flat(table_of(X))
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return arrow().table({str(name): column for name, column in zip(names, X.T, strict=True)})


def _flat(table: Any) -> Any:
    """A table whose columns of lists of numbers are columns of their numbers, named by their places."""
    if not any("list" in str(field.type) for field in table.schema):
        return table
    [table] = FixedLists().pieces([table.combine_chunks()], table.schema, "X")
    columns: dict[str, Any] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        parts = elements_of(arrow().types, field.type)
        flat = bool(parts)
        found = (
            {f"{field.name}.{part.suffix}": part.of(column) for part in parts or ()} if flat else {field.name: column}
        )
        if taken := [name for name in found if name in columns or (flat and name in table.column_names)]:
            raise DataError(f"X: column {field.name!r} becomes {taken[0]!r}, which is there, too; rename one")
        columns |= found
    return arrow().table(columns)


def with_missing_lists(table: Any, names: Sequence[str]) -> Any:
    """A table in which a column of lists, all of them missing, has a column for each number, as in others.

    Args:
        table: as `as_table` makes it.
        names: of the columns that are wanted.

    >>> import pyarrow
    >>> with_missing_lists(pyarrow.table({"e": [None], "a": [1]}), ["e.0", "e.1", "a"]).column_names
    ['e.0', 'e.1', 'a']
    """
    columns, known = dict[str, Any](), frozenset(names)
    for name, column in zip(table.column_names, table.columns, strict=True):
        missing = name not in known and column.null_count == len(column)
        places = range(_length(known, name) if missing else 0)
        columns |= {f"{name}.{place}": arrow().nulls(len(column)) for place in places} or {name: column}
    return arrow().table(columns)


def _length(names: Collection[str], column: str) -> int:
    """How many of the names are those of a column's numbers: `column.0`, `column.1` and so on."""
    length = 0
    while f"{column}.{length}" in names:
        length += 1
    return length


def _check_lengths(names: Collection[str], fitted: Collection[str]) -> None:
    """Refuse columns of lists of another length than in `fit`."""
    for column in {name.rpartition(".")[0] for name in names} - {""}:
        length, wanted = _length(names, column), _length(fitted, column)
        if length and wanted and length != wanted:
            raise ValueError(f"X: column {column!r}: got lists of {length} numbers, wanted {wanted}, as in `fit`")


def check_columns(table: Any, schema: Any) -> None:
    """Check that a table has the columns that an estimator was fitted to, of the same kinds.

    Raises:
        ValueError: another column, or one of another kind: its features would not be those that were learned.
    """
    names, wanted = list(table.schema.names), list(schema.schema.names)
    if names != wanted:
        _check_lengths(frozenset(names), frozenset(wanted))
        if other := [name for name in (*names, *wanted) if (name in names) != (name in wanted)][:_SHOWN]:
            names, wanted = [name for name in other if name in names], [name for name in other if name in wanted]
        raise ValueError(f"X: got the columns {names}, wanted those of `fit`, {wanted}")
    if table.schema.equals(schema.schema):
        return
    for ours, theirs in zip(table.schema, schema.schema, strict=True):
        got, kind = (_LENGTHS if "duration" in str(each.type) else kind_of(each.type) for each in (ours, theirs))
        if got != kind and "" not in (got, kind):
            raise ValueError(f"X: column {ours.name!r} has {got}, wanted {kind}, as in `fit`")


def targets_of(y: Any) -> NDArray[Any]:
    """y as one column of labels of one kind.

    Raises:
        ValueError: a row without a label, labels of two kinds, which NumPy would make words, or several columns.
    """
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(f"y: got the shape {shape}, wanted one column; sklearn.multioutput has estimators for several")
    nullable = not isinstance(y, np.ndarray) and getattr(getattr(y, "dtype", None), "kind", "f") in "biu"
    if nullable or isinstance(y, list) and len({isinstance(label, str) for label in y}) > 1:
        y = np.array([*y], dtype=object)  # column_or_1d would make them floats, or words
    found: NDArray[Any] = column_or_1d(y, warn=True)
    objects = found.tolist() if found.dtype == object else []
    none = [i for i, label in enumerate(objects) if type(label).__name__ in ("NoneType", "NAType") or label != label]
    if none := none or np.flatnonzero(found != found).tolist():
        raise ValueError(f"y: row {none[0]} has no label, counted from 0; {len(none)} are missing")
    if len(kinds := {isinstance(label, str): label for label in objects}) > 1:
        raise ValueError(f"y: got {kinds[True]!r} and {kinds[False]!r}, wanted labels of one kind")
    numbers = objects and all(isinstance(label, int | float | np.generic) for label in objects)
    return np.array(objects) if numbers else found


def roles_of(columns: Mapping[str, Any] | Roles | None) -> Roles:
    """The roles of an estimator's X, none of whose columns is the label.

    Raises:
        ConfigError: a column is named for it, or for a weight: these are arguments of `fit`.
    """
    if isinstance(columns, Mapping) and (named := [role for role in _NOBODY if columns.get(role)]):
        raise ConfigError(f"columns.{named[0]}: got {columns[named[0]]!r}, wanted it left out of X")
    return replace(Roles.of(columns), **_NOBODY)


def dense_columns(X: Any, columns: Mapping[str, Any] | Roles | None) -> tuple[int, bool]:
    """Number of places that a row of a table of numbers needs, and whether it has words or dates, too.

    Returns:
        Places, 0 if it is no such table: sparse, too wide, with columns of text or separate namespaces.
    """
    roles, width = Roles.of(columns), X.shape[1]
    if width > _MOST_COLUMNS or roles.text or roles.namespaces is not None or hasattr(X, "tocsr"):
        return 0, False
    words = is_frame(X) and (bool(roles.categorical) or any(kind_of(field.type) != "numbers" for field in X.schema))
    return max(width, _WORDS) if words else width, words


def doubt_columns(X: Any, roles: Roles) -> None:
    """Warn of columns that may not be what they seem.

    Words of a frame can look like numbers, dates or missing values. Numbers can be so far from 0 that 32 bits, which
    features have, hardly tell them apart.
    """
    told: dict[Any, str] = {}
    if is_frame(X):
        named = {str(name) for name in (*roles.categorical, *roles.text)}
        used = [column.name for column in roles.features(X.schema.names) if column.name not in named]
        told = dict(in_table(X, used, "frame"))
        kinds = ("int", "uint", "float", "double")
        columns = [(f.name, X[f.name].to_numpy()) for f in X.schema if str(f.type).rstrip("0123456789") in kinds]
    else:
        columns = list(enumerate(X.T)) if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf" else []
    for name, values in columns:
        low, high = (float(least.reduce(values.astype(float), initial=np.nan)) for least in (np.fmin, np.fmax))
        if name not in told and (text := coarse(name, low, high)):
            told[name] = text
    for text in told.values():
        warn(f"X: {text}")


def row_of_ones(table: Any, words: Iterable[Any]) -> Any:
    """An Arrow table of one row with the columns of another: 1 in those of numbers that are no words, else missing."""
    no_numbers, starts = {str(name) for name in words}, ("int", "uint", "float", "double", "halffloat")
    found = [
        [1 if str(field.type).startswith(starts) and field.name not in no_numbers else None] for field in table.schema
    ]
    return type(table).from_arrays(
        [arrow().array(each, field.type) for each, field in zip(found, table.schema, strict=True)], schema=table.schema
    )


def without_column(X: Any, j: int) -> Any:
    """X with column j missing everywhere."""
    if is_frame(X):
        field = X.schema.field(j)
        return X.set_column(j, field, arrow().nulls(len(X), field.type))
    if hasattr(X, "tocsr"):
        from scipy.sparse import diags_array

        return (X @ diags_array((np.arange(X.shape[1]) != j).astype(float))).tocsr().astype(X.dtype)
    X = X.copy()
    X[:, j] = np.nan
    return X


def word_rows(table: Any, texts: set[str]) -> tuple[list[tuple[str, str]], Any]:
    """The words of a table, and a row for each that has nothing else; the first row is empty.

    Args:
        table: Arrow's.
        texts: names of columns that are split into words.

    Returns:
        (column, word) of the words, each once, in the order of the columns, and the rows as a table.

    >>> import pyarrow
    >>> names, rows = word_rows(pyarrow.table({"n": [1, 2], "c": ["b", "a"], "t": ["x y", "x"]}), {"t"})
    >>> names
    [('c', 'b'), ('c', 'a'), ('t', 'x'), ('t', 'y')]
    >>> rows["t"].to_pylist()
    [None, None, None, 'x', 'y']
    """
    pa, fields = arrow(), []
    names: list[tuple[str, str]] = []
    for field in table.schema:
        if field.name in texts or kind_of(field.type) == "words":
            found = [str(value) for value in table[field.name].unique().to_pylist() if value is not None]
            if field.name in texts:
                found = [word for text in found for word in words_of(text)]
            names += [(field.name, word) for word in dict.fromkeys(found)]
            field = field.with_type(pa.large_string())
        fields.append(field)
    rows: list[dict[str, str]] = [{}, *({column: word} for column, word in names)]
    return names, pa.Table.from_pylist(rows, schema=pa.schema(fields))
