"""State shared by the parser's kernels: one C record of options, counters and addresses of the arrays they fill.

Kernels get the record's address, so a call costs nothing; the Python object that owns the arrays keeps them alive.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import float32, uint32
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE, SEEN, Batch
from hutch.core.kernel.abi import array_at, caller_of, float32s_at, int64s_at, uint32s_at, view
from hutch.core.kernel.cache import AddressKernel
from hutch.core.kernel.decorators import helper, intrinsic
from hutch.core.kernel.raw_bytes import byte_at
from hutch.core.text.problems import KEPT, KINDS, Found

SIMPLE, MULTICLASS, COST_SENSITIVE, NO_LABEL = range(4)
ACTION_COSTS, LOGGED_ACTION, LOGGED_CLASS, LOGGED_SLOTS, LOGGED_SLATE, MULTILABEL, LOGGED_NUMBER = range(4, 11)
NUMBERS_OF_LINES = 11
LABEL_KINDS = {
    "simple": SIMPLE,
    "multiclass": MULTICLASS,
    "cost_sensitive": COST_SENSITIVE,
    "none": NO_LABEL,
    "action_costs": ACTION_COSTS,
    "logged_action": LOGGED_ACTION,
    "logged_class": LOGGED_CLASS,
    "logged_slots": LOGGED_SLOTS,
    "logged_slate": LOGGED_SLATE,
    "multilabel": MULTILABEL,
    "logged_number": LOGGED_NUMBER,
    "numbers_of_lines": NUMBERS_OF_LINES,
}

_NO_COSTS = (SIMPLE, MULTICLASS, NO_LABEL)

FIELDS_OF_SEEN = {"group": "group_of", "costs": "cost_values"}
"""Arrays of a batch whose fields in `STATE` have other names."""

_COLUMNS: dict[str, Any] = {
    **{FIELDS_OF_SEEN.get(name, name): kind for name, kind in SEEN.items()},
    "probabilities": np.float32,
    "tag_ptr": np.int64,
    "tag_bytes": np.uint8,
    # scratch for a block of lines: places in the text of its features, and their content
    "begin": np.uint32,
    "name_stop": np.uint32,
    "seeds": np.uint32,
    "found_index": np.uint32,
    "found_value": np.float32,
    # of its bars and line feeds the place, the number of features before; of the namespace its hash, id, size, value
    "mark": np.uint32,
    "mark_first": np.uint32,
    "mark_hash": np.uint32,
    "mark_id": np.uint32,
    "mark_size": np.uint32,
    "mark_value": np.float32,
    # scratch for one line: its pieces of namespaces, a copy of its features to reorder, a hash table of its namespaces
    "piece_slot": np.int64,
    "piece_ptr": np.int64,
    "copied_indices": np.uint32,
    "copied_values": np.float32,
    "seen_slot": np.int64,
    "seen_serial": np.int64,
}
_COUNTERS = ("examples", "features", "namespaces", "tags", "costs", "line", "group", "cursor", "serial")
_MADE = ("space", "space_hash", "renamed_count", "careful")
_OPTIONS = ("mask", "seed", "hash_all", "by_letter", "constant", "label_kind", "zeros", "words")

STATE = np.dtype(
    [(name, "i8") for name in (*_COUNTERS, *_MADE, *_OPTIONS, "text", "room", "problem_counts", "problem_places")]
    + [(name, "u8") for name in ("parse_line", "parse_label", "make", "maker", "renamed", *_COLUMNS)]
)
"""Counters are of one text except `serial`, which no two lines share; `cursor` is the place of the line to go on from.
`text` is the address of its first byte, `room` the length of the arrays; `parse_line` and `parse_label` are addresses
of kernels, 0 until a line needs them: compiling them takes as long as compiling all the rest. `careful` is 1 if they
parse every line. `space` and `space_hash` are id and hash of the namespace being read, for the kernel at `make`, which
makes features of names and finds its own state at `maker`. `renamed` is the address of int64[renamed_count, 2]: ids of
namespaces, and those that they count as."""

state_at = view(STATE)

_PIECE_SIGNATURE = "void(uint64, int64, int64)"  # state, bounds of a piece of the text


def piece_kernel(function: Callable[..., Any]) -> AddressKernel:
    """Decorate a kernel that takes the state's address and the bounds of a piece of the text."""
    return AddressKernel(function, _PIECE_SIGNATURE)


@intrinsic
def call_piece(typing_context: Any, kernel: Any, state: Any, start: Any, stop: Any) -> Any:
    """Call the `piece_kernel` at an address."""
    return caller_of(_PIECE_SIGNATURE)


BLOCK = 1 << 14
"""Bytes of whole lines that are processed at a time."""
SPARE = 80
"""Extra elements of the arrays beyond those that a text can need, so that several may be read and written at once."""

_uint8s_at = array_at(np.uint8)


