"""One record at a time into arrays that stay where they are, so that a call allocates nothing.

Indices of names are kept, so that a known name is not hashed again. Records that `hutch.core.data.records` would refuse
are left to it: it reports the place.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE, SEEN
from hutch.core.data.assemble import as_float, is_composite
from hutch.core.data.class_names import class_names
from hutch.core.data.logged_number import logged_number
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.rows import Pairs, Rows
from hutch.core.data.vectors import LISTS, Vectors
from hutch.core.data.words import words_of
from hutch.core.errors import DataError
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.hashing import hash_namespace, hash_text, namespace_id
from hutch.core.text.parser import ParserOptions

_SMALLEST, LARGEST = 1.2e-38, 3.4e38  # of normal float32 numbers
_MISSING = float(UNLABELED)
_LARGEST_CLASS = 1 << 24
_MAPPINGS = (dict, Mapping)  # the usual one first: asking an abstract class takes long
_KEPT = 1 << 22
"""Characters of names, words and namespaces that are kept, each counted with `_BESIDE` more."""
_BESIDE = 64
Pieces = dict[int, tuple[list[int], list[float]]]
"""Indices and values of the features of each namespace, by its id."""


class _Space:
    """A namespace: its id, its hash, and the indices of names and of names with a word as value, before masking."""

    def __init__(self, name: str, options: ParserOptions) -> None:
        self.id = namespace_id(name, options.namespaces)
        self.hash = hash_namespace(name, options.hash_seed, options.hash)
        self.names: dict[str, int] = {}
        self.words: dict[tuple[str, str], int] = {}


class KnownNames:
    """Makes features of the namespaces of records, and keeps the indices of their names.

    Args:
        options: how names are hashed.
        columns: which keys hold text, whose words are the features.
    """

    def __init__(self, options: ParserOptions, columns: Roles) -> None:
        self._options, self._mask = options, (1 << options.bits) - 1
        self._texts, self._columns = frozenset(map(str, columns.text)), columns.columns_learned
        self._spaces: dict[str, _Space] = {}
        self._kept, self._vectors = 0, Vectors(columns.passing, columns.lengths)

    def pieces(self, record: Mapping[str, Any], special: Collection[str] = ()) -> Pieces | None:
        """The features of a record; None where one is not usual.

        Args:
            record: namespaces with their features, as `hutch.core.data.records.record_batches` takes it.
            special: keys that are no namespaces.
        """
        pieces: Pieces = {}
        for name, features in record.items():
            if name in special:
                continue
            if isinstance(features, str):
                if name in self._texts:
                    features = words_of(features)
                elif name in self._columns:  # a cell of a table
                    return None
            space = self._spaces.get(name) or self._new_space(name)
            items = self._items(name, features)
            if space is None or items is None or not self._add(space, items, pieces):
                return None
        return pieces

    def _new_space(self, name: Any) -> _Space | None:
        if not isinstance(name, str):
            return None
        self._keep(name)
        space = self._spaces[name] = _Space(name, self._options)
        return space

    def _keep(self, *texts: str) -> None:
        """Count what is kept; discard all when it is too much."""
        more = _BESIDE + sum(map(len, texts))
        self._kept += more
        if self._kept > _KEPT:
            self._kept = more
            for space in self._spaces.values():  # that of this record is still in use
                space.names, space.words = {}, {}
            self._spaces = {}

    def _items(self, name: str, features: Any) -> Iterable[tuple[Any, Any]] | None:
        if isinstance(features, _MAPPINGS):
            return features.items()
        if isinstance(features, Pairs):
            return features
        if isinstance(features, str):
            return ((features, 1.0),)
        if not isinstance(features, LISTS):
            return None
        try:
            return self._vectors.features(name, features)
        except DataError as error:  # of what other records had, which a batch would not know
            raise DataError(f"<records>:1: namespace {error}") from None

    def _add(self, space: _Space, items: Iterable[tuple[Any, Any]], pieces: Pieces) -> bool:
        """Append a namespace's features that are not zero; returns whether all of them are usual."""
        names = space.names
        indices, values = pieces.get(space.id) or ([], [])
        for name, value in items:
            if type(name) is not str:  # True, 1 and 1.0 are one key of a dict, and three names
                if is_composite(name):
                    return False
                name = str(name)
            if type(value) is not float:
                if isinstance(value, str):
                    index = space.words.get((name, value))
                    indices.append(self._new_word(space, name, value) if index is None else index)
                    values.append(1.0)
                    continue
                if value is None:
                    continue
                if type(value) is not int and not isinstance(value, Real):
                    return False
                value = as_float(value)
            if _SMALLEST < value < LARGEST or -LARGEST < value < -_SMALLEST or (self._options.zeros and value == 0):
                index = names.get(name)
                indices.append(self._new_name(space, name) if index is None else index)
                values.append(value)
            elif value == value and value != 0:
                return False
        if indices:
            pieces[space.id] = indices, values
        return True

    def _hash(self, text: str, seed: int) -> int:
        return hash_text(text, seed, self._options.hash) if text else seed

    def _new_name(self, space: _Space, name: str) -> int:
        self._keep(name)
        space.names[name] = index = self._hash(name, space.hash) & self._mask
        return index

    def _new_word(self, space: _Space, name: str, word: str) -> int:
        self._keep(name, word)
        index = self._hash(word, self._hash(name, space.hash)) & self._mask
        space.words[name, word] = index
        return index


