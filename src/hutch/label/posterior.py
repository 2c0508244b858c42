"""Posteriors of every item from votes, and the probability that each label is wrong.

The crowd models of Hutch turn votes without probabilities into claims; judges that give probabilities make claims
directly. A conditional logit on the claims, trained on some items that people labelled, estimates their value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.degrees import are_degrees
from hutch.crowd.data.labels import Labels
from hutch.crowd.data.names import Names
from hutch.crowd.mixed import forecast
from hutch.crowd.models.two_level import TwoLevel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
WORTH, LESS = 0.6, 0.2
"""Prior of the claims' weight: .6 / (1 + .2 (sources - 1))."""
CLAIM_RIDGE, CLASS_RIDGE = 5.0, 2.0
FEW_CLASSES, FEW_JUDGES, CROWD = 20, 64, 3
"""Most classes with an intercept each; most judges trained on people; fewest workers for a crowd model."""
SURE = 3.0
"""Log-odds above which a label counts as sure."""
CERTAIN = 0.999
"""The largest probability that a claim counts as."""
_LEAST = 1e-6


@dataclass(frozen=True)
class Votes:
    """Votes of one kind of annotators on every item; -1 without a vote.

    Attributes:
        label: int32 (items, votes), codes of classes, or -1.
        probability: float64 (items, votes), of the label, as the voter states it; NaN: none.
        worker: int32 (items, votes), codes of the voters; each kind has separate codes.
    """

    label: Codes
    probability: Array
    worker: Codes

    @classmethod
    def none(cls, items: int, votes: int) -> "Votes":
        """No votes yet."""
        shape = (items, votes)
        return cls(np.full(shape, -1, np.int32), np.full(shape, np.nan), np.zeros(shape, np.int32))

    @property
    def there(self) -> NDArray[np.bool_]:
        """Which items have a vote (items)."""
        return np.asarray((self.label >= 0).any(axis=1))

    def put(self, items: NDArray[np.int64], found: "Votes") -> None:
        """Add the votes on some items."""
        for name in ("label", "probability", "worker"):
            getattr(self, name)[items] = getattr(found, name)

    def of(self, items: NDArray[np.int64]) -> "Votes":
        """The votes on some items."""
        return Votes(self.label[items], self.probability[items], self.worker[items])


def posterior(votes: Sequence[Votes], classes: int, known: NDArray[np.int64], truth: Codes) -> Array:
    """P(class) of every item (items, classes).

    Args:
        votes: by kind.
        classes: number of classes.
        known: places of the items that people labelled, which have votes of all kinds.
        truth: people's labels of these, codes of classes.
    """
    sources = _sources(votes, classes, known, truth)
    there = np.array([each for each, _ in sources]).T
    found = np.empty((len(there), classes))
    groups, group = np.unique(there, axis=0, return_inverse=True)
    for number, has in enumerate(groups):
        members = np.flatnonzero(group.reshape(-1) == number)
        claims = [claim for (_, claim), one in zip(sources, has, strict=True) if one]
        taught = there[known][:, has].all(axis=1)
        worth = fit_logit(*_weighed(claims, classes, known[taught]), truth[taught])
        found[members] = _softmax(_weighed(claims, classes, members)[0] @ worth)
    return found


