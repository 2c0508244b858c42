"""Simulated crowds that rate by degrees."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels, from_codes
from hutch.crowd.simulate import assign


@dataclass(frozen=True)
class SimulatedRatings:
    """A crowd that rates by degrees.

    Attributes:
        labels: the labels, blocks of one item, without gold; classes 1, 2, 3, ...
        truth: int32 (items).
    """

    labels: Labels
    truth: NDArray[np.int32]


def simulate_ratings(
    items: int, workers: int, classes: int, ratings: float, noise: float = 0.8, bias: float = 0.4, seed: int = 0
) -> SimulatedRatings:
    """Draw labels that are a normal variable around the class, rounded.

    A worker says round(m + s (z - m) + b + v x) within the classes, m their middle, x ~ N(0, 1), with a bias
    b ~ N(0, bias^2), a scale log s ~ N(0, .2^2) and log v ~ N(log noise, .4^2) of their own. Workers and ratings of an
    item are drawn as by `hutch.crowd.simulate.simulate`.

    Args:
        items, workers, classes: how many, ≥ 1, ≥ 1, ≥ 2.
        ratings: mean labels of an item, ≥ 1.
        noise, bias: in classes, > 0, ≥ 0.
        seed: of all draws.
    """
    random = np.random.default_rng(seed)
    truth = random.choice(classes, items, p=random.dirichlet(np.full(classes, 3.0))).astype(np.int32)
    shift, scale = bias * random.normal(size=workers), np.exp(0.2 * random.normal(size=workers))
    spread = noise * np.exp(0.4 * random.normal(size=workers))
    item, worker = assign(random, items, workers, ratings)
    middle = (classes - 1) / 2
    said = (
        middle + scale[worker] * (truth[item] - middle) + shift[worker] + spread[worker] * random.normal(size=len(item))
    )
    label = np.clip(np.round(said), 0, classes - 1).astype(np.int32)
    names = [str(k + 1) for k in range(classes)]
    codes = np.stack([worker.astype(np.int32), item, label], axis=1)
    labels = from_codes(codes, [f"w{w}" for w in range(workers)], [f"t{i}" for i in range(items)], names, names)
    return SimulatedRatings(labels, truth)
