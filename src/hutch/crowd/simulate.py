"""Simulated crowds in which the truth is known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.models.model import Array

KINDS = {"expert": 0.15, "normal": 0.60, "biased": 0.12, "random": 0.05, "constant": 0.04, "adversary": 0.04}
"""Kinds of workers and their shares."""


@dataclass(frozen=True)
class SimulatedCrowd:
    """A crowd and its labels.

    Attributes:
        labels: the labels, blocks of one item, without gold.
        truth: int32 (items).
        kinds: kind of each worker, by worker code; places in `KINDS`.
        confusions: P(label | class) on an item of usual difficulty, by worker code.
    """

    labels: Labels
    truth: NDArray[np.int32]
    kinds: NDArray[np.int64]
    confusions: Array


def simulate(items: int, workers: int, classes: int, ratings: float, seed: int = 0) -> SimulatedCrowd:
    """Draw workers, items and labels by Mineiro's nominal model.

    p(l | z = k) is proportional to exp(-alpha_w[k, l] beta); alpha ~ N(gamma, 1) for normal workers, N(3, 0.5) for
    experts, 0 for random ones, one label far below the rest for constant ones; adversaries answer the next class.
    log beta ~ N(0.5, 0.7). Workers are drawn with weights rank^-0.9, ratings of an item are 1 + Poisson(ratings - 1).

    Args:
        items, workers, classes: numbers, ≥ 1, ≥ 1, ≥ 2.
        ratings: mean labels of an item, ≥ 1.
        seed: of all draws.
    """
    random = np.random.default_rng(seed)
    kinds = random.choice(len(KINDS), workers, p=np.array(list(KINDS.values())))
    alpha = _alpha(random, kinds, classes)
    truth = random.choice(classes, items, p=random.dirichlet(np.full(classes, 3.0))).astype(np.int32)
    beta = np.exp(random.normal(0.5, 0.7, items))
    item, worker = assign(random, items, workers, ratings)
    scores = -alpha[worker, truth[item]] * beta[item, None] + random.gumbel(size=(len(item), classes))
    codes = np.stack([worker.astype(np.int32), item, scores.argmax(axis=1).astype(np.int32)], axis=1)
    usual = np.exp(-alpha * np.exp(0.5))
    labels = from_codes(
        codes,
        [f"w{w}" for w in range(workers)],
        [f"t{i}" for i in range(items)],
        [str(k) for k in range(classes)],
        classes=[str(k) for k in range(classes)],
    )
    return SimulatedCrowd(labels, truth, kinds, usual / usual.sum(axis=2, keepdims=True))


def assign(
    random: np.random.Generator, items: int, workers: int, ratings: float
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Item and worker of each label; no worker labels an item twice."""
    counts = np.minimum(1 + random.poisson(ratings - 1, items), workers)
    item = np.repeat(np.arange(items, dtype=np.int32), counts)
    activity = np.cumsum(random.permutation(np.arange(1, workers + 1) ** -0.9))
    worker = np.searchsorted(activity / activity[-1], random.random(len(item))).clip(0, workers - 1)
    once = np.sort(np.unique(item * np.int64(workers) + worker, return_index=True)[1])
    return item[once], worker[once]


def _alpha(random: np.random.Generator, kinds: NDArray[np.int64], classes: int) -> Array:
    """Reliabilities of all workers (workers, classes, labels); 0 on the diagonal except for constant workers."""
    off = 1 - np.eye(classes)
    distance = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes)))
    gamma = 1 + 0.5 * random.standard_normal((classes, classes)) + 0.25 * distance
    alpha = off * (gamma + random.standard_normal((len(kinds), classes, classes)))
    for worker, kind in enumerate(np.array(list(KINDS))[kinds]):
        if kind == "expert":
            alpha[worker] = off * random.normal(3, 0.5, (classes, classes))
        elif kind == "biased":
            alpha[worker, :, random.integers(classes)] -= 1.5
            alpha[worker] *= off
        elif kind in ("random", "constant"):
            alpha[worker] = 0
            if kind == "constant":
                alpha[worker, :, random.integers(classes)] = -4
        elif kind == "adversary":
            alpha[worker] = random.normal(2, 0.5, (classes, classes))
            alpha[worker, np.arange(classes), (np.arange(classes) + 1) % classes] = 0
    return alpha
