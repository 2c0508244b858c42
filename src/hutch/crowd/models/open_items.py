"""Crowd labels one by one, in any order: workers, crowds and open items, by number."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.models import open_items_learn as kernels
from hutch.crowd.models.open_items_kernels import (
    COUNT,
    CURSOR,
    DRIFT,
    FIRST,
    FREE_NODE,
    LABEL,
    LABELS,
    NEXT,
    NODES,
    ONE,
    RECORDS,
    REFRESH,
    ROOM,
    WORKER,
    Crowds,
    Open,
)
from hutch.crowd.models.two_level_kernels import CLARITY, COIN, HABIT, POPULATION, SKILL, Crowd, fit_strengths

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

CLARITIES = (0.05, 0.4, 1.0)
"""Of the crowds that run side by side."""
FIRST_REFRESH = 500
"""Labels after which strengths are estimated first; then at each doubling."""
_SKILL = 0.7  # of a new worker, and P(label | its class) of a new population
_CLOCK = 14


class Settings(NamedTuple):
    """How a stream learns; see `open_items_kernels.VISITS` and following for the order.

    Attributes:
        visits: open items judged again after each label, at least 0.
        warm_up: labels of a worker until posteriors weigh as much as a rule of votes in what is learned.
        drift: rate per label at which labels lose weight, at least 0.
        room: most open items; 0 for any number.
        effort: labels of an item up to which judging it again costs one visit; with more it costs in proportion.
    """

    visits: float = 2.0
    warm_up: float = 10.0
    drift: float = 0.0
    room: float = 0.0
    effort: float = 6.0


@dataclass
class OpenItems:
    """The state of a stream of labels in any order.

    Attributes:
        crowds: workers and crowds.
        opened: open items.
        settings: how it learns.
        items, workers: numbers of those met.
    """

    crowds: Crowds
    opened: Open
    settings: Array = field(default_factory=lambda: np.array(Settings()))
    items: int = 0
    workers: int = 0

    @classmethod
    def empty(
        cls, classes: int, slots: int, clarities: tuple[float, ...] = CLARITIES, habit: float = 15.0,
        settings: Settings | None = None, class_prior: Array | None = None,
    ) -> "OpenItems":  # fmt: skip
        """A state before the first label.

        Args:
            classes: number of classes.
            slots: rows of the worker table.
            clarities: of the crowds, from 0 to 1.
            habit: pseudo-counts of a worker's habit.
            settings: how it learns.
            class_prior: given P(class); None if it is learned.
        """
        members, clock = len(clarities), np.zeros(_CLOCK, np.int64)
        clock[REFRESH], clock[CURSOR], clock[FREE_NODE] = FIRST_REFRESH, -1, -1
        strengths = np.zeros((members, 5))
        strengths[:, [POPULATION, COIN, SKILL, HABIT]], strengths[:, CLARITY] = (2.0, 2.0, _SKILL, habit), clarities
        population = np.where(np.eye(classes), _SKILL if classes > 1 else 1.0, (1 - _SKILL) / max(classes - 1, 1))
        crowds = Crowds(
            counts=np.zeros((slots, members, classes, classes), np.int64),
            rows=np.zeros((slots, members, classes), np.int64),
            habits=np.zeros((slots, members, classes), np.int64),
            masses=np.zeros((slots, members), np.int64),
            skill=np.full((slots, members), _SKILL),
            population=np.tile(population, (members, 1, 1)),
            habit_prior=np.full((members, classes), 1 / max(classes, 1)),
            strengths=strengths,
            class_counts=np.zeros((members, classes), np.int64),
            level_counts=np.zeros((members, 2), np.int64),
            evidence=np.zeros(members, np.int64),
            fixed_prior=np.zeros(0) if class_prior is None else class_prior,
            origin=np.zeros(1),
        )
        opened = Open(
            records=np.zeros((0, 5), np.int32), times=np.zeros(0, np.int64), sure=np.zeros(0),
            q=np.zeros((0, members, 2 * classes), np.int64), labels=np.zeros((0, 3), np.int32),
            came=np.zeros(0, np.int64), shares=np.zeros((0, members, classes), np.uint16),
            foretold=np.zeros((0, members), np.int32), free=np.zeros(0, np.int32), surest=np.zeros(0, np.int32),
            where=np.zeros(0, np.int32), gold=np.zeros(0, np.int32), earlier=np.zeros(0, np.int32),
            base=np.zeros((0, classes)), slots=np.zeros(0, np.int32), clock=clock,
        )  # fmt: skip
        return cls(crowds, opened, np.array(settings or Settings()))

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.crowds.class_counts.shape[1])

    def meet(self, items: int, slots: NDArray[np.int32]) -> None:
        """Make room for new items and workers.

        Args:
            items: number of new items, which get the next numbers.
            slots: rows of the tables of new workers, who get the next numbers.
        """
        first = self.items
        self.items, self.workers = first + items, self.workers + len(slots)
        self._grow(self.items, where=-1, gold=-1, earlier=0, base=1.0)
        self._grow(self.workers, slots=0)
        self.opened.slots[self.workers - len(slots) : self.workers] = slots

    def _grow(self, least: int, **fills: float) -> None:
        """Give arrays at least so many rows; they double, so that each row is copied once on average."""
        for name, fill in fills.items():
            old: NDArray[Any] = getattr(self.opened, name)
            if len(old) < least:
                new = np.full((max(least, 2 * len(old)), *old.shape[1:]), fill, old.dtype)
                new[: len(old)] = old
                self.opened = self.opened._replace(**{name: new})

    def room_for(self, records: int, labels: int) -> None:
        """Make room for so many open items and labels in all."""
        self._grow(records, records=0, times=0, sure=0.0, q=0, free=0, surest=0)
        self._grow(labels, labels=0, came=0, shares=0, foretold=0)

    def learn(self, items: Codes, workers: Codes, labels: Codes, anonymous: int = -1) -> Array:
        """Learn labels in the order of their coming.

        Args:
            items, workers: numbers of items and workers that have been met (labels).
            labels: classes (labels).
            anonymous: the worker whose labels never replace each other; -1 for none.

        Returns:
            log-probability of each label before it came; 0 for one that replaced another (labels).
        """
        clock, room = self.opened.clock, int(self.settings[ROOM])
        known = int(clock[RECORDS])
        records = known + int(np.count_nonzero(self.opened.where[_different(items)] < 0))
        records = max(known, min(records, room)) if room else records
        self.room_for(records, int(clock[NODES]) + len(items))
        objective, done = np.zeros(len(items)), 0
        while done < len(items):
            done = kernels.learn(
                self.crowds, self.opened, items, workers, labels, done, anonymous, self.settings, objective
            )
            if clock[LABELS] >= clock[REFRESH]:
                self.estimate()
                while clock[REFRESH] <= clock[LABELS]:
                    clock[REFRESH] *= 2
        return objective

    def tell(self, item: int, gold: int) -> None:
        """The class of an item becomes known."""
        kernels.tell(self.crowds, self.opened, item, gold, self.settings)

    def withdraw(self, item: int, worker: int) -> bool:
        """A worker takes back the label of an open item; returns whether there was one."""
        return bool(kernels.withdraw(self.crowds, self.opened, item, worker, self.settings))

    def sweep(self) -> None:
        """Judge every open item again, under strengths from all counts."""
        self.estimate()
        kernels.sweep(self.crowds, self.opened, self.settings)

    def estimate(self) -> None:
        """Strengths, skills, population and habit of each crowd from all counts."""
        self.crowds = self.estimated()

    def estimated(self) -> Crowds:
        """The crowds with new strengths; the state keeps its own."""
        crowds = self.crowds
        met = _different(self.opened.slots[: self.workers])
        unit = self.unit()
        found = {name: getattr(crowds, name).copy() for name in ("skill", "population", "habit_prior", "strengths")}
        for m in range(len(crowds.evidence)):
            counts, rows, habits, masses = (
                (getattr(crowds, name)[met, m] * unit).astype(np.float64)
                for name in ("counts", "rows", "habits", "masses")
            )
            skill = found["skill"][met, m]
            crowd = Crowd(
                counts=counts.reshape(-1), rows=rows.reshape(-1), habits=habits.reshape(-1), masses=masses, skill=skill,
                population=found["population"][m].reshape(-1), habit_prior=found["habit_prior"][m],
                strengths=found["strengths"][m],
            )  # fmt: skip
            fit_strengths(crowd, self.classes, np.ones(len(met)))
            found["skill"][met, m] = skill
        return crowds._replace(**found)

    def widen(self, classes: int) -> None:
        """Learn of further classes, which get the place that they would have had from the start.

        A new class is as likely a label as any wrong one at the start; estimates share the rest. Nothing has been
        counted of it; evidence for it of items whose labels were dropped is that of the least probable class.

        Args:
            classes: how many there are now.
        """
        old, crowds, opened = self.classes, self.crowds, self.opened
        shape = len(crowds.evidence), len(crowds.masses)
        strengths = crowds.strengths
        new = OpenItems.empty(classes, shape[1], tuple(strengths[:, CLARITY]), float(strengths[0, HABIT]))
        part, kept = (1 - _SKILL) / max(classes - 1, 1), ["level_counts", "evidence", "origin"]
        if old > 1:  # else nothing can have been learned of confusions
            new.crowds.population[:, :, :old] = part
            new.crowds.population[:, :old, :old] = crowds.population * (1 - (classes - old) * part)
            kept.append("strengths")
        new.crowds.habit_prior[:, :old] = crowds.habit_prior * old / classes
        for name in ("counts", "rows", "habits", "masses", "class_counts", *(["skill"] if old > 1 else [])):
            _put(getattr(new.crowds, name), getattr(crowds, name))
        same = {name: getattr(crowds, name) for name in kept}
        self.crowds = new.crowds._replace(**same, fixed_prior=crowds.fixed_prior)
        q = np.zeros((*opened.q.shape[:2], 2 * classes), np.int64)
        q[..., :old], q[..., classes : classes + old] = opened.q[..., :old], opened.q[..., old:]
        shares = np.zeros((*opened.shares.shape[:2], classes), np.uint16)
        shares[..., :old] = opened.shares
        least = opened.base.min(axis=1, keepdims=True) if old else np.ones((len(opened.base), 1))
        base = np.concatenate([opened.base, np.repeat(least, classes - old, axis=1)], axis=1)
        self.opened = opened._replace(q=q, shares=shares, base=base)

    def unit(self) -> float:
        """The present weight of a count of 1."""
        drift, labels = self.settings[DRIFT], self.opened.clock[LABELS]
        return float(np.exp(-drift * (labels - self.crowds.origin[0])) / ONE)

    def labels_of(self, items: Codes) -> tuple[Codes, Codes, Codes]:
        """The labels kept of some items, in the order of their coming.

        Args:
            items: numbers of items; -1 for one that was never met.

        Returns:
            where each item's labels begin (items + 1); workers, classes (labels).
        """
        opened, places = self.opened, np.full(len(items), -1)
        places[items >= 0] = opened.where[items[items >= 0]]
        at, counts = np.full(len(items), -1), np.zeros(len(items), np.int64)
        at[places >= 0], counts[places >= 0] = opened.records[places[places >= 0]][:, [FIRST, COUNT]].T
        pointer = np.concatenate([[0], np.cumsum(counts)])
        nodes = np.empty(pointer[-1], np.int64)
        for step in range(int(counts.max(initial=0))):
            going = np.flatnonzero(counts > step)
            nodes[pointer[going] + step] = at[going]
            at[going] = opened.labels[at[going], NEXT]
        return pointer, opened.labels[nodes, WORKER].astype(np.int64), opened.labels[nodes, LABEL].astype(np.int64)

    def read(self, items: Codes, pointer: Codes, slots: Codes, labels: Codes) -> tuple[Array, Array, Array]:
        """Posteriors of items by given labels, in whose judgement their own contributions have no part.

        Args:
            items: numbers of items; -1 for one that was never met.
            pointer: where each item's labels begin (items + 1).
            slots: rows of their workers in the tables (labels).
            labels: classes (labels).

        Returns:
            posteriors (items, classes); the probability that an item's class decides a label of it (items);
            log-probability of its labels (items).
        """
        posterior, clear, total = np.empty((len(items), self.classes)), np.empty(len(items)), np.empty(len(items))
        kernels.read(
            self.estimated(), self.opened, items, pointer, slots, labels, self.settings, posterior, clear, total
        )
        return posterior, clear, total


def _put(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Write a smaller array into the begin of a larger one."""
    target[tuple(slice(n) for n in source.shape)] = source


def _different(numbers: NDArray[Any]) -> NDArray[Any]:
    """The different ones of some numbers, ascending."""
    return np.unique(numbers, return_counts=True)[0]  # without counts it imports masked arrays
