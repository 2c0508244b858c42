"""What answers of workers who do not know say of the tasks: nothing, how hard they are, or their class.

A worker does not know with probability u, at each level of difficulty, or in each class, of the task; u has a Beta
prior around the worker's rate times the crowd's ratio, and an answer is judged without itself. The posteriors of the
labels alone are the start. Levels, or classes, count if an answer is foretold better with them, by `LEAST` nats.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.data.unsure import AS_CLASS, AS_LEVEL, AS_MISSING
from hutch.crowd.models.calibration import keeping
from hutch.crowd.models.model import Array, Fit

LEAST = 0.01
"""Nats per answer by which levels or classes must foretell answers better."""
_SIGMAS = 3.0
"""Standard errors by which they must."""
MOST_CLASSES, MOST_CELLS = 30, 20_000_000
"""Classes, and labels times classes, above which these answers are taken as missing."""
_STRENGTH, _ITERATIONS, _TOLERANCE = 10.0, 30, 1e-3
"""Pseudo-answers of the prior of u; iterations at most, and the change of a posterior that ends them."""
_GUESS = 0.7
"""Share of guesses among the labels of a murky task."""
_SMALL, _LARGE = 0.001, 0.98


def informed(labels: Labels, fit: Fit, rows: Callable[[], Array], class_prior: Array) -> tuple[Fit, str]:
    """The fit with what `labels.unsure` says of the tasks, and as what it is taken.

    That a task is hard makes its posterior less sure, and leaves its most probable class.

    Args:
        labels: with the answers of workers who do not know.
        fit: of the labels.
        rows: computes P(label | class) of each worker (workers, classes, labels).
        class_prior: (classes).

    Returns:
        The fit, unchanged where these answers say nothing, and one of `AS_MISSING`, `AS_LEVEL` and `AS_CLASS`.
    """
    classes = len(labels.classes)
    few = 1 < classes <= MOST_CLASSES and len(labels) * classes <= MOST_CELLS
    if not (len(labels) and len(labels.unsure) and few):
        return fit, AS_MISSING
    confusions = rows()
    answers, start = _answers(labels), _levels(labels, confusions, class_prior)
    before, known = _foretold(*answers, start, AS_MISSING)
    most, best, chosen = LEAST, before, AS_MISSING
    for how in (AS_LEVEL, AS_CLASS):
        posterior, each = _foretold(*answers, start, how)
        gain = each - known
        if gain.mean() > most and gain.mean() > _SIGMAS * gain.std() / np.sqrt(len(gain)):
            best, chosen, most = posterior, how, float(gain.mean())
    if chosen == AS_MISSING:
        return fit, AS_MISSING
    found = fit.posterior * best.sum(axis=1) / before.sum(axis=1)
    found /= found.sum(axis=1, keepdims=True)
    return replace(fit, posterior=keeping(found, fit.posterior.argmax(axis=1)) if chosen == AS_LEVEL else found), chosen


def _levels(labels: Labels, confusions: Array, class_prior: Array) -> Array:
    """Posteriors (items, levels, classes) of the labels: on a murky task a label is a guess, with `_GUESS`."""
    classes, ptr = len(class_prior), labels.item_ptr
    rows = confusions[labels.workers, :, labels.labels]
    logs = np.zeros((labels.items, 2, classes))
    labelled = np.diff(ptr) > 0
    for level, guess in enumerate((0.0, _GUESS)):
        chances = np.log(np.maximum((1 - guess) * rows + guess / classes, 1e-9))
        logs[labelled, level] = np.add.reduceat(chances, ptr[:-1][labelled])
    logs += np.log(np.maximum(class_prior, 1e-9))
    shares, found = np.array([0.7, 0.3]), logs
    for _ in range(_ITERATIONS):
        found = logs + np.log(shares)[:, None]
        found = np.exp(found - found.max(axis=(1, 2), keepdims=True))
        found /= found.sum(axis=(1, 2), keepdims=True)
        shares = found.sum(axis=(0, 2)) + 10
        shares /= shares.sum()
    return np.asarray(np.maximum(found, 1e-12))


def _answers(labels: Labels) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Worker, item, and whether the worker does not know, of all answers."""
    unsure = np.zeros(len(labels) + len(labels.unsure), np.bool_)
    unsure[len(labels) :] = True
    workers = np.concatenate([labels.workers, labels.unsure.workers])
    return workers, np.concatenate([labels.label_items, labels.unsure.items]), unsure


def _foretold(
    workers: NDArray[np.int32], items: NDArray[np.int32], unsure: NDArray[np.bool_], start: Array, how: str
) -> tuple[Array, Array]:
    """Posteriors (items, levels, classes) with the answers, and the log-probability of each given the others."""
    crowd, count = int(workers.max()) + 1, len(start)
    summed = {AS_MISSING: (1, 2), AS_LEVEL: (2,), AS_CLASS: (1,)}[how]
    q, logs = start, np.log(start)
    share = float(unsure.mean())
    for _ in range(_ITERATIONS):
        mass = q.sum(axis=summed)[items].reshape(len(items), -1)
        cells = mass.shape[1]
        said, given = (_by_worker(workers, mass * keep[:, None], crowd) for keep in (unsure, np.ones_like(unsure)))
        rate = (said.sum(axis=1) + _STRENGTH * share) / (given.sum(axis=1) + _STRENGTH)
        ratio = (said.sum(axis=0) + 1) / ((given * rate[:, None]).sum(axis=0) + 1)
        prior = np.clip(rate[:, None] * ratio, _SMALL, _LARGE)[workers]
        u = (said[workers] - mass * unsure[:, None] + _STRENGTH * prior) / (given[workers] - mass + _STRENGTH)
        u = np.clip(u, _SMALL, 1 - _SMALL)
        chance = np.where(unsure[:, None], u, 1 - u)
        total = np.stack([np.bincount(items, column, count) for column in np.log(chance).T], axis=1)
        shape = {AS_MISSING: (count, 1, 1), AS_LEVEL: (count, cells, 1), AS_CLASS: (count, 1, cells)}[how]
        scores = logs + total.reshape(shape)
        new = np.exp(scores - scores.max(axis=(1, 2), keepdims=True))
        new /= new.sum(axis=(1, 2), keepdims=True)
        change, q = float(np.abs(new - q).max()), new
        if change < _TOLERANCE:
            break
    mass = q.sum(axis=summed)[items].reshape(len(items), -1)
    return q, np.asarray(-np.log((mass / chance).sum(axis=1)))


def _by_worker(workers: NDArray[np.int32], mass: Array, count: int) -> Array:
    return np.stack([np.bincount(workers, column, count) for column in mass.T], axis=1)
