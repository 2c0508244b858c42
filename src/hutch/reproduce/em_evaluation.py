"""How well a learner handles a stream: the four evaluations of Nat-oEM's slides, on digits or synthetic PPCA classes.

All figures are mean log-likelihoods of held-out samples, in nats per sample.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.em.base.learner import Learner
from hutch.em.base.model import Array
from hutch.em.ppca.model import PPCAParameters, closed_form, draw, log_likelihood

Make = Callable[[Array, int], Learner[PPCAParameters]]
"""Builds a learner from the first rows of a stream and a rank."""
_FIRST = 100
_CHECKPOINTS = 40
_PASSES = 2


class Labelled(NamedTuple):
    """Rows (samples, dimension) and their classes (samples), numbered from 0."""

    rows: Array
    classes: NDArray[np.int64]

    def of(self, number: int) -> Array:
        """The rows of one class."""
        return np.asarray(self.rows[self.classes == number])


@dataclass(frozen=True, slots=True)
class Task:
    """One split of one data set, and the orders in which a stream brings it; all drawn from one seed.

    Attributes:
        train, validation, test: the split.
        rank: latent dimension that the learners get.
        order: the classes as the stream brings them.
        shuffles: (passes, samples) orders of the training rows for the iid stream.
        margin: nats below maximum likelihood that count as converged.
    """

    train: Labelled
    validation: Labelled
    test: Labelled
    rank: int
    order: NDArray[np.int64]
    shuffles: NDArray[np.int64]
    margin: float


def digits(seed: int) -> Task:
    """scikit-learn's 1797 handwritten digits of 64 pixels in [0, 1], 60 / 20 / 20 %, rank 10.

    Raises:
        UsageError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise UsageError("the digits need scikit-learn: pip install 'hutch[sklearn]'") from None
    data = load_digits()
    rows, classes = data.data / 16, data.target.astype(np.int64)
    return _split(rows, classes, (0.6, 0.8), rank=10, margin=3.0, random=np.random.default_rng(seed))


def synthetic(seed: int) -> Task:
    """Ten classes, each a PPCA of rank 5 in 50 dimensions with 300 samples, 70 / 15 / 15 %, rank 15."""
    random = np.random.default_rng([seed, 1])
    rows = []
    for _ in range(10):
        mean, loadings = random.standard_normal(50), random.standard_normal((5, 50))
        rows.append(draw(PPCAParameters(mean, 0.6 * loadings, 0.5), 300, random))
    return _split(np.concatenate(rows), np.repeat(np.arange(10), 300), (0.7, 0.85), rank=15, margin=1.0, random=random)


def _split(
    rows: Array, classes: NDArray[np.int64], cuts: tuple[float, float], rank: int, margin: float, random: Any
) -> Task:
    order = random.permutation(len(rows))
    parts = np.split(order, [int(cut * len(rows)) for cut in cuts])
    train, validation, test = (Labelled(rows[part], classes[part]) for part in parts)
    shuffles = np.stack([random.permutation(len(train.rows)) for _ in range(_PASSES)])
    return Task(train, validation, test, rank, random.permutation(classes.max() + 1), shuffles, margin)


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The results on an iid stream.

    Attributes:
        seen: (checkpoints) samples learned.
        curve: (checkpoints) log-likelihood of all held-out rows.
        to_target: samples until it is within the margin of maximum likelihood, for good or not; infinity if never.
        one_pass: log-likelihood after each training row came once.
    """

    seen: NDArray[np.int64]
    curve: Array
    to_target: float
    one_pass: float


def shuffled(task: Task, make: Make, held_out: Labelled) -> Shuffled:
    """Iid convergence: shuffled passes over the training rows; a boundary after each tenth of the stream."""
    stream = task.train.rows[task.shuffles.ravel()]
    count = len(task.train.rows)
    marks = np.unique(np.append(np.geomspace(10, len(stream), _CHECKPOINTS).astype(np.int64), count))
    boundaries = np.linspace(0, len(stream), 11).astype(np.int64)[1:-1]
    learner = make(stream[:_FIRST], task.rank)
    curve, first = [], 0
    for last in np.union1d(marks, boundaries):
        learner.learn(stream[first:last])
        first = last
        if last in marks:
            curve.append(log_likelihood(held_out.rows, learner.parameters).mean())
        if last in boundaries:
            learner.boundary()
    best = closed_form(task.train.rows, task.rank)
    reached = np.flatnonzero(np.array(curve) >= log_likelihood(held_out.rows, best).mean() - task.margin)
    to_target = float(marks[reached[0]]) if len(reached) else np.inf
    return Shuffled(marks, np.array(curve), to_target, float(curve[list(marks).index(count)]))


@dataclass(frozen=True, slots=True)
class Incremental:
    """The results of one pass over a stream that brings class after class.

    Attributes:
        matrix: (classes, classes) log-likelihood of class `order[j]` after `order[i]` was learned.
        curve: (classes) log-likelihood of all held-out rows after each class.
        earlier_curve: of earlier classes after each class but the first.
        later_curve: of classes not yet seen, after each class but the last.
        final: all classes at the end.
        area: incremental convergence: all classes, mean along the stream.
        learned: plasticity: the class just learned, mean over classes.
        earlier: consolidation: earlier classes after each class, mean over classes.
        later: interference: classes not yet seen after each class, mean over classes.
    """

    matrix: Array
    curve: Array
    earlier_curve: Array
    later_curve: Array
    final: float
    area: float
    learned: float
    earlier: float
    later: float


def incremental(task: Task, make: Make, held_out: Labelled) -> Incremental:
    """Incremental convergence, consolidation and interference: one pass, class by class, boundaries known."""
    ordered = np.concatenate([task.train.of(number) for number in task.order])
    learner = make(ordered[:_FIRST], task.rank)
    matrix, curve = np.empty((len(task.order), len(task.order))), []
    for i, number in enumerate(task.order):
        if i:
            learner.boundary()
        learner.learn(task.train.of(number))
        scores = log_likelihood(held_out.rows, learner.parameters)
        matrix[i] = [scores[held_out.classes == other].mean() for other in task.order]
        curve.append(scores.mean())
    whole, count = np.array(curve), len(matrix)
    earlier = np.array([matrix[i, :i].mean() for i in range(1, count)])
    later = np.array([matrix[i, i + 1 :].mean() for i in range(count - 1)])
    means = (float(each.mean()) for each in (whole, np.diag(matrix), earlier, later))
    return Incremental(matrix, whole, earlier, later, float(whole[-1]), *means)
