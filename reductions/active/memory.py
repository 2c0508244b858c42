"""The bought examples, kept for replay: a ring of preallocated words that forgets the oldest first."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hutch.core.chain.limits import Limits
from hutch.core.errors import ModelError
from hutch.core.kernel.abi import example_of, float32s_at, int64s_at, record_of, uint32s_at
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.copying import copy
from hutch.core.kernel.decorators import helper, inlined
from hutch.core.kernel.record import Record

KEPT = np.dtype(
    [
        ("start", "u8"),  # first word
        ("length", "u8"),
        ("namespaces", "u8"),
        ("costs", "u8"),
        ("group", "i8"),
        ("label", "f4"),
        ("importance", "f4"),
        ("base", "f4"),
        ("unused", "f4"),
    ]
)
_KEPT_SIZE = np.uint64(KEPT.itemsize)

MEMORY = np.dtype(
    [
        ("words", "u8"),  # address of uint64[size]: per example offsets, indices, values, namespace ids, costs
        ("size", "u8"),
        ("table", "u8"),  # address of KEPT[capacity]
        ("capacity", "u8"),
        ("position", "u8"),  # word at which the next example begins
        ("first", "u8"),  # entry of the oldest example
        ("count", "u8"),
    ]
)
_WORDS_AN_EXAMPLE = 16  # room in the table: one entry for so many words

memory_of, kept_of = record_of(MEMORY), record_of(KEPT)


class Memory:
    """Room for examples.

    Args:
        size: 8-byte words; an example takes about one per feature and one per namespace.
    """

    def __init__(self, size: int) -> None:
        self._words = np.zeros(size, np.uint64)
        self._table = np.zeros(size // _WORDS_AN_EXAMPLE, KEPT)
        self.record = Record(MEMORY, words=self._words, size=size, table=self._table, capacity=len(self._table))

    def __len__(self) -> int:
        return int(self.record["count"][0])

    def saved(self) -> dict[str, NDArray[Any]]:
        """The arrays that belong in a model."""
        table = self._table.view(np.uint64).reshape(len(self._table), KEPT.itemsize // 8)
        counters = {name: self.record[name] for name in ("position", "first", "count")}
        return {"words": self._words, "table": table, **counters}

    def limits(self) -> dict[str, Limits]:
        """Places within the ring."""
        size, capacity = len(self._words), len(self._table)
        return {"position": Limits(0, size), "first": Limits(0, max(capacity - 1, 0)), "count": Limits(0, capacity)}

    def check_saved(self, arrays: Mapping[str, NDArray[Any]], rows: int) -> None:
        """Check that every example lies within the ring and could have come from a reader.

        Args:
            arrays: as `saved` names them, within their limits.
            rows: of the weight table.

        Raises:
            ModelError: an example fails the check.
        """
        if not arrays["count"][0]:
            return
        words, table = np.ascontiguousarray(arrays["words"]), np.ascontiguousarray(arrays["table"])
        numbers = {name: arrays[name][0] for name in ("position", "first", "count")}
        memory = Record(MEMORY, words=words, size=len(words), table=table, capacity=len(table), **numbers)
        wrong = int(_first_unsound(memory.address, rows))
        if wrong >= 0:
            raise ModelError(f"active.memory: example {wrong} to replay was never kept")


@inlined
def _entry(memory, number):
    return kept_of(memory.table + ((memory.first + number) % memory.capacity) * _KEPT_SIZE)


@helper
def _reserve(memory, words):
    """Forget old examples until `words` words fit in one piece; returns the first."""
    if memory.position + words > memory.size:
        while memory.count > uint64(0) and _entry(memory, uint64(0)).start >= memory.position:
            memory.first = (memory.first + uint64(1)) % memory.capacity
            memory.count -= uint64(1)
        memory.position = uint64(0)
    start = memory.position
    while memory.count > uint64(0):
        oldest = _entry(memory, uint64(0)).start
        if memory.count < memory.capacity and not (start <= oldest < start + words):
            break
        memory.first = (memory.first + uint64(1)) % memory.capacity
        memory.count -= uint64(1)
    memory.position = start + words
    return start


@inlined
def _halves(count):
    """Words that `count` 4-byte numbers take."""
    return (count + uint64(1)) // uint64(2)


@helper
def _parts(memory, start, length, namespaces, costs):
    """Addresses of an example's offsets, indices, values, namespace ids, cost classes and costs."""
    offsets = memory.words + start * uint64(8)
    indices = offsets + (namespaces + uint64(1)) * uint64(8)
    values = indices + _halves(length) * uint64(8)
    ids = values + _halves(length) * uint64(8)
    classes = ids + _halves(namespaces) * uint64(8)
    cost_values = classes + _halves(costs) * uint64(8)
    return offsets, indices, values, ids, classes, cost_values


