"""How far posteriors can be trusted: how well halves of the workers predict each other.

Labels of one item err together, so that posteriors are too sure. This shows even without the truth: two halves of
the workers are fitted separately. Without any knowledge, each half finds different classes. The exponent e_h in
P^e is the one under which the halves predict each other best.

An error that all workers make cannot be seen, so a correlation `RHO` is assumed: n labels are worth n / (1 + rho (n -
1)). The exponent of an item is s e_h / (1 + rho (n - 1)), where s is less where workers or items are few.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.data.unsure import Unsure
from hutch.crowd.models.model import Array
from hutch.crowd.models.repeats import DIVIDED

EXPONENTS = np.exp(np.linspace(np.log(0.01), 0.0, 36))
"""Those tried."""
DIVISIONS, DIVISIONS_OF_MANY = 6, 2
"""Divisions of the workers into halves; the same where labels are many."""
ENOUGH = 100
"""Fewest items that show the information in workers' labels."""
MANY = 100_000
"""Above this number of labels, only those of every n-th item are used: `some_of`."""
LEAST_HALVES = 0.2
"""e_h below which the truth cannot be determined."""
FEW_WORKERS, FEW_ITEMS = 4, 10
"""Numbers of workers and items at which trust is halved, since few show little of their common errors."""
RHO = 0.12
"""Correlation that errors of an item's labels are assumed to have."""
FLOOR = 0.05
"""Mass spread over all classes."""
OF_PEOPLE = 0.7, 0.5
"""Least s and e_h of a crowd of people: less is more often due to rare classes or few items than to common errors."""


@dataclass(frozen=True)
class Trust:
    """How far posteriors can be trusted.

    Attributes:
        size: s, in (0, 1]; of judges times the factor that their agreement and the insurance leave: see `insurance`.
        halves: e_h, in (0, 1].
        rho: correlation of the errors of an item's labels, ≥ 0.
        floor: mass spread over all classes.
    """

    size: float
    halves: float
    rho: float = RHO
    floor: float = FLOOR

    def exponents(self, counts: NDArray[np.int64]) -> Array:
        """The exponent of the posterior of each item, from its number of labels."""
        return np.asarray(self.size * self.halves / (1 + self.rho * np.maximum(counts - 1, 0)))

    def exponents_of_people(self, counts: NDArray[np.int64]) -> Array:
        """The same for people, whose errors have less in common than halves of few items or rare classes say."""
        enough = items_enough(len(counts))
        size, halves = (enough * least for least in OF_PEOPLE)
        return replace(self, size=max(self.size, size), halves=max(self.halves, halves)).exponents(counts)


