"""The label of a decision for a number in a record: `{"number": 1.5, "cost": 0.2, "density": 0.1}`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hutch.core.data.assemble import is_number

_KEYS = ("number", "cost", "density")


def logged_number(label: Any) -> tuple[float, float, float] | None:
    """Number, cost and density of a label; None if it is not one.

    >>> logged_number({"number": 3, "cost": 0.5, "density": 0.25}), logged_number(3)
    ((3.0, 0.5, 0.25), None)
    """
    if not isinstance(label, Mapping):
        return None
    values: list[Any] = [label.get(name) for name in _KEYS]
    if not all(map(is_number, values)) or not np.float32(values[2]) > 0:
        return None
    number, cost, density = map(float, values)
    return number, cost, density
