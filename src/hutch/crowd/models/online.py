"""Labels in a stream: one item at a time, worker tables of fixed size."""

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hutch.core.errors import UsageError
from hutch.core.memory import available_memory
from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array, CrowdModel, Fit, State, without_own
from hutch.crowd.models.repeats import parted

DEFAULT_SLOTS = 1 << 16


@dataclass
class Progress:
    """Results of a pass for each item, made before the item was learned from.

    Attributes:
        objective: the auxiliary function F_i (items).
        posterior: float64 (items, classes).
    """

    objective: Array
    posterior: Array


class Stream(ABC):
    """The online form of a model: a state of fixed size and a step for each item.

    Args:
        model: whose parameters hold.
        classes: names of the classes.
        slots: rows of the worker table.
        history: the state of an earlier stream of the same size, continued exactly; or None.
    """

    def __init__(self, model: CrowdModel, classes: list[str], slots: int, history: State | None) -> None:
        self.model, self.slots, self.parameters = model, slots, model.parameters
        memory = available_memory()
        try:
            if memory is not None and 8 * slots * len(classes) ** 2 > memory:
                raise MemoryError
            self.state = self.start(classes, slots, history)
        except MemoryError:
            size = f"{slots} tables of {len(classes)} x {len(classes)} numbers"
            most = math.isqrt((memory or 0) // (8 * slots))
            hold = f" (in {memory / 2**30:.1f} GiB they hold {most} classes)" if memory else ""
            raise UsageError(f"--slots: no memory for {size}{hold}; wanted fewer slots, or --method batch") from None

    @abstractmethod
    def start(self, classes: list[str], slots: int, history: State | None) -> State:
        """The state before the first item."""

    def slots_of(self, names: list[str]) -> NDArray[np.int32]:
        """The slot of each worker, independent of the learned state."""
        return hash_workers(names, self.slots)

    def voices(self, labels: Labels) -> Labels:
        """The labels with the divided voices of workers behind the workers: see `repeats`."""
        people = self.model.reference(labels.worker_names)
        return parted(labels, None if people is None else ~people, least=1)

    def in_slots(self, labels: Labels) -> Labels:
        """The same labels with slots of voices for workers."""
        voices = self.voices(labels)
        table = self.slots_of(voices.worker_names)
        return replace(labels, workers=table[voices.workers] if len(labels) else labels.workers)

    def hold(self, most: int) -> None:
        """Keep at most so many items open for further labels; 0 for any number.

        Raises:
            UsageError: the stream keeps none.
        """
        raise UsageError(f"--open: {self.model.name} keeps no open tasks; wanted --model two_level")

    @abstractmethod
    def learn(self, labels: Labels, first_pass: bool) -> Progress:
        """Learn from every item once, in order; `labels.workers` are slots."""

    def settled(self) -> Self:
        """The stream from which final verdicts are read; it does not learn."""
        return self

    def with_earlier(self, labels: Labels, learned: bool) -> Labels:
        """The labels, and those of the same items that came before, where a stream keeps them.

        Args:
            labels: some labels.
            learned: they were learned, too.
        """
        return labels

    def final_state(self) -> State:
        """The state, to be saved or continued."""
        return self.state

    @abstractmethod
    def score(self, labels: Labels) -> tuple[Array, Array, float]:
        """Posteriors (items, classes), informativeness (items), mean objective; learns nothing."""

    def others(self, labels: Labels) -> Array:
        """Evidence of everything but a label about its item (labels, classes); see `CrowdModel.others`."""
        used, places = np.unique(labels.workers, return_inverse=True)
        return without_own(labels, self.score(labels)[0], self.confusions(used)[places, :, labels.labels])

    def factors(self, slots: NDArray[np.int32]) -> Array:
        """Factors of the classes' probabilities for a label from each slot (slots, labels, classes)."""
        return np.ascontiguousarray(self.confusions(slots).transpose(0, 2, 1))

    def probability(self, labels: Labels, posterior: Array) -> Array:
        """Posteriors made less sure; see `CrowdModel.probability` (items, classes)."""
        return self.model.probability(labels, fit_of(self.state, posterior))

    @abstractmethod
    def confusions(self, slots: NDArray[np.int32]) -> Array:
        """P(label l | class k) of some slots on an item of usual difficulty (slots, k, l)."""

    def population(self) -> Array:
        """P(label l | class k) of a worker who was never met (k, l)."""
        fresh = self.start(self.state.classes, 1, None)
        alone = type(self)(self.model, fresh.classes, 1, replace(fresh, shared=self.state.shared))
        return np.asarray(alone.confusions(np.zeros(1, np.int32))[0])

    def beta(self, labels: Labels) -> Array:
        """How easy each item is; see `CrowdModel.beta` (items)."""
        return self.score(labels)[1]

    def class_prior(self) -> Array:
        """P(class) (classes)."""
        return self.model.class_prior(self.state)

    def fixed_prior(self) -> Array:
        """The given class prior; empty without one."""
        fixed = self.model.fixed_prior(len(self.state.classes))
        return np.zeros(0) if fixed is None else fixed

    def tell(self, truth: Mapping[str, str]) -> int:
        """True classes of items, those that came before, too; returns how many the stream knows by name."""
        return 0

    def events(self) -> dict[str, int]:
        """What happened to items that are kept open: counts by name; empty where none are."""
        return {}

    def check(self) -> None:
        """Called after all labels: raises UsageError where they were not such as the model needs."""
        return None

    def end_pass(self) -> None:
        """Called between two passes over the same labels."""
        return None


def stream_of(model: CrowdModel, classes: list[str], slots: int, history: State | None = None) -> Stream:
    """The online form of a model.

    Args:
        model: its attribute `online` names the class, so that models with no stream to run never import it.
        classes, slots, history: as of `Stream`.

    Raises:
        UsageError: the model has none, or memory is too small.
    """
    if not model.online:
        raise UsageError(f"{model.name} has no online form; wanted --method batch")
    module, _, name = model.online.partition(":")
    found: Stream = getattr(import_module(module), name)(model, classes, slots, history)
    return found


def since(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """`Stream.events` of a run: what is open after it, and what happened meanwhile.

    >>> since({"open_tasks": 3, "closed_tasks": 2}, {"open_tasks": 4, "closed_tasks": 5})
    {'open_tasks': 4, 'closed_tasks': 3}
    """
    return {name: count - before[name] * (name != "open_tasks") for name, count in after.items()}


def fit_of(state: State, posterior: Array) -> Fit:
    """Posteriors under a state, as a fit."""
    return Fit(state, posterior, 0, 0.0, True, np.ones(len(posterior)))


def hash_workers(names: Iterable[str], slots: int) -> NDArray[np.int32]:
    """The slot of each worker: CRC-32 of the name, modulo the number of slots.

    >>> hash_workers(["ann", "bob"], 65536).tolist()
    [29299, 45376]
    """
    return np.array([zlib.crc32(name.encode()) % slots for name in names], np.int32)


def run(stream: Stream, labels: Labels, passes: int, report: Callable[[Labels, Progress], None] | None = None) -> Fit:
    """Learn from labels in one or more passes, then score them all.

    Args:
        stream: fresh, or continued from a saved state.
        labels: items in the order of the stream.
        passes: over these labels; 0 only scores.
        report: called after each pass.
    """
    hashed = stream.in_slots(labels)
    for number in range(passes):
        if number:
            stream.end_pass()
        progress = stream.learn(hashed, first_pass=number == 0)
        if report:
            report(labels, progress)
    if passes and len(labels):
        stream.check()
    judge = stream.settled()
    posterior, informative, objective = judge.score(judge.in_slots(judge.with_earlier(labels, passes > 0)))
    return Fit(stream.final_state(), posterior, passes, objective, True, informative)


class Table:
    """The progress table of `nominalonlineextract`: averages of the objective, at the items 2^k + k - 1.

    Args:
        write: takes each finished line.
    """

    HEADER = (
        "cumul     since        example   current   current   current",
        "avg q     last         counter     label   predict   ratings",
    )

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write
        self.total, self.since, self.items, self.printed, self.step = 0.0, 0.0, 0, 0, 1

    def __call__(self, labels: Labels, progress: Progress) -> None:
        """Add a pass or a block of items."""
        if self.items == 0:
            for line in self.HEADER:
                self.write(line)
        counts, predicted = np.diff(labels.item_ptr), progress.posterior.argmax(axis=1)
        begin, items = 0, len(counts)
        sums = np.concatenate([[0.0], np.cumsum(progress.objective)])
        while self._next() - self.items <= items - begin:
            end = begin + self._next() - self.items
            self._add(sums[end] - sums[begin], end - begin)
            self._print(labels.gold[end - 1], predicted[end - 1], counts[end - 1])
            self.step += 1
            begin = end
        self._add(sums[items] - sums[begin], items - begin)

    def finish(self) -> None:
        """Print the last row, the total."""
        if self.items > self.printed:
            self._print(-1, -1, -1)

    def _next(self) -> int:
        return int(2**self.step) + self.step - 1

    def _add(self, value: float, items: int) -> None:
        self.total, self.since, self.items = self.total + value, self.since + value, self.items + items

    def _print(self, label: int, predicted: int, ratings: int) -> None:
        average, recent = self.total / self.items, self.since / (self.items - self.printed)
        self.write(f"{average:<9.4f} {recent:<9.4f} {self.items:>10} {label:>9} {predicted:>9} {ratings:>9}")
        self.since, self.printed = 0.0, self.items
