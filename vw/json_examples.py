"""Vowpal Wabbit's JSON: a line is an example, or with `_multi` a decision; and its format of logs, `--dsjson`.

An object is a namespace, whatever it lies in; a number is a feature's value, a text is part of its name. Keys that
begin with an underscore are the label, the tag, words of a text and so on; those that are not known are passed over.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from hutch.core.batch import CONSTANT_INDEX, SHARED_ROW, Batch
from hutch.core.data.chunks import Chunk, Chunks
from hutch.core.errors import DataError
from hutch.core.strict_json import column_of, column_of_no_number
from hutch.core.text import problems
from hutch.core.text.hashing import hash_namespace, hash_text, namespace_id
from hutch.core.text.names import CONSTANT
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.core.text.problems import Problem
from hutch.vw.json_rows import UNGIVEN, Example, Label, Rows, Space, Store

_WITHIN = str.maketrans(dict.fromkeys(" \t|:", "_"))
_LARGEST = float(np.finfo(np.float32).max)
_SHARED = float(SHARED_ROW)
_MOST_ACTIONS = (1 << 32) - 1
_LOOK = 1 << 16
"""How many bytes a line has, nearly always."""
Path = tuple[str | int, ...]
"""Keys and places that lead to a value."""
_OF_LABELS = ("label", "weight", "initial", "action", "cost", "probability")


class _Wrong(Exception):
    """Something that a line must not hold.

    Args:
        text: what it is.
        path: to its place, as `column_of` takes it.
        column: of its place where that is known otherwise, else 0.
    """

    def __init__(self, text: str, *path: str | int, column: int = 0) -> None:
        super().__init__(text)
        self.text, self.path, self.column = text, path, column

    def within(self, *path: str | int) -> "_Wrong":
        """The same, whose path begins at what this one leads to."""
        self.path = (*path, *self.path)
        return self


class JsonReader:
    """Reads lines of JSON.

    Args:
        options: how names are hashed, and the kind of the labels.
        log: lines are those of `--dsjson`.
        chained: a text's hash begins with that of its key; else both are one name.

    Attributes:
        logged: labels are of one chosen action.
        names: of features by index, as far as lines were read while there were watchers.
        watchers: told of the names and of each line's examples before the chain is.
    """

    def __init__(self, options: ParserOptions, *, log: bool, chained: bool) -> None:
        self._options, self._log, self._chained = options, log, chained
        self._mask = (1 << options.bits) - 1
        self._spaces: dict[str, Space] = {}
        self._ids: list[int] = []
        self._texts = TextParser(replace(options, strict=True, whole_groups=False), "_label")
        self._groups = 0
        self.logged = options.label == "logged_action"
        self._decides = options.label in ("action_costs", "logged_action")
        self.names = {CONSTANT_INDEX & self._mask: CONSTANT}
        self.watchers: list[Callable[[dict[int, str], Batch], Any]] = []

    def __call__(self, chunks: Chunks, parser: TextParser) -> Iterator[Batch]:
        """The batches of one source; problems go to the parser's."""
        number = 0
        for chunk in chunks:
            if number == 0:
                parser.start(chunk.source)
            if self._decides and not self.watchers:
                number = self._read_chunk(chunk, number, parser)
                if self._store.count("rows"):
                    yield self._store.batch(self._ids, parser.source_name)
                continue
            rows = Rows()
            for line in bytes(chunk.data).removesuffix(b"\n").split(b"\n"):
                number += 1
                self._read_line(line, rows, number, parser)
                if self.watchers and rows.labels:
                    batch, rows = self._batch(rows, parser), Rows()
                    for see in self.watchers:
                        see(self.names, batch)
                    yield batch
            if rows.labels:
                yield self._batch(rows, parser)

    @cached_property
    def _store(self) -> Store:
        return Store(self._options, self._log, self._chained, self.space(" "))

    def _read_chunk(self, chunk: Chunk, number: int, parser: TextParser) -> int:
        """Read a chunk whose lines are decisions; returns the number of its last line."""
        store, text = self._store, chunk.text
        at, stop = text.ctypes.data, text.ctypes.data + len(text)
        start = at
        store.begin(len(text))
        while at < stop:
            store.record.set(lines=0)
            at = store.read(at, stop, self._ids, self._groups)
            self._groups, number = store.count("decisions"), number + store.count("lines")
            if at < stop:
                line = text[at - start :][:_LOOK].tobytes().partition(b"\n")[0]
                line = line if len(line) < _LOOK else text[at - start :].tobytes().partition(b"\n")[0]
                rows, number = Rows(), number + 1
                self._read_line(line, rows, number, parser)
                store.add(rows)
                at += len(line) + 1
        return number

    def _read_line(self, line: bytes, rows: Rows, number: int, parser: TextParser) -> None:
        """Read a line into the rows, or note what is wrong with it."""
        try:
            empty = self._read(line, rows)
        except _Wrong as error:
            column = error.column or column_of(line.decode(errors="replace"), error.path)
            problem = Problem(problems.BAD_JSON, parser.source_name, number, column, error.text)
            parser.problems.note(problem, parser.options.strict)
            return
        for path in empty:
            column = column_of(line.decode(), path)
            got = line.decode()[column - 1 :][:20]
            problem = Problem(problems.KEPT_EMPTY_ACTION, parser.source_name, number, column, got)
            parser.problems.note(problem, strict=False)

    def _batch(self, rows: Rows, parser: TextParser) -> Batch:
        return rows.batch(self._ids, self._options, parser.source_name)

    def _read(self, line: bytes, rows: Rows) -> list[Path]:
        """Read a line into the rows, nothing of one that is wrong; returns where actions without features are."""
        if self._log and not line.startswith(b"{"):
            return []
        if not line.strip():
            raise _Wrong("an empty line")
        try:
            pairs = json.loads(line, object_pairs_hook=tuple, parse_constant=_refuse)
        except json.JSONDecodeError as error:
            raise _Wrong(error.msg, column=error.colno) from None
        except UnicodeDecodeError as error:
            column = len(line[: error.start].decode(errors="replace")) + 1
            raise _Wrong(str(error)[:80], column=column) from None
        except (RecursionError, ValueError) as error:
            raise _Wrong(str(error)[:80], column=1) from None
        except _Wrong as error:
            error.column = column_of_no_number(line.decode(errors="replace"))
            raise
        if type(pairs) is not tuple:
            raise _Wrong("no object")
        found = _Line(self, pairs)
        if self._log and not found.open_log():
            return []
        found.read()
        self._groups += 1
        if found.actions is None:
            if self._decides:
                raise _Wrong("no actions")
            rows.add(found.shared, found.label(), self._groups)
            return []
        if not self._decides:
            raise _Wrong("actions, in a chain that takes single examples")
        labels = found.labels()
        weight = found.weight
        rows.add(found.shared, Label(importance=weight, choices=[(0, UNGIVEN, _SHARED)]), self._groups)
        for action, label in zip(found.actions, labels, strict=True):
            label.importance *= weight
            rows.add(action, label, self._groups)
        return found.empty

    def space(self, name: str) -> Space:
        """The namespace of a name."""
        found = self._spaces.get(name)
        if found is None:
            identity, options = namespace_id(name, self._options.namespaces), self._options
            if identity not in self._ids:
                self._ids.append(identity)
            number = self._ids.index(identity)
            found = self._spaces[name] = Space(name, number, hash_namespace(name, options.hash_seed, options.hash))
        return found

    def index(self, space: Space, key: str) -> int:
        """The index of a feature with a number as value, -1 if a key is no feature."""
        found = -1 if key.startswith("_") else hash_text(key, space.hash, self._options.hash) & self._mask
        space.indices[key] = found
        self._name(found, space, key)
        return found

    def word(self, space: Space, key: str, text: str) -> int:
        """The index of a feature with a text as value."""
        within, mode = text.translate(_WITHIN), self._options.hash
        if self._chained:
            found = hash_text(within, hash_text(key, space.hash, mode), mode) & self._mask
            self._name(found, space, f"{key}^{within}")
        else:
            found = hash_text(key + within, space.hash, mode) & self._mask
            self._name(found, space, key + within)
        space.words[key, text] = found
        return found

    def place(self, space: Space, k: int) -> int:
        """The index of a number in a list."""
        found = (space.hash + k) & self._mask
        if self.watchers:
            self._name(found, space, f"[{k}]")
        return found

    def _name(self, index: int, space: Space, name: str) -> None:
        if self.watchers:
            self.names[index] = f"{space.name}^{name}" if space.name.strip() else name

    def text_label(self, text: str) -> Label:
        """A label as it stands before the bar of a line of text."""
        self._texts.start("_label")
        try:
            batch = self._texts.parse(f"{text} |\n".encode())
        except DataError as error:
            raise _Wrong(str(error)) from None
        classes, costs = batch.cost_classes.tolist(), batch.costs.tolist()
        likely = batch.probabilities.tolist() or [0.0] * len(costs)
        label, importance, base = float(batch.labels[0]), float(batch.importance[0]), float(batch.base[0])
        return Label(label, importance, base, list(zip(classes, costs, likely, strict=True)))


