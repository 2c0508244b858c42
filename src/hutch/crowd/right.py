"""How many labels are right: of the majority and of the model, with intervals that allow for a miscalibrated model.

Without the truth, an accuracy rests on posteriors, and these on the model. Its own posterior is too sure, because
labels of one item err together; the calibrated one is often less sure than it need be. So the share of wrong labels
lies between `BEST` times what the surer of the two expects and `WORST` times what the other does. How often that holds
is measured in `benchmarks/research/crowd/verdict.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hutch.core.intervals import quantile, wilson
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array, Fit
from hutch.crowd.report import WorkerReport

LEAST_TASKS, LEAST_WORKERS, LEAST_GOLD = 50, 3, 20
"""Fewest tasks and workers for an estimate; fewest tasks with a known class for a measurement."""
WIDEST = 0.5
"""An interval as wide as this says nothing."""
BEST, WORST = 0.25, 1.6
"""Least and greatest error, as multiples of those that the surer and the less sure posterior expect."""
CONFIDENCE = 0.95
MEASURED = ("two_level", "many_classes", "one_coin", "ordinal")
"""Models whose intervals hold; those of others are too often too sure."""
IN_STREAM = ("two_level",)
"""The same for streams: what others know of the first tasks is too little."""
_MANY = 50_000


class Inferred(Protocol):
    """What is used of `hutch.crowd.aggregate.Aggregate`."""

    @property
    def labels(self) -> Labels:
        """As given."""

    @property
    def fit(self) -> Fit:
        """The model's own result."""

    @property
    def probability(self) -> Array:
        """Calibrated posteriors (items, classes)."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def judges(self) -> bool:
        """Some or all workers are declared to be judges."""

    @property
    def doubt(self) -> str:
        """Why the labels do not determine truth and skills."""

    def report(self) -> WorkerReport:
        """How each worker labels."""


class Share(NamedTuple):
    """An accuracy and its interval, all from 0 to 1."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Right:
    """How many labels are right.

    Attributes:
        found: of the labels that the model infers; None if it cannot be told.
        vote: of the most frequent labels; tied classes share the point; None also where a stream has not kept them.
        tasks: number of tasks that this is about.
        known: the classes of these tasks are known: the shares are counted, and not estimated.
        why: it cannot be told; empty if it can.
    """

    found: Share | None
    vote: Share | None
    tasks: int
    known: bool = False
    why: str = ""


class Tally:
    """Sums over tasks without gold, piece by piece, from which it is estimated how many labels are right.

    Attributes:
        tasks: with labels.
        several: of these, with more than one.
        workers: names of some, at most `LEAST_WORKERS`.
        classes: number of classes of the last piece.
        voted: all labels of these tasks were there, and none lost by a stream.
    """

    def __init__(self) -> None:
        self.tasks = self.several = self.classes = 0
        self.workers: set[str] = set()
        self._right = {"found": np.zeros(2), "vote": np.zeros(2)}
        self.voted = True

    def add(self, labels: Labels, share: Array, raw: Array) -> None:
        """Count tasks.

        Args:
            labels: of whole tasks; those of a task that a stream has closed may be lost.
            share, raw: calibrated posteriors and those of the model (items, classes).
        """
        given = labels.ratings
        open_ = np.flatnonzero((labels.gold < 0) & (given > 0))
        self.classes = len(labels.classes)
        self.tasks += len(open_)
        self.several += int((given[open_] > 1).sum())
        if len(self.workers) < LEAST_WORKERS:
            some = np.flatnonzero(np.bincount(labels.workers))[:LEAST_WORKERS]
            self.workers |= {labels.worker_names[w] for w in some.tolist()}
        self.voted &= not (np.diff(labels.item_ptr)[open_] < given[open_]).any()
        if not len(open_) or self.classes < 2:
            return
        share, raw = share[open_], raw[open_]
        chosen = {"found": np.eye(share.shape[1])[share.argmax(axis=1)], "vote": votes(labels)[open_]}
        for name, right in self._right.items():
            right += [(chosen[name] * each).sum() for each in (share, raw)]

    def right(self, model: str, judges: bool = False, doubt: str = "", stream: bool = False) -> Right:
        """The estimate, from all tasks that were counted.

        Args:
            model: its name.
            judges: some or all workers are declared to be judges.
            doubt: why the labels do not determine truth and skills.
            stream: pieces of a stream were counted.
        """
        if why := self._why_not(model, judges, doubt, stream):
            return Right(None, None, self.tasks, why=why)
        found, vote = (self._bounds(1 - right / self.tasks) for right in self._right.values())
        if found.high - found.low >= WIDEST:
            ends = f"from {found.low:.0%} to {found.high:.0%} would fit them"
            return Right(None, None, self.tasks, why=f"any share of right labels {ends}".replace("%", " %"))
        return Right(found, vote if self.voted else None, self.tasks)

    def _why_not(self, model: str, judges: bool, doubt: str, stream: bool) -> str:
        """Why labels alone cannot show how many are right."""
        if self.tasks < LEAST_TASKS:
            return f"only {self.tasks} {'task has' if self.tasks == 1 else 'tasks have'} labels"
        if self.classes < 2:
            return "all labels are the same"
        if 2 * self.several < self.tasks:
            return "most tasks have one label"
        if len(self.workers) < LEAST_WORKERS:
            return f"there are only {len(self.workers)} workers"
        if judges:
            return "errors that judges share do not show in their labels"
        if model not in (IN_STREAM if stream else MEASURED):
            return f"the probabilities of the model {model} are too often too sure{' in a stream' if stream else ''}"
        return doubt.partition(":")[0]

    def _bounds(self, wrong: Array) -> Share:
        """An accuracy from the shares of wrong labels that the calibrated and the raw posterior expect."""
        least, most = BEST * float(wrong.min()), min(WORST * float(wrong.max()), 1.0)
        high = wilson_of(1 - least, self.tasks).high
        return Share(1 - float(wrong[0]), wilson_of(1 - most, self.tasks).low, high)


