"""Faults in the other rooms."""

from fault import Fault

TESTS: dict[str, list[str]] = {}
"""The tests that are to notice a fault in an area."""

FAULTS: tuple[Fault, ...] = ()
