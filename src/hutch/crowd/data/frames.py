"""Labels in frames of pandas, polars or Arrow with the columns `task`, `worker` and `label`, and frames of results."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from hutch.core.data.roles import refuse_twice
from hutch.core.errors import DataError, counted, did_you_mean, warn
from hutch.core.strict_json import dumps
from hutch.crowd.data.codes import known_first
from hutch.crowd.data.labels import class_order
from hutch.crowd.data.unsure import says_unsure
from hutch.crowd.data.values import NO_LABEL, Problems, name_of

COLUMNS = ("worker", "task", "label")


@dataclass
class FrameVotes:
    """Labels of a frame.

    Attributes:
        triples: (worker, task, label) as text.
        originals: for each of them the values that the frame holds, by their text.
        package: `pandas`, `polars` or `pyarrow`: the library of the results.
        classes: those that the type of the label column declares, whether or not a row has them; empty if it declares
            none.
        ordered: the type declares an order of them.
    """

    triples: list[tuple[str, str, str]] = field(default_factory=list)
    originals: tuple[dict[str, Any], dict[str, Any], dict[str, Any]] = field(default_factory=lambda: ({}, {}, {}))
    package: str = "pyarrow"
    classes: list[str] = field(default_factory=list)
    ordered: bool = False

    def frame(self, index: str, columns: dict[str, Any]) -> Any:
        """Columns as a frame of the same package; in pandas `index` is its index."""
        return make_frame(self.package, index, columns)

    def extend(self, other: "FrameVotes") -> None:
        """Add the labels of another frame."""
        self.triples += other.triples
        self.package = other.package
        self.ordered = other.ordered and (self.ordered or not self.classes)
        self.classes = known_first(self.classes, other.classes)
        for mine, theirs in zip(self.originals, other.originals, strict=True):
            for name, value in theirs.items():
                mine.setdefault(name, value)


def is_frame(data: Any) -> bool:
    """Whether labels are a frame, and not rows."""
    columns = hasattr(data, "columns") or hasattr(data, "column_names")  # a single one is no frame
    return columns and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "iloc"))


def read_frame(frame: Any) -> FrameVotes:
    """The labels of a frame; rows without a label are left out with a warning.

    Args:
        frame: with the columns `worker`, `task` and `label`, of any types; others are ignored.

    Raises:
        DataError: a column is missing, or a task is.
    """
    names = [str(name) for name in _names(frame)]
    for role in COLUMNS:
        if role not in names:
            got = f"got columns {', '.join(names)}, wanted {', '.join(COLUMNS)}"
            raise DataError(f"X: no column {role!r}; {did_you_mean(role, names)}; {got}")
    package = type(frame).__module__.partition(".")[0]
    found = FrameVotes(package=package if package in ("pandas", "polars") else "pyarrow")  # else of Arrow
    declared, found.ordered = _declared(frame["label"])
    for value in declared:
        found.originals[2][name_of(value)] = value
    names = list(found.originals[2])
    found.classes = names if found.ordered else class_order(names)
    problems = Problems()
    for number, row in enumerate(zip(*(_values(frame[role]) for role in COLUMNS), strict=True)):
        worker, task, label = ("" if _missing(value) else name_of(value) for value in row)
        if not task:
            raise DataError(f"X: row {number}: the task is empty")
        if not label.strip():
            problems.add(NO_LABEL, f"row {number}")
            continue
        if says_unsure(label) and label not in names:
            problems.add_unsure(label, f"row {number}")
            continue
        for known, name, value in zip(found.originals, (worker, task, label), row, strict=True):
            known.setdefault(name, value)
        found.triples.append((worker, task, label))
    for line in problems.lines("X"):
        warn(line)
    if nameless := sum(not worker for worker, _, _ in found.triples):
        warn(f"X: {counted(nameless, 'label')} without a worker: all are taken as one person's")
    return found


def text_of(frame: Any) -> bytes:
    """A frame as comma-separated text with a header, as a file of labels holds it.

    An index of pandas comes first unless it only counts the rows; lists and records are JSON in their cells.
    """
    if hasattr(frame, "reset_index") and (frame.index.name is not None or frame.index.nlevels > 1):
        frame = frame.reset_index()
    refuse_twice([str(name) for name in _names(frame)])
    columns = [[_cell(value) for value in _values(frame[name])] for name in _names(frame)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(str, _names(frame)))
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def originals_of(frame: Any, names: Sequence[str]) -> dict[str, Any]:
    """The values that stand for some names: those of the column, or of the index, that has them and fewest others."""
    index = [frame.index] if hasattr(frame, "reset_index") else []
    wanted, found = set(names), list[dict[str, Any]]()
    for column in (*(frame[name] for name in _names(frame)), *index):
        known = {_cell(value): value for value in _values(column)}
        if wanted <= known.keys():
            found.append(known)
    return min(found, key=len, default={})


def declared_of(frame: Any, classes: Sequence[str]) -> tuple[list[str], bool]:
    """The names that the type of a column declares which has all these classes, and whether they are ordered.

    Nothing is declared if no column, or more than one, has such a type.
    """
    found = [(list(map(name_of, values)), ordered) for values, ordered in (_declared(frame[k]) for k in _names(frame))]
    fitting = [(names, ordered) for names, ordered in found if names and set(classes) <= set(names)]
    return fitting[0] if len(fitting) == 1 else ([], False)


def package_of(data: Any) -> str:
    """The package of the frames that results come as: that of the data, else pandas if it is installed, else Arrow."""
    package = type(data).__module__.partition(".")[0] if is_frame(data) else "pandas"
    if package == "pandas" and not find_spec("pandas"):
        return "pyarrow"
    return package if package in ("pandas", "polars") else "pyarrow"


def _names(frame: Any) -> list[Any]:
    return list(getattr(frame, "column_names", None) or frame.columns)


def _cell(value: Any) -> str:
    if isinstance(value, list | dict | tuple):
        return dumps(value)
    return "" if _missing(value) else name_of(value)


def make_frame(package: str, index: str, columns: dict[str, Any]) -> Any:
    """Columns as a frame of a package that is loaded already; in pandas `index` is its index."""
    if package == "pandas":
        import pandas

        return pandas.DataFrame(columns).set_index(index)
    if package == "polars":
        import polars

        return polars.DataFrame(columns)
    from hutch.core.data.arrow import arrow

    return arrow().table(columns)


def _declared(column: Any) -> tuple[list[Any], bool]:
    """The classes that the type of a column declares, and whether they are ordered.

    pandas' `category` and polars' `Enum` do; Arrow's dictionaries are a way to store values.
    """
    if hasattr(column, "cat") and (categories := getattr(column.dtype, "categories", None)) is not None:
        return _values(categories), bool(getattr(column.dtype, "ordered", False))
    return [], False


def _values(column: Any) -> list[Any]:
    """The values of a column as Python has them."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _missing(value: Any) -> bool:
    """None, NaN, NaT or NA: any value that is not equal to itself, or whose comparison fails."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True
