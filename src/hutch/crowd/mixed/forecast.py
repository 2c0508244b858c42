"""A person's label of an item, predicted from judges' labels: a stack that needs no gold.

    f_i[k] ~ pi_k^e0 prod_j (P(x_ij | k) / P(x_ij))^e_j,   e >= 0

The channels P(x | k) of a judge are counted against people's votes, the exponents maximise the likelihood of these
votes. Both are cross-fitted: the channels of an item come from the other folds, its exponents from items of other
folds. The exponents carry the judges' correlation: copies share their weight, useless judges get none.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.mixed import kernels
from hutch.crowd.models.model import Array

RIDGE, PRIOR_RIDGE = 30.0, 300.0
"""Ridge of the exponents towards their start, of the class prior's exponent towards 1."""
CORRELATION = 0.5
"""Correlation of judges' labels that their exponents start from: 1 / (1 + .5 (judges - 1))."""
FOLDS, DIVISIONS = 10, 3
"""Folds of one division of the items; divisions whose forecasts are averaged."""
MANY = 20_000
"""Items, with those of earlier runs, above which one division is enough; items to which the exponents are fitted."""
HABIT, OWN, NEIGHBOUR = 2.0, 2.0, 30.0
"""Pseudo-counts of a judge's row: their habit, the right label, the rows smoothed over neighbours if ordered."""


@dataclass(frozen=True)
class Judging:
    """Statistics of the judges.

    Attributes:
        counts: float64 (judges, labels, classes), people's votes on the items that a judge labelled.
        said: float64 (judges, labels), number of times that each label was given.
        targets: float64 (classes), people's votes.
        exponents: float64 (1 + judges), the class prior's first.
        precision: float64 (1 + judges), certainty of the exponents: the diagonal of the negative Hessian.
    """

    counts: Array
    said: Array
    targets: Array
    exponents: Array
    precision: Array


def fresh(judges: int, classes: int) -> Judging:
    """Nothing known yet."""
    start = np.full(1 + judges, 1 / (1 + CORRELATION * max(judges - 1, 0)))
    start[0] = 1.0
    zeros = np.zeros(1 + judges)
    return Judging(np.zeros((judges, classes, classes)), np.zeros((judges, classes)), np.zeros(classes), start, zeros)


def learn(labels: Labels, targets: Array, before: Judging, ordered: bool, seed: int = 0) -> tuple[Array, Judging]:
    """Cross-fitted log-forecasts of all items, and the statistics of the judges afterwards.

    Args:
        labels: the judges' labels alone; their workers are places in `before`.
        targets: float64 (items, classes): people's votes, zeros without any.
        before: learned by earlier runs; it acts as prior.
        ordered: classes are ordered, neighbours are confused more often.
        seed: of the divisions.

    Returns:
        float64 (items, classes), normalised; the judges.
    """
    items, classes = targets.shape
    known = np.flatnonzero(targets.sum(axis=1) > 0)
    folds_wanted = max(min(FOLDS, len(known)), 1)
    divisions = 1 if len(known) + before.targets.sum() > MANY else DIVISIONS
    said = before.said + np.bincount(labels.workers * classes + labels.labels, minlength=before.said.size).reshape(
        before.said.shape
    )
    # tables have the rows that a judge needs, first those of labels they gave: of hundreds of classes few are
    order = np.argsort((said == 0) & (not ordered), axis=1, kind="stable")
    named = order[:, : classes if ordered else max(int((said > 0).sum(axis=1).max(initial=0)), 1)]
    labels = replace(labels, labels=np.argsort(order, axis=1)[labels.workers, labels.labels].astype(np.int32))
    known_counts = np.take_along_axis(before.counts, named[:, :, None], axis=1)
    result, found = np.zeros((items, classes)), []
    precision = np.zeros(len(before.exponents))
    for division in range(divisions):
        random = np.random.default_rng(seed * DIVISIONS + division)
        folds = random.permutation(items).astype(np.int64) % folds_wanted
        parts = np.zeros((folds_wanted, *known_counts.shape))
        kernels.count_judges(labels.item_ptr, labels.workers, labels.labels, folds, targets, parts)
        by_fold = np.stack([targets[folds == fold].sum(axis=0) for fold in range(folds_wanted)])
        whole, votes = parts.sum(axis=0) + known_counts, by_fold.sum(axis=0) + before.targets
        lifts = np.stack([lift(whole - part, said, ordered, named) for part in parts])
        log_prior = np.stack([log_share(votes - part) for part in by_fold])
        some = known if len(known) <= MANY else random.choice(known, MANY, replace=False)
        exponents = np.empty((folds_wanted, len(before.exponents)))
        scale, hessian = len(known) / max(len(some), 1), None
        for fold in range(folds_wanted):
            left_out = fold if folds_wanted > 1 else -1
            problem = _Problem(labels, folds, some, left_out, lifts, log_prior, targets, before, scale)
            first = exponents[fold - 1] if fold else before.exponents
            exponents[fold], hessian = problem.solve(first, hessian)
            precision += (np.diag(hessian) - problem.ridge) / (folds_wanted * divisions)
        found.append(exponents.mean(axis=0))
        kernels.forecast(
            labels.item_ptr, labels.workers, labels.labels, folds, lifts, log_prior, exponents, 1 / divisions, result
        )
    result -= np.log(np.exp(result).sum(axis=1, keepdims=True))
    counts = before.counts.copy()
    np.put_along_axis(counts, named[:, :, None], whole, axis=1)
    return result, Judging(counts, said, votes, np.mean(found, axis=0), before.precision + precision)


