"""Means over many items from few outcomes, helped by predictions of all of them: prediction-powered inference.

The difference estimator of survey sampling (C.-E. Särndal, B. Swensson, J. Wretman, "Model assisted survey sampling",
1992), with predictions of a machine (A. Angelopoulos and others, "Prediction-powered inference", Science 382, 2023) and
its power tuning ("PPI++", arXiv:2311.01453).
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the interval around it.

    Attributes:
        estimate, low, high: of the mean.
        deviation: standard deviation of the estimate.
        labelled: how many outcomes it is made of.
        total: over how many items.
        power: share of the predictions that was used, 0 to 1.
    """

    estimate: float
    low: float
    high: float
    deviation: float
    labelled: int
    total: int
    power: float = 0.0

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def times(self, factor: float, plus: float = 0.0) -> "Interval":
        """The interval of `factor` times the mean, plus a known number; the factor is not negative."""
        low, middle, high = (factor * x + plus for x in (self.low, self.estimate, self.high))
        return Interval(middle, low, high, factor * self.deviation, self.labelled, self.total, self.power)


def quantile(confidence: float, freedom: float = math.inf) -> float:
    """Quantile of Student's distribution for an interval of that confidence on both sides.

    Within half a percent from five degrees of freedom on (M. Abramowitz, I. Stegun, 26.7.5).

    >>> round(quantile(0.95), 4), round(quantile(0.95, 10), 3)
    (1.96, 2.228)
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    if math.isinf(freedom):
        return z
    v = max(freedom, 1.0)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / v + second / v**2 + third / v**3 + fourth / v**4


def prediction_powered(
    outcomes: Array, predicted: Array, others: Array, confidence: float = 0.95, power: float | None = None
) -> Interval:
    """The mean of the population that all items are drawn from, by one predictor that has seen no outcome: PPI++.

    Args:
        outcomes: of the labelled items (n).
        predicted: predictions of the same items (n).
        others: predictions of the items without outcome (N).
        confidence: between 0 and 1.
        power: share of the predictions to use; None: that of the smallest variance, between 0 and 1; 1: plain PPI.

    >>> found = prediction_powered(np.array([0.0, 1, 1, 0]), np.array([0.1, 0.8, 0.9, 0.2]), np.array([0.5, 0.6]))
    >>> round(found.estimate, 3)
    0.529
    """
    n, more = len(outcomes), len(others)
    if power is None:
        everything = np.concatenate([predicted, others])
        spread = float(np.var(everything, ddof=1)) * (1 + n / more)
        together = float(np.mean((outcomes - outcomes.mean()) * (predicted - predicted.mean())))
        power = min(max(together / spread, 0.0), 1.0) if spread > 0 else 0.0
    estimate = float(power * others.mean() + (outcomes - power * predicted).mean())
    deviation = math.sqrt(power**2 * np.var(others) / more + np.var(outcomes - power * predicted) / n)
    reach = quantile(confidence) * deviation
    return Interval(estimate, estimate - reach, estimate + reach, deviation, n, n + more, power)


def mean_of_all(
    outcomes: Array,
    labelled: NDArray[np.int64],
    predicted: Array,
    probability: Array | None = None,
    confidence: float = 0.95,
    doubt: Array | None = None,
) -> Interval:
    """The mean of these very items, of which some have outcomes: the difference estimator.

    With f the predictions and e = outcome - power f on the labelled items, the estimate is

        mean of power f over all + sum of e / P over the labelled / number of items

    Args:
        outcomes: of the labelled items (n).
        labelled: their places (n).
        predicted: predictions of all items (items); no prediction may have seen the outcome of its own item.
        probability: P with which each labelled item was drawn (n), one by one; None: any n items were as likely.
        confidence: between 0 and 1.
        doubt: variance of each outcome (n) that is itself only an expectation; it adds to the interval.

    >>> found = mean_of_all(np.array([0.0, 1, 1]), np.array([0, 1, 2]), np.array([0.1, 0.8, 0.9, 0.9, 0.1, 0.8]))
    >>> round(found.estimate, 2)
    0.67
    """
    n, total = len(outcomes), len(predicted)
    if not n:
        return Interval(math.nan, math.nan, math.nan, math.nan, 0, total)
    f, unsure = predicted[labelled], np.zeros(n) if doubt is None else doubt
    weight = np.full(n, total / n) if probability is None else 1 / probability
    share = weight / weight.sum()
    centre, middle = float(share @ f), float(share @ outcomes)
    spread = float(share @ (f - centre) ** 2)
    power = min(max(float(share @ ((f - centre) * (outcomes - middle))) / spread, 0.0), 1.0) if spread > 0 else 0.0
    if probability is None:
        error = outcomes - power * f
        estimate = float(power * predicted.mean() + error.mean())
        freedom = max(float(n - 1 - (power > 0)), 1.0)
        variance = float(np.var(error)) / freedom * (1 - n / total) + float(np.mean(unsure)) / n
        reach = quantile(confidence, freedom) * math.sqrt(variance)
    else:
        # divided by the sum of the weights, not by the number of items: errors of one size then cost no variance
        error = outcomes - power * f
        level = float(share @ error)
        estimate = float(power * predicted.mean()) + level
        variance = float(np.sum((1 - probability) * weight**2 * (error - level) ** 2)) / float(weight.sum()) ** 2
        variance += float(share**2 @ unsure)
        freedom = 1 / float(share @ share) - 1
        reach = quantile(confidence, max(freedom, 3.0)) * math.sqrt(variance)
    return Interval(estimate, estimate - reach, estimate + reach, math.sqrt(variance), n, total, power)


def anytime(interval: Interval, confidence: float, expected: int, sample_spread: float) -> Interval:
    """The interval that holds at every look at once: an asymptotic confidence sequence.

    I. Waudby-Smith and others, "Time-uniform central limit theory and asymptotic confidence sequences", Annals of
    Statistics 52, 2024: the half-width is s sqrt(2 (n r² + 1) / (n² r²) ln(sqrt(n r² + 1) / alpha)), with r such that
    it is narrowest at the look that matters most.

    Args:
        interval: at this look.
        confidence: of all looks together.
        expected: number of labels at which the interval is to be narrowest.
        sample_spread: standard deviation of one label's part in the estimate.
    """
    n, alpha = interval.labelled, 1 - confidence
    r2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / max(expected, 1)
    inner = n * r2 + 1
    reach = sample_spread * math.sqrt(2 * inner / (n * n * r2) * math.log(math.sqrt(inner) / alpha))
    return Interval(
        interval.estimate, interval.estimate - reach, interval.estimate + reach, interval.deviation, n, interval.total,
        interval.power,
    )  # fmt: skip
