"""Judges who err independently: the classes that they agree on, and what people mean by them.

A forecast of people's labels (`forecast`) assumes nothing of judges' errors, and wastes judges who err independently.
The crowd model of all workers finds such judges' own classes c. People are coins around the true class z, right with r
whatever it is, and judges may misread one class for another: P(z | c) = A[c, z], where

    P(h | c) = sum_z A[c, z] coin_r(h | z)

is what people say of the judges' classes. So people who agree with every class equally often show their own errors, and
people who agree with some class less often than with others show that judges misread it. Labels leave r open upwards:
it is what people reach on the class that they agree with most, and at least `RIGHT`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array
from hutch.crowd.models.trust import errors_in_common, some_of
from hutch.crowd.models.two_level import TwoLevel

RIGHT, MOST = 0.7, 0.98
"""How often people are right at least, and at most."""
FEW = 10
"""Labels of people for each probability in A, without which nothing is found."""
ALIKE = 3.0
"""Chi-square per degree of freedom below which people agree with all classes equally often."""
LEAST_MEANT = 0.6
"""Mean of the largest P(true class | class of the judges) below which people speak of something else."""
SHRINKAGE = 10.0
"""Labels of all people in the skill of one."""
_STEPS, _TINY = 30, 1e-4


@dataclass(frozen=True)
class Consensus:
    """What judges agree on.

    Attributes:
        log_forecast: log P(true class | judges' labels) (items, classes).
        rows: P(label | class of the judges) of each worker (workers, labels, classes).
        prior: P(class of the judges) (classes).
        meaning: A, P(true class | class of the judges) (classes, classes).
        skill: how often each person is right (workers).
    """

    log_forecast: Array
    rows: Array
    prior: Array
    meaning: Array
    skill: Array


def find(labels: Labels, people: NDArray[np.bool_], log_forecast: Array) -> Consensus | None:
    """The consensus of judges who err independently; None if they do not, or do not tell people's labels better.

    There are two tests. Labels of one item may not agree significantly more than the classes explain. And the judges'
    classes must predict people's labels better than the forecast does, by more than what P(h | c) costs (G. Schwarz,
    "Estimating the dimension of a model", Annals of Statistics 6, 1978).

    Args:
        labels: of people and judges.
        people: who is one (workers).
        log_forecast: cross-fitted log-probability of people's labels (items, classes).
    """
    classes, some = len(labels.classes), some_of(labels)
    said_by_people = people[some.workers]
    free, judges = classes * (classes - 1), len(np.unique(some.workers[~said_by_people]))
    if judges < 2 or not free or said_by_people.sum() < FEW * free:
        return None
    model = TwoLevel(clarity=1.0)
    fit = model.fit(some)
    rows = model.confusions(fit.state)
    seen, error = errors_in_common(some, fit.posterior, rows)
    if seen > 2 * error:
        return None
    found = _judged(some, people, fit.posterior, rows)
    items, said = some.label_items[said_by_people], some.labels[said_by_people]
    given = _rows_of_people(found[items], said)
    step = -(-labels.items // max(some.items, 1))
    gain = np.log((found[items] * given[:, said].T).sum(axis=1)) - log_forecast[::step][items, said]
    if gain.sum() <= 0.5 * free * np.log(len(gain)):
        return None
    meaning, right = _meaning(found[items], said, given)
    if meaning.max(axis=1).mean() < LEAST_MEANT:
        return None
    after = (found[items] @ meaning) * _coin(right, classes)[:, said].T
    hits = after[np.arange(len(said)), said] / after.sum(axis=1)
    by, size = some.workers[said_by_people], len(people)
    own = np.bincount(by, hits, size) + SHRINKAGE * hits.mean()
    skill = right * own / (np.bincount(by, minlength=size) + SHRINKAGE) / hits.mean()
    if some is not labels:
        fit = model.fit(labels)
        rows = model.confusions(fit.state)
        found = _judged(labels, people, fit.posterior, rows)
    return Consensus(
        np.log(found @ meaning), rows.transpose(0, 2, 1), model.class_prior(fit.state), meaning, np.minimum(skill, MOST)
    )  # fmt: skip


def apply(labels: Labels, people: NDArray[np.bool_], rows: Array, prior: Array, meaning: Array) -> Array:
    """Log-forecasts (items, classes) of other labels; the arguments are those of `find` and `Consensus`."""
    judged = labels.chosen(~people[labels.workers])
    scores = np.tile(np.log(np.maximum(prior, _TINY)), (labels.items, 1))
    np.add.at(scores, judged.label_items, np.log(np.maximum(rows[judged.workers, judged.labels], _TINY)))
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(np.log(np.maximum(scores / scores.sum(axis=1, keepdims=True) @ meaning, _TINY)))


def coins(skill: Array, classes: int) -> Array:
    """P(label | class) of workers who are right with `skill`, whatever the class (workers, labels, classes)."""
    return np.asarray(np.where(np.eye(classes), skill[:, None, None], (1 - skill[:, None, None]) / max(classes - 1, 1)))


def _coin(right: float, classes: int) -> Array:
    return np.asarray(coins(np.array([right]), classes)[0])


def _judged(labels: Labels, people: NDArray[np.bool_], posterior: Array, rows: Array) -> Array:
    """Posteriors of the judges' classes without what people said."""
    mine = people[labels.workers]
    scores = np.log(np.maximum(posterior, 1e-12))
    said = np.log(np.maximum(rows[labels.workers[mine], :, labels.labels[mine]], 1e-9))
    np.subtract.at(scores, labels.label_items[mine], said)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def _rows_of_people(judged: Array, said: NDArray[np.int32]) -> Array:
    """P(label of people | class of the judges) by EM (classes, labels)."""
    classes = judged.shape[1]
    rows = _coin(RIGHT, classes)
    for _ in range(_STEPS):
        q = judged * rows[:, said].T
        q /= q.sum(axis=1, keepdims=True)
        rows = np.stack([np.bincount(said, column, classes) for column in q.T]) + 0.5 / classes
        rows /= rows.sum(axis=1, keepdims=True)
    return rows


def _meaning(judged: Array, said: NDArray[np.int32], rows: Array) -> tuple[Array, float]:
    """A, and how often people are right."""
    classes = judged.shape[1]
    q = judged * rows[:, said].T
    given = (q / q.sum(axis=1, keepdims=True)).sum(axis=0) + 0.5
    agreed = np.diag(rows)
    mean = float(agreed @ given / given.sum())
    error = np.sqrt(max(mean * (1 - mean), 0.05) / given)
    right = min(max(RIGHT, mean, float((agreed - 2 * error).max())), MOST)
    if mean >= RIGHT and (((agreed - mean) / error) ** 2).sum() < ALIKE * (classes - 1):
        return np.where(np.eye(classes, dtype=bool), 1 - _TINY * (classes - 1), _TINY), mean
    wrong = (1 - right) / (classes - 1)
    meaning = np.maximum((rows - wrong) / (right - wrong), _TINY)
    return meaning / meaning.sum(axis=1, keepdims=True), right
