"""The score by people where a judge, such as a language model, gave the answers: people check some, drawn by lot."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.benchmark.draws import Round
from hutch.factors.logistic import Array


@dataclass(frozen=True)
class Correction:
    """What people's answers change.

    Attributes:
        shift: the mean of people's answers less the judge's.
        variance: of it.
        freedom: degrees of freedom of the variance.
        checks: answers by people.
    """

    shift: float
    variance: float
    freedom: float
    checks: int


def correction(
    rounds: Sequence[Round], judged: Array, people: Array, reach: Array, within: NDArray[np.bool_]
) -> Correction | None:
    """The mean difference between people and the judge over all questions, from those that both answered.

    A checked question stands for as many questions as its draw and its check make it, as in `mean_of_clusters` of
    `hutch.estimate.clusters`; two more differences, of -1 and of 1, have the usual weight, sum of w² / sum of w.

    Args:
        rounds: in the order in which they were drawn.
        judged, people: answers, NaN where there is none (questions).
        reach: number of questions that each judged one stands for (questions).
        within: the questions that count (questions).

    Returns:
        The correction; None without a check.

    >>> rounds = [Round(np.arange(4), np.full(4, 1.0), np.arange(4), np.full(4, 1.0))]
    >>> judged, people = np.array([1.0, 1, 0, 0]), np.array([0.0, 1, np.nan, np.nan])
    >>> found = correction(rounds, judged, people, np.ones(4), np.ones(4, bool))
    >>> found.shift, found.checks
    (-0.5, 2)
    """
    weight, chance = np.zeros(len(judged)), np.ones(len(judged))
    for each in rounds:
        drawn = each.drawn[~np.isnan(judged[each.drawn])]
        checked = drawn[~np.isnan(people[drawn])]
        if len(checked):
            share = len(checked) / len(drawn)
            weight[checked], chance[checked] = reach[checked] / share, share / np.maximum(reach[checked], 1)
    used = np.flatnonzero(within & (weight > 0))
    if not len(used):
        return None
    w, apart = weight[used], people[used] - judged[used]
    mean, squares, usual = float(w @ apart / w.sum()), w * w, float(w @ w / w.sum())
    found = float(((1 - chance[used]) * squares) @ (apart - mean) ** 2)
    if np.any(chance[used] < 1):
        found += usual * max(usual - 1, 0.0) * ((1 - mean) ** 2 + (1 + mean) ** 2)
    freedom = float(squares.sum() ** 2 / (squares @ squares)) + 1
    return Correction(mean, found / w.sum() ** 2, freedom, len(used))
