"""The memory of `crowd_em`: its record, which the kernels see, and the lines of the present block."""

import numpy as np
from numpy import int64, uint64
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_NAMESPACE, Batch
from hutch.core.kernel.abi import EXAMPLE, example_of, float32s_at, float64s_at, int64s_at, state_of, uint32s_at
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record
from hutch.core.learner.memory import Buffer, reserve
from hutch.crowd.models.two_level_kernels import Crowd

TABLES = ("counts", "rows", "habits", "masses", "skill", "population", "habit_prior", "strengths")
"""The arrays of `hutch.crowd.models.two_level_kernels.Crowd`."""
LEARNED = (*TABLES, "touches", "seen", "class_counts", "level_counts", "clock", "log_weights")
"""The float64 arrays that belong in a model."""
_DOUBLES = ("own", "work", "q", "votes", "p", "class_prior", "levels", "by_power", "prior", "likelihood")
_SINGLES = ("scores", "shifted", "target")
_GROWING = ("block_slots", "block_labels")

CROWD_EM = np.dtype(
    [
        ("classes", "i8"),
        ("slots", "i8"),
        ("worker", "u8"),  # id of the workers' namespace
        ("gold", "i8"),  # index of the worker whose labels are true, -1 for none
        ("powers_given", "u8"),  # address of float64[powers]
        ("powers", "i8"),
        ("schedule", "u8"),  # address of float64[3]: decay, warm-up, class anchor
        ("vote_share", "f8"),
        ("passes", "i8"),  # passes that infer; 1 for a stream
        ("crossfit", "i8"),
        ("soft_labels", "i8"),  # 1: the layers below learn soft labels at once
        ("student", "i8"),  # the sub-model that learns the posteriors after the last of these passes
        ("pass_number", "i8"),  # from 1
        ("taught", "i8"),  # items the student has learned
        ("item", "i8"),  # number of the present item within the pass
        ("items", "i8"),  # of the longest pass so far
        ("count", "i8"),  # labels of the present block
        ("room", "u8"),  # capacity in labels of a block
        ("truth", "i8"),  # class of its gold label, -1 for none
        ("importance", "f4"),  # largest of its lines
        ("unused", "f4"),
        ("example", "u8"),  # address of an EXAMPLE: the item without its worker
        ("kept", "u8"),  # address of a BUFFER: that example's namespaces, indices, values and ids
        ("anchors", "u8"),  # address of an ANCHORS record, 0 for none
        ("shifts", "u8"),  # address of float32[items, classes]: how learning each item changed its own scores
        *[(name, "u8") for name in (*LEARNED, *_DOUBLES, *_SINGLES, *_GROWING)],
    ]
)
crowd_em_of = state_of(CROWD_EM)
_EXAMPLE_WORDS = np.uint64(EXAMPLE.itemsize // 4)


@inlined
def crowd_at(s):
    """The worker table."""
    classes, slots = uint64(s.classes), uint64(s.slots)
    return Crowd(
        float64s_at(s.counts, slots * classes * classes),
        float64s_at(s.rows, slots * classes),
        float64s_at(s.habits, slots * classes),
        float64s_at(s.masses, slots),
        float64s_at(s.skill, slots),
        float64s_at(s.population, classes * classes),
        float64s_at(s.habit_prior, classes),
        float64s_at(s.strengths, uint64(5)),
    )


@helper
def worker_of(s, example):
    """Index of the first feature in the workers' namespace; 0, the anonymous worker, without one."""
    e = example_of(example)
    starts, ids = int64s_at(e.namespaces, e.namespace_count + uint64(1)), uint32s_at(e.namespace_ids, e.namespace_count)
    for j in range(e.namespace_count):
        if ids[j] == s.worker and starts[j + 1] > starts[j]:
            return int64(uint32s_at(e.indices, e.length)[starts[j] - starts[0]])
    return 0


@helper
def take_label(s, example, label, importance):
    """Add a line's label to the present block."""
    place, worker = int64(label) - 1, worker_of(s, example)
    if worker == s.gold:
        s.truth = place
    else:
        int64s_at(s.block_slots, s.room)[uint64(s.count)] = worker % s.slots
        int64s_at(s.block_labels, s.room)[uint64(s.count)] = place
        s.count += 1
    s.importance = max(s.importance, importance)


@helper
def take_features(s, example):
    """Make the item's example from a line without the worker. Returns whether it has features other than the worker.

    A layer above may have made more features than the line has; without memory for them the item has none.
    """
    copy(uint32s_at(example, _EXAMPLE_WORDS), uint32s_at(s.example, _EXAMPLE_WORDS))
    e = example_of(s.example)
    count, length = e.namespace_count, e.length
    address = reserve(s.kept, uint64(8) * (count + uint64(1) + length) + uint64(4) * count)
    e.cost_count, e.targets = uint64(0), uint64(0)
    e.scores, e.score_count = s.scores, uint64(s.classes)
    if address == uint64(0):
        e.length, e.namespace_count, e.features = uint64(0), uint64(0), uint64(0)
        return False
    index_address = address + uint64(8) * (count + uint64(1))
    value_address = index_address + uint64(4) * length
    id_address = value_address + uint64(4) * length
    starts, ids = int64s_at(e.namespaces, count + uint64(1)), uint32s_at(e.namespace_ids, count)
    indices, values = uint32s_at(e.indices, length), float32s_at(e.values, length)
    kept_starts, kept_ids = int64s_at(address, count + uint64(1)), uint32s_at(id_address, count)
    kept_indices, kept_values = uint32s_at(index_address, length), float32s_at(value_address, length)
    features, kept, has_features = 0, 0, False
    for j in range(count):
        if ids[j] != s.worker:
            kept_starts[kept], kept_ids[kept] = features, ids[j]
            kept += 1
            for i in range(starts[j] - starts[0], starts[j + 1] - starts[0]):
                kept_indices[features], kept_values[features] = indices[i], values[i]
                features += 1
                has_features |= ids[j] != CONSTANT_NAMESPACE
    kept_starts[kept] = features
    e.indices, e.values, e.namespaces, e.namespace_ids = index_address, value_address, address, id_address
    e.length, e.namespace_count, e.features = uint64(features), uint64(kept), uint64(features)
    return has_features


@helper
def half_of(s):
    """0 or 1 by a hash of the item's features, so that equal items fall into one half."""
    e = example_of(s.example)
    mixed = uint64(0)
    indices, values = uint32s_at(e.indices, e.length), uint32s_at(e.values, e.length)
    for i in range(e.length):
        mixed = (mixed ^ uint64(indices[i])) * uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ uint64(values[i]) ^ (mixed >> uint64(29))) * uint64(0xBF58476D1CE4E5B9)
    return int64((mixed >> uint64(40)) & uint64(1))