class _Line:
    """A line that is being read.

    Args:
        reader: knows the names.
        pairs: of its object.

    Attributes:
        shared: the example, or what all actions share.
        actions: None if it has none.
        empty: where actions without features are.
        weight: of all actions.
    """

    def __init__(self, reader: JsonReader, pairs: tuple[Any, ...]) -> None:
        self._reader, self._pairs, self._line = reader, pairs, pairs
        self.shared, self.weight = Example(), 1.0
        self.actions: list[Example] | None = None
        self.empty: list[Path] = []
        self._given: dict[str, Any] = {}

    def open_log(self) -> bool:
        """Take the features out of a line of `--dsjson`; False if it is to be passed over."""
        found = dict(self._pairs)
        if found.get("_skipLearn") is True or not found.get("a"):
            return False
        dropped = found.get("pdrop", 0.0)
        if not _is_number(dropped) or not 0 <= dropped < 1:
            raise _Wrong(f"pdrop {dropped!r:.20}, wanted a number below 1", "pdrop")
        self.weight = float(np.float32(1) / np.float32(1 - np.float32(dropped)))
        for key, value in self._pairs:
            if key.startswith("_label"):
                self._special(key, value, self.shared, None)
        self._pairs = found.get("c")  # type: ignore[assignment]
        if type(self._pairs) is not tuple:
            raise _Wrong("no features: wanted an object under 'c'", "c")
        return True

    def read(self) -> None:
        """Read the features."""
        try:
            self._object(self._pairs, self._reader.space(" "), self.shared, top=True)
        except _Wrong as error:
            raise error.within(*self._context) from None

    @property
    def _context(self) -> tuple[str, ...]:
        """The path to the features."""
        return () if self._pairs is self._line else ("c",)

    def _object(self, pairs: tuple[Any, ...], space: Space, example: Example, top: bool = False) -> None:
        """Add the features of an object to its namespace."""
        reader, known = self._reader, space.indices
        indices, values = example.features.setdefault(space.number, ([], []))
        before, key = len(indices), ""
        try:
            for key, value in pairs:
                kind = type(value)
                if kind is float or kind is int:
                    if value != 0:
                        index = known.get(key)
                        if index is None:
                            index = reader.index(space, key)
                        if index >= 0:
                            indices.append(index)
                            values.append(_finite(value))
                        elif key.startswith("_label"):
                            self._special(key, value, example, space)
                    elif key.startswith("_label"):
                        self._special(key, value, example, space)
                elif key.startswith("_"):
                    if key == "_multi" and top:
                        self._read_actions(value)
                    else:
                        self._special(key, value, example, space)
                elif kind is str:
                    index = space.words.get((key, value))
                    indices.append(reader.word(space, key, value) if index is None else index)
                    values.append(1.0)
                elif value is True:
                    index = known.get(key)
                    indices.append(reader.index(space, key) if index is None else index)
                    values.append(1.0)
                elif kind is tuple:
                    self._object(value, reader.space(key), example)
                elif kind is list:
                    self._list(value, reader.space(key), example)
        except _Wrong as error:
            raise error.within(key) from None
        _end(example, space, len(indices) - before)

    def _list(self, items: list[Any], space: Space, example: Example) -> None:
        """Add numbers by their place, and objects as if each stood alone."""
        indices, values = example.features.setdefault(space.number, ([], []))
        k, own = 0, 0
        for at, item in enumerate(items):
            kind = type(item)
            if kind is float or kind is int:
                if item != 0:
                    indices.append(self._reader.place(space, k))
                    values.append(_finite(item, at))
                    own += 1
                k += 1
            elif kind is tuple:
                try:
                    self._object(item, space, example)
                except _Wrong as error:
                    raise error.within(at) from None
            elif item is not None:
                raise _Wrong(f"{json.dumps(item)[:30]} in the list {space.name!r}, wanted numbers or objects", at)
        _end(example, space, own)

    def _read_actions(self, value: Any) -> None:
        if type(value) is not list or any(type(one) is not tuple for one in value):
            raise _Wrong("_multi: wanted a list of objects")
        if not value:
            raise _Wrong("_multi: no actions")
        self.actions = []
        for k, one in enumerate(value):
            self.actions.append(Example())
            try:
                self._object(one, self._reader.space(" "), self.actions[-1])
            except _Wrong as error:
                raise error.within(k) from None
            if not self.actions[-1].order and _is_bare(one):
                self.empty.append((*self._context, "_multi", k))

    def _special(self, key: str, value: Any, example: Example, space: Space | None) -> None:
        """Take the value of a key that begins with an underscore."""
        if key == "_text" and space is not None and type(value) is str:
            indices, values = example.features[space.number]
            for word in value.replace("\t", " ").split(" "):
                if word:
                    name = word.translate(_WITHIN)
                    index = space.indices.get("\0" + name)
                    if index is None:
                        index = self._reader.index(space, name) if not name.startswith("_") else -1
                        space.indices["\0" + name] = index
                    indices.append(index)
                    values.append(1.0)
        elif key == "_tag" and type(value) is str:
            example.tag = value.encode()
        elif key == "_label" and example is not self.shared:
            example.label = self._whole_label(value)
        elif key == "_multi":
            raise _Wrong("_multi within another object")
        elif key.lower().startswith("_label"):
            self._given[key.lower()] = value

    def _whole_label(self, value: Any) -> Label:
        if type(value) is str:
            return self._reader.text_label(value)
        if _is_number(value):
            return self._reader.text_label(repr(value))
        if type(value) is tuple:
            return _label_of({key.lower(): one for key, one in value})
        raise _Wrong(f"_label: {json.dumps(value)[:30]}, wanted a number, a text or an object")

    def label(self) -> Label:
        """The label of a single example."""
        whole = "_label" in self._given
        try:
            if whole:
                found = self._whole_label(self._given["_label"])
            else:
                found = _label_of({key.removeprefix("_label_"): value for key, value in self._given.items()})
        except _Wrong as error:
            if whole:
                raise error.within(*self._key("_label")) from None
            raise _Wrong(error.text, *self._key(f"_label_{error.path[0]}")) from None
        found.importance *= self.weight
        return found

    def _key(self, key: str) -> Path:
        """The path to a key of the label, which stands at the top or beside the features."""
        for path, pairs in ((), self._line), (self._context, self._pairs):
            if any(name.lower() == key for name, _ in pairs):
                return (*path, key)
        return ()

    def labels(self) -> list[Label]:
        """The labels of the actions."""
        actions = self.actions or []
        found = [action.label or Label() for action in actions]
        labeled = [k for k, label in enumerate(found) if label.choices]
        if self._reader.logged and len(labeled) > 1:
            path: Path = (*self._context, "_multi", labeled[1], "_label")
            raise _Wrong("_label of several actions, wanted one chosen action", *path)
        given, place = self.label(), self._given.get("_labelindex")
        if not given.choices and given.label == UNGIVEN:
            return found
        if place is None:
            raise _Wrong(
                "a label without _labelIndex, wanted it to name an action", *self._key(next(iter(self._given)))
            )
        if type(place) is not int or not 0 <= place < len(actions):
            text = f"_labelIndex {place!r:.20}, wanted a number below that of the actions, {len(actions)}"
            raise _Wrong(text, *self._key("_labelindex"))
        if self._reader.logged and labeled and labeled != [place]:
            path = (*self._context, "_multi", labeled[0], "_label")
            raise _Wrong("_label of several actions, wanted one chosen action", *path)
        found[place] = replace(given, importance=1.0)
        return found


