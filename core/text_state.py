"""What the parser's kernels share: one C record of options, counters and addresses of the arrays they fill.

Kernels get the record's address, so a call costs nothing; the Python object that owns the arrays keeps them alive.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.abi import array_at, float32s_at, int64s_at, uint32s_at, view
from hutch.core.batch import Batch
from hutch.core.kernel_helper import njit
from hutch.core.parse_problems import KEPT, KINDS, Problems
from hutch.core.raw_bytes import byte_at

SIMPLE, MULTICLASS, COST_SENSITIVE, NO_LABEL = range(4)
LABEL_KINDS = {"simple": SIMPLE, "multiclass": MULTICLASS, "cost_sensitive": COST_SENSITIVE, "none": NO_LABEL}

_COLUMNS: dict[str, Any] = {
    "positions": np.uint32,  # of the delimiters, from the beginning of the text
    "indices": np.uint32,
    "values": np.float32,
    "row_ptr": np.int64,
    "row_namespaces": np.int64,
    "namespace_ptr": np.int64,
    "namespace_id": np.uint32,
    "labels": np.float32,
    "importance": np.float32,
    "base": np.float32,
    "group_of": np.int64,
    "tag_ptr": np.int64,
    "tag_bytes": np.uint8,
    "cost_ptr": np.int64,
    "cost_classes": np.uint32,
    "cost_values": np.float32,
    # scratch for one line: its pieces of namespaces, a copy of its features to reorder, a hash table of its namespaces
    "piece_slot": np.int64,
    "piece_ptr": np.int64,
    "copied_indices": np.uint32,
    "copied_values": np.float32,
    "seen_slot": np.int64,
    "seen_serial": np.int64,
}
_COUNTERS = ("examples", "features", "namespaces", "tags", "costs", "line", "group", "serial")
_OPTIONS = ("mask", "seed", "hash_all", "by_letter", "constant", "label_kind")

STATE = np.dtype(
    [(name, "i8") for name in (*_COUNTERS, *_OPTIONS, "text", "room", "problem_counts", "problem_places")]
    + [(name, "u8") for name in _COLUMNS]
)
"""`text` is the address of its first byte, `room` the length of the arrays; no two lines share a `serial` number."""

state_at = view(STATE)
_uint8s_at = array_at(np.uint8)


class Buffers:
    """The arrays behind a `STATE` record; they keep their place until `reserve` must make them longer.

    Args:
        problems: where kernels report to.
        options: values of the record's fields.

    Attributes:
        record: the `STATE` record, an array of length 1.
        size: bytes of the largest text there is room for.
    """

    def __init__(self, problems: Problems, **options: int) -> None:
        self.record = np.zeros(1, STATE)
        for name, value in options.items():
            self.record[name] = value
        self._problems = problems
        self.record["problem_counts"] = problems.counts.ctypes.data
        self.record["problem_places"] = problems.places.ctypes.data
        self._arrays: dict[str, NDArray[Any]] = {}
        self.size = 0

    @property
    def address(self) -> int:
        """Where the record lies."""
        return int(self.record.ctypes.data)

    def go_on(self, other: "Buffers") -> None:
        """Count lines and groups on from where `other` has come to."""
        for name in ("line", "group"):
            self.record[name] = other.record[name]

    def reserve(self, size: int) -> None:
        """Make room for texts of `size` bytes that are not all delimiters."""
        if size > self.size:
            self.size = size + size // 4
            self._allocate(self.size // 4)

    def grow(self) -> None:
        """Make room for twice as many delimiters."""
        self._allocate(2 * int(self.record["room"][0]))

    def _allocate(self, delimiters: int) -> None:
        """Make room for any text of the known size with so many delimiters.

        A feature is preceded by a blank, a constant followed by a line end, a namespace preceded by a bar, a cost
        preceded by a blank or a line's beginning: none can outnumber the delimiters.
        """
        room = delimiters + 2
        lengths = {
            "tag_bytes": self.size,
            "seen_slot": 1 << (2 * room).bit_length(),
            "seen_serial": 1 << (2 * room).bit_length(),
        }
        self._arrays = {name: np.zeros(lengths.get(name, room), kind) for name, kind in _COLUMNS.items()}
        self.record["room"] = room
        for name, array in self._arrays.items():
            self.record[name] = array.ctypes.data

    def batch(self) -> Batch:
        """What has been filled, without copying."""
        counted = self.record[0]
        examples, features, namespaces = (int(counted[name]) for name in ("examples", "features", "namespaces"))
        array = self._arrays
        costs = counted["label_kind"] == COST_SENSITIVE
        return Batch(
            row_ptr=array["row_ptr"][: examples + 1],
            indices=array["indices"][:features],
            values=array["values"][:features],
            row_namespaces=array["row_namespaces"][: examples + 1],
            namespace_ptr=array["namespace_ptr"][: namespaces + 1],
            namespace_id=array["namespace_id"][:namespaces],
            labels=array["labels"][:examples],
            importance=array["importance"][:examples],
            base=array["base"][:examples],
            group=array["group_of"][:examples],
            tag_ptr=array["tag_ptr"][: examples + 1],
            tags=array["tag_bytes"][: int(counted["tags"])],
            cost_ptr=array["cost_ptr"][: examples + 1 if costs else 0],
            cost_classes=array["cost_classes"][: int(counted["costs"])],
            costs=array["cost_values"][: int(counted["costs"])],
        )


@njit
def clear(state):  # type: ignore[no-untyped-def]
    """Forget all examples; line, group and serial numbers go on."""
    s = state_at(state)[0]
    s.examples = s.features = s.namespaces = s.tags = s.costs = 0
    int64s_at(s.row_ptr, s.room)[0] = int64s_at(s.row_namespaces, s.room)[0] = 0
    int64s_at(s.namespace_ptr, s.room)[0] = 0
    int64s_at(s.tag_ptr, s.room)[0] = int64s_at(s.cost_ptr, s.room)[0] = 0


@njit
def close_row(state):  # type: ignore[no-untyped-def]
    """End the example whose features, namespaces, tag, label and costs have been written."""
    s = state_at(state)[0]
    row = s.examples + 1
    s.examples = row
    int64s_at(s.group_of, s.room)[row - 1] = s.group
    int64s_at(s.row_ptr, s.room)[row] = s.features
    int64s_at(s.row_namespaces, s.room)[row] = s.namespaces
    int64s_at(s.namespace_ptr, s.room)[s.namespaces] = s.features
    int64s_at(s.tag_ptr, s.room)[row] = s.tags
    int64s_at(s.cost_ptr, s.room)[row] = s.costs


@njit
def report(state, kind, start, stop):  # type: ignore[no-untyped-def]
    """Count a problem of the current line; keep the place of the bytes at `start` to `stop` if among the first."""
    s = state_at(state)[0]
    counts = int64s_at(s.problem_counts, len(KINDS))
    places = int64s_at(s.problem_places, len(KINDS) * KEPT * 3)
    if counts[kind] < KEPT:
        at = (kind * KEPT + counts[kind]) * 3
        places[at], places[at + 1], places[at + 2] = s.line, start - s.text, stop - s.text
    counts[kind] += 1


@njit
def add_tag(state, start, stop):  # type: ignore[no-untyped-def]
    """Append bytes to the row's tag."""
    s = state_at(state)[0]
    tags = _uint8s_at(s.tag_bytes, s.tags + stop - start)
    for at in range(start, stop):
        tags[s.tags] = byte_at(at)
        s.tags += 1


