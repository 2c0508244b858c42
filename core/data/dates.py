"""Dates and times of day as features for a linear learner, under names such as `seen.month`.

A date gives its year as a number, the years since 2000 with their fraction, so that a trend can be learned, and its
month and day of the week as words; a time of day gives its hour as a word. A duration is a number of seconds.
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np


class Part(NamedTuple):
    """A feature that is made of a column.

    Attributes:
        suffix: of the column's name.
        word: whether it is a word.
        of: makes the Arrow array, of strings or of float64.
    """

    suffix: str
    word: bool
    of: Callable[[Any], Any]


def _constant(value: float) -> Any:
    """A float64 as an Arrow scalar; made by Arrow from a Python number it would import pandas."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.float64(), 1, [None, pa.py_buffer(np.array([value], np.float64))])[0]


def _years(array: Any) -> Any:
    import pyarrow.compute as pc

    whole = pc.subtract(pc.cast(pc.year(array), "float64"), _constant(2000))
    days = pc.subtract(pc.cast(pc.day_of_year(array), "float64"), _constant(1))
    return pc.add(whole, pc.divide(days, _constant(365.25)))


def _word(name: str) -> Callable[[Any], Any]:
    def of(array: Any) -> Any:
        import pyarrow.compute as pc

        return pc.cast(getattr(pc, name)(array), "string")

    return of


def _seconds(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    units = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
    return pc.divide(pc.cast(pc.cast(array, pa.int64()), "float64"), _constant(units[array.type.unit]))


_DATE = (
    Part(".year", False, _years),
    Part(".month", True, _word("month")),
    Part(".weekday", True, _word("day_of_week")),
)
_HOUR = Part(".hour", True, _word("hour"))


def parts_of(types: Any, kind: Any) -> tuple[Part, ...]:
    """The features of a column of Arrow's type `kind`; none if it is neither a date, nor a time, nor a duration."""
    if types.is_timestamp(kind):
        return (*_DATE, _HOUR)
    if types.is_date(kind):
        return _DATE
    if types.is_time(kind):
        return (_HOUR,)
    if types.is_duration(kind):
        return (Part("", False, _seconds),)
    return ()


def cells_of(name: str, value: Any) -> list[tuple[str, Any]] | None:
    """The features of one cell of a kind that streams have beside numbers and words, as a column of it would have.

    Args:
        name: of the column.
        value: a date, a time of day, a duration, of Python, NumPy or pandas; a truth value of NumPy, a `Decimal`; or
            pandas' missing value, which has none.

    Returns:
        Names, each with a number or a word; None for any other value.

    >>> cells_of("seen", datetime(2026, 7, 2, 9))
    [('seen.year', 26.49828884325804), ('seen.month', '7'), ('seen.weekday', '3'), ('seen.hour', '9')]
    """
    kind = type(value).__name__
    if kind in ("NAType", "NaTType") or (kind in ("datetime64", "timedelta64") and np.isnat(value)):
        return []
    if kind == "datetime64":
        value = value.astype("datetime64[us]").item()
    elif kind == "timedelta64":
        value = value / np.timedelta64(1, "s")
    if isinstance(value, bool | np.bool_ | Decimal | float):
        return [(name, float(value))]
    if isinstance(value, timedelta):
        return [(name, value.total_seconds())]
    if isinstance(value, time):
        return [(f"{name}.hour", str(value.hour))]
    if not isinstance(value, date):
        return None
    years = float(value.year - 2000) + (value.timetuple().tm_yday - 1) / 365.25
    found = [(f"{name}.year", years), (f"{name}.month", str(value.month)), (f"{name}.weekday", str(value.weekday()))]
    return [*found, (f"{name}.hour", str(value.hour))] if isinstance(value, datetime) else found
