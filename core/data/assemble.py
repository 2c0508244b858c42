"""Features that carry the number of their namespace become a batch: the last step of every source that is not text."""

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, SupportsFloat, TypeGuard

import numpy as np
from numpy import float32, int64
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE, Batch
from hutch.core.errors import Problem
from hutch.core.kernel.abi import UNLABELED
from hutch.core.kernel.cache import compiled
from hutch.core.kernel.decorators import helper
from hutch.core.text.hashing import PADDING, hash_name, namespace_id
from hutch.core.text.parser import LabelKind, ParserOptions

FEATURES_PER_BATCH = 1 << 17
"""Approximate number of features per batch: as many as stay in the second-level cache."""
HIGHEST_CLASS = 1 << 24
"""Beyond it float32 has gaps."""
_DECISION = "a label of decisions, as lines of text, JSON lines or records have it"
WANTED: dict[LabelKind, str] = {
    "multilabel": "classes such as [0, 2], or the text '0,2'",
    "cost_sensitive": "costs by class such as {1: 0.0, 2: 1.5}",
    "logged_class": "a choice such as {'class': 2, 'cost': 0.5, 'probability': 0.25}, a probability above 0",
    "logged_number": "a choice such as {'number': 1.5, 'cost': 0.2, 'density': 0.1}, a density above 0",
    "numbers_of_lines": "numbers such as [3, 1], or the text '3,1'",
    **dict.fromkeys(("action_costs", "logged_action", "logged_slots", "logged_slate"), _DECISION),
}
"""What is wanted of labels that are more than a number, by their kind."""


class Namespaces:
    """Namespaces by name, numbered in the order of their first mention; names with the same id share a number.

    Args:
        options: how names are hashed.

    Attributes:
        ids: the id of each number.
    """

    def __init__(self, options: ParserOptions) -> None:
        self._mode = options.namespaces
        self._numbers: dict[str, int] = {}
        self.ids: list[int] = []

    def number(self, name: str) -> int:
        """The number of a namespace."""
        found = self._numbers.get(name)
        if found is None:
            identity = namespace_id(name, self._mode)
            if identity not in self.ids:
                self.ids.append(identity)
            found = self._numbers[name] = self.ids.index(identity)
        return found


@compiled
def hash_texts(data, offsets, seeds, hash_all, mask, out):
    """Hash text i, `data[offsets[i]:offsets[i + 1]]`, with seed i (or the only one) into out[i].

    An empty text leaves the seed unchanged: `name:` is the feature `name`. Three bytes beyond the last text are loaded.
    """
    address = int64(data.ctypes.data)
    for i in range(len(out)):
        seed = seeds[i % len(seeds)]
        start, stop = address + offsets[i], address + offsets[i + 1]
        out[i] = (hash_name(start, stop, seed, hash_all) if stop > start else seed) & mask


def hash_names(names: Sequence[str], seeds: NDArray[np.uint32], options: ParserOptions) -> NDArray[np.uint32]:
    """Hash names, each with its seed or all with the only one; not masked."""
    data, offsets = joined_texts([*(name.encode() for name in names), bytes(PADDING)])
    out = np.zeros(len(names), np.uint32)
    hash_texts(data, offsets, seeds, options.hash == "all", np.uint32(0xFFFFFFFF), out)
    return out


