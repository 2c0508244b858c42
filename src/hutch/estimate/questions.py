"""Questions about all items: rates, means, accuracies of judges, and the features that predict them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError, did_you_mean
from hutch.estimate.means import Interval, mean_of_all
from hutch.estimate.stack import cross_fitted

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
ONE_HOT = 20
"""Most classes for which a judge's label is a one-hot feature."""
FEW = 5
"""Effective number of labels below which a figure is reported as unreliable."""


@dataclass(frozen=True)
class Items:
    """The known labels of all items.

    Attributes:
        classes: names.
        judges: names.
        judged: int32 (items, judges), the judges' labels; -1 without one.
        labelled: places of the items that people labelled, in the order of the labels (n).
        said: P(class) of these by people (n, classes): the share of votes, or with `noisy` the posterior.
        probability: with which each of them was drawn (n); None: equal for all.
        noisy: `said` is a posterior, so that the intervals must allow for its uncertainty.
        inconsistent: workers whose repeated labels of an item differ; their most frequent label counts, or for
            judges a random one of several.
        form: how the files were read, in one line.
        notices: what a user should know of the labels: those left out, and names that differ only in spelling.
    """

    classes: list[str]
    judges: list[str]
    judged: Codes
    labelled: NDArray[np.int64]
    said: Array
    probability: Array | None = None
    noisy: bool = False
    inconsistent: Sequence[str] = ()
    form: str = ""
    notices: Sequence[str] = ()


@dataclass(frozen=True)
class Question:
    """A mean over some items.

    Attributes:
        inside: bool (items): the items in question.
        value: of each class for each labelled item, inside or not (n, classes).
        features: to predict it from (items, features).
        factor, plus: the answer is factor * mean + plus.
        lowest: lower bound of the answer.
        ends: the least and the greatest value of an item.
    """

    inside: NDArray[np.bool_]
    value: Array
    features: Array
    factor: float = 1.0
    plus: float = 0.0
    lowest: float = -np.inf
    ends: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Answer:
    """An estimate with the help of judges, and by people alone."""

    found: Interval
    people_only: Interval


def rate(items: Items, name: str) -> Question:
    """The share of a class among all items."""
    k = _place(name, items.classes, "class")
    features = np.where(items.judged < 0, np.nan, items.judged == k)
    everywhere = np.ones(len(items.judged), np.bool_)
    return Question(everywhere, np.tile(np.eye(len(items.classes))[k], (len(items.labelled), 1)), features)


def count(items: Items, name: str) -> Question:
    """Number of items in a class, labelled by people or not."""
    question = rate(items, name)
    return replace(question, factor=float(len(items.judged)))


def mean(items: Items) -> Question:
    """The mean of labels that are numbers.

    Raises:
        UsageError: a label is not a number.
    """
    values = np.array([_number(name) for name in items.classes])
    features = np.where(items.judged < 0, np.nan, values[items.judged] if len(values) else np.nan)
    everywhere = np.ones(len(items.judged), np.bool_)
    value, ends = np.tile(values, (len(items.labelled), 1)), (float(values.min()), float(values.max()))
    return Question(everywhere, value, features, ends=ends)


def accuracy(items: Items, judge: str) -> Question:
    """The rate of a judge's agreement with people, among the items that it labelled."""
    j = _place(judge, items.judges, "judge")
    own = items.judged[:, j]
    value = (own[items.labelled, None] == np.arange(len(items.classes))).astype(np.float64)
    others = np.delete(items.judged, j, axis=1)
    features = np.where(others < 0, np.nan, others == own[:, None])
    if len(items.classes) <= ONE_HOT:
        features = np.column_stack([features, own[:, None] == np.arange(len(items.classes))])
    return Question(own >= 0, value, features)


def difference(items: Items, first: str, second: str) -> Question:
    """The accuracy of one judge less that of another, among the items that both labelled.

    Where they agree the difference is 0: only the other items are estimated.

    Raises:
        UsageError: no item has labels of both.
    """
    a, b = (items.judged[:, _place(name, items.judges, "judge")] for name in (first, second))
    both = (a >= 0) & (b >= 0)
    if not both.any():
        raise UsageError(f"difference: {first} and {second} have labelled no item in common")
    inside = both & (a != b)
    classes = np.arange(len(items.classes))
    value = (a[items.labelled, None] == classes).astype(np.float64) - (b[items.labelled, None] == classes)
    others = items.judged[:, [name not in (first, second) for name in items.judges]]
    signs = (others == a[:, None]).astype(np.float64) - (others == b[:, None])
    features = np.where(others < 0, np.nan, signs)
    if len(items.classes) <= ONE_HOT:
        features = np.column_stack([features, a[:, None] == classes, b[:, None] == classes])
    return Question(inside, value, features, float(inside.sum() / both.sum()), ends=(-1.0, 1.0))


def left(items: Items, name: str) -> Question:
    """Number of items of a class that people have not yet labelled."""
    k = _place(name, items.classes, "class")
    found = float(items.said[:, k].sum())
    question = rate(items, name)
    return replace(question, factor=float(len(items.judged)), plus=-found, lowest=0.0)


def ask(items: Items, question: Question, confidence: float = 0.95, always: int | None = None, seed: int = 0) -> Answer:
    """Answer a question.

    Args:
        items: the known labels.
        question: of these items.
        confidence: of the intervals, between 0 and 1.
        always: the interval is to hold at every look; the number of labels at which it is narrowest.
        seed: of the division into folds.

    >>> judged = np.array([[0], [1], [1], [0], [1], [0]] * 20, np.int32)
    >>> said = np.eye(2)[judged[:40, 0]]
    >>> items = Items(["no", "yes"], ["gpt"], judged, np.arange(40), said)
    >>> round(ask(items, rate(items, "yes")).found.estimate, 3)
    0.5
    """
    counted = question.inside[items.labelled]
    place = np.cumsum(question.inside) - 1
    labelled = place[items.labelled[counted]]
    outcomes = np.einsum("nk,nk->n", question.value, items.said)[counted]
    doubt = None
    if items.noisy:
        doubt = np.einsum("nk,nk->n", question.value**2, items.said)[counted] - outcomes**2
    chance = None if items.probability is None else items.probability[counted]
    total = int(question.inside.sum())
    weight = None if chance is None else 1 / chance
    predicted = cross_fitted(question.features[question.inside], outcomes, labelled, weight, seed)

    def interval(forecast: Array) -> Interval:
        found = mean_of_all(outcomes, labelled, forecast, chance, confidence, doubt, question.ends, always)
        found = found.times(question.factor, question.plus)
        return replace(found, low=max(found.low, question.lowest), high=max(found.high, question.lowest))

    return Answer(interval(predicted), interval(np.zeros(total)))


def _place(name: str, names: list[str], kind: str) -> int:
    if name not in names:
        raise UsageError(f"no {kind} is {name!r}; {did_you_mean(name, names)}")
    return names.index(name)


def _number(name: str) -> float:
    try:
        return float(name)
    except ValueError:
        raise UsageError(f"mean: got the label {name!r}, wanted numbers") from None
