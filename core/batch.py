"""The one form in which examples reach a chain, whatever their source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CONSTANT_INDEX = 11650396
"""Index of the constant feature before masking (VW's)."""
CONSTANT_NAMESPACE = 128
"""Namespace id of the constant feature."""
SLOT_LETTER = 139
"""Namespace id, where those are first letters, of the features that a slot has in no namespace (VW's)."""
AFFIX_LETTER, SHAPE_LETTER, DICTIONARY_LETTER = 132, 133, 135
"""The same of features that are made of names (VW's)."""
SHARED_ROW = np.float32(-1)
"""In place of a probability: the row is shared by all actions of its decision."""

SLOT_ROW = np.float32(-2)
"""The same, but the row is a slot that an action of its decision will fill."""


def _empty(kind: Any) -> Any:
    return field(default_factory=lambda: np.zeros(0, kind))


@dataclass(slots=True)
class Batch:
    """Examples as compressed sparse rows, with the namespaces of each row.

    The features of example i are `indices[row_ptr[i]:row_ptr[i + 1]]`, in the order of the line, each namespace in one
    piece, the constant last. Its namespaces are numbers `row_namespaces[i]` to `row_namespaces[i + 1]` (exclusive);
    namespace j begins at feature `namespace_ptr[j]` and ends where the next begins.

    Attributes:
        row_ptr: int64 (examples + 1).
        indices: uint32 (features), hashed, below 2^bits.
        values: float32 (features).
        row_namespaces: int64 (examples + 1).
        namespace_ptr: int64 (namespaces + 1); the last equals `row_ptr[-1]`.
        namespace_id: uint32 (namespaces): hash of the full name, or the first byte in VW's letter mode.
        labels: float32 (examples); `UNLABELED` if missing; the class of a multiclass label.
        importance: float32 (examples), ≥ 0.
        base: float32 (examples), added to the prediction.
        group: int64 (examples), number of the block (lines between empty lines).
        tag_ptr: int64 (examples + 1), offsets into `tags`.
        tags: uint8, the tags' bytes one after the other.
        cost_ptr: int64 (examples + 1), offsets into the costs of cost-sensitive labels; empty for other labels.
        cost_classes: uint32.
        costs: float32; `UNLABELED` where not given.
        probabilities: float32, one per cost: with which a logged action was chosen; -1 marks a row shared by
            all actions of its decision; empty for other labels.
    """

    row_ptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    row_namespaces: NDArray[np.int64]
    namespace_ptr: NDArray[np.int64]
    namespace_id: NDArray[np.uint32]
    labels: NDArray[np.float32]
    importance: NDArray[np.float32]
    base: NDArray[np.float32]
    group: NDArray[np.int64]
    tag_ptr: NDArray[np.int64]
    tags: NDArray[np.uint8] = _empty(np.uint8)
    cost_ptr: NDArray[np.int64] = _empty(np.int64)
    cost_classes: NDArray[np.uint32] = _empty(np.uint32)
    costs: NDArray[np.float32] = _empty(np.float32)
    probabilities: NDArray[np.float32] = _empty(np.float32)

    def __len__(self) -> int:
        return len(self.labels)

    def tag(self, i: int) -> bytes:
        """The tag of example i."""
        return self.tags[self.tag_ptr[i] : self.tag_ptr[i + 1]].tobytes()

    def row(self, i: int) -> Iterator[tuple[int, NDArray[np.uint32], NDArray[np.float32]]]:
        """Namespace id, indices and values of each namespace of example i."""
        for j in range(self.row_namespaces[i], self.row_namespaces[i + 1]):
            piece = slice(self.namespace_ptr[j], self.namespace_ptr[j + 1])
            yield int(self.namespace_id[j]), self.indices[piece], self.values[piece]

    def rows(self, start: int, stop: int) -> "Batch":
        """Examples `start` to `stop` (exclusive), as views into the same memory."""
        views: dict[str, Any] = {name: getattr(self, name)[start:stop] for name in _PER_ROW}
        views |= {name: getattr(self, name)[start : stop + 1] for name in _OFFSETS}
        return replace(self, **views)

    def copied(self) -> "Batch":
        """The same in memory of its own: a reader may write its next batch over this one."""
        return replace(self, **{each.name: getattr(self, each.name).copy() for each in fields(self)})


SEEN: dict[str, Any] = {
    "row_ptr": np.int64,
    "indices": np.uint32,
    "values": np.float32,
    "row_namespaces": np.int64,
    "namespace_ptr": np.int64,
    "namespace_id": np.uint32,
    "labels": np.float32,
    "importance": np.float32,
    "base": np.float32,
    "group": np.int64,
    "cost_ptr": np.int64,
    "cost_classes": np.uint32,
    "costs": np.float32,
}
"""The arrays that kernels see, and the types they have for them."""


class Seen(NamedTuple):
    """A batch as kernels see it.

    Attributes:
        arrays: those of `SEEN`, contiguous; they must live while kernels run.
        addresses: of these arrays.
    """

    arrays: list[NDArray[Any]]
    addresses: list[int]

    @classmethod
    def of(cls, batch: Batch) -> "Seen":
        """The arrays of a batch, or copies if kernels could not read them."""
        arrays = [np.ascontiguousarray(getattr(batch, name), dtype) for name, dtype in SEEN.items()]
        return cls(arrays, [array.ctypes.data for array in arrays])


class PinnedBatch(Batch):
    """A batch for several passes: its arrays are never exchanged, so their addresses are taken once."""

    @cached_property
    def seen(self) -> Seen:
        """The arrays and addresses for kernels."""
        return Seen.of(self)


_PER_ROW = ("labels", "importance", "base", "group")
_OFFSETS = ("row_ptr", "row_namespaces", "tag_ptr", "cost_ptr")
_POINTED = {
    "row_ptr": ("indices", "values"),
    "row_namespaces": ("namespace_id",),
    "tag_ptr": ("tags",),
    "cost_ptr": ("cost_classes", "costs", "probabilities"),
}


_FEW = 8
"""Of a batch's rows, if fewer than one in so many are chosen, it is faster to look each up than to go through all."""


def joined(*batches: Batch) -> Batch:
    """One or more batches as one, copied."""
    parts: dict[str, list[NDArray[Any]]] = {field.name: [] for field in fields(Batch)}
    begun, features = dict.fromkeys(_POINTED, 0), 0
    for batch in batches:
        for name in _PER_ROW:
            parts[name].append(getattr(batch, name))
        for name, pointed in _POINTED.items():
            offsets = getattr(batch, name)
            low, high = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
            parts[name].append(offsets[len(parts[name]) > 0 :] - low + begun[name])
            begun[name] += high - low
            for array in pointed:
                parts[array].append(getattr(batch, array)[low:high])
            if name == "row_namespaces":
                starts = batch.namespace_ptr[low : high + 1]
                parts["namespace_ptr"].append(starts[len(parts["namespace_ptr"]) > 0 :] - starts[0] + features)
        features += int(batch.row_ptr[-1] - batch.row_ptr[0])
    return Batch(**{name: np.concatenate(arrays) for name, arrays in parts.items()})


def chosen(batch: Batch, rows: NDArray[np.int64]) -> Batch:
    """Some examples of a batch, copied.

    Args:
        batch: their source.
        rows: their numbers, in the order wanted.
    """
    arrays: dict[str, Any] = {name: getattr(batch, name)[rows] for name in _PER_ROW}
    taken: NDArray[np.bool_] | None = None
    if len(rows) * _FEW >= len(batch) and (rows[1:] > rows[:-1]).all():
        taken = np.zeros(len(batch), np.bool_)
        taken[rows] = True
    for name, pointed in _POINTED.items():
        offsets = getattr(batch, name)
        if not len(offsets):
            arrays |= {name: offsets.copy()} | {array: getattr(batch, array).copy() for array in pointed}
            continue
        starts, lengths = offsets[rows], offsets[rows + 1] - offsets[rows]
        arrays[name] = np.concatenate([[0], np.cumsum(lengths)])
        low, high = int(offsets[0]), int(offsets[-1])
        if taken is not None:
            places = np.repeat(taken, np.diff(offsets))
        else:
            places = np.arange(int(lengths.sum())) + np.repeat(starts - low - arrays[name][:-1], lengths)
        for array in pointed:
            whole = getattr(batch, array)
            arrays[array] = whole[low:high][places] if len(whole) else whole.copy()
        if name == "row_namespaces":
            moved = np.repeat(arrays["row_ptr"][:-1] - batch.row_ptr[rows], lengths)
            arrays["namespace_ptr"] = np.append(batch.namespace_ptr[low:high][places] + moved, arrays["row_ptr"][-1])
    return Batch(**arrays)


def ends_of_groups(batch: Batch) -> NDArray[np.int64]:
    """The row behind the last one of each group."""
    last = np.ones(len(batch), np.bool_)
    last[:-1] = batch.group[1:] != batch.group[:-1]
    return np.flatnonzero(last) + 1


def shared_rows(batch: Batch) -> NDArray[np.bool_]:
    """Whether each row is shared by all actions of its decision."""
    found: NDArray[np.bool_] = np.zeros(len(batch), np.bool_)
    if len(batch.probabilities):
        given = np.flatnonzero(np.diff(batch.cost_ptr))
        found[given] = batch.probabilities[batch.cost_ptr[given]] == SHARED_ROW
    return found


def whole_groups(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The same examples in batches that end only where a group ends; each is valid until the next one is asked for.

    A batch's last group is held back until the next batch shows whether it continues.
    """
    held: Batch | None = None
    for batch in batches:
        if not len(batch):
            continue
        changes = np.flatnonzero(np.diff(batch.group)) + 1
        first, last = (int(changes[0]), int(changes[-1])) if len(changes) else (len(batch), 0)
        start = 0
        if held is not None:
            if held.group[-1] == batch.group[0]:
                held, start = joined(held, batch.rows(0, first)), first
                if start == len(batch):
                    continue
            yield held
        if last > start:
            yield batch.rows(start, last)
        kept = batch.rows(max(start, last), len(batch))
        held = joined(kept)
    if held is not None:
        yield held