class Buffers:
    """The arrays behind a `STATE` record; they keep their place until a text needs longer ones.

    Args:
        options: values of the record's fields.

    Attributes:
        record: the `STATE` record, an array of length 1.
        address: where it lies.
        arrays: the arrays by the names of their fields; another dict when they have been reallocated.
        found: the problems of the text parsed last.
        size: texts of fewer bytes have room.
        maker: of features of names; None without one.
    """

    def __init__(self, **options: int) -> None:
        self.record = np.zeros(1, STATE)
        self._counters = self.record.view(np.int64)[: len(_COUNTERS)]
        for name, value in options.items():
            self.record[name] = value
        kind = options["label_kind"]
        self._has_costs, self._has_probabilities = kind not in _NO_COSTS, NO_LABEL < kind < MULTILABEL
        self.found = Found()
        self.record["problem_counts"] = self.found.counts.ctypes.data
        self.record["problem_places"] = self.found.places.ctypes.data
        self.arrays: dict[str, NDArray[Any]] = {}
        self.maker: Any = None
        self.address = int(self.record.ctypes.data)
        self.size = 0

    def begin(self, text: NDArray[np.uint8]) -> None:
        """Discard the content, and make room for that of a text."""
        if len(text) >= self.size:
            self.size = len(text) + len(text) // 4 + 1
            self._allocate()
        self.rewind()
        self.record["text"] = text.ctypes.data

    def rewind(self) -> None:
        """Discard the content; the text has changed in place and is no longer than before."""
        self._counters[:-1] = 0
        self.found.counts[:] = 0
        if self.maker is not None:
            self.maker.rewind()

    def _allocate(self) -> None:
        """Make room for any text of the known size; unwritten room takes no memory.

        A feature or a cost is preceded by a blank or a line's beginning, a constant by a line that is not empty: each
        takes two bytes. Of bars and line feeds there may be as many as bytes in a block, or in the text.
        """
        room = max(self.size // 2, min(self.size, BLOCK)) + SPARE
        lengths = {
            "tag_bytes": self.size,
            "seen_slot": 1 << (2 * room).bit_length(),
            "seen_serial": 1 << (2 * room).bit_length(),
        }
        self.arrays = {name: np.empty(lengths.get(name, room), kind) for name, kind in _COLUMNS.items()}
        self.arrays["seen_serial"][:] = 0
        for name in ("row_ptr", "row_namespaces", "namespace_ptr", "tag_ptr", "cost_ptr"):
            self.arrays[name][0] = 0
        self.record["room"] = room
        for name, array in self.arrays.items():
            self.record[name] = array.ctypes.data
        if self.maker is not None:
            self.maker.begin(self.size, room)

    @property
    def examples(self) -> int:
        """Examples in the text."""
        return int(self._counters[0])

    @property
    def ends(self) -> tuple[int, int]:
        """Lines and ends of groups in the text."""
        line, group = self._counters[5:7].tolist()
        return line, group

    def batch(self) -> Batch:
        """The content as a batch, without copying."""
        examples, features, namespaces, tags, costs, *_ = self._counters.tolist()
        array = self.arrays
        found = Batch(
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
            tags=array["tag_bytes"][:tags],
            cost_ptr=array["cost_ptr"][: examples + 1 if self._has_costs else 0],
            cost_classes=array["cost_classes"][:costs],
            costs=array["cost_values"][:costs],
            probabilities=array["probabilities"][: costs if self._has_probabilities else 0],
        )
        return found if self.maker is None else self.maker.joined(found)


@helper
def close_row(state):
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


@helper
def report(state, kind, start, stop):
    """Count a problem of the current line; keep the place of the bytes at `start` to `stop` if among the first."""
    s = state_at(state)[0]
    counts = int64s_at(s.problem_counts, len(KINDS))
    places = int64s_at(s.problem_places, len(KINDS) * KEPT * 3)
    if counts[kind] < KEPT:
        at = (kind * KEPT + counts[kind]) * 3
        places[at], places[at + 1], places[at + 2] = s.line, start - s.text, stop - s.text
    counts[kind] += 1


@helper
def add_tag(state, start, stop):
    """Append bytes to the row's tag."""
    s = state_at(state)[0]
    tags = _uint8s_at(s.tag_bytes, s.tags + stop - start)
    for at in range(start, stop):
        tags[s.tags] = byte_at(at)
        s.tags += 1


@helper
def set_label(state, label, importance, base):
    """Label of the row being written."""
    s = state_at(state)[0]
    float32s_at(s.labels, s.room)[s.examples] = label
    float32s_at(s.importance, s.room)[s.examples] = importance
    float32s_at(s.base, s.room)[s.examples] = base


@helper
def add_cost(state, label, cost):
    """Append a class and its cost to the row's label."""
    s = state_at(state)[0]
    uint32s_at(s.cost_classes, s.room)[s.costs] = label
    float32s_at(s.cost_values, s.room)[s.costs] = cost
    s.costs += 1


@helper
def add_action(state, action, cost, probability):
    """Append an action with its cost, and the probability with which it was chosen, to the row's label."""
    s = state_at(state)[0]
    float32s_at(s.probabilities, s.room)[s.costs] = probability
    add_cost(state, action, cost)


@helper
def add_feature(state, index, value):
    """Append a feature to the row."""
    s = state_at(state)[0]
    uint32s_at(s.indices, s.room)[s.features] = index & s.mask
    float32s_at(s.values, s.room)[s.features] = value
    s.features += 1


@helper
def add_namespace(state, identity, begin):
    """Append a namespace whose features begin at number `begin`."""
    s = state_at(state)[0]
    uint32s_at(s.namespace_id, s.room)[s.namespaces] = identity
    int64s_at(s.namespace_ptr, s.room)[s.namespaces] = begin
    s.namespaces += 1


@helper
def add_constant(state):
    """Append the constant feature in its own namespace."""
    add_namespace(state, uint32(CONSTANT_NAMESPACE), state_at(state)[0].features)
    add_feature(state, CONSTANT_INDEX, float32(1))
