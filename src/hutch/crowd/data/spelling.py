"""What a user should know of the spelling of names: of workers and tasks, and of numbers as classes."""

import re
from collections.abc import Iterable, Sequence

from hutch.crowd.data.labels import almost_alike

_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


def with_decimal_comma(classes: Iterable[str]) -> str | None:
    """The first class with a decimal comma, if all would be numbers with points in place of commas; else None.

    >>> with_decimal_comma(["1", "3,5", "2,5"]), with_decimal_comma(["1", "3.5"]), with_decimal_comma(["1,5", "good"])
    ('3,5', None, None)
    """
    found = None
    for name in classes:
        if not _NUMBER.fullmatch(name.strip()):
            return None
        found = name if found is None and "," in name else found
    return found


DECIMAL_COMMA = "is a number with a decimal comma, but counts as a word: write it with a point"
"""What a user should know of such a class."""
MANY_NAMES = 100_000
"""Of more tasks, comparing the names would take longer than reading them."""


def told_alike(workers: Sequence[str], tasks: Sequence[str]) -> list[str]:
    """What a user should know of workers and tasks whose names differ only in how they are written.

    >>> told_alike(["Ann", "bob", "ann"], ["t1", "t2"])[0][:65]
    "the workers 'Ann' and 'ann' differ only in how they are written; "
    """
    found = []
    near = {"workers": almost_alike(workers)}
    near["tasks"] = almost_alike(tasks, case=False) if len(tasks) <= MANY_NAMES else []
    for kind, groups in near.items():
        if groups:
            names, more = " and ".join(map(repr, groups[0])), f" (so do {len(groups) - 1} more)" * (len(groups) > 1)
            found.append(
                f"the {kind} {names} differ only in how they are written{more}; "
                "each counts on its own: write them alike if they are the same"
            )
    return found
