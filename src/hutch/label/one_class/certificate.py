"""A certificate for one class: recall, precision or F1 of the delivered items, from random audits, at every look.

Each promise bounds the cost of the errors that are left; a missed item and a false one may cost differently
(`hutch.label.one_class.promise`). For every s the hypothesis "the errors of the frozen decisions cost s in all" is
bet against, as `hutch.label.certificate` does for their number: an item that is drawn with chance q and whose error
costs c gives x = c e / q, whose mean is s minus the cost of the errors found before.

The bound on s moves with the answers: one more delivered item allows more errors. It never falls, so a promise that
holds keeps holding, and a promise that is broken at some look was broken at all looks before. Until then no stake can
ruin the wealth of its s, and Ville's inequality bounds the probability of a false proof.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hutch.label.certificate import LARGEST, needed_wealth
from hutch.label.one_class.promise import Promise

_TINY = 1e-9
_HALVINGS = 40


class ClassCertificate:
    """Proof of one promise about frozen decisions whether items are of a class.

    An item that people cannot judge counts as wrongly decided, and stays so.

    Args:
        promise: to prove.
        claimed: items that are delivered without a look by people.
        unclaimed: items that are not delivered, and that people have not looked at.
        found: items that people found to be of the class before the decisions were frozen.
        lost: items that people could not judge before: those that are delivered, and the others.
        confidence: of all looks together, between 0 and 1.

    Raises:
        UsageError: the confidence is not in this range.

    Attributes:
        delivered: items that are delivered.
        needed: the logarithm of the wealth that is a proof.
        audited: draws so far.

    >>> from hutch.label.one_class.promise import Promise
    >>> audit = ClassCertificate(Promise("recall", 0.9), claimed=0, unclaimed=1000, found=180)
    >>> while not audit.proved:  # nothing is missed: 20 items may be
    ...     chance = 1 / (1000 - audit.audited)
    ...     audit.draw(False, False, chance, 0.9 / chance, 1.0)
    >>> audit.audited, round(audit.low, 3), audit.missed
    (135, 0.9, 20)
    """

    def __init__(
        self, promise: Promise, claimed: int, unclaimed: int, found: int = 0, lost: tuple[int, int] = (0, 0),
        confidence: float = 0.95,
    ) -> None:  # fmt: skip
        self.promise, self.needed = promise, needed_wealth(confidence)
        self.claimed, self.unclaimed, self.delivered = claimed, unclaimed, claimed + found + lost[0]
        self.audited = 0
        self._unknown = {True: lost[0], False: lost[1]}
        self._lost = lost[0] * promise.false + lost[1] * promise.missed
        self._fixed = self._unsettled = 0.0
        self._stakes, self._shifts = np.zeros(256), np.zeros(256)
        self._seen = (math.nan, 0, 0.0)  # a hypothesis, draws, and the logarithm of its wealth after them
        self._total, self._proved = 0.0, False

    def cost(self, claimed: bool) -> float:
        """Of an error at an item that is delivered, or is not."""
        return self.promise.false if claimed else self.promise.missed

    @property
    def allowed(self) -> float:
        """Cost of the errors that may be left among the items that people have not looked at."""
        return self.promise.credit * self.delivered - self._lost - self._unsettled

    @property
    def _too_much(self) -> float:
        """The least cost of errors left that is too much, including items that cannot be judged after the freeze."""
        allowed = self.allowed + self._unsettled
        costs = {self.cost(kind) for kind, many in ((True, self.claimed), (False, self.unclaimed)) if many} - {0.0}
        if len(costs) != 1 or self._unsettled:
            return allowed
        (one,) = costs
        return one * (math.floor(allowed / one + _TINY) + 1)

    def _log_wealth(self, cost: float) -> float:
        """Of the bet against this cost of all errors."""
        known, draws, total = self._seen
        if known != cost:
            draws, total = 0, 0.0
        growth = 1 + self._stakes[draws : self.audited] * (cost - self._shifts[draws : self.audited])
        total += float(np.log(np.maximum(growth, 1e-12)).sum())
        self._seen = cost, self.audited, total
        return total

    @property
    def log_wealth(self) -> float:
        """Of the bet against the least cost that is too much."""
        return self._log_wealth(self._fixed + self._too_much)

    @property
    def possible(self) -> float:
        """Cost of the errors left if all items that people have not looked at are wrong."""
        return self.claimed * self.promise.false + self.unclaimed * self.promise.missed

    @property
    def proved(self) -> bool:
        """Whether the promise is kept; once proved, it stays so."""
        self._proved = self._proved or self.possible <= self.allowed + _TINY or self.log_wealth >= self.needed
        return self._proved

    @property
    def left(self) -> float:
        """The least proved bound on the cost of the errors left, with those at items that cannot be judged."""
        most = self.possible + self._unsettled
        proved, known = self.proved, self._seen
        low = min(self._too_much, most)
        if proved:
            most = min(self.allowed + self._unsettled, most)
        elif self._log_wealth(self._fixed + most) >= self.needed:
            for _ in range(_HALVINGS):
                middle = (low + most) / 2
                enough = self._log_wealth(self._fixed + middle) >= self.needed
                low, most = (low, middle) if enough else (middle, most)
        self._seen = known
        return most + self._lost

    @property
    def low(self) -> float:
        """The proved value of the measure."""
        false, missed = self.claimed + self._unknown[True], self.unclaimed + self._unknown[False]
        return self.promise.least(self.delivered, false, missed, self.left)

    @property
    def missed(self) -> int:
        """The most items of the class that are missed, as proved; without a price for them all that are left."""
        price, most = self.promise.missed, self.unclaimed + self._unknown[False]
        return math.floor(min(most, self.left / price + _TINY)) if price else most

    @property
    def false(self) -> int:
        """The most delivered items that are not of the class, as proved."""
        return math.floor(min(self.claimed + self._unknown[True], self.left / self.promise.false + _TINY))

    @property
    def estimate(self) -> float | None:
        """Unbiased estimate of the cost of the errors left, from the mean over draws; None without draws."""
        if not self.audited:
            return None
        return max(self._total / self.audited - self._fixed, self._unsettled) + self._lost

    def answer(self, claimed: bool, true: bool | None) -> None:
        """Record the answer about an item that was chosen, not drawn.

        Args:
            claimed: it was to be delivered.
            true: it is of the class; None: people cannot judge it.
        """
        if claimed:
            self.claimed -= 1
        else:
            self.unclaimed -= 1
        if true is None:
            self._unknown[claimed] += 1
            self._unsettled += self.cost(claimed)
        elif true != claimed:
            self._fixed += self.cost(claimed)
            self.delivered += 1 if true else -1

    def draw(self, claimed: bool, true: bool | None, chance: float, largest: float, stake: float) -> None:
        """Record the answer about an item that was drawn.

        Args:
            claimed, true: as for `answer`.
            chance: with which this item was drawn from those left.
            largest: the largest cost of an error over the chance of its item, of those left.
            stake: lambda, chosen before the answer; it is cut so that no answer ruins the wealth.
        """
        most = LARGEST / max(largest - (self._too_much - self._unsettled), _TINY)
        wrong = true is None or true != claimed
        if self.audited == len(self._stakes):
            self._stakes, self._shifts = (np.concatenate([each, np.zeros(len(each))]) for each in self._bets)
        seen = self._fixed + self._unsettled + (self.cost(claimed) / chance if wrong else 0.0)
        self._stakes[self.audited], self._shifts[self.audited] = min(stake, most), seen
        self._total += seen
        self.audited += 1
        self.answer(claimed, true)

    @property
    def _bets(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._stakes, self._shifts