def joined_texts(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts one after the other, uint8, and where each begins and the last one ends, int64 (texts + 1)."""
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return np.frombuffer(b"".join(texts), np.uint8), offsets


class Groups:
    """Numbers of groups, from 0: rows in sequence with the same value form one."""

    def __init__(self) -> None:
        self._number, self._last = -1, None

    def of(self, values: Iterable[Any]) -> NDArray[np.int64]:
        """The numbers of further rows."""
        found = []
        for value in values:
            self._number += self._number < 0 or value != self._last
            self._last = value
            found.append(self._number)
        return np.array(found, np.int64)


@helper
def _first_seen(values, numbers, start, stop, sizes, order, zeros):
    """Sizes of a row's namespaces and their order; returns their number, or the first bad feature as -1 - i."""
    count = 0
    for i in range(start, stop):
        if values[i] == 0 and not zeros or values[i] != values[i]:
            continue
        if abs(values[i]) == float32(np.inf):
            return -1 - i
        if sizes[numbers[i]] == 0:
            order[count] = numbers[i]
            count += 1
        sizes[numbers[i]] += 1
    return count


@compiled
def _assemble(row_ptr, indices, values, numbers, ids, constant, constant_index, zeros, out):
    out_row_ptr, out_indices, out_values, row_namespaces, namespace_ptr, namespace_id, sizes, order = out
    feature, namespace = 0, 0
    for row in range(len(row_ptr) - 1):
        start, stop = row_ptr[row], row_ptr[row + 1]
        count = _first_seen(values, numbers, start, stop, sizes, order, zeros)
        if count < 0:
            return row, -1 - count, namespace
        for k in range(count):
            number = order[k]
            namespace_id[namespace], namespace_ptr[namespace] = ids[number], feature
            size, sizes[number] = sizes[number], feature  # from now on: where its next feature goes
            feature += size
            namespace += 1
        for i in range(start, stop):
            if (values[i] != 0 or zeros) and values[i] == values[i]:
                to = sizes[numbers[i]]
                out_indices[to], out_values[to] = indices[i], values[i]
                sizes[numbers[i]] = to + 1
        for k in range(count):
            sizes[order[k]] = 0
        if constant:
            namespace_id[namespace], namespace_ptr[namespace] = CONSTANT_NAMESPACE, feature
            out_indices[feature], out_values[feature] = constant_index, float32(1)
            feature += 1
            namespace += 1
        out_row_ptr[row + 1], row_namespaces[row + 1] = feature, namespace
        namespace_ptr[namespace] = feature
    return -1, -1, namespace


def assemble(
    row_ptr: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[np.float32],
    numbers: NDArray[np.int32],
    ids: Sequence[int],
    options: ParserOptions,
    first_row: int | NDArray[np.int64],
    name_of: Callable[[int, int], str],
    **columns: NDArray[Any],
) -> Batch:
    """Make a batch without NaN and zeros, which the options may keep: each namespace in one piece, then the constant.

    Args:
        row_ptr: int64 (examples + 1).
        indices: uint32 (features), masked.
        values: float32 (features).
        numbers: int32 (features), each feature's namespace as an index into `ids`.
        ids: ids of the namespaces.
        options: whether there is a constant, and the kind of the labels.
        first_row: number of the first row in messages, counted from 1; or of every row, int64 (examples).
        name_of: the name of a feature by its number, and by its place in its row, for messages.
        columns: the batch's `labels`, `importance`, `base`, `group`, `tag_ptr`, `tags`, `cost_ptr` and so on; those
            left out are as if nothing had been given.

    Raises:
        Problem: an infinite value, a bad importance or a class that is not one.
    """
    rows = len(row_ptr) - 1
    many, spaces = len(indices) + rows, rows * (len(ids) + 1) + 1
    spaces = min(spaces, many + 1)
    batch = Batch(
        row_ptr=np.zeros(rows + 1, np.int64),
        indices=np.empty(many, np.uint32),
        values=np.empty(many, np.float32),
        row_namespaces=np.zeros(rows + 1, np.int64),
        namespace_ptr=np.zeros(spaces, np.int64),
        namespace_id=np.empty(spaces, np.uint32),
        labels=columns.get("labels", np.full(rows, UNLABELED)),
        importance=columns.get("importance", np.ones(rows, np.float32)),
        base=columns.get("base", np.zeros(rows, np.float32)),
        group=columns.get("group", np.zeros(rows, np.int64)),
        tag_ptr=columns.get("tag_ptr", np.zeros(rows + 1, np.int64)),
        **{
            name: columns[name]
            for name in ("tags", "cost_ptr", "cost_classes", "costs", "probabilities")
            if name in columns
        },
    )
    scratch = (np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64))
    constant_index = np.uint32(CONSTANT_INDEX & ((1 << options.bits) - 1))
    out = (batch.row_ptr, batch.indices, batch.values, batch.row_namespaces, batch.namespace_ptr, batch.namespace_id)
    row, bad, namespaces = _assemble(
        row_ptr,
        indices,
        values,
        numbers,
        np.array(ids, np.uint32),
        options.constant,
        constant_index,
        options.zeros,
        (*out, *scratch),
    )
    if row >= 0:
        text = f"{name_of(bad, bad - int(row_ptr[row]))}: got {values[bad]}, wanted a number below 3.4e38"
        raise Problem(text, _number_of(first_row, row))
    features = int(batch.row_ptr[-1])
    batch.indices, batch.values = batch.indices[:features], batch.values[:features]
    batch.namespace_ptr, batch.namespace_id = batch.namespace_ptr[: namespaces + 1], batch.namespace_id[:namespaces]
    _check(batch, options, first_row)
    if options.label in WANTED and not len(batch.cost_ptr):
        batch.cost_ptr = np.zeros(rows + 1, np.int64)
    return batch


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number that float32 can hold."""
    return isinstance(value, Real) and abs(as_float(value)) < float(UNLABELED)


def is_composite(value: Any) -> bool:
    """Whether a value is a container, and so is not a name."""
    return isinstance(value, list | dict | set | tuple)


def as_float(value: SupportsFloat) -> float:
    """A number as a float, infinite if it is an integer beyond all floats; `assemble` refuses it with its place."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def as_float32(values: Any) -> NDArray[np.float32]:
    """Numbers as float32, infinite beyond its range; `assemble` refuses them with their place."""
    with np.errstate(over="ignore"):
        return np.array(values, np.float32)


