"""What is promised of one class: recall, precision, F1, or recall and precision.

Of the D delivered items, a are false: not of the class; b items of the class are missed. Every promise is one
inequality, linear in the errors; its right side is known at all times, because the number of delivered items is:

    recall    (D - a) / (D - a + b) >= r    <=>        r b + (1 - r) a <= (1 - r) D
    precision (D - a) / D >= p              <=>                      a <= (1 - p) D
    F1        2 (D - a) / (2 D - a + b) >= f  <=>      f b + (2 - f) a <= 2 (1 - f) D
"""

from dataclasses import dataclass

from hutch.core.errors import UsageError

MEASURES = ("recall", "precision", "f1")


@dataclass(frozen=True, slots=True)
class Promise:
    """A least value of a measure of one class.

    Attributes:
        measure: one of `MEASURES`.
        level: the least value, between 0 and 1.

    >>> promise = Promise("recall", 0.9)
    >>> round(promise.missed, 2), round(promise.false, 2), round(promise.credit, 2)
    (0.9, 0.1, 0.1)
    """

    measure: str
    level: float

    @property
    def missed(self) -> float:
        """The cost of a missed item of the class."""
        return {"recall": self.level, "precision": 0.0, "f1": self.level}[self.measure]

    @property
    def false(self) -> float:
        """The cost of a delivered item that is not of the class."""
        return {"recall": 1 - self.level, "precision": 1.0, "f1": 2 - self.level}[self.measure]

    @property
    def credit(self) -> float:
        """The cost that each delivered item allows."""
        return (2 if self.measure == "f1" else 1) * (1 - self.level)

    def value(self, delivered: float, false: float, missed: float) -> float:
        """The measure; 1 where there is nothing to find or nothing is delivered.

        Args:
            delivered: number of delivered items.
            false: number of them that are not of the class.
            missed: number of items of the class that are not delivered.

        >>> Promise("f1", 0.9).value(10, 2, 2)
        0.8
        """
        right = delivered - false
        total = {"recall": right + missed, "precision": delivered, "f1": (delivered + right + missed) / 2}[self.measure]
        return max(right, 0.0) / total if total > 0 else 1.0

    def least(self, delivered: float, false: float, missed: float, cost: float) -> float:
        """The least value of the measure if the errors cost so much at most.

        A ratio of linear functions is least at a corner of what is possible.

        Args:
            delivered: number of delivered items.
            false, missed: the most errors of each kind that are possible.
            cost: of all errors, at most.

        >>> Promise("recall", 0.9).least(90, 0, 500, 9.0)
        0.9
        """
        worst = 1.0
        for first in (True, False):  # as many as possible of one kind, then of the other
            left, errors = max(cost, 0.0), {True: 0.0, False: 0.0}
            for kind in (first, not first):
                price, most = (self.missed, missed) if kind else (self.false, false)
                errors[kind] = min(most, left / price) if price > 0 else 0.0
                left -= errors[kind] * price
                worst = min(worst, self.value(delivered, errors[False], errors[True]))
        return worst

    def __str__(self) -> str:
        return f"{self.measure} {self.level:g}"


def promises_of(text: str) -> tuple[Promise, ...]:
    """The promises of one class that a target sets.

    Args:
        text: such as `recall=0.95`, `f1=0.9` or `recall=0.95,precision=0.9`.

    Raises:
        UsageError: another measure, one that comes twice, f1 beside another, or a number that is not between 0 and 1.

    >>> [str(each) for each in promises_of("recall=.95,precision=0.9")]
    ['recall 0.95', 'precision 0.9']
    """
    found: dict[str, Promise] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        name = name.strip()
        try:
            level = float(number)
        except ValueError:
            level = 0.0
        if name not in MEASURES or not 0 < level < 1 or name in found:
            wanted = "accuracy=P, recall=P, precision=P, recall=P,precision=P or f1=P with P between 0 and 1"
            raise UsageError(f"--target: got {text!r}, wanted {wanted}, such as accuracy=0.95")
        found[name] = Promise(name, level)
    if "f1" in found and len(found) > 1:
        raise UsageError(f"--target: got {text!r}, wanted f1=P alone, or recall=P,precision=P")
    return tuple(found.values())


def promises_in(target: str) -> tuple[Promise, ...]:
    """The promises of one class that a target sets; none if it is about the accuracy of all labels.

    Raises:
        UsageError: as `promises_of`.

    >>> promises_in("accuracy=0.9"), len(promises_in("recall=0.9"))
    ((), 1)
    """
    name = target.partition("=")[0].strip()
    return () if name == "accuracy" or "=" not in target else promises_of(target)
