"""Names of classes in a column of labels, such as `no` and `yes`: the labels of a chain that they stand for."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import ConfigError, DataError, did_you_mean, shortened
from hutch.core.kernel.abi import UNLABELED, array_at, float32s_at, int64s_at
from hutch.core.kernel.cache import entry
from hutch.core.text.parser import LabelKind

_BLANK = 32
_bytes_at = array_at(np.uint8)


@entry("int64(uint64, uint64, int64, int64, int64, uint64, uint64, int64, uint64, uint64)")
def _label_cells(clean_at, cells_at, width, position, rows, names_at, ends_at, count, labels_at, out_at):
    """Labels of the cells of a column; returns the first row whose cell is not a name, -1 if there is none."""
    cells, ends = int64s_at(cells_at, 2 * rows * width), int64s_at(ends_at, count + 1)
    labels, out = float32s_at(labels_at, count), float32s_at(out_at, rows)
    for row in range(rows):
        start, stop = cells[2 * (row * width + position)], cells[2 * (row * width + position) + 1]
        cell = _bytes_at(clean_at, stop)
        while stop > start and cell[stop - 1] == _BLANK:
            stop -= 1
        while start < stop and cell[start] == _BLANK:
            start += 1
        out[row] = UNLABELED
        if start == stop:
            continue
        found = -1
        for k in range(count):
            if ends[k + 1] - ends[k] != stop - start:
                continue
            name, same = _bytes_at(names_at, ends[k + 1]), 0
            while same < stop - start and name[ends[k] + same] == cell[start + same]:
                same += 1
            if same == stop - start:
                found = k
                break
        if found < 0:
            return row
        out[row] = labels[found]
    return -1


class ClassNames:
    """The labels that the names of classes stand for: 1 for the first, 2 for the second, or of two -1 and 1.

    Args:
        names: of the classes, in their order.
        kind: of the chain's labels: classes count from 1; where labels are simple, there are two names, -1 and 1.

    Attributes:
        names: as text.

    Raises:
        ConfigError: an empty name, one with blanks around it, one that stands twice, or names where labels are
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
        encoded = [name.encode() for name in self.names]
        self._text = np.frombuffer(b"".join(encoded), np.uint8)
        self._ends = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
        self._values = np.array(values, np.float32)

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
        """What to say of an unknown name."""
        return f"got {shortened(name)!r}, wanted a class; {did_you_mean(name, self.names)}"

    def label_cells(
        self, clean: NDArray[np.uint8], cells: NDArray[np.int64], width: int, position: int, out: NDArray[np.float32]
    ) -> int:
        """Write the labels of a column of cells, `UNLABELED` for empty ones.

        Args:
            clean: uint8, the text.
            cells: int64 (2 rows width), where each cell begins and ends.
            width: cells per row.
            position: of the column.
            out: float32 (rows).

        Returns:
            The first row whose cell names no class; -1 if there is none.
        """
        return int(
            _label_cells(
                clean.ctypes.data,
                cells.ctypes.data,
                width,
                position,
                len(out),
                self._text.ctypes.data,
                self._ends.ctypes.data,
                len(self.names),
                self._values.ctypes.data,
                out.ctypes.data,
            )
        )


def class_names(names: Sequence[str | int], kind: LabelKind) -> ClassNames | None:
    """The names of classes, None where there are no names."""
    return ClassNames(names, kind) if names else None