def apply(labels: Labels, judging: Judging, ordered: bool) -> Array:
    """Log-forecasts (items, classes) from the current statistics, without learning."""
    result = np.zeros((labels.items, len(judging.targets)))
    kernels.forecast(
        labels.item_ptr, labels.workers, labels.labels, np.zeros(labels.items, np.int64),
        lift(judging.counts, judging.said, ordered)[None], log_share(judging.targets)[None],
        judging.exponents[None], 1.0, result,
    )  # fmt: skip
    return result


def log_share(votes: Array) -> Array:
    """log P(class) from votes, smoothed (classes)."""
    smoothed = votes + min(1.0, 10 / max(len(votes), 1))
    return np.asarray(np.log(smoothed / smoothed.sum()))


def channels(counts: Array, said: Array, ordered: bool, named: NDArray[np.int64] | None = None) -> Array:
    """P(label | class) of every judge (judges, labels, classes).

    Args:
        counts: people's votes on the items that a judge labelled (judges, labels, classes).
        said: number of times that each label was given (judges, classes).
        ordered: neighbours are confused more often.
        named: the labels of the rows, all that were given (judges, labels); None: all, and if ordered in that order.
    """
    classes = counts.shape[2]
    named = np.tile(np.arange(classes), (len(counts), 1)) if named is None or ordered else named
    base = np.take_along_axis(habits(said), named, axis=1)[:, :, None]
    rows = counts + HABIT * base + OWN * (named[:, :, None] == np.arange(classes))
    mass = counts.sum(axis=1, keepdims=True) + HABIT + OWN
    if ordered:
        near = np.eye(classes) + 0.5 * (np.eye(classes, k=1) + np.eye(classes, k=-1))
        near /= near.sum(axis=1, keepdims=True)
        smooth = near.T @ counts @ near.T + HABIT * base
        rows, mass = rows + NEIGHBOUR * smooth / smooth.sum(axis=1, keepdims=True), mass + NEIGHBOUR
    return np.asarray(rows / mass)


def habits(said: Array) -> Array:
    """P(label) of every judge, smoothed (judges, labels)."""
    smoothed = said + 1.0
    return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))


def lift(counts: Array, said: Array, ordered: bool, named: NDArray[np.int64] | None = None) -> Array:
    """log P(label | class) / P(label) of every judge (judges, labels, classes); arguments as of `channels`."""
    base = habits(said) if named is None else np.take_along_axis(habits(said), named, axis=1)
    return np.log(channels(counts, said, ordered, named) / base[:, :, None])


@dataclass(frozen=True)
class _Problem:
    """The exponents of one fold: a conditional logit with ridge and e >= 0, by projected Newton steps.

    Attributes:
        before: the target of the ridge, pulled to the harder the surer.
        scale: number of items that each of `items` represents.
    """

    labels: Labels
    folds: NDArray[np.int64]
    items: NDArray[np.int64]
    left_out: int
    lifts: Array
    log_prior: Array
    targets: Array
    before: Judging
    scale: float

    @cached_property
    def ridge(self) -> Array:
        """Ridge of each exponent."""
        found = np.full(len(self.before.exponents), RIDGE) + self.before.precision
        found[0] = PRIOR_RIDGE + self.before.precision[0]
        return found

    def solve(self, first: Array, hessian: Array | None, steps: int = 30) -> tuple[Array, Array]:
        """The exponents, and the negative Hessian there.

        Args:
            first: where to begin.
            hessian: one of a like problem; None: that of this one where it begins. It is recomputed when it leads
                no further, since one of many judges takes longer than all else.
            steps: at most.
        """
        e, new_hessian = first.copy(), hessian is None
        hessian = self._hessian(e) if hessian is None else hessian
        value, gradient = self._slopes(e)
        for _ in range(steps):
            free = (e > 1e-9) | (gradient > 0)
            step = np.zeros(len(e))
            step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            length, gain = 1.0, 0.0
            while length > 1e-3:
                new = np.maximum(e + length * step, 0.0)
                new_value, new_gradient = self._slopes(new)
                gain = new_value - value
                if gain >= 0:
                    e, value, gradient = new, new_value, new_gradient
                    break
                length /= 2
            if gain < 1e-4 and new_hessian:
                return e, hessian
            new_hessian = gain < 1e-4
            if new_hessian:
                hessian = self._hessian(e)
        return e, hessian if new_hessian else self._hessian(e)

    def _slopes(self, e: Array) -> tuple[float, Array]:
        gradient = np.zeros(len(e))
        value = self._compute(e, gradient, np.zeros((0, 0)))
        off = e - self.before.exponents
        return self.scale * value - 0.5 * float(self.ridge @ off**2), self.scale * gradient - self.ridge * off

    def _hessian(self, e: Array) -> Array:
        hessian = np.zeros((len(e), len(e)))
        self._compute(e, np.zeros(len(e)), hessian)
        return self.scale * hessian + np.diag(self.ridge)

    def _compute(self, e: Array, gradient: Array, hessian: Array) -> float:
        return float(kernels.slopes(
            self.labels.item_ptr, self.labels.workers, self.labels.labels, self.folds, self.items, self.left_out,
            self.lifts, self.log_prior, self.targets, e, gradient, hessian,
        ))  # fmt: skip