@compiled
def remember(at, example, label, importance):
    """Keep an example; one that is larger than all of the memory is not kept.

    Args:
        at: address of the MEMORY.
        example: address of the EXAMPLE.
        label, importance: of the example when it is learned again.
    """
    memory, e = memory_of(at), example_of(example)
    length, namespaces, costs = e.length, e.namespace_count, e.cost_count
    words = namespaces + uint64(1) + uint64(2) * _halves(length) + _halves(namespaces) + uint64(2) * _halves(costs)
    if words > memory.size or memory.capacity == uint64(0):
        return
    start = _reserve(memory, words)
    offsets, indices, values, ids, classes, cost_values = _parts(memory, start, length, namespaces, costs)
    source, target = int64s_at(e.namespaces, namespaces + uint64(1)), int64s_at(offsets, namespaces + uint64(1))
    for i in range(namespaces + uint64(1)):
        target[i] = source[i] - source[0]
    copy(uint32s_at(e.indices, length), uint32s_at(indices, length))
    copy(float32s_at(e.values, length), float32s_at(values, length))
    copy(uint32s_at(e.namespace_ids, namespaces), uint32s_at(ids, namespaces))
    copy(uint32s_at(e.cost_classes, costs), uint32s_at(classes, costs))
    copy(float32s_at(e.costs, costs), float32s_at(cost_values, costs))
    entry = _entry(memory, memory.count)
    entry.start, entry.length, entry.namespaces, entry.costs = start, length, namespaces, costs
    entry.group, entry.label, entry.importance, entry.base = e.group, label, importance, e.base
    memory.count += uint64(1)


@compiled
def _first_unsound(at, rows):
    """Number of the first kept example that is invalid beside a weight table of so many rows, -1 if all are valid."""
    memory = memory_of(at)
    for number in range(memory.count):
        entry = _entry(memory, uint64(number))
        start, length, namespaces, costs = entry.start, entry.length, entry.namespaces, entry.costs
        if max(start, max(length, max(namespaces, costs))) > memory.size:
            return number
        words = namespaces + uint64(1) + uint64(2) * _halves(length) + _halves(namespaces) + uint64(2) * _halves(costs)
        if start + words > memory.size:
            return number
        offsets, indices, values, _, _, _ = _parts(memory, start, length, namespaces, costs)
        starts = int64s_at(offsets, namespaces + uint64(1))
        sound = starts[0] == 0 and uint64(starts[namespaces]) == length
        for i in range(namespaces):
            sound &= starts[i] <= starts[i + uint64(1)]
        for i in range(length):
            sound &= uint32s_at(indices, length)[i] < rows and np.isfinite(float32s_at(values, length)[i])
        sound &= np.isfinite(entry.label) and np.isfinite(entry.importance) and np.isfinite(entry.base)
        if not sound or not entry.importance >= np.float32(0):
            return number
    return -1


@compiled
def recall(at, number, example):
    """Put a kept example into the EXAMPLE at an address; returns its label and importance.

    Args:
        at: address of the MEMORY.
        number: 0 is the oldest.
        example: address of the EXAMPLE.
    """
    memory, e = memory_of(at), example_of(example)
    entry = _entry(memory, number)
    parts = _parts(memory, entry.start, entry.length, entry.namespaces, entry.costs)
    e.namespaces, e.indices, e.values, e.namespace_ids, e.cost_classes, e.costs = parts
    e.length, e.namespace_count, e.cost_count = entry.length, entry.namespaces, entry.costs
    e.group, e.label, e.importance, e.base = entry.group, entry.label, entry.importance, entry.base
    return entry.label, entry.importance
