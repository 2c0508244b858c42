"""Means of outcomes that come in clusters, and tests of them: several items of one conversation are not independent."""

import math

import numpy as np
from numpy.typing import NDArray

from hutch.core.intervals import quantile, wilson
from hutch.crowd.models.special import binomial_tail
from hutch.estimate.means import Array, Interval

Places = NDArray[np.int64]

LIKENESS = 0.2
"""Correlation within clusters that the two outcomes have that are added to the variance."""
DRAWS = 9999
"""Random rearrangements that a test compares with."""
ALL = 14
"""Clusters up to which all their signs are tried."""


def mean_of_clusters(
    outcomes: Array,
    clusters: Places,
    weights: Array | None = None,
    confidence: float = 0.95,
    ends: tuple[float, float] | None = (0.0, 1.0),
) -> Interval:
    """The weighted mean m of outcomes from clusters that are independent of each other.

    Its variance is sum over clusters of (sum of w (y - m))² / (sum of w)², the sandwich of K. Liang and S. Zeger,
    Biometrika 73, 1986, with two more clusters of outcomes at either end of the range; the interval is Wilson's, see
    `mean_of_all`, with Student's quantile of as many degrees of freedom as there are clusters of equal size. Where each
    outcome is a cluster it is that of `mean_of_all`.

    Args:
        outcomes: (n).
        clusters: of each outcome (n).
        weights: (n), at least 0; None: equal.
        confidence: between 0 and 1.
        ends: the least and the greatest value that an outcome may have; None: no bounds, and the interval is
            Student's.

    >>> alone = mean_of_clusters(np.array([1.0, 1, 1, 0] * 10), np.arange(40))
    >>> in_fours = mean_of_clusters(np.array([1.0, 1, 1, 0] * 10), np.repeat(np.arange(10), 4))
    >>> in_tens = mean_of_clusters(np.array([1.0] * 30 + [0.0] * 10), np.repeat(np.arange(4), 10))
    >>> [round(found.half_width, 2) for found in (alone, in_fours, in_tens)]
    [0.13, 0.1, 0.36]
    """
    n, w = len(outcomes), np.ones(len(outcomes)) if weights is None else weights
    if not n or not w.sum() > 0:
        return Interval(sum(ends or (0.0,)) / 2, *(ends or (-math.inf, math.inf)), math.inf, 0, n)
    code = np.unique(clusters, return_inverse=True)[1]
    size, squares, total = np.bincount(code, w), np.bincount(code, w * w), float(w.sum())
    estimate = float(w @ outcomes / total)
    effective = total**2 / float(size @ size)
    if ends is None:
        apart = np.bincount(code, w * (outcomes - estimate))
        deviation = math.sqrt(float(apart @ apart) * len(size) / max(len(size) - 1, 1)) / total
        reach = quantile(confidence, effective - 1) * deviation
        return Interval(estimate, estimate - reach, estimate + reach, deviation, n, n, 0.0, effective)
    # variance of a usual item's cluster sum if the outcomes in it were correlated by `LIKENESS`
    usual = float(size @ (squares + LIKENESS * (size**2 - squares))) / total
    more = math.sqrt(usual)
    at = (total * estimate + more * sum(ends)) / (total + 2 * more)
    apart = np.bincount(code, w * (outcomes - at))
    variance = float(apart @ apart + usual * sum((end - at) ** 2 for end in ends)) / ((total + 2 * more) * total)
    freedom = float(np.sum(size**2) ** 2 / np.sum(size**4)) + 1
    low, high = wilson(estimate, variance, at, ends, quantile(confidence, freedom))
    return Interval(estimate, min(low, estimate), max(high, estimate), math.sqrt(variance), n, n, 0.0, effective)


