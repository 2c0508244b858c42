"""Rows of streams, as River has them: mappings of names to values, one at a time, or frames of them."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.arrow_tables import kind_of, table_of
from hutch.chain import Chain
from hutch.core.batch import Batch
from hutch.core.data.arrow import is_table, table_batches
from hutch.core.data.dates import cells_of
from hutch.core.data.disguises import coarse, disguise
from hutch.core.data.roles import REST, Roles
from hutch.core.data.vectors import LISTS
from hutch.core.errors import DataError, warn

Features = Mapping[Any, Any]

_PLAIN = frozenset((float, int, str, type(None)))
_LOOKED_AT = (32, 256)  # rows of a stream after which its columns are judged


def takes_pairs(chain: Chain) -> bool:
    """Whether a chain learns pairs of namespaces, so that words are namespaces of their own."""
    return any(layer.inputs.pairs_namespaces for layer in chain.layers)


def record_of(x: Features, apart: bool = False) -> dict[str, Any]:
    """A row as a record; names are in order, for a sum of float32 depends on it, and River's rows have none.

    Args:
        x: the row.
        apart: each word is a namespace of its own name.

    >>> import datetime
    >>> record_of({"b": 2, "a": "x", "c": datetime.time(9, 30)})
    {'': {'a': 'x', 'b': 2, 'c.hour': '9'}}
    >>> record_of({"b": 2, "a": "x"}, apart=True)
    {'': {'b': 2}, 'a': {'a': 'x'}}
    """
    named = x if all(type(name) is str for name in x) else {str(name): value for name, value in x.items()}
    found: dict[str, Any] = {}
    lists: dict[str, Any] = {}  # namespaces of their own
    words: dict[str, Any] = {}
    for name in sorted(named):
        value = named[name]
        if isinstance(value, str) and not value:  # missing, as in a frame
            continue
        if isinstance(value, LISTS):
            lists[name] = value
        elif apart and isinstance(value, str):
            words[name] = {name: value}
        elif type(value) in _PLAIN or (cells := cells_of(name, value)) is None:
            found[name] = value
        else:
            found.update(cells)
    return {"": found, **words, **lists}


def frame_of(X: Any) -> Any:
    """A frame as an Arrow table, its columns in the order of `record_of`, without an index.

    Raises:
        DataError: X is no frame, or has columns that Arrow lacks.
    """
    if not is_table(X) or isinstance(X, np.ndarray):
        raise DataError(f"X: got {type(X).__name__}, wanted a frame of pandas, polars or Arrow")
    table = table_of(X)
    return table.select(sorted(table.column_names))


def batches_of(chain: Chain, table: Any, labels: Any = None, importance: Any = None) -> Iterator[Batch]:
    """The rows of `frame_of`, as a chain takes them.

    Args:
        chain: it has no role for a column.
        table: the rows.
        labels, importance: of each row, float32; None: none, and 1.
    """
    roles = Roles()
    if takes_pairs(chain):
        words = [field.name for field in table.schema if kind_of(field.type) == "words"]
        roles = Roles(namespaces={"": REST} | {name: (name,) for name in words})
    roles = (roles.optional() if labels is None else roles).watched(chain.watch.of_lengths())
    return table_batches([table], chain.parser, roles, labels, importance)


def labels_of(y: Any, table: Any) -> list[Any]:
    """The values of a series, an array or a list, as Python's own, one for each row.

    Raises:
        DataError: there are more or fewer.

    >>> labels_of(np.array([1, 2]), [None, None])
    [1, 2]
    """
    names = [name for name in ("to_pylist", "to_list", "tolist") if hasattr(y, name)]
    found = list(getattr(y, names[0])() if names else y)
    if len(found) != len(table):
        raise DataError(f"y: got {len(found)} labels, wanted one for each of {len(table)} rows")
    return found


def weights_of(w: Any, table: Any) -> NDArray[np.float32]:
    """The importance of each row, of one number or a series of them.

    Raises:
        DataError: there are more or fewer.
    """
    found = np.asarray(w, np.float32)
    if found.ndim and len(found) != len(table):
        raise DataError(f"w: got {len(found)} weights, wanted one for each of {len(table)} rows")
    return np.broadcast_to(found, len(table))


def like(X: Any, values: list[Any] | NDArray[Any], name: str | None = None) -> Any:
    """Values for the rows of a frame: a series of pandas or polars if X is of that, else an array."""
    if hasattr(X, "iloc"):
        import pandas as pd

        return pd.Series(values, index=X.index, name=name)
    if type(X).__module__.partition(".")[0] == "polars":
        import polars as pl

        return pl.Series(name or "", values)
    return np.asarray(values)


class Doubts:
    """Looks at the first rows of a stream for words and numbers that may not be what they seem, and warns of them."""

    def __init__(self) -> None:
        self._rows = 0
        self._seen: dict[str, list[Any]] = {}
        self._told: set[str] = set()

    def see(self, x: Features) -> None:
        """Look at a row that is learned."""
        if self._rows == _LOOKED_AT[-1]:
            return
        self._rows += 1
        for name, value in x.items():
            self._seen.setdefault(str(name), []).append(value)
        if self._rows in _LOOKED_AT:
            for name in [name for name in self._seen if name not in self._told]:
                if text := self._doubt(name):
                    self._told.add(name)
                    warn(f"x: {text}")
        if self._rows == _LOOKED_AT[-1]:
            self._seen.clear()

    def see_table(self, table: Any) -> None:
        """Look at the rows of a table that is learned."""
        if left := _LOOKED_AT[-1] - self._rows:
            for row in table.slice(0, left).to_pylist():
                self.see(row)

    def _doubt(self, name: str) -> str:
        words = [value for value in self._seen[name] if isinstance(value, str) and value]
        numbers = [float(value) for value in self._seen[name] if isinstance(value, int | float) and value == value]
        if found := disguise(list(dict.fromkeys(words)), len(numbers)):
            return found.text(name, "stream")
        return coarse(name, min(numbers, default=math.nan), max(numbers, default=math.nan))
