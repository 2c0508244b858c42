"""A small Dawid-Skene model: the engine and the kl form know nothing of PPCA."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from hutch.core.errors import ConfigError
from hutch.em.base.model import Array, Model
from hutch.em.base.schedule import Schedule
from hutch.em.engine import OnlineEM
from hutch.em.nat_oem import NatOEM

Labels = NDArray[np.int64]
ITEMS, WORKERS, CLASSES = 1200, 9, 3


@dataclass(frozen=True)
class Crowd:
    prior: Array
    confusion: Array  # (workers, classes, labels)


class DawidSkene(Model[Crowd]):
    """Every worker labels every item; a batch is (items, workers)."""

    def statistics(self, batch: Labels, parameters: Crowd) -> Array:
        posterior = self.posterior(batch, parameters)
        counts = np.zeros_like(parameters.confusion)
        for label in range(CLASSES):
            counts[:, :, label] = (batch == label).T @ posterior
        return np.concatenate([posterior.mean(axis=0), (counts / len(batch)).ravel()])

    def maximise(self, statistics: Array) -> Crowd:
        prior, counts = statistics[:CLASSES], statistics[CLASSES:].reshape(WORKERS, CLASSES, CLASSES)
        return Crowd(prior / prior.sum(), counts / counts.sum(axis=2, keepdims=True))

    def log_likelihood(self, batch: Labels, parameters: Crowd) -> Array:
        return np.logaddexp.reduce(self._joint(batch, parameters), axis=1)

    def expected_statistics(self, parameters: Crowd) -> Array:
        return np.concatenate([parameters.prior, (parameters.prior[:, None] * parameters.confusion).ravel()])

    def posterior(self, batch: Labels, parameters: Crowd) -> Array:
        joint = self._joint(batch, parameters)
        return np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])

    def _joint(self, batch: Labels, parameters: Crowd) -> Array:
        chosen = np.log(parameters.confusion[np.arange(WORKERS), :, batch])  # (items, workers, classes)
        return np.log(parameters.prior) + chosen.sum(axis=1)


def world(seed: int = 0) -> tuple[Labels, Labels, Crowd]:
    random = np.random.default_rng(seed)
    skill = random.uniform(0.5, 0.9, WORKERS)
    confusion = np.full((WORKERS, CLASSES, CLASSES), 0.0) + ((1 - skill) / 2)[:, None, None]
    confusion[:, range(CLASSES), range(CLASSES)] = skill[:, None]
    truth = random.choice(CLASSES, ITEMS, p=[0.5, 0.3, 0.2])
    labels = np.array([[random.choice(CLASSES, p=confusion[w, k]) for w in range(WORKERS)] for k in truth])
    return truth, labels, Crowd(np.array([0.5, 0.3, 0.2]), confusion)


START = Crowd(np.full(3, 1 / 3), np.tile(0.6 * np.eye(3) + 0.4 / 3, (WORKERS, 1, 1)))


@pytest.mark.parametrize("constraint", [None, NatOEM(1.0), NatOEM(0.2, mode="class")])
def test_the_engine_learns_a_crowd(constraint: NatOEM[Crowd] | None) -> None:
    truth, labels, real = world()
    learner = OnlineEM(DawidSkene(), START, Schedule(0.8), constraint=constraint)
    learner.learn(labels[:600])
    learner.boundary()
    learner.learn(labels[600:])
    found = learner.parameters
    assert np.abs(found.confusion - real.confusion).max() < 0.15
    guess = learner.model.posterior(labels, found).argmax(axis=1)
    assert np.mean(guess == truth) > 0.93


def test_fisher_forms_need_a_fisher_information() -> None:
    with pytest.raises(ConfigError, match="DawidSkene has none; use kl"):
        OnlineEM(DawidSkene(), START, constraint=NatOEM(1.0, form="implicit"))
