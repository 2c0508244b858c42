"""May a judge stand in for people? The alternative annotator test."""

import math

import numpy as np

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array
from hutch.crowd.models.special import student_tail

LEAST_ITEMS = 30
"""A person with fewer items that others labelled, too, is left out of the comparison."""
FALSE_DISCOVERIES = 0.05


def winning_rate(people: Labels, judge: Labels, epsilon: float = 0.15) -> float | None:
    """Share of people against whom a judge wins by the agreement with all other people of an item.

    A judge wins against a person if they agree with the others at least as often as the person does less epsilon, by a
    one-sided t-test at a false discovery rate of .05 (Benjamini and Yekutieli). N. Calderon, R. Reichart, R. Dror, "The
    alternative annotator test for LLM-as-a-judge", ACL 2025.

    Args:
        people, judge: their labels of the same items.
        epsilon: the value of a judge's lower cost: .2 against experts, .15 against skilled people, .1 against a crowd.

    Returns:
        The share, from .5 of which the judge may stand in for people; None: no person can be compared.
    """
    votes = people.vote_share() * np.diff(people.item_ptr)[:, None]
    said = np.full(people.items, -1)
    said[judge.label_items] = judge.labels
    item = people.label_items
    others = np.diff(people.item_ptr)[item] - 1
    use = (said[item] >= 0) & (others > 0)
    item, mine, worker = item[use], people.labels[use], people.workers[use]
    own = votes[item, mine] - 1
    theirs = votes[item, said[item]] - (mine == said[item])
    wins, losses = (theirs >= own).astype(np.float64), (own >= theirs).astype(np.float64)
    chances = []
    for person in np.unique(worker):
        of = worker == person
        if (count := int(of.sum())) < LEAST_ITEMS:
            continue
        behind = losses[of] - wins[of]
        deviation = float(behind.std(ddof=1)) / math.sqrt(count)
        distance = epsilon - float(behind.mean())
        t = distance / deviation if deviation > 0 else math.copysign(math.inf, distance)
        chances.append(student_tail(t, count - 1))
    return discoveries(np.array(chances), FALSE_DISCOVERIES) / len(chances) if chances else None


def discoveries(chances: Array, rate: float) -> int:
    """Number of hypotheses rejected at a false discovery rate, whatever their dependence.

    Y. Benjamini, D. Yekutieli, Annals of Statistics 29, 2001.

    Args:
        chances: p-values, in any order.
        rate: at most this share of the rejected hypotheses is true, on average.

    >>> discoveries(np.array([0.001, 0.5, 0.01]), 0.05)
    2
    """
    count = len(chances)
    levels = rate * np.arange(1, count + 1) / (count * np.sum(1 / np.arange(1, count + 1)))
    passed = np.flatnonzero(np.sort(chances) <= levels)
    return int(passed[-1]) + 1 if len(passed) else 0
