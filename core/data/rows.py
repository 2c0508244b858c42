"""Rows of tables as records: a number, a word or a date at the top of a mapping is a cell, as in a table's column."""

import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, Self

import numpy as np

from hutch.core.data.dates import cells_of
from hutch.core.data.roles import REST, Roles
from hutch.core.data.vectors import LISTS, Vectors
from hutch.core.data.words import words_of

_CELLS = frozenset((float, int, str, bool, type(None)))
_SPACES = frozenset((dict, *LISTS))
"""Types of most cells and of most namespaces, known without asking what else they may be."""
_WHOLE = 1e15  # below it Arrow writes whole numbers without an exponent
_ROLES = ("label", "importance", "base", "tag", "group")


class Pairs(list[tuple[str, Any]]):
    """Features of a namespace, a name and a value each; a name may come several times."""

    @classmethod
    def of(cls, features: Any) -> Self:
        """The features that a namespace of a record holds: a mapping, names, or one name."""
        if isinstance(features, cls):
            return features
        if isinstance(features, Mapping):
            return cls(features.items())
        return cls([(features, 1.0)] if isinstance(features, str) else Vectors().features("", features))


class Rows:
    """Makes records from mappings that may be rows of a table.

    Args:
        roles: of the columns.
        labelled: the label, the importance, the base, the tag and the group stand in the rows, too.

    Attributes:
        unused: names of columns that are no features.
        whole: these, and those of text, whose words are features of a namespace of its own.
    """

    def __init__(self, roles: Roles, labelled: bool = True) -> None:
        spaces = {"": REST} if roles.namespaces is None else roles.namespaces
        listed = {n: [columns] if isinstance(columns, str) else columns for n, columns in spaces.items()}
        self._space = {str(column): name for name, columns in listed.items() for column in columns}
        self._rest = self._space.pop(REST, None)
        self._order = [str(column) for columns in listed.values() for column in columns] if self._space else []
        self._texts = frozenset(map(str, roles.text))
        self.unused = {*(roles.key(role) for role in _ROLES if labelled), *map(str, roles.ignore)}
        self.whole = self.unused | self._texts
        self._categorical = frozenset(map(str, roles.categorical))
        self._columns = roles.columns_learned

    def are(self, record: Mapping[str, Any]) -> bool:
        """Whether a mapping is a row: it has a number beside words, or a word in a column that the chain has learned.

        So has one with text that goes to another namespace than its own.

        >>> rows = Rows(Roles())
        >>> rows.are({"age": 37, "city": "Oslo"}), rows.are({"user": {"age": 37}, "words": "good"})
        (True, False)
        """
        for name, value in record.items():
            if name in self.unused:
                continue
            if name in self._texts and name in self._space:
                return True
            cell = isinstance(value, Real) or (isinstance(value, str) and name in self._columns)
            cell = cell or (type(value) not in _SPACES and cells_of(str(name), value) is not None)
            if value is None or (cell and name not in self.whole):
                return True
        return False

    def record(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a row; what holds several features is a namespace.

        >>> Rows(Roles()).record({"age": 37, "city": "Oslo", "ad": {"size": 2}})
        {'': [('age', 37), ('city', 'Oslo')], 'ad': {'size': 2}}
        """
        record: dict[str, Any] = {}
        lists: dict[str, Any] = {}  # behind all cells, as the numbers and the words of tables are
        texts = []
        for name, value in self._in_order(row) if self._order else row.items():
            if value is None:
                continue
            if name in self._texts and isinstance(value, str):
                texts.append((self._space.get(name, name), value))
            elif name in self.unused:
                record[name] = value
            elif type(value) not in _CELLS and isinstance(value, LISTS):
                lists[name] = value
            elif name in self.whole or (type(value) not in _CELLS and isinstance(value, Mapping)):
                record[name] = Pairs(Pairs.of(value) + record[name]) if name in record else value
            elif (space := self._space.get(name, self._rest)) is None:
                continue
            elif name in self._categorical:
                self._add(record, space, () if _is_missing(value) else ((name, _word_of(value)),))
            elif type(value) not in _CELLS and (cells := cells_of(str(name), value)) is not None:
                self._add(record, space, cells)
            elif value != "":
                self._add(record, space, ((name, value),))
        for space, values in lists.items():
            record[space] = Pairs(record[space] + Pairs.of(values)) if space in record else values
        for space, text in texts:
            self._add(record, space, [(word, 1.0) for word in words_of(text)])
        return record

    def _in_order(self, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """The cells in the order of a table's features, which decides how sums are rounded."""
        rest = [name for name in row if name not in self._space]
        for column in [*self._order, *([] if REST in self._order else [REST])]:
            for name in rest if column == REST else (column,):
                yield name, row.get(name)

    @staticmethod
    def _add(record: dict[str, Any], space: str, features: Iterable[tuple[str, Any]]) -> None:
        """Add features to a namespace."""
        found = record.get(space)
        if type(found) is not Pairs:
            found = record[space] = Pairs() if found is None else Pairs(Pairs.of(found))
        found += features


def _is_missing(value: Any) -> bool:
    """Whether a cell of a column of categories is empty, or what pandas has where there is none."""
    return value == "" or value != value if isinstance(value, str | Real) else cells_of("", value) == []


def _word_of(value: Any) -> str:
    """A cell of a categorical column as the word that a frame's column has: true for True, and 2 for 2.0."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    number = float(value) if isinstance(value, float | np.floating) else math.nan
    return str(int(number)) if number.is_integer() and abs(number) < _WHOLE else str(value)
