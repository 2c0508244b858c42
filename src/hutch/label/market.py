"""Where answers come from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hutch.label.posterior import Array, Codes, Votes

Places = NDArray[np.int64]
UNKNOWN = -1
"""The answer of people who cannot decide."""


@dataclass(frozen=True)
class Seller:
    """A kind of annotators.

    Attributes:
        name: of the kind.
        price: of one label.
        labels: labels of one item, from different annotators of the kind.
        accuracy: a guess of their accuracy, for the plan before anything is bought.
    """

    name: str
    price: float
    labels: int = 1
    accuracy: float = 0.85


class Market(Protocol):
    """Sells answers. Asked for the same again, it gives the same answers."""

    @property
    def spent(self) -> float:
        """The price of all that was bought."""

    def votes(self, judge: int, items: Places) -> Votes:
        """A judge's votes on some items."""

    def people(self, fixes: Places, audits: Places, chances: Array) -> Iterator[int]:
        """People's labels: the code of a class or `UNKNOWN`, first of items that were chosen, then of items that were
        drawn, with their chances; each is bought when it is taken.
        """

    def answered(self, items: Places) -> Iterator[tuple[int, int]]:
        """Items whose labels by people are there although they were not taken, and these labels; they are bought."""

    def waits(self, items: Places) -> bool:
        """Whether people have been asked about some of the items and have not answered."""


class Hidden:
    """Answers that all exist, but stay hidden until they are bought.

    Args:
        judges, people: prices of their labels.
        votes: of the judges, on all items.
        truth: people's labels, codes of classes, or `UNKNOWN` (items).
    """

    def __init__(self, judges: Sequence[Seller], people: Seller, votes: Sequence[Votes], truth: Codes) -> None:
        self._judges, self._people, self._votes, self._truth = judges, people, votes, truth
        self.bought = [0] * (len(judges) + 1)

    @property
    def spent(self) -> float:
        """The price of all that was bought."""
        prices = [each.price for each in self._judges] + [self._people.price]
        return sum(price * count for price, count in zip(prices, self.bought, strict=True))

    def votes(self, judge: int, items: Places) -> Votes:
        """A judge's votes on some items."""
        found = self._votes[judge].of(items)
        self.bought[judge] += int((found.label >= 0).sum())
        return found

    def people(self, fixes: Places, audits: Places, chances: Array) -> Iterator[int]:
        """People's labels, one after the other."""
        for item in (*fixes.tolist(), *audits.tolist()):
            self.bought[-1] += self._people.labels
            yield int(self._truth[item])

    def answered(self, items: Places) -> Iterator[tuple[int, int]]:
        """None: people answer one after the other, and stop when they are asked to."""
        return iter(())

    def waits(self, items: Places) -> bool:
        """Never: nobody is asked before the answer is taken."""
        return False
