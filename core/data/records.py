"""Records, `{"label": 1, "user": {"age": 37, "city": "Oslo"}}`, as batches: each name is hashed once per batch."""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.data.assemble import (
    WANTED,
    Groups,
    Namespaces,
    as_float,
    as_float32,
    as_labels,
    assemble,
    hash_names,
    is_composite,
    joined_texts,
)
from hutch.core.data.class_names import class_names
from hutch.core.data.label_lists import label_lists
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.rows import Pairs
from hutch.core.data.vectors import LISTS, Vectors
from hutch.core.data.words import words_of
from hutch.core.errors import DataError, Problem
from hutch.core.text.hashing import hash_namespace
from hutch.core.text.parser import ParserOptions

_WANTED = "a mapping of feature names to numbers or words, a list of names or of numbers, or a word"


class RecordReader:
    """Records as batches.

    Args:
        options: how names are hashed, and the kind of the labels.
        columns: which keys hold the label, the importance, the base, the tag and the group, and which hold text, whose
            words are the features; every other key is a namespace.
    """

    def __init__(self, options: ParserOptions, columns: AnyRoles = None) -> None:
        self._options = options
        roles = Roles.of(columns)
        self._label, self._importance, self._base = roles.key("label"), roles.key("importance"), roles.key("base")
        self._tag, self._group = roles.key("tag"), roles.key("group")
        self._special = {self._label, self._importance, self._base, self._tag, self._group, *map(str, roles.ignore)}
        self._classes = class_names(roles.classes, options.label)
        self._texts = frozenset(map(str, roles.text))
        self._spaces = Namespaces(options)
        self._row = 1
        self._groups = Groups()
        self._vectors = Vectors(roles.lengths)

    def start(self, number: int) -> None:
        """Set the number of the next record in messages."""
        self._row = number

    def batch(self, records: list[Mapping[str, Any]]) -> Batch:
        """One batch of records.

        Raises:
            Problem: a record or a value that cannot be used, by its number.
        """
        names: dict[tuple[str, str], int] = {}  # (namespace, name) -> code
        words: dict[tuple[int, str], int] = {}  # (code of the name, word) -> code, counted on from the names'
        codes: list[int] = []  # of a feature: its name's, or -1 minus its word's
        values: list[float] = []
        numbers: list[int] = []
        row_ptr = np.zeros(len(records) + 1, np.int64)
        for i, record in enumerate(records):
            if not isinstance(record, Mapping):
                raise self._wrong(i, f"got {type(record).__name__}, wanted a record such as {{'f': {{'age': 37}}}}")
            for namespace, features in record.items():
                if namespace in self._special:
                    continue
                if not isinstance(namespace, str):
                    raise self._wrong(i, f"got the key {namespace!r}, wanted the name of a namespace")
                number = self._spaces.number(namespace)
                if namespace in self._texts and isinstance(features, str):
                    features = words_of(features)
                for name, value in self._items(i, namespace, features):
                    code = names.setdefault((namespace, str(name)), len(names))
                    if isinstance(value, str):
                        codes.append(-1 - words.setdefault((code, value), len(words)))
                        values.append(1.0)
                    elif isinstance(value, Real):
                        codes.append(code)
                        values.append(as_float(value))
                    elif value is not None:
                        got = f"{namespace}.{name}: got {type(value).__name__}"
                        more = f"; a list is a namespace of its own, {name!r}" if isinstance(value, LISTS) else ""
                        raise self._wrong(i, f"{got}, wanted a number, a word or None{more}")
                    else:
                        continue
                    numbers.append(number)
            row_ptr[i + 1] = len(codes)
        batch = assemble(
            row_ptr,
            self._hash(names, words, np.array(codes, np.int64)),
            as_float32(values),
            np.array(numbers, np.int32),
            self._spaces.ids,
            self._options,
            self._numbers(),
            lambda _, place: f"feature {place + 1}",
            **self._columns(records),
        )
        self._row += len(records)
        return batch

    def _numbers(self) -> int | NDArray[np.int64]:
        """In messages: the number of the first row, or of each."""
        return self._row

    def _items(self, i: int, namespace: str, features: Any) -> Iterable[tuple[Any, Any]]:
        if isinstance(features, Mapping):
            return features.items()
        if isinstance(features, Pairs):
            return features
        if isinstance(features, str):
            return [(features, 1.0)]
        if isinstance(features, LISTS) and not any(map(is_composite, features)):
            try:
                return self._vectors.features(namespace, features)
            except DataError as error:
                raise self._wrong(i, f"namespace {error}") from None
        raise self._wrong(i, f"namespace {namespace!r}: got {type(features).__name__}, wanted {_WANTED}")

    def _hash(
        self, names: dict[tuple[str, str], int], words: dict[tuple[int, str], int], codes: NDArray[np.int64]
    ) -> NDArray[np.uint32]:
        options = self._options
        seeds = {space: hash_namespace(space, options.hash_seed, options.hash) for space, _ in names}
        of_names = hash_names(
            [name for _, name in names], np.array([seeds[space] for space, _ in names] or [0], np.uint32), options
        )
        chained = np.array([of_names[code] for code, _ in words] or [0], np.uint32)
        of_words = hash_names([word for _, word in words], chained, options)
        hashes = np.concatenate([of_names, of_words[::-1]]) if len(of_words) else of_names
        return hashes[codes] & np.uint32((1 << options.bits) - 1)  # word w is the last but w

    def _columns(self, records: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {
            "importance": self._floats(records, self._importance, 1.0),
            "base": self._floats(records, self._base, 0.0),
        }
        if self._options.label in WANTED:
            given = [record.get(self._label) for record in records]
            found.update(label_lists(self._options.label, given, self._wrong_label, self._options.chosen_alone))
        else:
            found["labels"] = as_labels(self._simple_labels(records))
        found["tags"], found["tag_ptr"] = joined_texts([_bytes(record.get(self._tag)) for record in records])
        found["group"] = self._groups.of(record.get(self._group) for record in records)
        return found

    def _simple_labels(self, records: list[Mapping[str, Any]]) -> NDArray[np.float32]:
        """Labels, NaN if missing."""
        if self._classes is None:
            return self._floats(records, self._label, float("nan"))
        out = np.full(len(records), np.nan, np.float32)
        for i, record in enumerate(records):
            name = record.get(self._label)
            if name is not None and name != "":
                try:
                    out[i] = self._classes.label(name)
                except DataError as error:
                    raise self._wrong(i, f"{self._label}: {error}") from None
        return out

    def _floats(self, records: list[Mapping[str, Any]], key: str, missing: float) -> NDArray[np.float32]:
        out = np.full(len(records), missing)
        for i, record in enumerate(records):
            value = record.get(key)
            if value is None:
                continue
            if not isinstance(value, Real):
                raise self._wrong(i, f"{key}: got {value!r}, wanted a number")
            out[i] = as_float(value)
        return as_float32(out)

    def _wrong_label(self, i: int, text: str) -> Problem:
        return self._wrong(i, f"{self._label}: {text}")

    def _wrong(self, i: int, text: str) -> Problem:
        return Problem(text, self._row + i)


def _bytes(tag: Any) -> bytes:
    if tag is None:
        return b""
    return tag if isinstance(tag, bytes) else str(tag).encode()
