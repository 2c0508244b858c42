"""Simulated ratings: many workers of differing skill, each task rated by a few of them, one class right.

A rater with skill s names the true class of a task of difficulty d with probability 1 / (1 + exp(d - s)). Otherwise a
wrong class is drawn: raters lean towards certain classes, and each task has a wrong class that looks like its own.
The last is what makes rater and task interact.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SKILL, _DIFFICULTY = (2.2, 0.9), (0.0, 1.1)  # mean, standard deviation
_LEANING = 0.8  # standard deviation of the logarithm of a rater's leaning to a class
_LOOKALIKE = 6.0  # relative frequency of the class that looks like the true one
_PREVALENCE = 1.3  # ratio of the frequencies of neighbouring classes


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings in random order.

    Attributes:
        labels: int64 (ratings), the given class, 1 to classes.
        raters, tasks: int64 (ratings), numbers from 0.
        truth: int64 (tasks), the true class of each task.
    """

    labels: NDArray[np.int64]
    raters: NDArray[np.int64]
    tasks: NDArray[np.int64]
    truth: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, part: slice) -> "Ratings":
        return Ratings(self.labels[part], self.raters[part], self.tasks[part], self.truth)

    def examples(self) -> bytes:
        """One line `class |rater r7 |task t42` each."""
        columns = zip(self.labels.tolist(), self.raters.tolist(), self.tasks.tolist(), strict=True)
        return "".join(f"{label} |rater r{rater} |task t{task}\n" for label, rater, task in columns).encode()

    def table(self) -> bytes:
        """One line `rater TAB task TAB class` each, as truth inference reads them."""
        columns = zip(self.labels.tolist(), self.raters.tolist(), self.tasks.tolist(), strict=True)
        return "".join(f"r{rater}\tt{task}\t{label}\n" for label, rater, task in columns).encode()


def simulate_ratings(
    tasks: int = 10_000, per_task: int = 5, raters: int = 3_000, classes: int = 5, seed: int = 0
) -> Ratings:
    """Draw ratings; the defaults are the size of a known set of ratings from Mechanical Turk.

    Args:
        tasks: number of rated tasks.
        per_task: raters per task, all different.
        raters: number of raters; a few rate many tasks, most rate few.
        classes: at least 2.
        seed: of all draws.

    Source of the size: P. Mineiro, "Machined Learnings", 20 May 2011.

    >>> ratings = simulate_ratings(tasks=3, per_task=2)
    >>> len(ratings), sorted(ratings.tasks.tolist())
    (6, [0, 0, 1, 1, 2, 2])
    """
    rng = np.random.default_rng(seed)
    prior = _PREVALENCE ** -np.arange(classes, dtype=np.float64)
    prior /= prior.sum()
    skill = rng.normal(*_SKILL, raters)
    leaning = prior * np.exp(rng.normal(0.0, _LEANING, (raters, classes)))
    truth = rng.choice(classes, tasks, p=prior)
    difficulty = rng.normal(*_DIFFICULTY, tasks)
    lookalike = _draw(rng, _likeness(rng, classes)[truth])
    rater = _distinct(rng, tasks, per_task, raters).ravel()
    task = np.repeat(np.arange(tasks), per_task)

    wrong = leaning[rater]
    rows = np.arange(len(task))
    wrong[rows, lookalike[task]] *= _LOOKALIKE
    wrong[rows, truth[task]] = 0.0
    right = rng.random(len(task)) < 1.0 / (1.0 + np.exp(difficulty[task] - skill[rater]))
    said = np.where(right, truth[task], _draw(rng, wrong))
    order = rng.permutation(len(task))
    return Ratings(said[order] + 1, rater[order], task[order], truth + 1)


def _likeness(rng: np.random.Generator, classes: int) -> NDArray[np.float64]:
    """How easily class i is confused with class j: classes are points in a plane, near ones look alike."""
    points = rng.normal(size=(classes, 2))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    likeness: NDArray[np.float64] = np.exp(-distance)
    np.fill_diagonal(likeness, 0.0)
    return likeness


def _draw(rng: np.random.Generator, weights: NDArray[np.float64]) -> NDArray[Any]:
    """One class per row, with probability proportional to its weight."""
    ends = weights.cumsum(axis=1)
    return np.asarray((rng.random((len(weights), 1)) * ends[:, -1:] >= ends).sum(axis=1))


def _distinct(rng: np.random.Generator, tasks: int, per_task: int, raters: int) -> NDArray[np.int64]:
    """Raters of each task, the busy ones more often, none twice: duplicates are drawn again."""
    if per_task > raters:
        raise ValueError(f"got {per_task} raters per task, wanted at most {raters}, the number of raters")
    activity = 1.0 / (np.arange(raters) + 8.0) ** 0.9
    ends = activity.cumsum() / activity.sum()
    found = np.searchsorted(ends, rng.random((tasks, per_task)))
    while True:
        found.sort(axis=1)
        again = np.zeros(found.shape, bool)
        again[:, 1:] = found[:, 1:] == found[:, :-1]
        if not again.any():
            return found.astype(np.int64)
        found[again] = np.searchsorted(ends, rng.random(int(again.sum())))
