"""Names of classes in a column of labels, such as `no` and `yes`, and the chain's labels for them."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ConfigError, DataError, did_you_mean, shortened
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.parser import LabelKind

_MOST = 20  # classes that a message names
_NUMBER, _COMMA = re.compile(r"[-+.\d]+"), re.compile(r"[-+]?\d*,\d+|[-+]?\d+,?")


class ClassNames:
    """The labels for names of classes: 1 for the first, 2 for the second, or of two -1 and 1.

    Args:
        names: of the classes, in their order.
        kind: of the chain's labels: classes count from 1; where labels are simple, there are two names, -1 and 1.

    Attributes:
        names: as text.

    Raises:
        ConfigError: an empty name, one with blanks around it, a duplicate, or names where labels are
            not of classes.

    >>> names = ClassNames(["ham", "spam"], "simple")
    >>> names.label("spam"), ClassNames(["ham", "spam"], "multiclass").label("spam")
    (1.0, 2.0)
    """

    def __init__(self, names: Sequence[str | int], kind: LabelKind) -> None:
        self.names = tuple(map(str, names))
        for k, name in enumerate(self.names):
            if not name or name != name.strip() or name in self.names[:k]:
                raise ConfigError(f"columns.classes: got {name!r}, wanted names that differ, without blanks around")
        if kind not in ("simple", "multiclass"):
            raise ConfigError(f"columns.classes: got names of classes, the chain's labels are {kind.replace('_', ' ')}")
        if kind == "simple" and len(self.names) != 2:
            wanted = "wanted two, or a layer such as one_against_all on top"
            raise ConfigError(f"columns.classes: got {len(self.names)} for a chain that predicts a number, {wanted}")
        values = [-1.0, 1.0] if kind == "simple" else [1.0 + k for k in range(len(self.names))]
        self._labels = dict(zip(self.names, values, strict=True))

    def find(self, name: object) -> float | None:
        """The label of a name, a word or a number whose digits are one; None if it names no class."""
        return self._labels.get(str(name).strip())

    def label(self, name: object) -> float:
        """The label of a name.

        Raises:
            DataError: it names no class.
        """
        found = self.find(name)
        if found is None:
            raise DataError(self.wrong(str(name)))
        return found

    def wrong(self, name: str) -> str:
        """Message about an unknown name."""
        return f"got {shortened(name)!r}, wanted a class; {did_you_mean(name, self.names)}"

    def label_cells(self, cells: Sequence[bytes], out: NDArray[np.float32]) -> int:
        """Write the labels of cells, `UNLABELED` for empty ones.

        Returns:
            The first row whose cell names no class; -1 if all do.
        """
        names = {cell: cell.decode(errors="surrogateescape").strip(" ") for cell in set(cells)}
        labels = {cell: self._labels.get(name) if name else UNLABELED for cell, name in names.items()}
        if None in labels.values():
            return next(row for row, cell in enumerate(cells) if labels[cell] is None)
        out[:] = [labels[cell] for cell in cells]
        return -1


def class_names(names: Sequence[str | int], kind: LabelKind) -> ClassNames | None:
    """The names of classes, None if there are none, or they are those of actions, see `hutch.core.data.choices`."""
    return ClassNames(names, kind) if names and kind not in ("logged_action", "logged_class") else None


def numbers_wanted(labels: Iterable[bytes], wanted: str = "a number") -> str:
    """What is wanted in place of a word in a column of numbers.

    Args:
        labels: cells of the column, if it holds labels.
        wanted: there, at any rate.

    >>> numbers_wanted([b"spam", b"ham", b"spam", b""])
    'wanted a number, or names of classes under columns.classes (--classes ham,spam)'
    >>> numbers_wanted([b"1,5", b"-0,25"])
    "wanted a number as in 1200.5 (decimal commas of CSV files: input.columns.decimal: ',')"
    """
    cells = {cell.decode(errors="replace").strip() for cell in labels}
    if not cells:
        return f"wanted {wanted}"
    words = sorted(cells - {""})
    few = 1 < len(words) <= _MOST and not any("," in word or _NUMBER.fullmatch(word) for word in words)
    if words and all(_COMMA.fullmatch(word) for word in words):
        return f"wanted {wanted} as in 1200.5 (decimal commas of CSV files: input.columns.decimal: ',')"
    return f"wanted {wanted}, or names of classes under columns.classes" + f" (--classes {','.join(words)})" * few