def _weighed(claims: Sequence[Array], classes: int, items: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Columns of a conditional logit, the claims and the classes, with ridge and start."""
    sources = len(claims)
    columns = [claim[items] for claim in claims]
    if classes <= FEW_CLASSES:
        columns += [np.tile(one, (len(items), 1)) for one in np.eye(classes)]
    design = np.stack(columns, axis=2) if columns else np.zeros((len(items), classes, 0))
    rest = design.shape[2] - sources
    ridge = np.concatenate([np.full(sources, CLAIM_RIDGE), np.full(rest, CLASS_RIDGE)])
    start = np.concatenate([np.full(sources, WORTH / (1 + LESS * max(sources - 1, 0))), np.zeros(rest)])
    return design, ridge, start


def _sources(
    votes: Sequence[Votes], classes: int, known: NDArray[np.int64], truth: Codes
) -> list[tuple[NDArray[np.bool_], Array]]:
    """Sources of claims: their items, and their claims (items, classes) as log-probabilities.

    They are the judges with probabilities, and the crowd models of all other votes.
    """
    plain = [each for each in votes if not np.isfinite(each.probability).any()]
    found = [(each.there, _claim(each, classes)) for each in votes if np.isfinite(each.probability).any()]
    if not plain:
        return found
    labels = _labels(plain, classes)
    workers, there = len(labels.worker_names), np.diff(labels.item_ptr) > 0
    if workers <= FEW_JUDGES and len(known):
        targets = np.zeros((labels.items, classes))
        targets[known, truth] = 1.0
        ordered = are_degrees(labels.classes)
        found.append((there, forecast.learn(labels, targets, forecast.fresh(workers, classes), ordered)[0]))
    elif workers < CROWD:
        found.append((there, np.log(np.maximum(labels.vote_share(), _LEAST))))
    if workers >= CROWD:
        found.append((there, np.log(np.maximum(TwoLevel().fit(labels, None).posterior, _LEAST))))
    return found


def _claim(votes: Votes, classes: int) -> Array:
    """Claims from probabilities: that of the label given, the rest shared evenly by the others (items, classes)."""
    given = np.isfinite(votes.probability)
    said = np.where(given, votes.probability, votes.probability[given].mean())
    p = np.clip(said, 1 / classes if classes > 1 else _LEAST, CERTAIN)
    lift = np.log(p) - np.log((1 - p) / max(classes - 1, 1))
    found = np.zeros((len(votes.label), classes))
    item, vote = np.nonzero(votes.label >= 0)
    np.add.at(found, (item, votes.label[item, vote]), lift[item, vote])
    return found - np.logaddexp.reduce(found, axis=1, keepdims=True)


def _labels(votes: Sequence[Votes], classes: int) -> Labels:
    """Votes of several kinds as the labels of one crowd."""
    starts = np.cumsum([0, *(int(each.worker.max(initial=0)) + 1 for each in votes)])
    label = np.concatenate([each.label for each in votes], axis=1)
    worker = np.concatenate([each.worker + start for each, start in zip(votes, starts, strict=False)], axis=1)
    has = label >= 0
    used, codes = np.unique(worker[has], return_inverse=True)
    return Labels(
        item_ptr=np.concatenate([[0], np.cumsum(has.sum(axis=1))]).astype(np.int64),
        workers=codes.astype(np.int32),
        labels=label[has].astype(np.int32),
        item_names=Names.of([""] * len(label)),
        worker_names=[str(each) for each in used.tolist()],
        classes=[f"class {k}" for k in range(classes)],
        gold=np.full(len(label), -1, np.int32),
    )


def margin(q: Array) -> Array:
    """Log-odds of the likeliest class, at most 12 (items)."""
    best = np.clip(q.max(axis=1), 1e-9, 1 - 6e-6)
    return np.asarray(np.log(best / (1 - best)))


def error_features(q: Array, votes: Sequence[Votes]) -> Array:
    """Predictors of an error in the likeliest class (items, features): margin, sureness, discord, missing votes."""
    label, sure = q.argmax(axis=1)[:, None], margin(q)
    differ, missing = np.zeros(len(q), np.bool_), np.zeros(len(q), np.bool_)
    for each in votes:
        differ |= ((each.label >= 0) & (each.label != label)).any(axis=1)
        missing |= ~each.there
    return np.column_stack([np.ones(len(q)), np.minimum(sure, 6.0), differ, sure > SURE, missing])


class ErrorModel:
    """P(label is wrong), logistic in an item's features, learned from the items that people labelled.

    The start takes posteriors at their word.

    Args:
        features: of `error_features` (items, features).
        known: places of the items that people labelled.
        wrong: whether the label was wrong there.
    """

    def __init__(self, features: Array, known: NDArray[np.int64], wrong: NDArray[np.bool_]) -> None:
        self._design = np.stack([np.zeros_like(features), features], axis=1)
        self._left = np.ones(len(features), np.bool_)
        self._left[known] = False
        self._worth = fit_logit(self._design[known], _RIDGE, _START, wrong.astype(np.int32))
        p, x = self._p(self._worth)[known], features[known]
        self._precision = (x * (p * (1 - p))[:, None]).T @ x + np.diag(_RIDGE)

    def _p(self, worth: Array) -> Array:
        return _softmax(self._design @ worth)[:, 1]

    def _bounded(self, p: Array) -> Array:
        level = p[self._left].mean() if self._left.any() else 0.0  # of those left: people get the hard ones
        return np.clip(0.97 * p + 0.03 * level, 3e-4, 0.97)

    @property
    def probability(self) -> Array:
        """The likeliest values (items)."""
        return self._bounded(self._p(self._worth))

    def samples(self, count: int, random: np.random.Generator) -> list[Array]:
        """Values under coefficients drawn from Laplace's approximation of their posterior, each (items)."""
        root = np.linalg.cholesky(np.linalg.inv(self._precision))
        return [self._bounded(self._p(self._worth + root @ random.standard_normal(len(root)))) for _ in range(count)]


_START, _RIDGE = np.array([0, -1.0, 0, 0, 0]), np.array([0.5, 3, 2, 2, 2])


def fit_logit(design: Array, ridge: Array, start: Array, truth: Codes) -> Array:
    """Coefficients of a conditional logit, P(class k) ~ exp(design[k] b), with a ridge towards a start (columns).

    Newton's steps are halved while the penalised likelihood falls: bare Newton diverges on few items.

    Args:
        design: (items, classes, columns).
        ridge, start: (columns).
        truth: classes (items).

    >>> design = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])[:, :, None]
    >>> fit_logit(design, np.array([1e-6]), np.zeros(1), np.array([1, 1, 1])).round(2).tolist()  # right 2 of 3 times
    [0.69]
    """
    b = start.astype(np.float64).copy()
    chosen = design[np.arange(len(design)), truth].sum(axis=0)

    def value(b: Array) -> float:
        fit = float(chosen @ b - np.logaddexp.reduce(design @ b, axis=1).sum())
        return fit - 0.5 * float(ridge @ (b - start) ** 2)

    now = value(b)
    for _ in range(25):
        q = _softmax(design @ b)
        mean = np.einsum("nk,nkp->np", q, design)
        hessian = np.einsum("nk,nkp,nkr->pr", q, design, design, optimize=True) - mean.T @ mean + np.diag(ridge)
        step = np.linalg.solve(hessian, chosen - mean.sum(axis=0) - ridge * (b - start))
        for _ in range(12):
            new = value(b + step)
            if new >= now - 1e-12:
                break
            step = step / 2
        b, gain, now = b + step, new - now, new
        if gain < 1e-5:
            break
    return b


def _softmax(scores: Array) -> Array:
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))