def as_labels(given: Any) -> NDArray[np.float32]:
    """Labels as float32 (examples); NaN becomes `UNLABELED`."""
    labels = as_float32(given)
    labels[np.isnan(labels)] = UNLABELED
    return labels


def as_given(labels: Any, importance: Any) -> dict[str, NDArray[np.float32]]:
    """Labels and importances passed with the examples, as the columns of a batch.

    Raises:
        Problem: they are not numbers, or do not have one dimension.
    """
    given: dict[str, NDArray[np.float32]] = {}
    if labels is not None:
        given["labels"] = as_labels(as_numbers("labels", labels))
    if importance is not None:
        given["importance"] = as_float32(as_numbers("importance", importance))
    for name, array in given.items():
        if array.ndim != 1:
            raise Problem(f"got {name} of shape {array.shape}, wanted one dimension")
    return given


def as_numbers(name: str, given: Any) -> Any:
    """An array or sparse matrix if it holds numbers, made of them if it only looks different; else a Problem."""
    array = given if hasattr(given, "tocsr") else np.asarray(given)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind in "OUS" and not hasattr(given, "tocsr"):
        for place, value in np.ndenumerate(array):
            try:
                float(value)
            except (TypeError, ValueError):
                column = "" if name else "".join(f"column {j}: " for j in place[1:])
                wanted = "a number; class names go with hutch.sklearn" if name == "labels" else "a number"
                got = value.item() if isinstance(value, np.generic) else value
                text = f"{name and name + ': '}{column}got {got!r}, wanted {wanted}"
                raise Problem(text, place[0] + 1) from None
        return as_float32(array)
    raise Problem(f"{name and name + ': '}got {array.dtype}, wanted numbers")


def _number_of(first_row: int | NDArray[np.int64], row: int) -> int:
    return first_row + row if isinstance(first_row, int) else int(first_row[row])


def _check(batch: Batch, options: ParserOptions, first_row: int | NDArray[np.int64]) -> None:
    labels, known = batch.labels, batch.labels != UNLABELED
    if options.label == "multiclass":
        bad = known & ~((labels >= 0) & (labels <= HIGHEST_CLASS) & (labels == np.floor(labels)))
        _refuse(bad, labels, "label", f"a class, an integer from 0 to {HIGHEST_CLASS}", first_row)
    if options.label in WANTED and not len(batch.cost_ptr):
        _refuse(known, labels, "label", WANTED[options.label], first_row)
    _refuse(known & ~np.isfinite(labels), labels, "label", "a number", first_row)
    weight = batch.importance
    _refuse(~((weight >= 0) & np.isfinite(weight)), weight, "importance", "a number ≥ 0", first_row)
    _refuse(~np.isfinite(batch.base), batch.base, "base", "a number", first_row)


def _refuse(
    bad: NDArray[np.bool_],
    values: NDArray[np.float32],
    what: str,
    wanted: str,
    first_row: int | NDArray[np.int64],
) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise Problem(f"{what}: got {values[row]:g}, wanted {wanted}", _number_of(first_row, row))
