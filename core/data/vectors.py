"""Lists of numbers, such as embeddings: a namespace of their column's name, each number named by its place.

A list in which a number has a fraction, or is a float, is one; whole numbers and words alone are names, as ids are.
So it is in Vowpal Wabbit's JSON, but for whole numbers.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from hutch.core.data.dates import Part
from hutch.core.data.roles import Roles
from hutch.core.errors import DataError, Problem, reading

_MOST = 1 << 12  # columns of lists that a stream is remembered by
LISTS = (list, tuple, np.ndarray)
_FLOATS = (float, np.floating)


class Vectors:
    """Tells numbers from names in the lists of a stream of records, and remembers which columns hold which.

    Args:
        lengths: of the lists in columns of numbers so far, 0 for names that are whole numbers; others are added.
        known: further ones, to which none are added.
    """

    def __init__(self, lengths: dict[str, int] | None = None, known: Mapping[str, int] | None = None) -> None:
        self._lengths, self._known = {} if lengths is None else lengths, {} if known is None else known

    def features(self, column: str, values: Any) -> list[tuple[Any, Any]]:
        """The features of a list.

        Args:
            column: its name.
            values: numbers or names, none of them a container; or an array of numbers.

        Returns:
            Names and numbers; a missing number is None.

        Raises:
            DataError: numbers in a column of names, or the other way round; or as many as never before.

        >>> Vectors().features("e", [0.5, 2, None]), Vectors().features("ids", [7, "x"])
        ([('0', 0.5), ('1', 2), ('2', None)], [(7, 1.0), ('x', 1.0)])
        """
        if isinstance(values, np.ndarray):
            if values.ndim != 1 or values.dtype.kind not in "fiu":
                raise DataError(f"{column!r}: got an array of {values.dtype} {values.shape}, wanted a row of numbers")
            values = values.astype(float).tolist()
        if not values or isinstance(values[0], str):  # by far the most
            return [(value, 1.0) for value in values]
        length = self._lengths.get(column, self._known.get(column, -1))
        if length < 1 and not any(isinstance(value, _FLOATS) for value in values):
            self._remember(column, 0)
            return [(value, 1.0) for value in values]
        for place, value in enumerate(values):
            if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
                raise DataError(
                    f"{column!r}: number {place + 1}: got {value!r}, wanted numbers alone, or names as text"
                )
        if length == 0:
            got = f"got numbers such as {float(next(value for value in values if isinstance(value, _FLOATS)))!r}"
            raise DataError(f"{column!r}: {got}, wanted names, as whole numbers were before; write names as text")
        if length not in (-1, len(values)):
            raise DataError(f"{column!r}: got {len(values)} numbers, wanted {length} as before; write names as text")
        self._remember(column, len(values))
        return [(str(place), value) for place, value in enumerate(values)]

    def _remember(self, column: str, length: int) -> None:
        if len(self._lengths) >= _MOST:
            self._lengths.clear()
        self._lengths[column] = length


def elements_of(types: Any, kind: Any) -> tuple[Part, ...] | None:
    """The features of a column of Arrow's type `kind`, each of one place in its lists; None for any other type."""
    if not (types.is_fixed_size_list(kind) and types.is_floating(kind.value_type)):
        return None
    return tuple(Part(str(place), False, _element(place)) for place in range(kind.list_size))


def _element(place: int) -> Any:
    def of(array: Any) -> Any:
        import pyarrow.compute as pc

        return pc.list_element(array, place)

    return of


class FixedLists:
    """Gives the lists of numbers in Arrow's record batches a length in their type, the same in all of them.

    Args:
        roles: of the columns; None: all are features.

    Attributes:
        rows: the number of rows so far.
    """

    def __init__(self, roles: Roles | None = None) -> None:
        self.rows, roles = 0, roles or Roles()
        self._lengths, self._ignored = roles.lengths, frozenset(map(str, roles.ignore))

    def pieces(self, pieces: Iterable[Any], schema: Any, source: str) -> Iterator[Any]:
        """Record batches with such types; an empty one if there is none.

        Args:
            pieces: the record batches.
            schema: theirs.
            source: their name in messages.

        Raises:
            DataError: a list of another length than those before.
        """
        from pyarrow import RecordBatch

        pieces = iter(pieces)
        first = next(pieces, None)
        for piece in chain([RecordBatch.from_pylist([], schema=schema) if first is None else first], pieces):
            with reading(source):
                fixed = self._fixed(piece)
            self.rows += piece.num_rows
            yield fixed

    def _fixed(self, piece: Any) -> Any:
        import pyarrow as pa

        for place, field in enumerate(piece.schema):
            kind = field.type
            lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
            if lists and pa.types.is_floating(kind.value_type) and field.name not in self._ignored:
                column = self._column(field.name, piece.column(place))
                columns = [*piece.columns[:place], column, *piece.columns[place + 1 :]]
                piece = type(piece).from_arrays(columns, schema=piece.schema.set(place, field.with_type(column.type)))
        return piece

    def _column(self, name: str, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.fill_null(pc.cast(pc.list_value_length(column), "float64"), np.nan).to_numpy()
        there = np.flatnonzero(found > 0)
        if len(there):
            length = self._lengths.setdefault(name, int(found[there[0]]))
            if len(odd := there[found[there] != length]):
                wanted = f"{length} as before" if length else "names, as whole numbers were before"
                got = f"column {name!r}: got {int(found[odd[0]])} numbers, wanted {wanted}"
                raise Problem(got, self.rows + int(odd[0]) + 1)
        if (found == 0).any():
            column = pc.if_else(pc.equal(pc.list_value_length(column), 0), pa.scalar(None, column.type), column)
        return column.cast(pa.list_(column.type.value_type, self._lengths.get(name, 0)))
