"""The arrays that the parser's kernels fill, allocated once and reused, and what the kernels know of the options."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.parse_problems import KEPT

SIMPLE, MULTICLASS, COST_SENSITIVE, NO_LABEL = range(4)
LABEL_KINDS = {"simple": SIMPLE, "multiclass": MULTICLASS, "cost_sensitive": COST_SENSITIVE, "none": NO_LABEL}

# places in `Columns.counters`: how much of the arrays is filled
EXAMPLES, FEATURES, NAMESPACES, TAG_BYTES, COSTS, LINE, GROUP, SERIAL = range(8)


class Grammar(NamedTuple):
    """The options as kernels take them."""

    mask: np.uint32
    seed: np.uint32
    hash_all: bool
    by_letter: bool
    constant: bool
    label: int


class Columns(NamedTuple):
    """Everything a kernel writes: the arrays of a `Batch`, counters, problems, scratch for one line.

    The scratch arrays hold a line's pieces of namespaces (`piece_*`), a copy of its features to reorder (`copied_*`),
    and a hash table of its namespaces whose entries count only if they bear the line's serial number (`seen_*`).
    """

    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    row_ptr: NDArray[np.int64]
    row_namespaces: NDArray[np.int64]
    namespace_ptr: NDArray[np.int64]
    namespace_id: NDArray[np.uint32]
    labels: NDArray[np.float32]
    importance: NDArray[np.float32]
    base: NDArray[np.float32]
    group: NDArray[np.int64]
    tag_ptr: NDArray[np.int64]
    tags: NDArray[np.uint8]
    cost_ptr: NDArray[np.int64]
    cost_classes: NDArray[np.uint32]
    costs: NDArray[np.float32]
    counters: NDArray[np.int64]
    problem_counts: NDArray[np.int64]
    problem_places: NDArray[np.int64]
    piece_slot: NDArray[np.int64]
    piece_ptr: NDArray[np.int64]
    copied_indices: NDArray[np.uint32]
    copied_values: NDArray[np.float32]
    seen_slot: NDArray[np.int64]
    seen_serial: NDArray[np.int64]


def allocate(delimiters: int, size: int, counters: Any, problem_counts: Any, problem_places: Any) -> Columns:
    """Room for any text of `size` bytes with so many delimiters.

    A feature is preceded by a blank, a constant followed by a line end, a namespace preceded by a bar, a cost preceded
    by a blank or a line's beginning: none can outnumber the delimiters.
    """
    many = delimiters + 2
    table = 1 << (2 * many - 1).bit_length()

    def array(kind: Any, length: int = many) -> Any:
        return np.empty(length, kind)

    return Columns(
        indices=array(np.uint32),
        values=array(np.float32),
        row_ptr=array(np.int64),
        row_namespaces=array(np.int64),
        namespace_ptr=array(np.int64),
        namespace_id=array(np.uint32),
        labels=array(np.float32),
        importance=array(np.float32),
        base=array(np.float32),
        group=array(np.int64),
        tag_ptr=array(np.int64),
        tags=array(np.uint8, size + 1),
        cost_ptr=array(np.int64),
        cost_classes=array(np.uint32),
        costs=array(np.float32),
        counters=counters,
        problem_counts=problem_counts,
        problem_places=problem_places,
        piece_slot=array(np.int64),
        piece_ptr=array(np.int64),
        copied_indices=array(np.uint32),
        copied_values=array(np.float32),
        seen_slot=array(np.int64, table),
        seen_serial=np.full(table, -1),
    )


def as_batch(columns: Columns) -> Batch:
    """The filled part of the arrays, without copying."""
    examples, features, namespaces, tag_bytes, costs = (int(n) for n in columns.counters[:LINE])
    return Batch(
        row_ptr=columns.row_ptr[: examples + 1],
        indices=columns.indices[:features],
        values=columns.values[:features],
        row_namespaces=columns.row_namespaces[: examples + 1],
        namespace_ptr=columns.namespace_ptr[: namespaces + 1],
        namespace_id=columns.namespace_id[:namespaces],
        labels=columns.labels[:examples],
        importance=columns.importance[:examples],
        base=columns.base[:examples],
        group=columns.group[:examples],
        tag_ptr=columns.tag_ptr[: examples + 1],
        tags=columns.tags[:tag_bytes],
        cost_ptr=columns.cost_ptr[: examples + 1],
        cost_classes=columns.cost_classes[:costs],
        costs=columns.costs[:costs],
    )


@njit
def clear(columns):  # type: ignore[no-untyped-def]
    """Forget all examples; line, group and serial numbers go on."""
    columns.counters[:5] = 0
    columns.row_ptr[0] = columns.row_namespaces[0] = columns.namespace_ptr[0] = 0
    columns.tag_ptr[0] = columns.cost_ptr[0] = 0


@njit
def close_row(columns):  # type: ignore[no-untyped-def]
    """End the example whose features, namespaces, tag, label and costs have been written."""
    count = columns.counters
    row = count[EXAMPLES] + 1
    count[EXAMPLES] = row
    columns.group[row - 1] = count[GROUP]
    columns.row_ptr[row] = count[FEATURES]
    columns.row_namespaces[row] = count[NAMESPACES]
    columns.namespace_ptr[count[NAMESPACES]] = count[FEATURES]
    columns.tag_ptr[row] = count[TAG_BYTES]
    columns.cost_ptr[row] = count[COSTS]


@njit
def report(columns, kind, start, stop):  # type: ignore[no-untyped-def]
    """Count a problem of the current line; keep the place of the bytes from `start` to `stop` if among the first."""
    seen = columns.problem_counts[kind]
    if seen < KEPT:
        columns.problem_places[kind, seen, 0] = columns.counters[LINE]
        columns.problem_places[kind, seen, 1] = start
        columns.problem_places[kind, seen, 2] = stop
    columns.problem_counts[kind] = seen + 1
