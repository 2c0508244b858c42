"""Who labels how well: a row for each worker, and the agreement of all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array
from hutch.crowd.models.ordered import scale

MODEL_TRIALS = 50.0
"""However many labels a worker gave, the truth is inferred: that error is as large as that of so many labels.

On simulated crowds of 2 to 5 classes the intervals then hold the share of a worker's right labels in 97 % of the
cases, and their accuracy on an item of usual difficulty in 88 %; without it 89 % and 77 %.
"""
Level = Literal["nominal", "ordinal", "interval"]
_NORMAL_95 = 1.959964


@dataclass(frozen=True)
class WorkerReport:
    """One entry for each worker code.

    Attributes:
        labels: labels given (workers).
        accuracy: probability of a right label on an item of usual difficulty, over the class prior.
        low, high: its interval, meant for 95 %; see `MODEL_TRIALS` for how often it holds.
        spam: probability that the labels do not depend on the true classes.
        gold_labels: labels on gold items.
        gold_accuracy: share of those that are right, NaN without any.
        confusions: P(label | class) (workers, classes, labels).
    """

    labels: NDArray[np.int64]
    accuracy: Array
    low: Array
    high: Array
    spam: Array
    gold_labels: NDArray[np.int64]
    gold_accuracy: Array
    confusions: Array

    def top_confusions(self, worker: int, classes: Sequence[str], count: int = 3) -> list[tuple[str, str, float]]:
        """The most probable wrong labels: (true class, label, probability)."""
        wrong = self.confusions[worker] * (1 - np.eye(len(classes)))
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(order, wrong.shape), strict=True)
        return [(classes[k], classes[label], float(wrong[k, label])) for k, label in places if k != label]


def report(labels: Labels, others: Array, confusions: Array, class_prior: Array) -> WorkerReport:
    """Report on every worker.

    Args:
        labels: with gold where it is known.
        others: what everything but a label says of its item's class (labels, classes); see `CrowdModel.others`.
        confusions: P(label | class) of every worker (workers, classes, labels).
        class_prior: (classes).
    """
    from hutch.crowd.spam import spam_probability  # not at the top: the summary of a crowd needs the rest alone

    workers = len(labels.worker_names)
    counts = np.bincount(labels.workers, minlength=workers)
    accuracy = np.einsum("k,wkk->w", class_prior, confusions)
    low, high = wilson(accuracy, 1 / (1 / (counts + 2) + 1 / MODEL_TRIALS))
    truth = labels.gold[labels.label_items]
    known = truth >= 0
    gold_labels = np.bincount(labels.workers[known], minlength=workers)
    right = np.bincount(labels.workers[known], weights=labels.labels[known] == truth[known], minlength=workers)
    gold_accuracy = np.divide(right, gold_labels, out=np.full(workers, np.nan), where=gold_labels > 0)
    spam = spam_probability(labels, others, confusions)
    return WorkerReport(counts, accuracy, low, high, spam, gold_labels, gold_accuracy, confusions)


def wilson(share: Array, trials: Array) -> tuple[Array, Array]:
    """Wilson's 95 % interval of a share (Journal of the American Statistical Association 22, 1927).

    >>> [round(float(x[0]), 3) for x in wilson(np.array([0.5]), np.array([100]))]
    [0.404, 0.596]
    """
    z2 = _NORMAL_95**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _NORMAL_95 * np.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def krippendorff_alpha(labels: Labels, level: Level = "nominal") -> float:
    """Krippendorff's alpha: 1 - observed / expected disagreement; NaN if it is not defined.

    Over the items with at least two labels: coincidences of item i weigh 1 / (m_i - 1). Two labels disagree by 1 if
    they differ (nominal), by their squared distance (interval), or by the square of how many labels lie from one to
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
