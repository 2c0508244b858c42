"""What a judge gets wrong: its confusions, error rates by class, agreement beyond chance, and rates they correct."""

import math
from dataclasses import replace

import numpy as np

from hutch.core.intervals import quantile
from hutch.estimate.clusters import Places, mean_of_clusters
from hutch.estimate.means import Array, Interval
from hutch.judges.measures import FEW, Judged, Row
from hutch.judges.runs import Runs

_GRID = np.linspace(0.0, 1.0, 2001)
_OPEN = 0.9
"""An interval as wide as this says nothing."""
MOST_CLASSES = 12
"""Most classes for which confusions are listed."""


def shares(of: Judged) -> Array:
    """The share of a judge's runs on each item that say each class (items, classes); NaN where there is no run."""
    number = of.counts.sum(axis=(1, 2))
    return np.asarray(of.counts.sum(axis=1) / np.where(number > 0, number, np.nan)[:, None])


def confusions(runs: Runs, of: Judged) -> Array:
    """How many items of each class by people a judge puts in each class; shares count as parts (classes, classes)."""
    said, truth = _both(runs, of)[:2]
    return np.asarray(truth.T @ said)


def _both(runs: Runs, of: Judged) -> tuple[Array, Array, Places]:
    """What a judge and people say of the items that both have labelled (n, classes), and the items (n)."""
    said = shares(of)
    places = np.flatnonzero(runs.known & np.isfinite(said[:, 0]))
    return said[places], runs.truth[places], places


def beyond_chance(runs: Runs, of: Judged, confidence: float) -> Row:
    """Agreement of a judge with people beyond chance: Cohen's kappa and Krippendorff's alpha (nominal).

    Both are 1 - D / E, with D the disagreement of a judge and people on an item and E that of a judge and people on any
    two items (J. Cohen, Educational and Psychological Measurement 20, 1960), or of any two labels by either
    (K. Krippendorff, "Content Analysis", 1980). People's vote, or gold, is one coder.

    Args:
        runs: with the truth of some items.
        of: the judge.
        confidence: of the intervals, between 0 and 1.

    Returns:
        `kappa` and `alpha`; NaN where all labels are of one class, so that they are not defined.
    """
    said, truth, places = _both(runs, of)
    cluster = of.cluster[places]
    apart = 1 - (said * truth).sum(axis=1)
    mine, theirs = (each.mean(axis=0) if len(places) else np.zeros(len(runs.classes)) for each in (said, truth))
    chance = 1 - said @ theirs - truth @ mine + mine @ theirs
    both = (said + truth) / 2
    pooled = both.mean(axis=0) if len(places) else mine
    count = 2 * len(places)
    any_two = 1 - 2 * both @ pooled + pooled @ pooled
    fewer = (count - 1) / count if count else 1.0  # of any two labels, none is drawn twice
    return {
        "kappa": _beyond(apart, chance, cluster, confidence),
        "alpha": _beyond(apart, any_two, cluster, confidence, factor=fewer),
    }


def among(votes: Array, cluster: Places, confidence: float) -> Interval | float:
    """Krippendorff's alpha (nominal) of all coders, with its interval.

    Args:
        votes: number of labels of each class (items, classes).
        cluster: of each item (items).
        confidence: between 0 and 1.

    >>> one = among(np.array([[2.0, 0], [0, 2], [2, 0], [1, 1], [0, 2], [2, 0]]), np.arange(6), 0.95)
    >>> round(one.estimate, 4)
    0.6857
    """
    number = votes.sum(axis=1)
    use = number > 1
    votes, number = votes[use], number[use]
    total = float(number.sum())
    if not total:
        return math.nan
    pooled = votes.sum(axis=0) / total
    apart = (number**2 - (votes**2).sum(axis=1)) / (number - 1) / number
    chance = 1 - 2 * (votes @ pooled) / number + pooled @ pooled
    return _beyond(apart, chance, cluster[use], confidence, number, (total - 1) / total)


def _beyond(
    apart: Array, chance: Array, cluster: Places, confidence: float, weights: Array | None = None, factor: float = 1.0
) -> Interval | float:
    """1 - factor * (mean of `apart` / mean of `chance`) with its interval.

    The interval is that of the mean of apart - r (chance - mean of chance), with r the ratio: the delta method, in the
    shape of the interval of a mean of outcomes from 0 to 1.
    """
    expected = float(np.average(chance, weights=weights)) if len(chance) else 0.0
    if expected < 1e-12:
        return math.nan
    ratio = float(np.average(apart, weights=weights)) / expected
    each = apart - ratio * (chance - expected)
    ends = min(float(each.min()), 0.0), max(float(each.max()), 1.0)
    found = mean_of_clusters(each, cluster, weights, confidence, ends)
    scale = factor / expected
    low, high = (max(1 - scale * max(end, 0.0), -1.0) for end in (found.high, found.low))
    return replace(found, estimate=1 - factor * ratio, low=low, high=high, deviation=scale * found.deviation)


