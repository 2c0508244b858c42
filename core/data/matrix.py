"""NumPy matrices and SciPy sparse matrices as batches; column j is the feature named `j`."""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.data.assemble import FEATURES_PER_BATCH, Namespaces, as_given, as_numbers, assemble, hash_names
from hutch.core.data.roles import REST, AnyRoles, Roles
from hutch.core.errors import DataError, Problem, at, reading
from hutch.core.text.hashing import hash_namespace
from hutch.core.text.parser import ParserOptions

_SOURCE = "<matrix>"
_MOST_DENSE = 1 << 28


def is_matrix(data: Any) -> bool:
    """Whether an object is a NumPy array or a SciPy sparse matrix (SciPy itself is not imported)."""
    return isinstance(data, np.ndarray) or (hasattr(data, "tocsr") and hasattr(data, "shape"))


class _Columns:
    """The hash and the namespace of each column of a matrix."""

    def __init__(self, width: int, options: ParserOptions, columns: AnyRoles) -> None:
        roles, spaces = Roles.of(columns), Namespaces(options)
        listed = roles.namespaces
        self.hashes = np.zeros(width, np.uint32)
        self.numbers = np.full(width, -1, np.int32)
        if listed is None or len(listed) == 1 and next(iter(listed.values())) == REST:
            namespace = next(iter(listed)) if listed else ""
            groups = {namespace: np.arange(width)}
        else:
            found: dict[str, list[int]] = {}
            for column in roles.features([str(j) for j in range(width)]):
                found.setdefault(column.namespace, []).append(column.position)
            groups = {namespace: np.array(positions) for namespace, positions in found.items()}
        for namespace, positions in groups.items():
            seed = np.array([hash_namespace(namespace, options.hash_seed, options.hash)], np.uint32)
            if options.hash == "strings":  # a name of digits is its own number
                hashes = positions.astype(np.uint32) + seed
            else:
                hashes = hash_names([str(j) for j in positions], seed, options)
            self.hashes[positions] = hashes & np.uint32((1 << options.bits) - 1)
            self.numbers[positions] = spaces.number(namespace)
        self.order = np.concatenate([*groups.values(), np.zeros(0, np.int64)]).astype(np.int64)
        self.ids = spaces.ids


@lru_cache(maxsize=8)
def _columns_of(width: int, options: ParserOptions, roles: str) -> _Columns:
    """Cached `_Columns` of roles, given as JSON so that they can be a key of the cache."""
    return _Columns(width, options, json.loads(roles))


def matrix_batches(
    matrix: Any, options: ParserOptions, columns: AnyRoles = None, labels: Any = None, importance: Any = None
) -> Iterator[Batch]:
    """Batches of a matrix, row by row.

    Args:
        matrix: NumPy array or SciPy sparse matrix of numbers, shape (examples, columns).
        options: how names are hashed, and the kind of the labels.
        columns: `{"namespaces": {"f": "*"}}` puts all columns into the namespace `f`, `{"namespaces": {"a": [0, 1],
            "b": "*"}}` divides them; see `hutch.core.data.roles.Roles`.
        labels: one for each row; None or NaN: unlabeled.
        importance: one for each row, ≥ 0; None: 1.

    Raises:
        ConfigError: a column that does not exist.
        DataError: not two dimensions, labels of another length, or a value that cannot be used.
    """
    with reading(_SOURCE):
        shape, matrix = matrix.shape, as_numbers("", matrix)
        if len(shape) != 2:
            raise Problem(f"got shape {shape}, wanted two dimensions: examples and columns")
        given = as_given(labels, importance)
        for name, array in given.items():
            if array.shape != (shape[0],):
                raise Problem(f"got {name} of shape {array.shape}, wanted ({shape[0]},)")
    table = _columns_of(shape[1], options, json.dumps(Roles.of(columns).plain()))
    if options.zeros and not isinstance(matrix, np.ndarray):
        if shape[0] * shape[1] > _MOST_DENSE:
            text = f"got a sparse matrix of {shape[0]} x {shape[1]}, wanted a dense one: `standardise` counts its zeros"
            raise DataError(at(_SOURCE, None, None, text))
        matrix = matrix.toarray()
    pieces = _dense(matrix, table) if isinstance(matrix, np.ndarray) else _sparse(matrix.tocsr(), table)
    for start, row_ptr, used, values in pieces:
        rows = slice(start, start + len(row_ptr) - 1)
        with reading(_SOURCE):
            batch = assemble(
                row_ptr,
                table.hashes[used],
                values,
                table.numbers[used],
                table.ids,
                options,
                start + 1,
                lambda i, _, used=used: f"column {used[i]}",  # type: ignore[misc]
                **{name: array[rows] for name, array in given.items()},
            )
        yield batch


_Piece = tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]


def _dense(matrix: NDArray[Any], columns: _Columns) -> Iterator[_Piece]:
    """Pieces of a dense matrix: first row, row offsets, columns of the features, their values."""
    width = len(columns.order)
    rows = max(1, FEATURES_PER_BATCH // max(1, width))
    for start in range(0, len(matrix), rows):
        part = matrix[start : start + rows]
        values = np.ascontiguousarray(part[:, columns.order], np.float32).ravel()
        yield start, np.arange(len(part) + 1, dtype=np.int64) * width, np.tile(columns.order, len(part)), values


def _sparse(matrix: Any, columns: _Columns) -> Iterator[_Piece]:
    """The same of a CSR matrix, cut where about `FEATURES_PER_BATCH` are full."""
    row_ptr, start = np.asarray(matrix.indptr, np.int64), 0
    while start < matrix.shape[0]:
        stop = int(np.searchsorted(row_ptr, row_ptr[start] + FEATURES_PER_BATCH, "right")) - 1
        stop = min(max(stop, start + 1), matrix.shape[0], start + FEATURES_PER_BATCH)
        piece = slice(row_ptr[start], row_ptr[stop])
        used, values = np.asarray(matrix.indices[piece], np.int64), np.asarray(matrix.data[piece], np.float32)
        if (columns.numbers[used] < 0).any():  # columns that nothing names
            values = np.where(columns.numbers[used] < 0, np.float32(0), values)
        yield start, row_ptr[start : stop + 1] - row_ptr[start], used, values
        start = stop