class Memory:
    """All arrays of the layer, kept alive here; the record holds their addresses.

    Args:
        record: the CROWD_EM record.
        classes, powers: their numbers.
        learned: the arrays of `LEARNED`, one-dimensional.
    """

    def __init__(self, record: Record, classes: int, powers: int, learned: dict[str, NDArray[np.float64]]) -> None:
        self.record = record
        self.learned = learned
        self._classes = classes
        self._shifts = np.zeros((0, classes), np.float32)
        record.set(example=np.zeros(1, EXAMPLE), kept=Buffer(), **learned)
        sizes = {"work": 4 * classes, "q": 2 * classes, "levels": 2, "by_power": powers * classes}
        for name in _DOUBLES:
            record[name] = np.zeros(sizes.get(name, classes), np.float64)
        for name in _SINGLES:
            record[name] = np.zeros(classes, np.float32)

    def make_room(self, batch: Batch, learn: bool) -> int:
        """For the largest block of a batch, and for the shifts of its items if they are kept.

        Returns:
            lines of the largest block.
        """
        ends = np.flatnonzero(np.diff(batch.group, append=batch.group[-1:] + 1)) + 1
        largest = int(np.diff(ends, prepend=0).max(initial=1))
        if self.record["room"] < largest:
            self.record["room"] = largest + largest // 4
            for name in _GROWING:
                self.record[name] = np.zeros(largest + largest // 4, np.int64)
        self.record["count"], self.record["truth"], self.record["importance"] = 0, -1, 0
        if learn and self.record["passes"] > 1 and not self.record["crossfit"]:
            self.keep_shifts(int(self.record["item"][0]) + len(ends))
        return largest

    def keep_shifts(self, items: int) -> None:
        """Make room for the shifts of so many items."""
        self.record["items"] = max(int(self.record["items"][0]), items)
        if len(self._shifts) < items:
            grown = np.zeros((items + items // 2, self._classes), np.float32)
            grown[: len(self._shifts)] = self._shifts
            self._shifts = grown
        self.record["shifts"] = self._shifts

    @property
    def shifts(self) -> NDArray[np.float32]:
        """Change of each item's scores from learning it, float32 (items, classes); empty if it is not kept."""
        return self._shifts[: int(self.record["items"][0])]
