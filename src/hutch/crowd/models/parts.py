"""Steps of EM by several threads, to the bit as by one: items are apart in an E step, workers in their counts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hutch.core.data.ahead import in_order
from hutch.core.threads import thread_count
from hutch.crowd.data.labels import Labels

Found = TypeVar("Found")

TOGETHER = 1 << 16
"""About so many labels are worth a thread's turn; where there are fewer than twice as many, one thread does all."""

ItemPtr = NDArray[np.int64]
ItemStep = Callable[[ItemPtr, slice], tuple[float, float]]
"""(`Labels.item_ptr` of some items, which items) -> mean objective of an item, largest change."""
WorkerStep = Callable[[Labels], Any]
"""Adds the labels of some workers to what is counted of these workers."""


def over_items(labels: Labels, step: ItemStep) -> tuple[float, float]:
    """An E step over all items, in parts that depend on the labels alone; their objectives add up in order.

    Args:
        labels: all of them.
        step: of the items of a part; what it changes belongs to them.

    Returns:
        mean objective of an item, largest change.
    """
    found, sizes = _by_items(labels, step)
    if len(found) == 1:
        return found[0]
    objective = sum(mean * size for (mean, _), size in zip(found, sizes, strict=True))
    return objective / labels.items, max(change for _, change in found)


def sum_over_items(labels: Labels, step: Callable[[ItemPtr, slice], float]) -> float:
    """A sum over all items, in the parts of `over_items`."""
    return sum(_by_items(labels, step)[0])


def _by_items(labels: Labels, step: Callable[[ItemPtr, slice], Found]) -> tuple[list[Found], list[int]]:
    """What a step finds in each part, and how many items that has."""
    edges = cuts(labels, len(labels) // TOGETHER)
    pieces = list(zip(edges[:-1], edges[1:], strict=True))
    jobs = [partial(step, labels.item_ptr[first : last + 1], slice(first, last)) for first, last in pieces]
    return _done(jobs), [last - first for first, last in pieces]


def over_workers(labels: Labels, step: WorkerStep) -> None:
    """Count the labels of every worker in the order of the labels; a thread takes some of the workers.

    Args:
        labels: all of them.
        step: given labels with all items and the labels of some workers; what it changes belongs to these workers.
    """
    wanted = min(thread_count(), len(labels) // TOGETHER)
    if wanted < 2:
        step(labels)
        return
    if len(labels.parts_of_workers) != wanted:
        labels.parts_of_workers[:] = _by_workers(labels, wanted)
    _done([partial(step, part) for part in labels.parts_of_workers])


def cuts(labels: Labels, parts: int) -> list[int]:
    """Where items are cut into parts of about as many labels each; fewer where there are not enough items.

    >>> from hutch.crowd.data.labels import from_triples
    >>> cuts(from_triples([("ann", "a", "x"), ("bob", "a", "x"), ("ann", "b", "y"), ("bob", "c", "y")]), 2)
    [0, 1, 3]
    """
    wanted = np.arange(1, parts) * len(labels) / max(parts, 1)
    inner = set(np.searchsorted(labels.item_ptr, wanted).tolist()) - {0, labels.items}
    return [0, *sorted(inner), labels.items]


def _by_workers(labels: Labels, parts: int) -> list[Labels]:
    """The labels in parts, each with those of some workers, about as many in each."""
    given = np.cumsum(np.bincount(labels.workers, minlength=len(labels.worker_names)))
    part_of = np.minimum(given * parts // (len(labels) + 1), parts - 1)[labels.workers]
    return [labels.chosen(part_of == part) for part in range(parts)]


def _done(jobs: Sequence[Callable[[], Found]]) -> list[Found]:
    threads = min(thread_count(), len(jobs))
    found = in_order((partial(_tupled, job) for job in jobs), threads if threads > 1 else 0, len(jobs))
    return [result for (result,) in found]


def _tupled(job: Callable[[], Found]) -> tuple[Found]:
    return (job(),)  # None would end `in_order`
