"""One record at a time into arrays that stay where they are, so that a call allocates nothing.

Indices of names are kept, so that a known name is not hashed again. Records that `hutch.core.data.records` would refuse
are left to it: it reports the place.
"""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE, SEEN
from hutch.core.data.assemble import as_float, is_composite
from hutch.core.data.class_names import class_names
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.words import words_of
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.hashing import hash_namespace, hash_text, namespace_id
from hutch.core.text.parser import ParserOptions

_SMALLEST, _LARGEST = 1.2e-38, 3.4e38  # of normal float32 numbers
_MISSING = float(UNLABELED)
_LARGEST_CLASS = 1 << 24
_KEPT = 1 << 22
"""Characters of names, words and namespaces that are kept, each counted with `_BESIDE` more."""
_BESIDE = 64


class _Space:
    """A namespace: its id, its hash, and the indices of names and of names with a word as value, before masking."""

    def __init__(self, name: str, options: ParserOptions) -> None:
        self.id = namespace_id(name, options.namespaces)
        self.hash = hash_namespace(name, options.hash_seed, options.hash)
        self.names: dict[str, int] = {}
        self.words: dict[tuple[str, str], int] = {}


class RecordFiller:
    """Fills one record at a time.

    Args:
        options: how names are hashed, and the kind of the labels.
        columns: which keys hold the label, the importance and so on; every other key is a namespace.

    Attributes:
        arrays: of the record filled last, as kernels see them in a batch; another dict after a reallocation.
    """

    def __init__(self, options: ParserOptions, columns: AnyRoles = None) -> None:
        self._options, self._mask = options, (1 << options.bits) - 1
        roles = Roles.of(columns)
        self._label, self._importance, self._base = (roles.key(name) for name in ("label", "importance", "base"))
        self._classes = class_names(roles.classes, options.label)
        self._special = {roles.key(name) for name in ("label", "importance", "base", "tag", "group")}
        self._special |= set(map(str, roles.ignore))
        self._texts, self._columns = frozenset(map(str, roles.text)), roles.columns_learned
        self._spaces: dict[str, _Space] = {}
        self._kept = 0
        self._make_room(64)

    def _make_room(self, features: int) -> None:
        self._room = features
        lengths = {"row_ptr": 2, "row_namespaces": 2, "cost_ptr": 0, "cost_classes": 0, "costs": 0}
        lengths |= dict.fromkeys(("labels", "importance", "base", "group"), 1)
        self.arrays = {name: np.zeros(lengths.get(name, features + 1), kind) for name, kind in SEEN.items()}

    def fill(self, record: Mapping[str, Any]) -> bool:
        """Fill the arrays; returns False for a record that only a batch can take, or refuse.

        Args:
            record: as `hutch.core.data.records.record_batches` takes it.
        """
        pieces: dict[int, tuple[list[int], list[float]]] = {}
        for name, features in record.items():
            if name in self._special:
                continue
            if isinstance(features, str):
                if name in self._texts:
                    features = words_of(features)
                elif name in self._columns:  # a cell of a table
                    return False
            space = self._spaces.get(name) or self._new_space(name)
            items = self._items(features)
            if space is None or items is None or not self._add(space, items, pieces):
                return False
        return self._label_and_weight(record) and self._write(pieces)

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

    @staticmethod
    def _items(features: Any) -> Iterable[tuple[Any, Any]] | None:
        if isinstance(features, Mapping):
            return features.items()
        if isinstance(features, str):
            return ((features, 1.0),)
        return [(name, 1.0) for name in features] if isinstance(features, list | tuple) else None

    def _add(
        self, space: _Space, items: Iterable[tuple[Any, Any]], pieces: dict[int, tuple[list[int], list[float]]]
    ) -> bool:
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
            if _SMALLEST < value < _LARGEST or -_LARGEST < value < -_SMALLEST or (self._options.zeros and value == 0):
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

    def _label_and_weight(self, record: Mapping[str, Any]) -> bool:
        label, kind = record.get(self._label), self._options.label
        if label is None:
            value = _MISSING
        elif self._classes is not None:
            if (found := self._classes.find(label)) is None:
                return False
            value = found
        elif kind == "cost_sensitive" or not isinstance(label, Real):
            return False
        else:
            value = as_float(label)
            if value != value:
                value = _MISSING
            elif not -_LARGEST < value < _LARGEST:
                return False
            elif kind == "multiclass" and not (0 <= value <= _LARGEST_CLASS and value.is_integer()):
                return False
        self.arrays["labels"][0] = value
        return self._number(record, self._base, "base", 0.0, -_LARGEST) and self._number(
            record, self._importance, "importance", 1.0, 0.0
        )

    def _number(self, record: Mapping[str, Any], key: str, name: str, missing: float, least: float) -> bool:
        value = record.get(key)
        if value is None:
            self.arrays[name][0] = missing
            return True
        if not isinstance(value, Real) or not least <= as_float(value) < _LARGEST:
            return False
        self.arrays[name][0] = float(value)
        return True

    def _write(self, pieces: dict[int, tuple[list[int], list[float]]]) -> bool:
        indices: list[int] = []
        values: list[float] = []
        starts, ids = [], []
        for identity, (some, theirs) in pieces.items():
            starts.append(len(indices))
            ids.append(identity)
            indices += some
            values += theirs
        if self._options.constant:
            starts.append(len(indices))
            ids.append(CONSTANT_NAMESPACE)
            indices.append(CONSTANT_INDEX & self._mask)
            values.append(1.0)
        size, spaces = len(indices), len(ids)
        if size > self._room:
            kept = {name: self.arrays[name] for name in ("labels", "importance", "base")}
            self._make_room(2 * size)
            self.arrays |= kept
        arrays = self.arrays
        arrays["indices"][:size], arrays["values"][:size] = indices, values
        starts.append(size)
        arrays["namespace_ptr"][: spaces + 1], arrays["namespace_id"][:spaces] = starts, ids
        arrays["row_ptr"][1], arrays["row_namespaces"][1] = size, spaces
        return True