def holm(chances: Array) -> Array:
    """P-values that hold for all looks at once: of S. Holm, Scandinavian Journal of Statistics 6, 1979.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(chances, kind="stable")
    raised = np.maximum.accumulate(chances[order] * np.arange(len(chances), 0, -1))
    found = np.empty(len(chances))
    found[order] = np.minimum(raised, 1)
    return found


def sign_test(differences: Array, clusters: Places, seed: int = 0) -> float:
    """P-value of paired differences whose mean is 0, by the signs of their sums over clusters.

    Where all sums that are not 0 are of one size it is the exact test of Q. McNemar (Psychometrika 12, 1947); of up to
    `ALL` clusters all signs are tried, of more `DRAWS` at random (R. Fisher, "The design of experiments", 1935).

    Args:
        differences: (n).
        clusters: which one each belongs to (n).
        seed: of the draws.

    >>> round(sign_test(np.array([1.0] * 8 + [-1.0] * 2 + [0.0] * 30), np.arange(40)), 4)
    0.1094
    """
    sums = np.bincount(np.unique(clusters, return_inverse=True)[1], differences) if len(differences) else np.zeros(0)
    size = np.abs(sums[np.abs(sums) > 1e-12])
    count, found = len(size), abs(float(sums.sum()))
    if not count:
        return 1.0
    if np.ptp(size) < 1e-12:
        ups = int((sums > 1e-12).sum())
        return min(2 * float(binomial_tail(float(max(ups, count - ups)), float(count), 0.5)), 1.0)
    if count <= ALL:
        signs = 1.0 - 2.0 * (np.arange(1 << count)[:, None] >> np.arange(count) & 1)
        return float((np.abs(signs @ size) >= found - 1e-9).mean())
    signs = np.random.default_rng(seed).integers(0, 2, (DRAWS, count)) * 2.0 - 1
    return (1 + int((np.abs(signs @ size) >= found - 1e-9).sum())) / (1 + DRAWS)


def group_tests(sums: Array, sizes: Array, groups: Places, count: int, seed: int = 0) -> Array:
    """P-values of the mean of each group of units against that of the rest (groups).

    By permutation of the units' groups, of the difference in standard errors: exact where the units of all groups are
    alike, and nearly so where only their means are (E. Chung, J. Romano, Annals of Statistics 41, 2013).

    Args:
        sums: of the outcomes of each unit, such as a cluster (units).
        sizes: number of these outcomes (units).
        groups: of each unit, from 0 (units).
        count: number of groups.
        seed: of the permutations.

    >>> group_tests(np.repeat([1.0, 0.0], 30), np.ones(60), np.repeat([0, 1], 30), 2).tolist()
    [0.0001, 0.0001]
    """
    columns = np.column_stack([sizes, sums, sizes**2, sizes * sums, sums**2])
    whole = columns.sum(axis=0)

    def spread(part: Array) -> tuple[Array, Array]:
        """Mean of units from the sums of their columns (..., 5), and the sum of its squared residuals."""
        mean = part[..., 1] / np.maximum(part[..., 0], 1e-9)
        return mean, np.maximum(part[..., 4] - 2 * mean * part[..., 3] + mean**2 * part[..., 2], 0)

    usual = float(spread(whole)[1]) / max(len(sums), 1) + 1e-12  # one more unit in each part

    def distance(places: Places) -> Array:
        drawn = groups[places]
        inside = np.stack([(drawn == k).astype(np.float64) @ columns for k in range(count)], axis=-2)
        parts = [(part, *spread(part)) for part in (inside, whole - inside)]
        variance = sum((apart + usual) / np.maximum(part[..., 0], 1e-9) ** 2 for part, _, apart in parts)
        return np.asarray(np.abs(parts[0][1] - parts[1][1]) / np.sqrt(variance))

    random, everyone, beaten = np.random.default_rng(seed), np.arange(len(sums)), np.ones(count)
    found, at_once = distance(everyone), max((1 << 21) // max(len(sums) * count, 1), 1)
    for start in range(0, DRAWS, at_once):
        drawn = np.tile(everyone, (min(at_once, DRAWS - start), 1))
        beaten += (distance(random.permuted(drawn, axis=1)) >= found - 1e-9).sum(axis=0)
    return beaten / (1 + DRAWS)
