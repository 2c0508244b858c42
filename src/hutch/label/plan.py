"""The numbers of items to give to people and to audit, so that the certificate is likely to hold."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SLACK = 0.7
"""Added to the logarithm of the wealth that is a proof: half of the runs need more than the mean."""
_SHARES = np.concatenate([[0.0], np.geomspace(0.004, 1, 36)])
_GRID = 40


@dataclass(frozen=True, slots=True)
class Plan:
    """The remaining work.

    Attributes:
        fixes: items to give to people because their labels are likely to be wrong, the least certain first.
        audits: items to draw at random from the others.
        threshold: the largest probability of being wrong among the items that are not to be fixed.
    """

    fixes: int
    audits: int
    threshold: float

    @property
    def labels(self) -> int:
        """Items for people."""
        return self.fixes + self.audits


def plan(p: Array, allowed: int, needed: float) -> Plan:
    """The cheapest plan that leads to a proof.

    Of M items with sum of p equal to P, n audits find about f = n P / M wrong labels, which are corrected. On average
    over the audits P - f / 2 of M - n / 2 labels are wrong and allowed + 1 + f / 2 are bet against, and the logarithm
    of wealth grows by their Kullback-Leibler divergence per audit, times (M P / (sum of sqrt p)^2)^.8 as draws are
    uneven. The exponent is fitted to simulated crowds.

    Args:
        p: probabilities that labels are wrong, of the items that people have not labelled (items).
        allowed: wrong labels that may be left.
        needed: logarithm of the wealth still to be gained.

    >>> plan(np.full(1000, 0.02), 50, 3.7)
    Plan(fixes=0, audits=230, threshold=0.02)
    >>> plan(np.full(40, 0.5), 50, 3.7).labels
    0
    """
    worst = np.sort(p)[::-1]
    items = len(worst)
    if not items or items <= allowed:
        return Plan(0, 0, 1.0)
    fixes = np.unique(np.linspace(0, items - max(allowed, 0), _GRID).astype(int))
    left, roots = ((f.sum() - np.concatenate([[0.0], np.cumsum(f)]))[fixes, None] for f in (worst, np.sqrt(worst)))
    many = (items - fixes)[:, None].astype(np.float64)
    uneven = np.maximum(many * left / np.maximum(roots, 1e-9) ** 2, 1) ** 0.8
    audits = np.maximum(many - allowed, 0) * _SHARES
    found = np.minimum(audits * left / np.maximum(many, 1) * np.sqrt(uneven), left)
    rest = np.maximum(many - audits / 2, 1)
    share = np.clip(np.maximum(left - found / 2, 1e-3) / rest, 1e-6, 0.999)
    other = np.clip((allowed + 1 + found / 2) / rest, 1e-9, 0.9999)
    divergence = share * np.log(share / other) + (1 - share) * np.log((1 - share) / (1 - other))
    enough = audits * uneven * np.where(share < other, divergence, 0.0) >= needed
    enough[:, -1] = True  # all of them: nothing is left to prove
    audits = audits[np.arange(len(fixes)), enough.argmax(axis=1)]
    best = int(np.argmin(fixes + audits))
    count = int(fixes[best])
    return Plan(count, math.ceil(audits[best]), float(worst[min(count, items - 1)]))