@njit
def set_label(state, label, importance, base):  # type: ignore[no-untyped-def]
    """Label of the row being written."""
    s = state_at(state)[0]
    float32s_at(s.labels, s.room)[s.examples] = label
    float32s_at(s.importance, s.room)[s.examples] = importance
    float32s_at(s.base, s.room)[s.examples] = base


@njit
def add_cost(state, label, cost):  # type: ignore[no-untyped-def]
    """Append a class and its cost to the row's label."""
    s = state_at(state)[0]
    uint32s_at(s.cost_classes, s.room)[s.costs] = label
    float32s_at(s.cost_values, s.room)[s.costs] = cost
    s.costs += 1


@njit
def add_feature(state, index, value):  # type: ignore[no-untyped-def]
    """Append a feature to the row."""
    s = state_at(state)[0]
    uint32s_at(s.indices, s.room)[s.features] = index & s.mask
    float32s_at(s.values, s.room)[s.features] = value
    s.features += 1


@njit
def add_namespace(state, identity, begin):  # type: ignore[no-untyped-def]
    """Append a namespace whose features begin at number `begin`."""
    s = state_at(state)[0]
    uint32s_at(s.namespace_id, s.room)[s.namespaces] = identity
    int64s_at(s.namespace_ptr, s.room)[s.namespaces] = begin
    s.namespaces += 1
