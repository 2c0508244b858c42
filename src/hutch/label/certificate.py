"""A certificate for labels: how many of them may still be wrong, from random audits, at every look.

Labels are frozen before the first audit; from then on only people change them. For every m the hypothesis "m of the
frozen labels were wrong" is bet against. Draw t shows one of the items that are left, item i with probability q_t(i),
and whether its label is wrong, e. With m_t = m - the wrong labels found before, the mean of e / q_t is m_t, so

    wealth_t(m) = wealth_{t-1}(m) (1 + lambda_t (m_t - e / q_t))

is a martingale if exactly m are wrong, independent of any model of errors, as long as q_t and lambda_t are fixed before
the answer is seen. By Ville's inequality it ever reaches 1 / alpha with probability at most alpha (I. Waudby-Smith,
A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86, 2024; uneven draws: S. Shekhar,
Z. Xu, Z. Lipton, P. Liang, A. Ramdas, "Risk-limiting financial audits via weighted sampling without replacement", UAI
2023). With even draws it is Wald's sequential ratio for sampling without replacement. All m have the same lambda,
therefore wealth grows with m, and the refutation of one m refutes all above it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError

Array = NDArray[np.float64]
STAKES = 24
"""Number of stakes to choose the best from."""
LARGEST = 0.98
"""The largest share of the wealth that a draw may cost."""
_HYPOTHESES, _REACH = 80, 0.7
_PARTS = 40


class Certificate:
    """Bounds that audits have proved for frozen labels.

    An item that people cannot judge counts as wrong, and stays so.

    Args:
        items: number of frozen labels.
        allowed: number of them that may be wrong in the end, at least 0.
        confidence: of all looks together, between 0 and 1.

    Raises:
        UsageError: the confidence is not in this range.

    Attributes:
        needed: the logarithm of the wealth that is a proof.
        found: frozen labels that people found wrong, or could not judge.
        fixed: those that people corrected.
        audited: draws so far.

    >>> audit = Certificate(1000, 100, 0.95)
    >>> while not audit.proved:  # no label is wrong
    ...     audit.draw(False, 1 / (1000 - audit.audited), 1 / (1000 - audit.audited), 0.05)
    >>> audit.audited, audit.errors_left
    (29, 100)
    """

    def __init__(self, items: int, allowed: int, confidence: float = 0.95) -> None:
        self.items, self.allowed, self.needed = items, allowed, needed_wealth(confidence)
        self.found = self.fixed = self.audited = 0
        step = max(1, int(0.6 * items) // _HYPOTHESES)
        self._errors = allowed + 1 + step * np.arange(int(_REACH * items / step) + 2)
        self._log_wealth = np.zeros(len(self._errors))
        self._total = 0.0

    @property
    def unsettled(self) -> int:
        """Labels that people could not judge."""
        return self.found - self.fixed

    @property
    def log_wealth(self) -> float:
        """Of the bet against the least number of wrong labels that is too many; a corrected label no longer counts."""
        return float(self._log_wealth[self._place])

    @property
    def _place(self) -> int:
        """The hypothesis that is bet against, rounded down."""
        return int(np.searchsorted(self._errors, self.allowed + 1 + self.fixed, "right")) - 1

    @property
    def proved(self) -> bool:
        """Whether at most `allowed` labels are left that are wrong."""
        return self.log_wealth >= self.needed

    @property
    def errors_left(self) -> int | None:
        """The least proved bound on the number of wrong labels left, at least `allowed`; None if none is proved."""
        place = self._place
        refuted = np.flatnonzero(self._log_wealth[place:] >= self.needed)
        return max(int(self._errors[place + refuted[0]]) - 1 - self.fixed, self.allowed) if len(refuted) else None

    @property
    def estimate(self) -> float | None:
        """Unbiased estimate of the number of wrong labels left, from the mean over draws; None without draws."""
        return max(self._total / self.audited - self.fixed, float(self.unsettled)) if self.audited else None

    def fix(self, wrong: int, unknown: int = 0) -> None:
        """Record answers about items that were chosen, not drawn: they carry no information about the others.

        Args:
            wrong: number of labels that people corrected.
            unknown: items that people could not judge.
        """
        self.found += wrong + unknown
        self.fixed += wrong

    def draw(self, wrong: bool, chance: float, least: float, stake: float, unknown: bool = False) -> None:
        """Record the answer about an item that was drawn.

        Args:
            wrong: people give another label.
            chance: with which this item was drawn from those left.
            least: the least chance of any of those left.
            stake: lambda, chosen before the answer; it is cut so that no answer ruins the wealth.
            unknown: people could not judge it.
        """
        most = LARGEST / max(1 / least - (self.allowed + 1 - self.unsettled), 1e-9)
        error = float(wrong or unknown) / chance
        growth = 1 + min(stake, most) * (self._errors - self.found - error)
        self._log_wealth += np.log(np.maximum(growth, 1e-12))
        self._total += self.found + error
        self.audited += 1
        self.fix(int(wrong and not unknown), int(unknown))


def needed_wealth(confidence: float) -> float:
    """The logarithm of 1 / alpha.

    Raises:
        UsageError: a confidence that is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise UsageError(f"--confidence: got {confidence:g}, wanted a number between 0 and 1")
    return -math.log(1 - confidence)


def best_stake(p: Array, chance: Array, errors: float, cost: Array | None = None) -> float:
    """Of some stakes, return the one under which wealth grows fastest, if p is right.

    Args:
        p: probabilities that labels are wrong (items).
        chance: with which each is drawn first (items).
        errors: number of wrong labels of the hypothesis, or their cost.
        cost: of an error (items); 1 each by default.
    """
    price = np.ones(len(p)) if cost is None else cost
    stakes = LARGEST / max(float((price / chance).max()) - errors, 1e-9) * np.geomspace(0.005, 1, STAKES)
    order = np.argsort(p) if cost is None else np.lexsort((p, cost))
    parts = np.array_split(order, min(_PARTS, len(p)))  # alike enough: the mean of each is as good
    wrong, each, paid = (np.array([values[part].mean() for part in parts]) for values in (p, chance, price))
    mass = np.array([chance[part].sum() for part in parts])
    lost = np.log(np.maximum(1 + stakes[:, None] * (errors - paid / each), 1e-9))
    won = np.log1p(stakes * max(errors, 0.0))[:, None]
    return float(stakes[np.argmax((mass * (wrong * lost + (1 - wrong) * won)).sum(axis=1))])
