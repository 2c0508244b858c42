"""Rows of tables as records: a number or a word at the top of a mapping is a cell, the feature that it is in CSV."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

from hutch.core.data.roles import REST, Roles

_ROLES = ("label", "importance", "base", "tag", "group")


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
        self.unused = {*(roles.key(role) for role in _ROLES if labelled), *map(str, roles.ignore)}
        self.whole = self.unused | set(map(str, roles.text))
        self._categorical = frozenset(map(str, roles.categorical))
        self._columns = roles.columns_learned

    def are(self, record: Mapping[str, Any]) -> bool:
        """Whether a mapping is a row: it has a number beside words, or a word in a column that the chain has learned.

        >>> rows = Rows(Roles())
        >>> rows.are({"age": 37, "city": "Oslo"}), rows.are({"user": {"age": 37}, "words": "good"})
        (True, False)
        """
        for name, value in record.items():
            if name in self.unused:
                continue
            cell = isinstance(value, Real) or (isinstance(value, str) and name in self._columns)
            if value is None or (cell and name not in self.whole):
                return True
        return False

    def record(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The record of a row; what holds several features is a namespace.

        >>> Rows(Roles()).record({"age": 37, "city": "Oslo", "ad": {"size": 2}})
        {'': {'age': 37, 'city': 'Oslo'}, 'ad': {'size': 2}}
        """
        record: dict[str, Any] = {}
        for name, value in row.items():
            if name in self.whole or isinstance(value, Mapping | list | tuple):
                if value is not None:
                    record[name] = _joined(value, record[name]) if name in record else value
                continue
            space = self._space.get(name, self._rest)
            if space is not None and value is not None and value != "":
                cells = record.get(space, {})
                if not isinstance(cells, dict) or space in row:
                    cells = _joined(cells, {})
                record[space] = {**cells, name: str(value) if name in self._categorical else value}
        return record


def _joined(features: Any, cells: Mapping[str, Any]) -> dict[str, Any]:
    """The features of a namespace, and cells beside them."""
    return {**(features if isinstance(features, Mapping) else dict.fromkeys(features, 1.0)), **cells}
