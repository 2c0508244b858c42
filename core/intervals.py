"""Intervals: quantiles of Student's distribution, and Wilson's interval for any mean of values in a known range."""

import math
from statistics import NormalDist


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


def wilson(estimate: float, variance: float, at: float, ends: tuple[float, float], reach: float) -> tuple[float, float]:
    """All means m of values between two ends that lie within `reach` standard deviations of an estimate.

    The variance of the estimate is taken to change with m as that of a share does,

        (estimate - m)² ≤ reach² variance (m - a)(b - m) / ((at - a)(b - at))

    so that no interval leaves the range or has no width. With the variance of a share it is the interval of E. Wilson,
    JASA 22, 1927.

    Args:
        estimate: of the mean.
        variance: of the estimate, if the mean is `at`.
        at: the mean at which the variance was found, between the ends.
        ends: a and b.
        reach: standard deviations.

    >>> low, high = wilson(0.0, 0.5 * 0.5 / 10, 0.5, (0, 1), 1.96)  # none of ten
    >>> round(low, 3), round(high, 3)
    (0.0, 0.278)
    """
    low, high = ends
    width = high - low
    if not width > 0:
        return low, high
    share, spread = (min(max(estimate, low), high) - low) / width, variance * reach**2 / ((at - low) * (high - at))
    middle = 2 * share + spread
    root = math.sqrt(max(middle**2 - 4 * (1 + spread) * share**2, 0.0))
    scale = width / (2 * (1 + spread))
    return low + scale * (middle - root), low + scale * (middle + root)


def chernoff(
    estimate: float, variance: float, at: float, ends: tuple[float, float], reach: float
) -> tuple[float, float]:
    """All means m between two ends with kl(estimate, m) ≤ reach² variance / (2 (at - a)(b - at)).

    kl is the divergence of two shares, all scaled to 0 to 1 (H. Chernoff, Annals of Mathematical Statistics 23, 1952).
    Towards the end nearest to the estimate it lies below Wilson's interval: rare outcomes come in twos
    and threes more often than normal ones.

    Args:
        estimate, variance, at, ends, reach: as of `wilson`.

    >>> low, high = chernoff(0.1, 0.25 / 10, 0.5, (0, 1), 3)  # one of ten
    >>> round(low, 5), round(high, 3)
    (0.00043, 0.548)
    """
    low, high = ends
    if not high > low:
        return low, high
    share = (min(max(estimate, low), high) - low) / (high - low)
    most = variance * reach**2 / 2 / ((at - low) * (high - at))
    found = []
    for end in (0.0, 1.0):
        inside, outside = share, end
        for _ in range(60):
            m = (inside + outside) / 2
            kl = sum(p * math.log(p / q) if p > 0 else 0.0 for p, q in ((share, m), (1 - share, 1 - m)) if q > 0)
            inside, outside = (m, outside) if kl <= most else (inside, m)
        found.append(low + (high - low) * outside)
    return found[0], found[1]


def every_look(labelled: float, confidence: float, expected: float) -> float:
    """Standard deviations that an interval must reach to hold at every look at once.

    An asymptotic confidence sequence (I. Waudby-Smith and others, "Time-uniform central limit theory and asymptotic
    confidence sequences", Annals of Statistics 52, 2024): sqrt(2 (n r² + 1) / (n r²) ln(sqrt(n r² + 1) / alpha)), with
    r such that it is narrowest at the look that matters most.

    Args:
        labelled: number of labels n at this look.
        confidence: of all looks together.
        expected: number of labels at which the interval is to be narrowest.

    >>> round(every_look(200, 0.95, 200), 3)
    3.035
    """
    alpha = 1 - confidence
    inner = labelled * (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / max(expected, 1)
    return math.sqrt(2 * (inner + 1) / inner * math.log(math.sqrt(inner + 1) / alpha))
