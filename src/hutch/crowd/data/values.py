"""The label that a value of a cell or a field is, the name of a worker or a task, and labels left out with reasons."""

import math
from dataclasses import dataclass, field
from typing import Any

from hutch.core.errors import shortened
from hutch.crowd.data.unsure import AS_MISSING

NO_LABEL = "without a label"
SEVERAL = "with two labels at once"
NO_NAME = "with a label that is neither a word nor a number"
REJECTED = "rejected"
SKIPPED = "skipped"
TWO_TRUTHS = "with a second, different gold label"
SPANS = "with spans, which are not classes"
HEADING = "below the header, which repeat it"
TAINTED = "tainted"
UNSURE = "not sure"
"""A reason for leaving a label out, as in messages."""
NO_LABELS = (NO_LABEL, SEVERAL, NO_NAME)
"""Results of `label_of` for values that are not labels."""
MISSING = frozenset(("N/A", "n/a", "#N/A", "NA", "<NA>", "NaN", "nan", "NULL", "null", "None"))
"""Texts that spreadsheets, pandas, Python and R write into a cell without a value."""
SET_SIGN = "\x1f"
"""Between the labels of a set, as one name; the empty name is the empty set."""


@dataclass
class Problems:
    """Labels left out: their number and first place, by reason; and those that mean "I do not know", by word."""

    found: dict[str, tuple[int, str]] = field(default_factory=dict)
    unsure: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, place: str, count: int = 1) -> None:
        """Count some labels left out for a reason; the first place is kept."""
        if count:
            before, first = self.found.get(reason, (0, place))
            self.found[reason] = (before + count, first)

    def add_unsure(self, word: str, place: str, count: int = 1) -> None:
        """Count some labels of a word that is no answer."""
        self.add(f"of {word!r}, which is no answer", place, count)
        if count:
            self.unsure[word] = self.unsure.get(word, 0) + count

    def extend(self, other: "Problems") -> None:
        """Count those of another part of the same source."""
        for reason, (count, place) in other.found.items():
            self.add(reason, place, count)
        for word, count in other.unsure.items():
            self.unsure[word] = self.unsure.get(word, 0) + count

    @property
    def total(self) -> int:
        """Number of labels left out."""
        return sum(count for count, _ in self.found.values())

    def lines(self, source: str) -> list[str]:
        """A message for each reason.

        >>> problems = Problems()
        >>> problems.add(NO_LABEL, "line 3", 2)
        >>> problems.lines("votes.csv")
        ['votes.csv: left out: 2 without a label (first: line 3)']
        """
        return [f"{source}: left out: {count} {why} (first: {place})" for why, (count, place) in self.found.items()]


def unsure_in(problems: Problems, how: str = AS_MISSING) -> dict[str, Any]:
    """The part of a summary on labels that mean that a worker does not know, for `taken_as`; empty without any."""
    return {"unsure": {"counts": problems.unsure, "how": how}} if problems.unsure else {}


def name_of(value: Any) -> str:
    """The name of a worker, task or label: text unchanged, whole numbers without a fraction, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def label_of(value: Any, sets: bool = False) -> str:
    """The label that a value is, or which kind of problem.

    Args:
        value: of a cell or a field.
        sets: several labels, or none, are a set: their names in order, with `SET_SIGN` between them.

    >>> [label_of(value) for value in ("cat", 4.0, True, ["cat"])]
    ['cat', '4', 'true', 'cat']
    >>> [label_of(value) for value in ([], ["cat", "dog"], {"x": 1})]
    ['without a label', 'with two labels at once', 'with a label that is neither a word nor a number']
    """
    if isinstance(value, dict) and len(value) == 1 and "choices" in value:
        value = value["choices"]
    if isinstance(value, list | tuple):
        if sets:
            names = sorted({label_of(each) for each in value})
            return next((name for name in names if name in NO_LABELS), SET_SIGN.join(names))
        if len(value) > 1:
            return SEVERAL
        value = value[0] if value else None
    if value is None or value != value or (isinstance(value, str) and not value.strip()):
        return NO_LABEL
    return name_of(value) if isinstance(value, str | int | float) else NO_NAME


def short(value: Any) -> str:
    """A value as part of a name."""
    return shortened(" ".join(str(value).split()), 60)


def number_in(text: str) -> float:
    """The number that a text is, NaN for any other.

    >>> number_in("2.5"), number_in("2.5 kg")
    (2.5, nan)
    """
    try:
        return float(text)
    except ValueError:
        return math.nan