class FilledRows:
    """Rows with their features in arrays that stay where they are.

    Args:
        options: whether each row has the constant feature, and its index.

    Attributes:
        arrays: as kernels see them in a batch; another dict after a reallocation.
        size: the number of rows.
    """

    def __init__(self, options: ParserOptions) -> None:
        self._constant = (CONSTANT_INDEX & ((1 << options.bits) - 1),) if options.constant else ()
        self._make_room(64, 1)

    def _make_room(self, features: int, rows: int) -> None:
        self._room, self._rows = features, rows
        lengths = dict.fromkeys(("row_ptr", "row_namespaces", "cost_ptr"), rows + 1)
        lengths |= dict.fromkeys(("labels", "importance", "base", "group", "cost_classes", "costs"), rows)
        lengths["probabilities"] = rows
        lengths |= dict.fromkeys(("cost_classes", "costs"), 2 * rows)  # of a logged number, cost and density
        kinds = SEEN | {"probabilities": np.float32}
        self.arrays = {name: np.zeros(lengths.get(name, features + 1), kind) for name, kind in kinds.items()}

    def fill(self, rows: Sequence[Pieces]) -> None:
        """Write the features of rows, in place of those that were there."""
        indices: list[int] = []
        values: list[float] = []
        starts: list[int] = []
        ids: list[int] = []
        ends, spaces = [0], [0]
        for pieces in rows:
            for identity, (some, theirs) in pieces.items():
                starts.append(len(indices))
                ids.append(identity)
                indices += some
                values += theirs
            if self._constant:
                starts.append(len(indices))
                ids.append(CONSTANT_NAMESPACE)
                indices += self._constant
                values.append(1.0)
            ends.append(len(indices))
            spaces.append(len(ids))
        starts.append(len(indices))
        self.size = len(rows)
        if len(indices) > self._room or self.size > self._rows:
            self._make_room(max(2 * len(indices), self._room), max(2 * self.size, self._rows))
        arrays = self.arrays
        arrays["indices"][: len(indices)], arrays["values"][: len(values)] = indices, values
        arrays["namespace_ptr"][: len(starts)], arrays["namespace_id"][: len(ids)] = starts, ids
        arrays["row_ptr"][: len(ends)], arrays["row_namespaces"][: len(spaces)] = ends, spaces


class RecordFiller:
    """Fills one record at a time.

    Args:
        options: how names are hashed, and the kind of the labels.
        columns: which keys hold the label, the importance and so on; every other key is a namespace.
    """

    def __init__(self, options: ParserOptions, columns: AnyRoles = None) -> None:
        self._options, roles = options, Roles.of(columns)
        self._label, self._importance, self._base = (roles.key(name) for name in ("label", "importance", "base"))
        self._classes = class_names(roles.classes, options.label)
        self._special = {roles.key(name) for name in ("label", "importance", "base", "tag", "group")}
        self._special |= set(map(str, roles.ignore))
        self._names, self._rows, self._cells = KnownNames(options, roles), FilledRows(options), Rows(roles)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Those of the record filled last, as kernels see them in a batch; another dict after a reallocation."""
        return self._rows.arrays

    def fill(self, record: Mapping[str, Any]) -> bool:
        """Fill the arrays; returns False for a record that only a batch can take, or refuse.

        Args:
            record: as `hutch.core.data.records.record_batches` takes it.
        """
        if self._cells.are(record):
            record = self._cells.record(record)
        pieces = self._names.pieces(record, self._special)
        if pieces is None:
            return False
        self._rows.fill((pieces,))
        return self._label_and_weight(record)

    def _label_and_weight(self, record: Mapping[str, Any]) -> bool:
        label, kind = record.get(self._label), self._options.label
        self.arrays["cost_ptr"][1] = 0
        if label is None:
            value = _MISSING
        elif kind == "logged_number":
            if (choice := logged_number(label)) is None:
                return False
            value, *costs = choice
            self.arrays["costs"][:2], self.arrays["cost_ptr"][1] = costs, 2
        elif self._classes is not None:
            if (found := self._classes.find(label)) is None:
                return False
            value = found
        elif kind in ("cost_sensitive", "multilabel", "numbers_of_lines") or not isinstance(label, Real):
            return False
        else:
            value = as_float(label)
            if value != value:
                value = _MISSING
            elif not -LARGEST < value < LARGEST:
                return False
            elif kind == "multiclass" and not (0 <= value <= _LARGEST_CLASS and value.is_integer()):
                return False
        self.arrays["labels"][0] = value
        return self._number(record, self._base, "base", 0.0, -LARGEST) and self._number(
            record, self._importance, "importance", 1.0, 0.0
        )

    def _number(self, record: Mapping[str, Any], key: str, name: str, missing: float, least: float) -> bool:
        value = record.get(key)
        if value is None:
            self.arrays[name][0] = missing
            return True
        if not isinstance(value, Real) or not least <= as_float(value) < LARGEST:
            return False
        self.arrays[name][0] = float(value)
        return True
