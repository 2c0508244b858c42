"""Vowpal Wabbit's options as one table: their meaning, the part of a chain that each sets, and whether Hutch has it.

`hutch vw` parses its command line by this table, `hutch train` and `hutch predict` take their options from it, and so
does the documentation.
"""

from hutch.vw.options.absent import ABSENT
from hutch.vw.options.common import BASES, COMMON, DECISIONS
from hutch.vw.options.declared import BASE_OPTIONS, DECISION_OPTIONS
from hutch.vw.options.option import LEARNER, Option

GROUPS: dict[str, tuple[Option, ...]] = COMMON | {DECISIONS: DECISION_OPTIONS, BASES: BASE_OPTIONS}
"""The options that Hutch has, under the headings of the help text."""

_HAD = {option.name for group in GROUPS.values() for option in group}
OPTIONS: tuple[Option, ...] = (
    *(option for group in GROUPS.values() for option in group),
    *(Option(name=name, note=advice, supported=False) for name, advice in ABSENT.items() if name not in _HAD),
)

LEARNER_OPTIONS = tuple(option for option in OPTIONS if option.part in LEARNER)
"""The options that have a meaning for any chain."""

NAMED = {option.name: option for option in OPTIONS}
