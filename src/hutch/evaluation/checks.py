"""Whether estimated probabilities fit the choices of a log, and whether the log says anything about other choices."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.evaluation.features import mixed
from hutch.evaluation.logit import Alternatives

EDGES = (0.0, 0.02, 0.1, 0.3, 0.7, 1.0)
FEW_OTHERS, RARELY = 50, 0.01
"""A log is taken for one without chance if fewer choices, or a smaller share, than this were not the likeliest."""
UNSEEN = 0.05
"""Share of the chain's decisions, at most, that fall on actions below the floor."""
BADLY, SURELY = 0.2, 4.0
"""The relative difference, and standard deviations, from which a group of probabilities fits badly."""
SHARPER, SPREAD = 0.05, 3.5
"""The same of how often equal decisions have equal choices: the difference, and its size times √decisions."""


@dataclass(frozen=True, slots=True)
class Group:
    """Actions with about the same estimated probability.

    Attributes:
        low, high: between which it lies.
        actions: their number.
        estimated: their mean estimated probability.
        chosen: the share of them that was chosen.
        deviations: standard deviations between the two.
    """

    low: float
    high: float
    actions: int
    estimated: float
    chosen: float
    deviations: float


@dataclass(frozen=True, slots=True)
class Fit:
    """How well estimated probabilities fit.

    Attributes:
        groups: actions by their estimated probability, in decisions with two actions or more.
        choices: number of these decisions.
        others: number of them in which the action of the highest probability was not chosen.
        unseen: share of the chain's decisions on actions whose probability was below the floor.
        floor: the largest of all floors.
        equal: number of decisions that have equals, with the same features.
        alike: how often equal decisions had the same choice.
        alike_estimated: how often they should have had, by the estimated probabilities.
    """

    groups: tuple[Group, ...]
    choices: int
    others: int
    unseen: float
    floor: float
    equal: int
    alike: float
    alike_estimated: float


def fit_of(
    alternatives: Alternatives,
    likely: NDArray[np.float64],
    policy: NDArray[np.float64],
    floors: NDArray[np.float64],
    twins: NDArray[np.uint64],
) -> Fit:
    """How well estimated probabilities fit.

    Args:
        alternatives: of the log's decisions.
        likely: the estimated probability of each, float64 (alternatives).
        policy: the probability that the evaluated chain gives to each, float64 (alternatives).
        floors: the least probability of each, float64 (alternatives).
        twins: a number that alternatives with the same features have in common, uint64 (alternatives).
    """
    sizes = alternatives.sizes
    starts, decision = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    taken = np.zeros(len(likely), np.bool_)
    taken[starts + alternatives.taken] = True
    open_to = sizes > 1
    order = np.lexsort((-likely, decision))  # of equals, the first counts as the likeliest
    others = int(np.sum(open_to & (order[starts] - starts != alternatives.taken)))
    equal, alike, alike_estimated = _alike(decision[open_to[decision]], likely, taken, twins, open_to[decision])
    return Fit(
        _groups(likely, taken, decision, open_to[decision]),
        int(open_to.sum()),
        others,
        float(policy[likely < floors].sum() / len(sizes)),
        float(floors.max()),
        equal,
        alike,
        alike_estimated,
    )


def _groups(
    likely: NDArray[np.float64],
    taken: NDArray[np.bool_],
    decision: NDArray[np.int64],
    counts: NDArray[np.bool_],
) -> tuple[Group, ...]:
    """Actions by their estimated probability; groups without any are left out."""
    found = []
    for low, high in zip(EDGES[:-1], EDGES[1:], strict=True):
        inside = counts & (likely >= low) & ((likely < high) if high < 1 else (likely <= 1))
        if not inside.any():
            continue
        of_decision = np.bincount(decision[inside], likely[inside])
        spread = math.sqrt(max(float((of_decision * (1 - of_decision)).sum()), 1e-12))
        wanted, got, count = float(likely[inside].sum()), int(taken[inside].sum()), int(inside.sum())
        found.append(Group(low, high, count, wanted / count, got / count, (got - wanted) / max(spread, 1.0)))
    return tuple(found)


def _alike(
    decision: NDArray[np.int64],
    likely: NDArray[np.float64],
    taken: NDArray[np.bool_],
    twins: NDArray[np.uint64],
    counts: NDArray[np.bool_],
) -> tuple[int, float, float]:
    """Number of decisions that have equals, how often these had the same choice, and how often they should have had.

    Of n equal decisions with probabilities p_i(b) the mean over pairs i, j of Σ_b p_i(b) p_j(b) is expected.
    """
    if not len(decision):
        return 0, 0.0, 0.0
    p, hit, twin = likely[counts], taken[counts].astype(np.float64), twins[counts]
    _, number = np.unique(decision, return_inverse=True)
    whole = np.zeros(int(number[-1]) + 1, np.uint64)
    np.add.at(whole, number, mixed(twin))
    _, group, size = np.unique(whole, return_inverse=True, return_counts=True)
    several = size[group] > 1
    if not several.any():
        return 0, 0.0, 0.0
    keep = several[number]
    kind = mixed(whole[number[keep]]) ^ twin[keep]
    _, of_kind = np.unique(kind, return_inverse=True)
    kinds = int(of_kind.max()) + 1
    group_of_kind = np.zeros(kinds, np.int64)
    group_of_kind[of_kind] = group[number[keep]]
    shares = []
    for each in (hit[keep], p[keep]):
        total = np.bincount(of_kind, each, kinds)
        pairs = total**2 - np.bincount(of_kind, each**2, kinds)
        n = size[group_of_kind]
        shares.append(float((pairs / (n - 1)).sum()) / int(several.sum()))
    return int(several.sum()), shares[0], shares[1]


def warnings_of(fit: Fit) -> tuple[str, ...]:
    """Reasons to doubt estimates that rest on these probabilities, the worst first."""
    found = []
    if fit.others < max(FEW_OTHERS, RARELY * fit.choices):
        found.append(
            f"{fit.others:,} of {fit.choices:,} choices were not those that the features foretell: too few to tell "
            "what others would have cost"
        )
    if fit.unseen > UNSEEN:
        found.append(
            f"{100 * fit.unseen:.2g} % of the chain's decisions fall on actions with an estimated probability below "
            f"{fit.floor:g}: the log does not say what these cost"
        )
    wrong = [
        group
        for group in fit.groups
        if abs(group.deviations) > SURELY and abs(group.chosen - group.estimated) > BADLY * group.estimated
    ]
    if wrong:
        worst = max(wrong, key=lambda group: abs(group.deviations))
        found.append(
            f"the estimated probabilities fit badly: of {worst.actions:,} actions with {worst.estimated:.3g} on "
            f"average, {worst.chosen:.3g} were chosen"
        )
    over = fit.alike - fit.alike_estimated
    if over > max(SHARPER, SPREAD / math.sqrt(max(fit.equal, 1))):
        found.append(
            f"equal decisions had the same choice {fit.alike:.3g} of the time, by the estimated probabilities "
            f"{fit.alike_estimated:.3g}: the log chose by combinations of features that the model does not know"
        )
    return tuple(found)
