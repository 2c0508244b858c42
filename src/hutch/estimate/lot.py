"""Whether labels were drawn at random: judges must label them much as they label all items."""

import math
from dataclasses import dataclass

import numpy as np

from hutch.estimate.questions import Items

EXPECTED = 5.0
"""Labels at least that a class must lead one to expect; rarer classes are counted together."""
SUSPECT = 0.01
"""Below this p-value, labels count as not drawn as declared."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The strongest evidence of a judge against a random draw.

    Attributes:
        p_value: of its chi-square, times the number of judges that could be compared; at most 1.
        judge: its name; empty if none could be compared.
    """

    p_value: float
    judge: str = ""


def examine(items: Items) -> Draw:
    """Compare each judge's labels of the labelled items with those of all its items.

    The statistic is Pearson's, n Σ (share of the labelled - share of all)² / share of all, where n is the number of
    labels in effect (J. Rao, A. Scott, JASA 76, 1981): (Σ 1 / P)² / Σ (1 / P - 1) / P.

    >>> judged = np.repeat([[0], [1]], 200, axis=0).astype(np.int32)
    >>> by_lot, suspects = (Items(["no", "yes"], ["gpt"], judged, places, np.ones((50, 2)) / 2)
    ...                     for places in (np.arange(0, 400, 8), np.arange(200, 250)))
    >>> examine(by_lot).p_value, examine(suspects).p_value < 1e-9
    (1.0, True)
    """
    found = []
    for name, codes in zip(items.judges, items.judged.T, strict=True):
        judged = codes[items.labelled] >= 0
        at, total = items.labelled[judged], int(np.sum(codes >= 0))
        if not len(at) or len(at) == total:
            continue
        chance = np.full(len(at), len(at) / total) if items.probability is None else items.probability[judged]
        weight = 1 / chance
        spread = float(np.sum(weight * (weight - 1)))
        if items.probability is not None:  # the unlikeliest items may all be absent: two more of them
            spread += 2 * float(weight.max() * (weight.max() - 1))
        labels = float(weight.sum()) ** 2 / max(spread, 1e-9)
        shares = np.bincount(codes[codes >= 0], minlength=len(items.classes)) / total
        drawn = np.bincount(codes[at], weight, len(items.classes)) / weight.sum()
        often = shares * total * chance.min() >= EXPECTED  # of each class enough would come even of the least likely
        shares, drawn = (np.append(each[often], each[~often].sum()) for each in (shares, drawn))
        if shares[-1] * total * chance.min() < EXPECTED:
            shares, drawn = shares[:-1], drawn[:-1]
        if len(shares) > 1:
            found.append(
                (chi_square_tail(labels * float(np.sum((drawn - shares) ** 2 / shares)), len(shares) - 1), name)
            )
    if not found:
        return Draw(1.0)
    least, judge = min(found)
    return Draw(min(least * len(found), 1.0), judge)


def chi_square_tail(x: float, freedom: int) -> float:
    """P(X > x) of the chi-square distribution (M. Abramowitz, I. Stegun, 26.4.4 and 26.4.5).

    >>> [round(chi_square_tail(x, k), 4) for x, k in ((3.841, 1), (5.991, 2), (7.815, 3))]
    [0.05, 0.05, 0.05]
    """
    if not x > 0:
        return 1.0
    half, odd = x / 2, freedom % 2 / 2
    terms = (math.exp((odd + k) * math.log(half) - half - math.lgamma(odd + k + 1)) for k in range(freedom // 2))
    return min((math.erfc(math.sqrt(half)) if odd else 0.0) + sum(terms), 1.0)
