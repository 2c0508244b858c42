"""Workers' skills: a row for each worker, and the agreement of all."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array
from hutch.crowd.models.ordered import scale
from hutch.crowd.models.special import binomial_interval, binomial_tail

MODEL_TRIALS = 50.0
"""However many labels a worker gave, the truth is inferred: this adds an error as large as that of so many labels.

On simulated crowds the intervals then hold how often a worker is right in 95 % of the cases or more, with 3, 8, 20 and
100 labels (`benchmarks/research/crowd/dependence.py`).
"""
TOO_FEW = 5
"""A worker with fewer labels is not judged."""
_SURE = 0.01
_KNOWN, _SEVERAL, _NEARLY_NOBODY, _CONFUSED = 20, 4, 0.1, 0.15
"""Labels, and workers with so many, for a common confusion; share of workers who may be free of it; its size."""
Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class WorkerReport:
    """One entry for each worker code.

    Attributes:
        labels: labels given (workers).
        accuracy: probability of a right label on an item of usual difficulty, over the class prior; NaN where a worker
            has fewer than `TOO_FEW` labels.
        low, high: its interval for 95 %; see `MODEL_TRIALS` for how often it holds.
        spam: probability that the labels do not depend on the true classes.
        gold_labels: labels on gold items.
        gold_accuracy: share of those that are right, NaN without any.
        confusions: P(label | class) (workers, classes, labels).
        noise: share of pairs of labels of one item by the worker that differ, NaN without such (workers).
        contradicted: gold is right too seldom, or too often, for low and high; at .01 over all workers (workers).
    """

    labels: NDArray[np.int64]
    accuracy: Array
    low: Array
    high: Array
    spam: Array
    gold_labels: NDArray[np.int64]
    gold_accuracy: Array
    confusions: Array
    noise: Array
    contradicted: NDArray[np.bool_]

    def top_confusions(self, worker: int, classes: Sequence[str], count: int = 3) -> list[tuple[str, str, float]]:
        """The most probable wrong labels: (true class, label, probability)."""
        wrong = self.confusions[worker] * (1 - np.eye(len(classes)))
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(order, wrong.shape), strict=True)
        return [(classes[k], classes[label], float(wrong[k, label])) for k, label in places if k != label]

    def shared_confusions(self, classes: Sequence[str]) -> list[str]:
        """A sentence for each pair of classes that nearly all workers with enough labels confuse."""
        rows = self.confusions[self.labels >= _KNOWN]
        if len(rows) < _SEVERAL:
            return []
        usual = np.quantile(rows, _NEARLY_NOBODY, axis=0) * (1 - np.eye(len(classes)))
        return [
            f"{classes[k]!r} is called {classes[label]!r} by everybody ({np.median(rows[:, k, label]):.0%} of it): "
            "the task, not the people"
            for k, label in np.argwhere(usual > _CONFUSED).tolist()
        ]


def usual_confusions(population: Array, classes: Sequence[str]) -> list[str]:
    """A sentence for each pair of classes that an unknown worker often confuses.

    The mean of a crowd does not show whether all err or some; `WorkerReport.shared_confusions` does.

    Args:
        population: P(label | class) of such a worker (classes, labels).
        classes: their names.

    >>> usual_confusions(np.array([[0.7, 0.3], [0.1, 0.9]]), ["c", "d"])
    ["'c' is called 'd' by the usual worker (30% of it)"]
    """
    return [
        f"{classes[k]!r} is called {classes[label]!r} by the usual worker ({population[k, label]:.0%} of it)"
        for k, label in np.argwhere(population * (1 - np.eye(len(population))) > _CONFUSED).tolist()
    ]


def report(
    labels: Labels, others: Callable[[], Array], confusions: Array, class_prior: Array, in_doubt: bool = False
) -> WorkerReport:
    """Report on every worker.

    Args:
        labels: with gold where it is known.
        others: computes the evidence of everything but a label about its item's class (labels, classes); see
            `CrowdModel.others`.
        confusions: P(label | class) of every worker (workers, classes, labels).
        class_prior: (classes).
        in_doubt: the truth cannot be determined; the probability of spam stays at its prior.
    """
    from hutch.crowd.spam import SPAM_PRIOR, spam_probability  # not at the top: a summary needs the rest alone

    workers = len(labels.worker_names)
    counts = np.bincount(labels.workers, minlength=workers)
    accuracy = np.einsum("k,wkk->w", class_prior, confusions)
    trials, low, high = 1 / (1 / np.maximum(counts, 0.1) + 1 / MODEL_TRIALS), np.empty(workers), np.empty(workers)
    binomial_interval(accuracy * trials, trials, low, high)
    truth = labels.gold[labels.label_items]
    known = truth >= 0
    gold_labels = np.bincount(labels.workers[known], minlength=workers)
    right = np.bincount(labels.workers[known], weights=labels.labels[known] == truth[known], minlength=workers)
    gold_accuracy = np.divide(right, gold_labels, out=np.full(workers, np.nan), where=gold_labels > 0)
    spam = np.full(workers, SPAM_PRIOR) if in_doubt else spam_probability(labels, others(), confusions)
    level = _SURE / max(int((gold_labels > 0).sum()), 1)
    contradicted = np.array(
        [
            given > 0 and (_at_least(given - hit, given, 1 - low[w]) < level or _at_least(hit, given, high[w]) < level)
            for w, (given, hit) in enumerate(zip(gold_labels.tolist(), right.tolist(), strict=True))
        ],
        np.bool_,
    )
    accuracy[counts < TOO_FEW] = np.nan
    pairs, equal = labels.repeats.T if len(labels.repeats) == workers else np.zeros((2, workers))
    noise = 1 - np.divide(equal, pairs, out=np.full(workers, np.nan), where=pairs > 0)
    return WorkerReport(counts, accuracy, low, high, spam, gold_labels, gold_accuracy, confusions, noise, contradicted)


def _at_least(count: float, trials: float, share: float) -> float:
    """P(at least `count` of `trials`) if each has a probability of `share`."""
    return float(binomial_tail(float(count), float(trials), float(share))) if count > 0 else 1.0


def krippendorff_alpha(labels: Labels, level: Level = "nominal") -> float:
    """Krippendorff's alpha: 1 - observed / expected disagreement; NaN if it is not defined.

    Over the items with at least two labels: coincidences of item i weigh 1 / (m_i - 1). Two labels disagree by 1 if
    they differ (nominal), by their squared distance (interval), or by the square of the number of labels from one to
    the other, with half of those at the ends (ordinal). K. Krippendorff, "Computing Krippendorff's
    alpha-reliability", 2011.

    Args:
        labels: classes in ascending order, unless the level is nominal.
        level: of measurement.
    """
    ratings = np.diff(labels.item_ptr)
    votes = labels.vote_share() * ratings[:, None]
    votes, ratings = votes[ratings > 1], ratings[ratings > 1]
    by_class = votes.sum(axis=0)
    if level == "nominal":
        distance = 1 - np.eye(len(by_class))
    else:
        middle = by_class.cumsum() - by_class / 2
        place = scale(labels.classes) if level == "interval" else middle
        distance = np.subtract.outer(place, place) ** 2
    expected = by_class @ distance @ by_class
    if len(by_class) < 2 or expected <= 0:
        return math.nan
    observed = np.sum(np.einsum("ik,ik->i", votes @ distance, votes) / (ratings - 1))
    return float(1 - (ratings.sum() - 1) * observed / expected)
