"""The loss over all examples seen, estimated from the labels that were bought."""

import math
from dataclasses import dataclass

from hutch.core.intervals import quantile


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over bought labels, each asked for with probability P and of importance w, error between 0 and 1.

    Attributes:
        covered: sum of the importance of all examples that could have been asked for.
        errors: sum of w error / P.
        spread: sum of w² error (1 - P) / P².
        weight: sum of w / P.
        excess: sum of w² (1 - P) / P².
    """

    covered: float = 0.0
    errors: float = 0.0
    spread: float = 0.0
    weight: float = 0.0
    excess: float = 0.0

    def add(self, probability: float, error: float, importance: float = 1.0) -> "LossSums":
        """The sums with one more label."""
        w, inverse = importance, 1.0 / probability
        return LossSums(
            self.covered,
            self.errors + w * error * inverse,
            self.spread + w * w * error * (1.0 - probability) * inverse**2,
            self.weight + w * inverse,
            self.excess + w * w * (1.0 - probability) * inverse**2,
        )


def score_interval(sums: LossSums, confidence: float = 0.9) -> tuple[float, float, float]:
    """The mean loss of all examples, with its interval.

    The estimate is L = errors / weight: a label counts 1 / P of itself, however the learner behaves, as long as each P
    was known and above zero before the label was. That is exact where all errors are alike, which errors / covered is
    not; it is biased by less than one label's part. The interval is the set of all means m with

        (L - m)² ≤ z² (c m (1 - m) + max(e - c, 0) m²) / covered

    which is the variance of L if the mean is m: c is the mean of (1 - P) / P over the mistakes, e over all examples.
    With P the same for all it is Wilson's interval. One mistake at an average example is added to c, because the few
    mistakes that were found may all have been likely to be asked for, and z is the quantile of Student's distribution
    with as many degrees of freedom as there are mistakes of one size in effect.

    Args:
        sums: of the labels bought.
        confidence: between 0 and 1; measured coverage is 0.89 to 0.96 at 0.9.

    Returns:
        (lower end, estimate, upper end); NaN if nothing was covered, no upper end if nothing was bought.

    >>> [round(x, 4) for x in score_interval(LossSums(1000, 50, 450, 1000, 9000))]
    [0.0229, 0.05, 0.1059]
    """
    if not sums.covered > 0:
        return math.nan, math.nan, math.nan
    if not sums.weight > 0:
        return 0.0, 0.0, math.inf
    estimate, everywhere = sums.errors / sums.weight, sums.excess / sums.weight
    counted, uneven = sums.errors + everywhere, sums.spread + everywhere**2
    of_mistakes = uneven / counted if counted > 0 else 0.0
    part = quantile(confidence, max(counted**2 / uneven, 3.0) if uneven > 0 else math.inf) ** 2 / sums.covered
    square = max(everywhere - of_mistakes, 0.0) - of_mistakes if estimate <= 1 else 0.0  # costs may be above 1
    first, middle = 1.0 - part * square, estimate + 0.5 * part * of_mistakes
    if first <= 0:
        return 0.0, estimate, math.inf
    reach = math.sqrt(max(middle**2 - first * estimate**2, 0.0))
    return max(0.0, (middle - reach) / first), estimate, (middle + reach) / first
