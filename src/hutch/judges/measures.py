"""Measures of each judge: agreement with people, noise of repeated runs, position bias, scores."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hutch.core.intervals import quantile
from hutch.estimate.clusters import Places, mean_of_clusters, sign_test
from hutch.estimate.means import Array, Interval
from hutch.judges.runs import Runs

Row = dict[str, Any]
FEW = 5
"""Fewest items or clusters for an estimate."""


@dataclass(frozen=True)
class Judged:
    """The runs of one judge as counts.

    Attributes:
        name: of the judge.
        counts: runs by item, order and label (items, 2, classes).
        right: share of the runs of each order that agree with people (items, 2); NaN: no run, or people are silent.
        agreed: mean of both orders (items), likewise; of scores the judge's mean score.
        cluster: of each item (items).
    """

    name: str
    counts: Array
    right: Array
    agreed: Array
    cluster: Places

    def mean(
        self,
        values: Array,
        confidence: float,
        ends: tuple[float, float] | None = (0.0, 1.0),
        weights: Array | None = None,
    ) -> Interval:
        """The mean of values of items (items), where they are not NaN."""
        use = np.isfinite(values)
        given = None if weights is None else weights[use]
        return mean_of_clusters(values[use], self.cluster[use], given, confidence, ends)


def judged(runs: Runs, judge: int) -> Judged:
    """Count the runs of a judge."""
    mine, classes = runs.judge == judge, len(runs.classes)
    cells = (runs.item[mine].astype(np.int64) * 2 + runs.swapped[mine]) * classes + runs.label[mine]
    counts = np.bincount(cells, minlength=len(runs.items) * 2 * classes).reshape(-1, 2, classes).astype(np.float64)
    number = counts.sum(axis=2)
    worth = runs.values if runs.values is not None else runs.truth[:, None]
    with np.errstate(invalid="ignore"):
        right = (counts * worth).sum(axis=2) / number
        agreed = np.where(have := np.isfinite(right), right, 0).sum(axis=1) / have.sum(axis=1)
    return Judged(runs.judges[judge], counts, right, agreed, runs.cluster)


def agreement(runs: Runs, of: Judged, confidence: float) -> Row:
    """The rate of a judge's agreement with people, over all runs of both orders; `items` are those of both."""
    found = of.mean(of.agreed, confidence)
    return {"items": found.labelled, "accuracy": found}


