"""Rows of numbers from a file: .npy, .npz or .csv."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.cells import Records, read_records
from hutch.core.errors import DataError, UsageError, at, did_you_mean, shortened
from hutch.em.base.model import Rows
from hutch.em.ppca.model import TAKES_MISSING, checked_rows

_MISSING = {"", "na", "nan", "null", "?"}


class Table(NamedTuple):
    """The contents of a file: rows (samples, features) and, on request, the class of each row."""

    rows: Rows
    classes: NDArray[Any] | None

    def class_name(self, row: int) -> str | None:
        """The class of a row as text, the same for 1, 1.0 and the word 1; None if classes were not asked for."""
        if self.classes is None:
            return None
        value = self.classes[row].item()
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def read_rows(path: str | Path, classes: str | None = None, missing: bool = False) -> Table:
    """Read a file of rows.

    Args:
        path: `.npy`: one array; `.npz`: its array `X`, or its only one with two dimensions; `.csv`: commas between,
            names in the first line if any of it is not a number, missing values empty or `NA`.
        classes: the array of an `.npz` or the column of a `.csv`, by name or number from 1, that holds each row's
            class; it is not a feature.
        missing: allow missing values.

    Raises:
        UsageError: an unknown ending, or a class column where none is possible.
        DataError: the file cannot be read, or a cell is not a number; the message gives the place.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path, str | None], Table]] = {
        ".npy": _read_npy,
        ".npz": _read_npz,
        ".csv": partial(_read_csv, missing=missing),
    }
    if path.suffix not in readers:
        raise UsageError(f"{path}: got a file named *{path.suffix}, wanted one of {', '.join(sorted(readers))}")
    try:
        table = readers[path.suffix](path, classes)
        rows = checked_rows(table.rows, None, missing)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError) as error:
        raise DataError(f"{path}: {error}") from None
    except DataError as error:
        raise error if str(error).startswith(str(path)) else DataError(f"{path}: {error}") from None
    if not len(rows):
        raise DataError(f"{path}: got no rows")
    if table.classes is not None and table.classes.shape != (len(rows),):
        raise DataError(f"{path}: {classes}: got shape {table.classes.shape}, wanted ({len(rows)},)")
    return Table(rows, table.classes)


def _read_npy(path: Path, classes: str | None) -> Table:
    if classes is not None:
        raise UsageError(f"{path}: a .npy file has no column {classes!r}; wanted .npz or .csv")
    return Table(np.load(path, mmap_mode="r", allow_pickle=False), None)


def _read_npz(path: Path, classes: str | None) -> Table:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    if classes is not None and classes not in arrays:
        raise UsageError(f"{path}: no array {classes!r}; {did_you_mean(classes, arrays)}")
    tables = [name for name, array in arrays.items() if array.ndim == 2 and name != classes]
    if "X" not in tables and len(tables) != 1:
        raise DataError(f"{path}: got {len(tables)} arrays of two dimensions, wanted one, or one named X")
    return Table(arrays["X" if "X" in tables else tables[0]], None if classes is None else arrays[classes])


def _read_csv(path: Path, classes: str | None, missing: bool) -> Table:
    rows: list[Rows] = []
    labels: list[str] = []
    features: list[int] = []
    column: int | None = None
    for number, records in enumerate(read_records(str(path))):
        if number == 0:
            first = next(records.rows())
            header = any(_number(cell) is None for cell in first)
            column = None if classes is None else _column(path, classes, first if header else [], len(first))
            features = [i for i in range(len(first)) if i != column]
            records = records.after(int(header))
        rows.append(_numbers(records, features, missing))
        if column is not None:
            labels += [cell.decode() for cell in records.column(column)]
    if not rows:
        raise DataError(f"{path}: got no rows")
    return Table(np.concatenate(rows), None if column is None else np.array(labels, str))


def _numbers(records: Records, columns: list[int], missing: bool) -> Rows:
    """Some columns as numbers, NaN where a value is marked as missing, if it may be."""
    found = np.empty((len(records), len(columns)))
    for k, column in enumerate(columns):
        cells = records.column(column)
        try:
            found[:, k] = np.array(cells, np.bytes_).astype(np.float64)
        except ValueError:  # missing values or mistakes
            numbers = [_number(cell.decode(errors="replace")) for cell in cells]
            if None in numbers:
                raise _wrong(records, numbers.index(None), column, "wanted a number") from None
            found[:, k] = np.array(numbers, np.float64)
        if not missing and len(empty := np.flatnonzero(np.isnan(found[:, k]))):
            raise _wrong(records, int(empty[0]), column, f"wanted a number; {TAKES_MISSING}")
    return found


def _wrong(records: Records, row: int, column: int, wanted: str) -> DataError:
    """The error about a cell."""
    got = shortened(records.column(column)[row].decode(errors="replace"))
    return DataError(at(records.source, int(records.lines[row]), column + 1, f"got {got!r}, {wanted}"))


def _number(cell: str) -> float | None:
    """The number in a cell; NaN if it is marked as missing, None if it is anything else."""
    try:
        return float(cell)
    except ValueError:
        return float("nan") if cell.strip().lower() in _MISSING else None


def _column(path: Path, wanted: str, names: list[str], width: int) -> int:
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= width:
        return int(wanted) - 1
    known = did_you_mean(wanted, names) if names else f"wanted a number from 1 to {width}"
    raise UsageError(f"{path}: no column {wanted!r}; {known}")