def by_class(runs: Runs, of: Judged, confidence: float) -> list[Row]:
    """Of each class: how many of its items a judge finds (recall), and how many that it names are of it (precision).

    Of two classes, the recall of the last is also called sensitivity, that of the first specificity.
    """
    said, truth, places = _both(runs, of)
    rows: list[Row] = []
    for k, name in enumerate(runs.classes):
        row: Row = {"class": name, "items": int(round(float(truth[:, k].sum())))}
        if len(runs.classes) == 2:
            row["also"] = ("specificity", "sensitivity")[k]
        for key, value, weight in (("recall", said[:, k], truth[:, k]), ("precision", truth[:, k], said[:, k])):
            use = weight > 0
            row[key] = mean_of_clusters(value[use], of.cluster[places][use], weight[use], confidence)
        if row["items"] or row["precision"].labelled:
            rows.append(row)
    return rows


def corrected(runs: Runs, of: Judged, confidence: float) -> Row | None:
    """The share of the last of two classes among all items of a judge, corrected by its errors on the labelled ones.

    `said` is what the judge says. `corrected` assumes that items were chosen for people by their true class, if not by
    lot, so that recalls hold for all items: (said + specificity - 1) / (sensitivity + specificity - 1), of W. Rogan and
    B. Gladen, American Journal of Epidemiology 107, 1978, with Fieller's interval. `by verdict` assumes that they were
    chosen by the judge's verdict, so that precisions do; its interval combines those of its parts (G. Zou, A. Donner,
    Statistics in Medicine 27, 2008). Drawn by lot, both hold.

    Args:
        runs: with two classes.
        of: the judge.
        confidence: of the intervals, between 0 and 1.

    Returns:
        None if the classes are not two, or if people labelled all items, or too few of either class. `corrected` is
        NaN where no share agrees with the recalls, so that its assumption is wrong, or nearly all do.
    """
    said = shares(of)
    everywhere = np.isfinite(said[:, 0])
    if len(runs.classes) != 2 or not (everywhere & ~runs.known).any():
        return None
    rows = by_class(runs, of, confidence)
    if len(rows) < 2 or min(row["items"] for row in rows) < FEW:
        return None
    share = of.mean(said[:, 1], confidence)
    first, last = rows
    reach = quantile(confidence)
    p, found, other = (_middle(each, reach) for each in (share, last["recall"], first["recall"]))
    off = p[0] - _GRID * found[0] - (1 - _GRID) * (1 - other[0])
    variance = p[1] + _GRID**2 * found[1] + (1 - _GRID) ** 2 * other[1]
    possible = _GRID[off**2 <= reach**2 * variance]
    gain = last["recall"].estimate + first["recall"].estimate - 1
    middle = (share.estimate + first["recall"].estimate - 1) / gain if abs(gain) > 1e-9 else 0.5
    middle = min(max(middle, 0.0), 1.0)
    count = last["recall"].labelled + first["recall"].labelled
    row: Row = {"class": runs.classes[1], "items": int(everywhere.sum()), "said": share}
    row["corrected"] = math.nan
    if len(possible) and possible[-1] - possible[0] < _OPEN:
        low, high = min(float(possible[0]), middle), max(float(possible[-1]), middle)
        row["corrected"] = Interval(middle, low, high, math.nan, count, len(said), 0.0, FEW + 1.0)
    return row | {"by verdict": _by_verdict(share, last["precision"], first["precision"], count)}


def _middle(found: Interval, reach: float) -> tuple[float, float]:
    """Middle of an interval, and the variance that its width implies."""
    return (found.low + found.high) / 2, ((found.high - found.low) / 2 / reach) ** 2


def _by_verdict(share: Interval, last: Interval, first: Interval, count: int) -> Interval | None:
    """share * last + (1 - share) * (1 - first)."""
    if min(last.labelled, first.labelled) < FEW:
        return None
    p, up, down = share.estimate, last.estimate, 1 - first.estimate
    middle = p * up + (1 - p) * down
    low = (p * (up - last.low)) ** 2 + ((1 - p) * (first.high - first.estimate)) ** 2
    high = (p * (last.high - up)) ** 2 + ((1 - p) * (first.estimate - first.low)) ** 2
    slope = up - down
    ends = sorted((slope * (share.low - p), slope * (share.high - p)))
    low, high = math.sqrt(low + ends[0] ** 2), math.sqrt(high + ends[1] ** 2)
    return Interval(middle, max(middle - low, 0.0), min(middle + high, 1.0), math.nan, count, count, 0.0, FEW + 1.0)
