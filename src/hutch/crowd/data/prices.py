"""The price of a label of each worker, from the column `price` of a file."""

import math
from pathlib import Path

import numpy as np

from hutch.core.errors import Problem, reading
from hutch.crowd.data.kinds import beside_workers
from hutch.crowd.exports.found import Columns


def read_prices(path: str | Path, columns: str | Columns | None = None) -> dict[str, float]:
    """The mean price of a label by worker; empty without a column `price`.

    Args:
        path: separated text with a header; standard input is not examined.
        columns: as in `read_labels`; only the worker's counts.

    Raises:
        DataError: a price is not a number above 0.
    """
    with reading(str(path)):
        rows = beside_workers(path, "price", columns)
        if rows is None:
            return {}
        workers, prices = rows.names
        values = np.array([number_in(text) for text in prices])
        if len(wrong := np.flatnonzero(~(np.isfinite(values) & (values > 0)))):
            text = prices[wrong[0]]
            raise Problem(f"price: got {text!r}, wanted a number above 0", *rows.place(1, int(wrong[0])))
    totals = np.bincount(rows.codes[:, 0], values[rows.codes[:, 1]], len(workers))
    counts = np.bincount(rows.codes[:, 0], minlength=len(workers))
    return dict(zip(workers, (totals / counts).tolist(), strict=True))


def number_in(text: str) -> float:
    """The number that a text is, NaN for any other.

    >>> number_in("2.5"), number_in("2.5 kg")
    (2.5, nan)
    """
    try:
        return float(text)
    except ValueError:
        return math.nan