def some_of(labels: Labels, most: int = MANY // 4, many: int = MANY) -> Labels:
    """All labels, or, if there are more than `many`, about `most` of them: those of every n-th item."""
    step = -(-len(labels) // most)
    if len(labels) <= many:
        return labels
    ratings = np.diff(labels.item_ptr)[::step]
    return replace(
        labels.chosen(labels.label_items % step == 0),
        item_ptr=np.concatenate([[0], np.cumsum(ratings)]),
        item_names=labels.item_names[::step],
        gold=labels.gold[::step],
        unsure=Unsure(),
    )


def exponent_of_halves(
    labels: Labels, class_prior: Array, confusions: Array, fit: Callable[[Labels], Array], divisions: int = DIVISIONS,
    seed: int = 0,
) -> float:  # fmt: skip
    """e_h: the exponent under which posteriors of two halves of the workers predict each other best.

    With A and B the posteriors of an item, tempered towards the class prior, and m their mean over all items, it
    maximises the mean of log sum_k A(k) B(k) / m(k): how much more probable it is that both see one item than
    any two. The sum is over several divisions, in which of two workers whose labels have similar worth one is in each
    half: were the few experts in one of them, the other could not be predicted. On less than `ENOUGH` items that
    would only separate those who agree by chance.

    Args:
        labels: the labels.
        class_prior: (classes).
        confusions: P(label | class) of each worker (workers, classes, labels).
        fit: posteriors (items, classes) from some of the labels.
        divisions: number of divisions.
        seed: of the divisions.
    """
    random, given = np.random.default_rng(seed), np.bincount(labels.workers, minlength=len(confusions))
    said = np.einsum("k,wkl->wl", class_prior, confusions)
    worth = given * np.einsum("k,wkl,wkl->w", class_prior, confusions, _log(confusions) - _log(said)[:, None])
    workers = np.flatnonzero(given)
    scores, log_prior = np.zeros(len(EXPONENTS)), _log(class_prior)
    for _ in range(divisions if len(workers) > 1 else 0):
        half = np.zeros(len(labels.worker_names), np.bool_)
        order = random.permutation(workers)
        order = order[np.argsort(-worth[order], kind="stable")] if labels.items >= ENOUGH else order
        pairs = order[: len(workers) // 2 * 2].reshape(-1, 2)
        half[pairs[np.arange(len(pairs)), random.integers(2, size=len(pairs))]] = True
        parts = [labels.chosen(half[labels.workers] == side) for side in (True, False)]
        both = np.all([np.diff(part.item_ptr) > 0 for part in parts], axis=0)
        if both.sum() < 2:
            continue
        found = [_log(fit(part)[both]).T.copy() for part in parts]
        for place, exponent in enumerate(EXPONENTS):
            one, other = (_tempered(logs, log_prior, exponent) for logs in found)
            mean = 0.5 * (one.mean(axis=1) + other.mean(axis=1))
            one *= other
            scores[place] += float(np.log(np.maximum((one / mean[:, None]).sum(axis=0), 1e-6)).mean())
    return float(EXPONENTS[scores.argmax()]) if scores.any() else 1.0


def size_of(labels: Labels) -> float:
    """s: the trust that the numbers of workers and items allow.

    On ten labels of a set of judges, and on panels of three to five, posteriors would often be worse than equal
    shares without it (`benchmarks/research/crowd/dependence.py --small`).
    """
    names = labels.worker_names
    workers = len({names[worker].removesuffix(DIVIDED) for worker in np.flatnonzero(np.bincount(labels.workers))})
    return float(workers / (workers + FEW_WORKERS) * max(0.5, items_enough(labels.items)))


def items_enough(items: int) -> float:
    """From 0 to 1: whether there are items enough to know the workers by."""
    return 1 / (1 + (FEW_ITEMS / max(items, 1)) ** 2)


def errors_in_common(labels: Labels, posterior: Array, confusions: Array) -> tuple[float, float]:
    """Agreement of labels of one item beyond what its class and the workers' rows explain, and its standard error.

    Args:
        labels: the labels.
        posterior: (items, classes).
        confusions: P(label | class) of each worker, as they made the posterior (workers, classes, labels).
    """
    items, classes = posterior.shape
    ratings = np.diff(labels.item_ptr)
    observed = 0.5 * ((labels.vote_share() ** 2).sum(axis=1) * ratings**2 - ratings)
    explained = np.zeros(items)
    for k in range(classes):
        rows = confusions[labels.workers, k]
        total = np.stack([np.bincount(labels.label_items, column, items) for column in rows.T], axis=1)
        own = np.bincount(labels.label_items, (rows**2).sum(axis=1), items)
        explained += posterior[:, k] * 0.5 * ((total**2).sum(axis=1) - own)
    excess = np.where(ratings > 1, observed - explained, 0.0)
    room = max(float((ratings * (ratings - 1) / 2 - explained)[ratings > 1].sum()), 1e-9)
    return float(excess.sum()) / room, float(np.sqrt((excess**2).sum())) / room


def _log(probabilities: Array) -> Array:
    return np.asarray(np.log(np.maximum(probabilities, 1e-9)))


def _tempered(logs: Array, log_prior: Array, exponent: float) -> Array:
    """Posteriors tempered towards a prior (classes, items): numpy folds few long rows faster than many short ones."""
    scores = exponent * logs + ((1 - exponent) * log_prior)[:, None]
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return np.asarray(scores)
