"""Means over many items from few outcomes, helped by predictions of all of them: prediction-powered inference.

The difference estimator of survey sampling (C.-E. Särndal, B. Swensson, J. Wretman, "Model assisted survey sampling",
1992), with predictions of a machine (A. Angelopoulos and others, "Prediction-powered inference", Science 382, 2023) and
its power tuning ("PPI++", arXiv:2311.01453).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.intervals import chernoff, every_look, quantile, wilson

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the interval around it.

    Attributes:
        estimate, low, high: of the mean.
        deviation: standard deviation of the estimate.
        labelled: number of outcomes it is based on.
        total: number of items in the mean.
        power: share of the predictions that was used, 0 to 1.
        effective: number of labels of equal weight that they are worth, (sum of w)² / sum of w².
    """

    estimate: float
    low: float
    high: float
    deviation: float
    labelled: int
    total: int
    power: float = 0.0
    effective: float = 0.0

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def times(self, factor: float, plus: float = 0.0) -> "Interval":
        """The interval of `factor` times the mean, plus a known number; the factor is not negative."""
        low, middle, high = (factor * x + plus for x in (self.low, self.estimate, self.high))
        return replace(self, estimate=middle, low=low, high=high, deviation=factor * self.deviation)


def mean_of_all(
    outcomes: Array,
    labelled: NDArray[np.int64],
    predicted: Array,
    probability: Array | None = None,
    confidence: float = 0.95,
    doubt: Array | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
    expected: int | None = None,
) -> Interval:
    """The mean of these very items, some of which have outcomes: the difference estimator.

    With f the predictions, w = 1 / P and e = outcome - power f on the labelled items, the estimate is

        mean of power f over all + sum of w e / sum of w

    Its variance is sum of (1 - P) w² (e - level)² / (sum of w)², with two more items: an outcome at either end of the
    range, unknown to the predictions, each with the weight sum of w³ / sum of w², which is that of the
    labels that determine the variance. The interval is Wilson's, see `wilson`: without predictions and with equal
    weights it differs from Wilson's only by Student's quantile.

    Args:
        outcomes: of the labelled items (n).
        labelled: their places (n).
        predicted: predictions of all items (items); no prediction may have seen the outcome of its own item.
        probability: P with which each labelled item was drawn (n), one by one; None: any n items were equally likely.
        confidence: between 0 and 1.
        doubt: variance of each outcome (n) that is itself only an expectation; it adds to the interval.
        ends: the least and the greatest value that an outcome may have.
        expected: the interval is to hold at every look, and is narrowest at this number of labels; see `every_look`.

    >>> found = mean_of_all(np.array([0.0, 1, 1]), np.array([0, 1, 2]), np.array([0.1, 0.8, 0.9, 0.9, 0.1, 0.8]))
    >>> round(found.estimate, 2)
    0.67
    """
    n, total = len(outcomes), len(predicted)
    if not n:
        return Interval(sum(ends) / 2, *ends, math.inf, 0, total)
    f = predicted[labelled]
    weight = np.full(n, total / n) if probability is None else 1 / probability
    share = weight / weight.sum()
    centre, middle = float(share @ f), float(share @ outcomes)
    spread = float(share @ (f - centre) ** 2)
    power = min(max(float(share @ ((f - centre) * (outcomes - middle))) / spread, 0.0), 1.0) if spread > 0 else 0.0
    # the outcomes of labelled items bound the mean, unless they are in doubt
    known = (float(outcomes.sum()), n) if doubt is None else (0.0, 0)
    lowest, highest = ((known[0] + (total - known[1]) * end) / total for end in ends)
    estimate = float(power * predicted.mean() + share @ (outcomes - power * f))
    estimate = min(max(estimate, lowest), highest)
    heavy = float(np.sum(weight**3) / np.sum(weight**2))
    w = np.append(weight, [heavy, heavy])
    y = np.append(outcomes, ends)
    error = y - power * np.append(f, [centre] * 2)
    level, at = float(w @ error / w.sum()), float(w @ y / w.sum())
    finite = w * (w - 1) if expected is None else w * w  # (1 - P) w²
    variance = float(finite @ (error - level) ** 2 / (w.sum() * weight.sum()))
    if doubt is not None:
        variance += float(share**2 @ doubt)
    reach = quantile(confidence, float(np.sum(weight**2) ** 2 / np.sum(weight**4)) + 1)
    if expected is not None:
        reach = every_look(n, confidence, expected)
    low, high = wilson(estimate, variance, at, ends, reach)
    if expected is not None:
        other = chernoff(estimate, variance, at, ends, reach)
        low, high = min(low, other[0]), max(high, other[1])
    effective = 1 / float(share @ share)
    low, high = min(max(low, lowest), estimate), max(min(high, highest), estimate)
    return Interval(estimate, low, high, math.sqrt(variance), n, total, power, effective)


SHRINK = (0.8, 0.6, 0.4, 0.3, 0.2, 0.1)
"""Half-widths that are planned for, as shares of that which there is."""


def planned(found: Interval, labelled: int) -> list[dict[str, float]]:
    """Total number of labels for an interval of each half-width.

    The variance of a mean of n of N items falls as 1 / n - 1 / N; the interval adds two items to the n.

    Args:
        found: from labels drawn at random; the more labels, the better the plan.
        labelled: number of labels, also of items outside the question.

    >>> planned(Interval(0.5, 0.25, 0.75, 0.12, 100, 2000), 100)[1]
    {'half_width': 0.15, 'labels': 258}
    """
    if not 0 < found.labelled < found.total or not found.half_width > 0:
        return []
    now, all_ = 1 / (found.labelled + 2), 1 / (found.total + 2)
    needed = [1 / (share**2 * (now - all_) + all_) - 2 for share in SHRINK]
    times = labelled / found.labelled
    widths = [share * found.half_width for share in SHRINK]
    return [{"half_width": w, "labels": math.ceil(times * n)} for w, n in zip(widths, needed, strict=True)]
