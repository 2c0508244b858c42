"""Batch EM of crowd models over shards of items."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hutch.core.errors import UsageError
from hutch.crowd.aggregate import Aggregate, Options, aggregate
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array, CrowdModel, State, Sums
from hutch.jobs.engine import Engine, Here, Ref, sum_of

Held = tuple[dict[str, Array], dict[str, Array]]
"""The arrays of a shard's items and of its labels: `State.items` and `State.labels`."""


class Sharded:
    """Creates steps of EM over shards, for the argument `over` of `CrowdModel.fit`.

    Args:
        engine: runs them.
        shards: number of shards of the items.

    >>> from hutch.crowd.models.dawid_skene import DawidSkene
    >>> from hutch.crowd.simulate import simulate
    >>> labels = simulate(200, 20, 3, 4, seed=0).labels
    >>> one, many = DawidSkene().fit(labels), DawidSkene().fit(labels, over=Sharded(Here(), 4))
    >>> bool(abs(one.posterior - many.posterior).max() < 1e-9)
    True
    """

    def __init__(self, engine: Engine, shards: int) -> None:
        self.engine, self.shards = engine, shards
        self._labels: Labels | None = None
        self._pieces: list[Ref] = []
        self._cuts: list[int] = []

    def __call__(self, model: CrowdModel, labels: Labels, state: State) -> "ShardedSteps":
        if labels is not self._labels:
            self._labels, self._cuts = labels, cuts(labels, self.shards)
            self._pieces = [self.engine.put(part) for part in cut(labels, self._cuts)]
        return ShardedSteps(self.engine, self._pieces, self._cuts, model, labels, state)


class ShardedSteps:
    """`hutch.crowd.models.model.Steps`, whose methods these are, over shards of the items.

    Args:
        engine: runs them.
        pieces: the labels of each shard.
        cuts: between the items of the shards, and before and after all.
        model: whose steps.
        labels: all of them.
        state: of the model; its workers and crowd are sent with each step, its items stay where they are.
    """

    def __init__(
        self, engine: Engine, pieces: list[Ref], cuts: list[int], model: CrowdModel, labels: Labels, state: State
    ) -> None:
        self._engine, self._pieces, self._cuts, self._state = engine, pieces, cuts, state
        self._model = engine.put(model)
        self._items = list(zip(cuts[:-1], cuts[1:], strict=True))
        self._places = [(int(labels.item_ptr[a]), int(labels.item_ptr[b])) for a, b in self._items]
        self._held = [
            engine.put(
                ({name: array[a:b] for name, array in state.items.items()},
                 {name: array[c:d] for name, array in state.labels.items()})
            )
            for (a, b), (c, d) in zip(self._items, self._places, strict=True)
        ]  # fmt: skip

    def _each(self, function: Callable[..., Any], *more: Ref, results: int = 1) -> list[list[Ref]]:
        """Results, for each shard, of a function of model, state, labels and held arrays."""
        crowd = self._engine.put(replace(self._state, items={}, labels={}))
        shards = zip(self._pieces, self._held, strict=True)
        return [self._engine.submit(function, self._model, crowd, *shard, *more, results=results) for shard in shards]

    def count(self) -> Sums:
        counted = [ref for [ref] in self._each(_count)]
        sums: Sums = self._engine.get(sum_of(self._engine, counted))
        return sums

    def expect(self) -> tuple[float, float]:
        done = self._each(_expect, results=2)
        self._held = [held for held, _ in done]
        found = [self._engine.get(ref) for _, ref in done]
        objective = sum(mean * (b - a) for (mean, _), (a, b) in zip(found, self._items, strict=True))
        return objective / max(self._cuts[-1], 1), max(change for _, change in found)

    def total(self, measure: str) -> float:
        parts = self._each(_total, self._engine.put(measure))
        return float(sum(self._engine.get(part) for [part] in parts))

    def collect(self) -> None:
        for (a, b), (c, d), ref in zip(self._items, self._places, self._held, strict=True):
            items, labels = self._engine.get(ref)
            for name, array in items.items():
                self._state.items[name][a:b] = array
            for name, array in labels.items():
                self._state.labels[name][c:d] = array


def crowd(
    labels: Labels,
    model: CrowdModel | None = None,
    *,
    shards: int,
    engine: Engine | None = None,
    history: State | None = None,
    reference: Sequence[str] = (),
) -> Aggregate:
    """Infer the class of every item and the confusions of every worker, by batch EM over shards of items.

    The result differs from that of one process by rounding, below 1e-9; every engine gives the same bits.

    Args:
        labels, model, history, reference: as of `hutch.crowd.aggregate.aggregate`.
        shards: number of shards.
        engine: runs them; None: here, one after another.

    Raises:
        UsageError: fewer than one shard.

    >>> from hutch.crowd.simulate import simulate
    >>> crowd(simulate(100, 10, 2, 3, seed=0).labels, shards=4).probability.shape
    (100, 2)
    """
    if shards < 1:
        raise UsageError(f"shards: got {shards}, wanted at least 1")
    options = Options(shards=shards)
    return aggregate(labels, model, options, history, reference=reference, over=Sharded(engine or Here(), shards))


def cut(labels: Labels, cuts: list[int]) -> list[Labels]:
    """The labels of the items between cuts; all workers and classes stay."""
    return [labels.between(first, last) for first, last in zip(cuts[:-1], cuts[1:], strict=True)]


def _count(model: CrowdModel, state: State, labels: Labels, held: Held) -> Sums:
    state.items, state.labels = held
    return model.count(labels, state)


def _expect(model: CrowdModel, state: State, labels: Labels, held: Held) -> tuple[Held, tuple[float, float]]:
    state.items, state.labels = held
    found = model.expect(labels, state, learned=True)
    return (state.items, state.labels), found


def _total(model: CrowdModel, state: State, labels: Labels, held: Held, measure: str) -> float:
    state.items, state.labels = held
    return float(getattr(model, measure)(labels, state))


def cuts(labels: Labels, parts: int) -> list[int]:
    """Where items are cut into parts of about as many labels each; fewer where there are not enough items.

    >>> from hutch.crowd.data.labels import from_triples
    >>> cuts(from_triples([("ann", "a", "x"), ("bob", "a", "x"), ("ann", "b", "y"), ("bob", "c", "y")]), 2)
    [0, 1, 3]
    """
    wanted = np.arange(1, parts) * len(labels) / max(parts, 1)
    inner = set(np.searchsorted(labels.item_ptr, wanted).tolist()) - {0, labels.items}
    return [0, *sorted(inner), labels.items]
