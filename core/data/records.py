"""Records, `{"label": 1, "user": {"age": 37, "city": "Oslo"}}`, as batches: each name is hashed once per batch."""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import Batch
from hutch.core.data.assemble import (
    HIGHEST_CLASS,
    Groups,
    Namespaces,
    as_float,
    as_float32,
    as_labels,
    assemble,
    hash_names,
    is_composite,
    is_number,
    joined_texts,
)
from hutch.core.data.class_names import class_names
from hutch.core.data.logged_number import WANTED, logged_number
from hutch.core.data.roles import AnyRoles, Roles
from hutch.core.data.rows import Pairs
from hutch.core.data.vectors import LISTS, Vectors
from hutch.core.data.words import words_of
from hutch.core.errors import DataError, Problem
from hutch.core.kernel.abi import UNLABELED
from hutch.core.text.hashing import hash_namespace
from hutch.core.text.parser import ParserOptions

_CHOICE = ("class", "cost", "probability")
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
        if self._options.label == "multilabel":
            found.update(self._label_lists(records))
        elif self._options.label == "cost_sensitive":
            found.update(self._costs(records))
        elif self._options.label == "logged_class":
            found.update(self._choices(records))
        elif self._options.label == "logged_number":
            found.update(self._logged_numbers(records))
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

    def _label_lists(self, records: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        """Lists of classes, each once and in ascending order."""
        rows = []
        for i, record in enumerate(records):
            given = [] if record.get(self._label) is None else record[self._label]
            parts = given.split(",") if isinstance(given, str) and given.strip() else given or []
            listed = parts if isinstance(parts, list | tuple | set | frozenset) else [parts]
            classes = [int(each) if isinstance(each, str) and each.strip().isdecimal() else each for each in listed]
            if not all(map(_is_class, classes)):
                raise self._wrong(
                    i, f"{self._label}: got {given!r:.60}, wanted classes such as [0, 2], or the text '0,2'"
                )
            rows.append([(each, 0.0) for each in sorted({int(each) for each in classes})])
        return _as_costs(rows)

    def _costs(self, records: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        rows = []
        for i, record in enumerate(records):
            given = record.get(self._label) or {}
            if not isinstance(given, Mapping):
                raise self._wrong(i, f"{self._label}: got {given!r}, wanted costs by class such as {{1: 0.0, 2: 1.5}}")
            row = []
            for name, cost in given.items():
                label = int(name) if isinstance(name, str) and name.isdecimal() and len(name) < 10 else name
                if not _is_class(label) or not (cost is None or is_number(cost)):
                    got = f"{self._label}: got {name!r:.60}: {cost!r:.60}"
                    raise self._wrong(i, f"{got}, wanted a class, an integer from 0 to {HIGHEST_CLASS}, and its cost")
                row.append((int(label), float(UNLABELED) if cost is None else float(cost)))
            rows.append(row)
        return _as_costs(rows)

    def _choices(self, records: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        """Classes that were chosen, with costs and probabilities."""
        found: list[tuple[Any, ...]] = []
        cost_ptr = np.zeros(len(records) + 1, np.int64)
        for i, record in enumerate(records):
            given = record.get(self._label)
            if given is not None:
                values: list[Any] = [given.get(name) for name in _CHOICE] if isinstance(given, Mapping) else []
                good = len(values) == 3 and _is_class(values[0]) and all(map(is_number, values))
                if not good or not 0 < np.float32(values[2]) <= 1:
                    wanted = "{'class': 2, 'cost': 0.5, 'probability': 0.25}, a probability above 0"
                    raise self._wrong(i, f"{self._label}: got {given!r:.90}, wanted a choice such as {wanted}")
                found.append(tuple(values))
            cost_ptr[i + 1] = len(found)
        classes, costs, probabilities = zip(*found, strict=True) if found else ((), (), ())
        return {
            "cost_ptr": cost_ptr,
            "cost_classes": np.array(classes, np.uint32),
            "costs": np.array(costs, np.float32),
            "probabilities": np.array(probabilities, np.float32),
        }

    def _logged_numbers(self, records: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
        """Numbers that were chosen, with costs and densities, which become two costs each."""
        labels, found = np.full(len(records), UNLABELED), list[float]()
        cost_ptr = np.zeros(len(records) + 1, np.int64)
        for i, record in enumerate(records):
            given = record.get(self._label)
            if given is not None:
                if (choice := logged_number(given)) is None:
                    raise self._wrong(i, f"{self._label}: got {given!r:.90}, wanted {WANTED}")
                labels[i] = choice[0]
                found += choice[1:]
            cost_ptr[i + 1] = len(found)
        return {
            "labels": labels,
            "cost_ptr": cost_ptr,
            "cost_classes": np.zeros(len(found), np.uint32),
            "costs": np.array(found, np.float32),
            "probabilities": np.zeros(len(found), np.float32),
        }

    def _wrong(self, i: int, text: str) -> Problem:
        return Problem(text, self._row + i)


def _as_costs(rows: list[list[tuple[int, float]]]) -> dict[str, NDArray[Any]]:
    """The columns of classes and costs, a list of these for each row; the label is the class that costs least."""
    labels = np.full(len(rows), UNLABELED)
    for i, row in enumerate(rows):
        if known := [pair for pair in row if pair[1] != UNLABELED]:
            labels[i] = min(known, key=lambda pair: pair[1])[0]
    pairs = [pair for row in rows for pair in row]
    return {
        "labels": labels,
        "cost_ptr": np.cumsum([0, *map(len, rows)]),
        "cost_classes": np.array([name for name, _ in pairs], np.uint32),
        "costs": np.array([cost for _, cost in pairs], np.float32),
    }


def _is_class(value: Any) -> bool:
    return is_number(value) and 0 <= value <= HIGHEST_CLASS and int(value) == value


def _bytes(tag: Any) -> bytes:
    if tag is None:
        return b""
    return tag if isinstance(tag, bytes) else str(tag).encode()
