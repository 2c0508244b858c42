"""Workers who label a task repeatedly, such as judges asked ten times.

The runs of one worker share the same misleading features of an item: ten of them are not ten voices, and how often they
are right together does not follow from how often they differ. So a worker has one vote on an item, and their vote
where their runs are divided is a separate voice, whose confusions show the value of such a vote.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hutch.crowd.data.labels import Labels
from hutch.crowd.models.model import Array

DIVIDED = " (divided)"
"""Behind the name of a worker, that of their divided voice."""
_RUNS = 3  # labels that a worker gave one item, from which they are runs and not corrections
LEAST_DIVIDED = 10
"""Divided labels from which a worker has such a voice in batch: fewer would not show their value."""


def parted(labels: Labels, among: NDArray[np.bool_] | None = None, least: int = LEAST_DIVIDED) -> Labels:
    """Labels with the divided voices of workers behind the workers.

    Args:
        labels: the labels; a voice that they know by name continues with however few labels.
        among: which workers may have one (workers); None: all.
        least: divided labels from which a worker has one.

    >>> from hutch.crowd.data.labels import from_triples
    >>> runs = [("gpt", str(n), label) for n in range(20) for label in ("yes", "yes", "no" if n % 2 else "yes")]
    >>> parted(from_triples(runs)).worker_names
    ['gpt', 'gpt (divided)']
    """
    if not len(labels.divided):
        return labels
    codes = {name: code for code, name in enumerate(labels.worker_names)}
    given = np.bincount(labels.workers[labels.divided], minlength=len(codes))
    voice = np.arange(len(codes))
    for worker in np.flatnonzero(given if among is None else given * among).tolist():
        name = labels.worker_names[worker] + DIVIDED
        if given[worker] >= least or name in codes:
            voice[worker] = codes.setdefault(name, len(codes))
    workers = np.where(labels.divided, voice[labels.workers], labels.workers).astype(np.int32)
    return replace(labels, workers=workers, worker_names=[*codes])


def one_by_one(labels: Labels) -> tuple[NDArray[np.int32], list[str]]:
    """Labels in the order of coming, for a stream in which a worker's later label of an item replaces the earlier one.

    Two labels of a worker and an item are a label and its correction. Three or more are runs: they come once, at the
    place of the first, as the most frequent label, from a voice of its own where the runs are divided.

    Returns:
        int32 (rows, 3): voice, item, label; the names of the voices, workers first.
    """
    rows, parts = labels.arrivals, parted(labels, least=1)
    if not len(rows):
        return np.stack([parts.workers, parts.label_items, parts.labels], axis=1), parts.worker_names
    if len(rows) == len(labels) and not len(labels.divided):
        return rows, labels.worker_names
    nobody = labels.worker_names.index("") if "" in labels.worker_names else -1
    people, items = len(labels.worker_names), labels.label_items
    keys, first, place, times = np.unique(
        rows[:, 1].astype(np.int64) * people + rows[:, 0], return_index=True, return_inverse=True, return_counts=True
    )
    runs = (times >= _RUNS) & (keys % people != nobody)
    kept = np.searchsorted(keys, items.astype(np.int64) * people + labels.workers)
    of_runs = runs[kept]
    most = np.stack([parts.workers, items, labels.labels], axis=1)[of_runs]
    alone = np.flatnonzero(~runs[place])
    order = np.argsort(np.concatenate([alone, first[kept[of_runs]]]), kind="stable")
    return np.concatenate([rows[alone], most])[order], parts.worker_names


def joined(tables: Array, whole: Labels, parts: Labels) -> Array:
    """Of a table for each voice, that of each worker: the mean over their labels.

    Args:
        tables: (voices, ...).
        whole, parts: the labels before and after `parted`.
    """
    result, moved = tables[: len(whole.worker_names)].copy(), whole.workers != parts.workers
    for worker, voice in sorted(set(zip(whole.workers[moved].tolist(), parts.workers[moved].tolist(), strict=True))):
        share = moved[whole.workers == worker].mean()
        result[worker] += share * (tables[voice] - tables[worker])
    return result