def repeats(runs: Runs, of: Judged, confidence: float) -> Row:
    """How often two runs of one order differ, and the share of the errors that is noise.

    A run is wrong because two runs are (bias), or because this one is and another is not (noise): the mean of 1 - p is
    that of (1 - p)² + p (1 - p), if p is how often the runs of an item are right. Both are counted in pairs of runs.
    """
    number = of.counts.sum(axis=2)
    pairs = (number * (number - 1)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        differ = 1 - (of.counts * (of.counts - 1)).sum(axis=(1, 2)) / pairs
        wrong = of.counts * (1 - runs.truth[:, None])
        twice = (wrong.sum(axis=2) ** 2 - (wrong * (1 - runs.truth[:, None])).sum(axis=2)).sum(axis=1) / pairs
        once = ((number - 1) * wrong.sum(axis=2)).sum(axis=1) / pairs - twice
    found = {"items": int((pairs > 0).sum()), "runs": float(number.sum() / max(number.any(axis=1).sum(), 1))}
    named = {"flips": differ, "bias": twice, "noise": once}
    return found | {name: of.mean(each, confidence) for name, each in named.items()}


def order(runs: Runs, of: Judged, confidence: float) -> Row:
    """The effect of an answer's place on a judge's verdicts.

    P(first) = 1 / (1 + exp(-(x + b))) with x for the usual order and -x for the other one, for any x of an item:
    then pairs of verdicts for both answers shown first are to those for none as exp(2 b) to 1 (G. Rasch; D. Cox, 1958).
    `first` is 1 / (1 + exp(-b)), the share of first places among answers that are equally good; `shift` is b.
    """
    assert runs.answers is not None
    usual, other = runs.answers
    number = of.counts.sum(axis=2)
    both = (number > 0).all(axis=1)
    share = np.divide(of.counts, number[..., None], out=np.full_like(of.counts, np.nan), where=number[..., None] > 0)
    flips = 1 - (share[:, 0] * share[:, 1]).sum(axis=1)
    ups, downs = share[:, 0, usual] * share[:, 1, other], share[:, 0, other] * share[:, 1, usual]
    weight = np.where(both, ups + downs, 0)
    first = of.mean(ups / np.where(weight > 0, weight, np.nan), confidence, weights=weight)
    found: Row = {"items": int(both.sum()), "flips": of.mean(flips, confidence), "turned": int((weight > 0).sum())}
    shift = [_half_logit(end) for end in (first.estimate, first.low, first.high)]
    for name, (middle, low, high) in (("first", [1 / (1 + math.exp(-b)) for b in shift]), ("shift", shift)):
        found[name] = replace(first, estimate=middle, low=low, high=high)
    for name, values in (("usual", of.right[:, 0]), ("swapped", of.right[:, 1]), ("both", of.right.prod(axis=1))):
        found[name] = of.mean(np.where(both, values, np.nan), confidence)
    return found | {"p": sign_test((ups - downs)[both], of.cluster[both])}


def _half_logit(share: float) -> float:
    """b where exp(2 b) : 1 makes that share; infinite at the ends."""
    if 1e-12 < share < 1 - 1e-12:
        return math.log(share / (1 - share)) / 2
    return math.copysign(math.inf, share - 0.5)


def scores(runs: Runs, of: Judged, confidence: float) -> Row:
    """Relation of a judge's scores to those of people: bias, correlation, and the line from one to the other.

    `slope` is that of people's scores on the judge's; `error` is the mean distance, `calibrated` that from the line of
    the other clusters. The intervals are jackknives over clusters, of the correlation by R. Fisher's transform.
    """
    assert runs.values is not None
    number = of.counts.sum(axis=2)
    sums, squares = of.counts @ runs.values, of.counts @ runs.values**2
    more = np.maximum(number - 1, 0).sum(axis=1)
    within = squares - sums**2 / np.maximum(number, 1)
    x, y = of.agreed, runs.truth[:, 0]
    use = np.isfinite(x) & np.isfinite(y)
    found: Row = {"items": int(number.any(axis=1).sum()), "bias": of.mean(x - y, confidence, None)}
    if more.any():
        found["noise"] = math.sqrt(float(within.sum() / more.sum()))
    found |= dict.fromkeys(("correlation", "slope", "intercept", "error", "calibrated"))
    code = np.unique(of.cluster[use], return_inverse=True)[1]
    count = int(code.max(initial=-1)) + 1
    if count < FEW or not (np.ptp(x[use]) and np.ptp(y[use])):
        return found
    terms = np.stack([np.ones(int(use.sum())), x[use], y[use], x[use] ** 2, x[use] * y[use], y[use] ** 2])
    each = np.stack([np.bincount(code, term, count) for term in terms])
    whole, left = _line(each.sum(axis=1)), _line(each.sum(axis=1)[:, None] - each)
    reach, size = quantile(confidence, count - 1), len(code)
    for place, name in enumerate(("correlation", "slope", "intercept")):
        middle = float(whole[place])
        spread = math.sqrt((count - 1) / count * float(np.sum((left[place] - left[place].mean()) ** 2)))
        ends = [middle - reach * spread, middle, middle + reach * spread]
        low, middle, high = np.tanh(ends).tolist() if name == "correlation" else ends
        found[name] = Interval(middle, low, high, spread, size, size, 0.0, float(count))
    found["error"] = float(np.abs(x - y)[use].mean())
    found["calibrated"] = float(np.abs(left[2][code] + left[1][code] * x[use] - y[use]).mean())
    return found


def _line(sums: Array) -> Array:
    """Fisher's transform of the correlation, slope and intercept of y on x: from sums of 1, x, y, x², xy, y²."""
    n, x, y, xx, xy, yy = sums
    across, along, up = xy - x * y / n, np.maximum(xx - x * x / n, 1e-12), np.maximum(yy - y * y / n, 1e-12)
    slope = across / along
    correlation = np.clip(across / np.sqrt(along * up), -1 + 1e-12, 1 - 1e-12)
    return np.stack([np.arctanh(correlation), slope, (y - slope * x) / n])
