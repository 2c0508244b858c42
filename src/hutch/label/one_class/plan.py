"""The numbers of items to give to people and to audit, so that a promise about one class is likely to be proved."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.label.certificate import LARGEST
from hutch.label.one_class.certificate import ClassCertificate

Array = NDArray[np.float64]
TILT = 0.65
"""Share of the draws that follows the probability of an error."""
_FIXES, _SHARES, _STAKES = 24, np.geomspace(0.002, 1, 24), np.geomspace(0.02, 1, 12)


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """The remaining work for one promise.

    Attributes:
        order: places of the items for people, those that help most first.
        fixes: number of these that people should look at, whatever is drawn.
        audits: number of items to draw from the others.
    """

    order: NDArray[np.int64]
    fixes: int
    audits: int

    @property
    def labels(self) -> int:
        """Items for people."""
        return self.fixes + self.audits


def plan_class(p: Array, claimed: NDArray[np.bool_], proof: ClassCertificate, slack: float) -> ClassPlan:
    """The cheapest plan that leads to a proof.

    After k fixes and half of n draws, the errors left and those that may be left are known on average; the growth of
    the logarithm of wealth there, under the best stake, stands for that of all n draws.

    Args:
        p: probabilities that decisions are wrong, of the items that people have not looked at (items).
        claimed: whether these are to be delivered (items).
        proof: of the promise.
        slack: logarithm of the wealth to gain beyond a proof.

    >>> from hutch.label.one_class.promise import Promise
    >>> proof = ClassCertificate(Promise("recall", 0.9), claimed=0, unclaimed=1000, found=180)
    >>> found = plan_class(np.full(1000, 1e-4), np.zeros(1000, bool), proof, 0.0)
    >>> found.fixes, found.audits
    (0, 140)
    """
    promise, items = proof.promise, len(p)
    cost = np.where(claimed, promise.false, promise.missed)
    sign = np.where(claimed, -1.0, 1.0)
    value = p * (cost + promise.credit * sign)
    order = np.lexsort((np.arange(items), -np.round(value, 12)))
    useful = int((value > 1e-12).sum())
    needed = max(proof.needed + slack - proof.log_wealth, 0.3)
    spread = (np.geomspace(1, max(useful, 1), _FIXES), np.linspace(0, useful, _FIXES))
    counts = np.unique(np.concatenate(spread).astype(int))
    counts = counts[counts <= useful]
    edges = np.append(counts, items) if counts[-1] < items else counts
    group = np.repeat(np.arange(len(edges) - 1), np.diff(edges)) * 2 + claimed[order]
    sums = [np.bincount(group, each, 2 * (len(edges) - 1)) for each in (np.ones(items), p[order], np.sqrt(p[order]))]
    kinds = np.flatnonzero(sums[0])
    many, wrong, roots = (each[kinds] for each in sums)
    if not len(kinds) or not cost.any():
        return ClassPlan(order, 0, 0)
    side, place = kinds % 2 == 1, kinds // 2
    price, gain = np.where(side, promise.false, promise.missed), np.where(side, -1.0, 1.0)
    share, root = wrong / many, roots / many
    stays = place[None, :] >= np.arange(len(counts))[:, None]  # (fixes, groups): not fixed
    fixed = (~stays * (wrong * gain)).sum(axis=1)
    allowed = proof.allowed + promise.credit * fixed
    step = price[price > 0].min() if not claimed.any() or promise.missed == 0 else 0.0
    pool = stays * (many * (price > 0))
    size = pool.sum(axis=1)
    tilted = price * (TILT * root / max(roots.sum() / many.sum(), 1e-12) + 1 - TILT)
    total = pool @ tilted
    draws = np.ceil(size[:, None] * _SHARES)
    rate = -np.log(np.maximum(1 - draws / 2 / np.maximum(size, 1)[:, None], 1e-9))
    rate *= (size / np.maximum(total, 1e-12))[:, None]
    left = pool[:, None, :] * np.exp(-rate[:, :, None] * tilted)  # (fixes, draws, groups): after half of the draws
    met = ((pool[:, None, :] - left) * (share * gain)).sum(axis=2)
    limit = allowed[:, None] + promise.credit * met + step / 2
    mass = left * tilted
    here = mass.sum(axis=2)
    mass /= np.maximum(here, 1e-12)[:, :, None]
    seen = np.where(tilted > 0, price / np.maximum(tilted, 1e-12), 0.0) * here[:, :, None]
    top = np.where(pool[:, None, :] > 0, seen, 0.0).max(axis=2)
    stakes = (LARGEST / np.maximum(top - limit, 1e-9))[:, :, None, None] * _STAKES[:, None]
    won = np.log(np.maximum(1 + stakes * limit[:, :, None, None], 1e-9))
    lost = np.log(np.maximum(1 + stakes * (limit[:, :, None, None] - seen[:, :, None, :]), 1e-9))
    growth = (mass[:, :, None, :] * (share * lost + (1 - share) * won)).sum(axis=3).max(axis=2)
    gained = np.where(limit > 0, growth * draws, 0.0)
    gained[:, -1] = np.inf  # all of them: nothing is left to prove
    first = (gained >= needed).argmax(axis=1)
    here = np.arange(len(counts))
    before = np.where(first > 0, gained[here, first - 1], 0.0)
    fewer = np.where(first > 0, draws[here, first - 1], 0.0)
    part = np.clip((needed - before) / np.maximum(gained[here, first] - before, 1e-9), 0, 1)
    part = np.where(np.isfinite(gained[here, first]), part, 1.0)
    audits = fewer + part * (draws[here, first] - fewer)
    best = int(np.argmin(counts + audits))
    return ClassPlan(order, int(counts[best]), math.ceil(audits[best]))
