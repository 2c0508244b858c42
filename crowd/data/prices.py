"""What a label of each worker costs, by the column `price` of a file."""

import math
from pathlib import Path

import numpy as np

from hutch.core.errors import DataError, at
from hutch.crowd.data.kinds import columns_of
from hutch.crowd.data.labels import read_table


def read_prices(path: str | Path) -> dict[str, float]:
    """The mean price of a label by worker; empty without a column `price`.

    Args:
        path: separated text with a header; standard input is not looked at.

    Raises:
        DataError: a price is no number above 0.
    """
    data = columns_of(path, "price")
    if data is None:
        return {}
    codes, (workers, prices) = read_table(data, str(path), ("worker", "price"), optional="worker")
    values = np.array([_price(text, str(path)) for text in prices])
    totals = np.bincount(codes[:, 0], values[codes[:, 1]], len(workers))
    counts = np.bincount(codes[:, 0], minlength=len(workers))
    return dict(zip(workers, (totals / counts).tolist(), strict=True))


def _price(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise DataError(at(name, None, None, f"price: got {text!r}, wanted a number above 0"))
    return value
