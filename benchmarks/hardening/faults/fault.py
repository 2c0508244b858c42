"""The faults that `plant_faults.py` plants."""

from typing import NamedTuple


class Fault(NamedTuple):
    """One small fault.

    Attributes:
        area: of `TESTS`.
        says: what is wrong.
        file: where.
        right: text that stands there once.
        wrong: what is written instead.
    """

    area: str
    says: str
    file: str
    right: str
    wrong: str
