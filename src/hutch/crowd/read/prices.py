"""The price of a label of each worker, from the column `price` of a file."""

from pathlib import Path

import numpy as np

from hutch.core.errors import Problem, reading
from hutch.crowd.data.asked import ColumnNames
from hutch.crowd.data.values import number_in
from hutch.crowd.read.kinds import beside_workers


def read_prices(path: str | Path, columns: str | ColumnNames | None = None) -> dict[str, float]:
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