def estimated(result: Inferred) -> Right:
    """Estimate, from the labels alone, how many of the labels of tasks without gold are right.

    >>> from hutch.crowd.aggregate import aggregate
    >>> from hutch.crowd.data.labels import from_triples
    >>> estimated(aggregate(from_triples([("ann", "t1", "cat"), ("bob", "t1", "dog")]))).why
    'only 1 task has labels'
    """
    tally = Tally()
    tally.add(result.labels, result.probability, result.fit.posterior)
    return tally.right(result.model, result.judges, result.doubt)


def votes(labels: Labels) -> Array:
    """The majority's class of each item, 1 for the most frequent label (items, classes); tied classes share the 1."""
    share = labels.vote_share()
    best = share >= share.max(axis=1, keepdims=True) - 1e-12
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def wilson_of(share: float, count: int, confidence: float = CONFIDENCE) -> Share:
    """A share of so many items with Wilson's interval.

    >>> [round(end, 3) for end in wilson_of(0.9, 50)]
    [0.9, 0.786, 0.957]
    """
    low, high = wilson(share, 0.25 / max(count, 1), 0.5, (0.0, 1.0), quantile(confidence))
    return Share(share, low, high)


def counted(result: Inferred, truth: NDArray[np.int32], found: Array | None = None) -> Right:
    """Count how many labels of tasks with a known class are right.

    Args:
        result: of an aggregation.
        truth: classes (items), -1 where they are not known.
        found: probabilities (items, classes) that have not seen these classes; None: those of the result.
    """
    known = np.flatnonzero((truth >= 0) & (np.diff(result.labels.item_ptr) > 0))
    at = truth[known]
    share = (result.probability if found is None else found)[known]
    best = share >= share.max(axis=1, keepdims=True, initial=0.0) - 1e-12
    right = (best[np.arange(len(at)), at] / best.sum(axis=1)).mean() if len(at) else 0.0
    voted = votes(result.labels)[known, at].mean() if len(at) else 0.0
    return Right(wilson_of(float(right), len(at)), wilson_of(float(voted), len(at)), len(at), known=True)


def hidden(labels: Labels, fit: Callable[[Labels], Inferred], seed: int = 0) -> Array | None:
    """Probabilities of gold tasks from runs that saw the gold of the other half of them only.

    Args:
        labels: with gold.
        fit: aggregates labels.
        seed: of the halves.

    Returns:
        float64 (items, classes), to be used where gold is known; None: gold is too little, or labels are too many for
        two more runs.
    """
    gold = np.flatnonzero(labels.gold >= 0)
    if len(gold) < LEAST_GOLD or len(labels) > _MANY:
        return None
    found = np.zeros((labels.items, len(labels.classes)))
    order = np.random.default_rng(seed).permutation(gold)
    for half in (order[::2], order[1::2]):
        seen = labels.gold.copy()
        seen[half] = -1
        found[half] = fit(replace(labels, gold=seen)).probability[half]
    return found