def _is_bare(value: Any) -> bool:
    """Whether a part of an action holds no feature, not even one whose value is 0."""
    if type(value) is tuple:
        return all((key.startswith("_") and key != "_text") or _is_bare(one) for key, one in value)
    return all(map(_is_bare, value)) if type(value) is list else value is None or value is False


def _end(example: Example, space: Space, own: int) -> None:
    """End a namespace: its place among the others is that of its first end with features."""
    if own and space.number not in example.order:
        example.order.append(space.number)


def _label_of(given: dict[str, Any]) -> Label:
    """A label from its parts."""
    parts = {name: value for name, value in given.items() if name in _OF_LABELS and value is not None}
    for name, value in parts.items():
        if not _is_number(value) or not abs(value) < UNGIVEN:
            raise _Wrong(f"{name}: {value!r:.20}, wanted a number", name)
    if "cost" in parts:
        probability = float(parts.get("probability", 0))
        if not 0 < probability <= 1:
            raise _Wrong(f"probability: {probability}, wanted a number above 0, at most 1", "probability")
        action = int(parts.get("action", 0))
        if not 0 <= action <= _MOST_ACTIONS:
            raise _Wrong(f"action: {action}, wanted a number from 0 to {_MOST_ACTIONS}", "action")
        return Label(choices=[(action, float(parts["cost"]), probability)])
    weight, base = float(parts.get("weight", 1)), float(parts.get("initial", 0))
    return Label(float(parts.get("label", UNGIVEN)), weight, base)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _finite(value: float, *path: int) -> float:
    if not -_LARGEST <= value <= _LARGEST:
        raise _Wrong(f"{value!r:.20}, wanted a number below 3.4e38", *path)
    return value


def _refuse(word: str) -> Any:
    raise _Wrong(f"{word}, wanted a number or null")
