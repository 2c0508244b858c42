"""One line of JSON, as the reader in Python reads it."""

import json
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from hutch.core.batch import CONSTANT_INDEX, SLOT_ROW
from hutch.core.data.assemble import HIGHEST_CLASS
from hutch.core.errors import DataError, shortened
from hutch.core.text.hashing import hash_namespace, hash_text, namespace_id
from hutch.core.text.names import CONSTANT
from hutch.core.text.parser import ParserOptions, TextParser
from hutch.vw.json.rows import UNGIVEN, Example, Label, Space

FEEDBACK_NAMESPACE, BAD_NAMESPACE = "\x7f", "\U0010ffff"
"""Namespaces of what was observed after a decision, and that it was definitely bad; wildcards do not match them.

The first one comes behind all letters, and before the constant, so that interactions have the order of VW.
"""
WITHIN = str.maketrans(dict.fromkeys(" \t|:", "_"))
"""Replacement of a blank, a bar or a colon within a word."""
_LARGEST = float(np.finfo(np.float32).max)
_MOST_ACTIONS = (1 << 32) - 1
_LONGEST_SHOWN = 24
"""Characters of a value in a message; no float has more."""
Path = tuple[str | int, ...]
"""Keys and places that lead to a value."""
_UNSAID = (("weight", 1.0), ("initial", 0.0), ("label", UNGIVEN))
_OF_LABELS = ("label", "weight", "initial", "action", "cost", "probability")


class Wrong(Exception):
    """Something that a line must not contain.

    Args:
        text: the mistake, `got` or `got, wanted what`.
        path: to its place, as for `column_of`.
        column: of its place if known, else 0.

    Attributes:
        got, wanted: the parts of the text; `wanted` is empty where it has none.
    """

    def __init__(self, text: str, *path: str | int, column: int = 0) -> None:
        super().__init__(text)
        self.text, self.path, self.column = text, path, column
        self.got, _, self.wanted = text.partition(", wanted ")

    def within(self, *path: str | int) -> "Wrong":
        """The same mistake, its path prefixed by `path`."""
        self.path = (*path, *self.path)
        return self


class Names:
    """Meaning of a line's words: namespaces, the indices of features, and labels written as text.

    Args:
        options: how names are hashed, and the kind of the labels.
        chained: a text's hash begins with that of its key; else both are one name.

    Attributes:
        ids: of the namespaces, by their number.
        logged: labels are of one chosen action.
        alone: which may have no probability.
        slots: a decision has several slots.
        slates: they have one joint cost.
        classes: labels are classes.
        numbers: labels are numbers that were chosen, each with its cost and density.
        zeros: features of value 0 are kept, too.
        kept: features' names are kept.
        left_out: names of namespaces, ` ` for none, and keys in them whose texts are skipped.
        observed: names of all features observed after a decision, which are of one namespace; None to skip them.
        bad: the number of the namespace that says that the outcome was definitely bad.
        by_index: the names of features, as far as they were kept.
    """

    def __init__(self, options: ParserOptions, chained: bool) -> None:
        self._options, self._chained = options, chained
        self._mask = (1 << options.bits) - 1
        self._spaces: dict[str, Space] = {}
        self._texts = TextParser(replace(options, strict=True, whole_groups=False), "_label")
        self.ids: list[int] = []
        self.logged = options.label == "logged_action"
        self.alone = options.chosen_alone
        self.slots, self.slates = options.label in ("logged_slots", "logged_slate"), options.label == "logged_slate"
        self.classes, self.numbers = options.label == "multiclass", options.label == "logged_number"
        self.zeros, self.kept = options.zeros, False
        self.left_out: frozenset[tuple[str, str]] = frozenset()
        self.observed: Names | None = None
        self.bad = -1
        self._only: str | None = None
        self.by_index = {CONSTANT_INDEX & self._mask: CONSTANT}

    def observe(self, feedback: str, bad: str) -> None:
        """Read what was observed after a decision, too.

        Args:
            feedback: the namespace that gets its features.
            bad: the namespace that says that the outcome was definitely bad.
        """
        self.observed = copy(self)
        self.observed._spaces, self.observed._only = {}, feedback
        self.observed.space(" ")
        self.bad = self.space(bad).number

    def space(self, name: str) -> Space:
        """The namespace of a name."""
        found = self._spaces.get(name)
        if found is None:
            options = self._options
            identity = namespace_id(name if self._only is None else self._only, options.namespaces)
            if identity not in self.ids:
                self.ids.append(identity)
            number = self.ids.index(identity)
            found = self._spaces[name] = Space(name, number, hash_namespace(name, options.hash_seed, options.hash))
        return found

    def index(self, space: Space, key: str) -> int:
        """The index of a feature with a number as value, -1 if a key is not a feature."""
        found = space.indices[key] = -1 if key.startswith("_") else self.hashed(space, key)
        return found

    def hashed(self, space: Space, name: str) -> int:
        """The index of a feature's name."""
        found = hash_text(name, space.hash, self._options.hash) & self._mask
        self._name(found, space, name)
        return found

    def word(self, space: Space, key: str, text: str) -> int:
        """The index of a feature with a text as value."""
        within, mode = text.translate(WITHIN), self._options.hash
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
        if self.kept:
            self._name(found, space, f"[{k}]")
        return found

    def _name(self, index: int, space: Space, name: str) -> None:
        if self.kept:
            self.by_index[index] = f"{space.name}^{name}" if space.name.strip() else name

    def text_label(self, text: str) -> Label:
        """A label in the form before the bar of a line of text."""
        self._texts.start("_label")
        try:
            batch = self._texts.parse(f"{text} |\n".encode())
        except DataError as error:
            raise Wrong(str(error)) from None
        classes, costs = batch.cost_classes.tolist(), batch.costs.tolist()
        likely = batch.probabilities.tolist() or [0.0] * len(costs)
        label, importance, base = float(batch.labels[0]), float(batch.importance[0]), float(batch.base[0])
        return Label(label, importance, base, list(zip(classes, costs, likely, strict=True)))


class Line:
    """A line that is being read.

    Args:
        names: meaning of its words.
        pairs: of its object.

    Attributes:
        shared: the example, or the features that all actions share.
        actions: None if it has none.
        slots: features and label of each slot; None without slots.
        empty: places of actions without features.
        weight: of all actions.
    """

    def __init__(self, names: Names, pairs: tuple[Any, ...]) -> None:
        self._names, self._pairs, self._line = names, pairs, pairs
        self.shared, self.weight = Example(), 1.0
        self.actions: list[Example] | None = None
        self.slots: list[tuple[Example, Label]] | None = None
        self.empty: list[Path] = []
        self._given: dict[str, Any] = {}

    def open_log(self) -> bool:
        """Take the features out of a line of `--dsjson`; False to skip the line."""
        found = dict(self._pairs)
        used = found.get("a") or self._names.slots or self._names.numbers
        if self._names.slates:
            used = "_label_cost" in found and "_outcomes" in found
        if found.get("_skipLearn") is True or not used:
            return False
        dropped = found.get("pdrop", 0.0)
        if not _is_number(dropped) or not 0 <= dropped < 1:
            raise Wrong(f"pdrop {_shown(dropped)}, wanted a number from 0, below 1", "pdrop")
        self.weight = float(np.float32(1) / np.float32(1 - np.float32(dropped)))
        for key, value in self._pairs:
            if key.startswith("_label"):
                self._special(key, value, self.shared, None)
        self._pairs = found.get("c")  # type: ignore[assignment]
        if type(self._pairs) is not tuple:
            raise Wrong("no features, wanted an object under 'c'", "c")
        return True

    def read(self) -> None:
        """Read the features."""
        try:
            self._object(self._pairs, self._names.space(" "), self.shared, top=True)
        except Wrong as error:
            raise error.within(*self._context) from None
        if self._names.observed is not None:
            self._observe(self._names.observed, dict(self._line).get("o", []))

    def _observe(self, names: Names, observed: Any) -> None:
        """Add what was observed after a decision to the features that all actions share."""
        if type(observed) is not list:
            raise Wrong("o, wanted a list of objects", "o")
        whole, self._names, given = self._names, names, self._given
        self._given = {}
        for k, one in enumerate(observed):
            if type(one) is not tuple:
                raise Wrong("o, wanted a list of objects", "o", k)
            bad = dict(one).get("_definitely_bad", False)
            if type(bad) is not bool:
                raise Wrong(f"_definitely_bad: {json.dumps(bad)[:30]}, wanted true or false", "o", k, "_definitely_bad")
            if bad:
                self.shared.features[whole.bad] = [0], [1.0]
                self.shared.order += [whole.bad] if whole.bad not in self.shared.order else []
            try:
                self._object(one, names.space(" "), self.shared)
            except Wrong as error:
                raise error.within("o", k) from None
        self._names, self._given = whole, given

    @property
    def _context(self) -> tuple[str, ...]:
        """The path to the features."""
        return () if self._pairs is self._line else ("c",)

    def _object(self, pairs: tuple[Any, ...], space: Space, example: Example, top: bool = False) -> None:
        """Add the features of an object to its namespace."""
        names, known = self._names, space.indices
        indices, values = example.features.setdefault(space.number, ([], []))
        before, key = len(indices), ""
        try:
            for key, value in pairs:
                kind = type(value)
                if kind is float or kind is int:
                    if value != 0 or names.zeros:
                        index = known.get(key)
                        if index is None:
                            index = names.index(space, key)
                        if index >= 0:
                            indices.append(index)
                            values.append(_finite(value))
                        elif key.startswith(("_label", "_slot_id")):
                            self._special(key, value, example, space)
                    elif key.startswith(("_label", "_slot_id")):
                        self._special(key, value, example, space)
                elif key.startswith("_"):
                    if key == "_multi" and example is self.shared and self.actions is None:
                        self._read_actions(value)
                    elif key == "_slots" and example is self.shared and names.slots:
                        self._read_slots(value)
                    else:
                        self._special(key, value, example, space)
                elif kind is str:
                    if (space.name, key) in names.left_out:
                        continue
                    index = space.words.get((key, value))
                    indices.append(names.word(space, key, value) if index is None else index)
                    values.append(1.0)
                elif value is True:
                    index = known.get(key)
                    indices.append(names.index(space, key) if index is None else index)
                    values.append(1.0)
                elif kind is tuple:
                    self._object(value, names.space(key), example)
                elif kind is list:
                    self._list(value, names.space(key), example)
        except Wrong as error:
            raise error.within(key) from None
        _end(example, space, len(indices) - before)

    def _list(self, items: list[Any], space: Space, example: Example) -> None:
        """Add numbers by their place, and objects as if each stood alone."""
        indices, values = example.features.setdefault(space.number, ([], []))
        k, own = 0, 0
        for at, item in enumerate(items):
            kind = type(item)
            if kind is float or kind is int:
                if item != 0 or self._names.zeros:
                    indices.append(self._names.place(space, k))
                    values.append(_finite(item, at))
                    own += 1
                k += 1
            elif kind is tuple:
                try:
                    self._object(item, space, example)
                except Wrong as error:
                    raise error.within(at) from None
            elif item is not None:
                raise Wrong(f"{json.dumps(item)[:30]} in the list {space.name!r}, wanted numbers or objects", at)
        _end(example, space, own)

    def _read_actions(self, value: Any) -> None:
        if type(value) is not list or any(type(one) is not tuple for one in value):
            raise Wrong("_multi, wanted a list of objects")
        if not value:
            raise Wrong("_multi: no actions")
        self.actions = []
        for k, one in enumerate(value):
            self.actions.append(Example())
            try:
                self._object(one, self._names.space(" "), self.actions[-1])
            except Wrong as error:
                raise error.within(k) from None
            if not self.actions[-1].order and _is_bare(one):
                self.empty.append((*self._context, "_multi", k))

    def _read_slots(self, value: Any) -> None:
        if type(value) is not list or any(type(one) is not tuple for one in value):
            raise Wrong("_slots, wanted a list of objects")
        self.slots = []
        outcomes = dict(self._line).get("_outcomes") or [()] * len(value)
        if type(outcomes) is not list or len(outcomes) != len(value):
            raise Wrong(f"_outcomes, wanted a list of {len(value)}, as many as there are slots")
        for k, (one, outcome) in enumerate(zip(value, outcomes, strict=True)):
            example = Example()
            try:
                features = tuple(pair for pair in one if not pair[0].startswith("_") or pair[0] in ("_text", "_tag"))
                self._object(features, self._names.space(" "), example)
                self.slots.append((example, self._slot_label({**dict(one), **dict(outcome)})))
            except Wrong as error:
                raise error.within(k) from None

    def _slot_label(self, given: dict[str, Any]) -> Label:
        """The action chosen for a slot, and the allowed ones."""
        choices = [(0, UNGIVEN, float(SLOT_ROW))]
        actions, chances, cost = given.get("_a"), given.get("_p"), given.get("_label_cost")
        cost = 0.0 if self._names.slates and actions else cost
        if cost is not None and actions and chances:
            found = _label_of({"action": _first(actions), "cost": cost, "probability": _first(chances)}, False)
            choices += found.choices
        for action in given.get("_inc") or ():
            choices += _label_of({"action": action, "cost": 0, "probability": 1}, False).choices
            choices[-1] = choices[-1][0], UNGIVEN, 0.0
        return Label(choices=choices)

    def only_slot(self) -> tuple[Example, Label]:
        """The only slot of a decision that does not mention slots, with its label."""
        label, place = self.label(), self._given.get("_labelindex", 0)
        choices = [(int(place), cost, likely) for _, cost, likely in label.choices]
        return Example(), Label(choices=[(0, UNGIVEN, float(SLOT_ROW)), *choices])

    @property
    def slate_cost(self) -> float:
        """The joint cost of all slots; `UNGIVEN` if unknown."""
        cost: Any = self._given.get("_label_cost")
        return float(cost) if self._names.slates and _is_number(cost) else UNGIVEN

    def _special(self, key: str, value: Any, example: Example, space: Space | None) -> None:
        """Take the value of a key that begins with an underscore."""
        if key == "_text" and space is not None and type(value) is str:
            indices, values = example.features[space.number]
            for word in value.replace("\t", " ").split(" "):
                if word:
                    name = word.translate(WITHIN)
                    index = space.indices.get("\0" + name)
                    if index is None:
                        index = space.indices["\0" + name] = self._names.hashed(space, name)
                    indices.append(index)
                    values.append(1.0)
        elif key == "_tag" and type(value) is str:
            example.tag = value.encode()
        elif key == "_slot_id" and self._names.slates and type(value) is int and 0 <= value <= _MOST_ACTIONS:
            example.label = Label(choices=[(value, UNGIVEN, 0.0)])
        elif key == "_label" and example is not self.shared:
            example.label = self._whole_label(value)
        elif key == "_multi":
            raise Wrong("_multi within another object")
        elif key.lower().startswith("_label"):
            self._given[key.lower()] = value

    def _whole_label(self, value: Any) -> Label:
        if type(value) is str:
            return self._names.text_label(value)
        if _is_number(value):
            return self._names.text_label(repr(value))
        if type(value) is tuple:
            return _label_of({key.lower(): one for key, one in value}, self._names.classes, self._names.alone)
        raise Wrong(f"_label: {json.dumps(value)[:30]}, wanted a number, a text or an object")

    def label(self) -> Label:
        """The label of a single example."""
        if self._names.numbers:
            return self._logged_number()
        whole = "_label" in self._given
        try:
            if whole:
                found = self._whole_label(self._given["_label"])
            else:
                given = {key.removeprefix("_label_"): value for key, value in self._given.items()}
                found = _label_of(given, self._names.classes, self._names.alone)
        except Wrong as error:
            if whole:
                raise error.within(*self._key("_label")) from None
            raise Wrong(error.text, *self._key(f"_label_{error.path[0]}")) from None
        found.importance *= self.weight
        return found

    def _logged_number(self) -> Label:
        """The label under `_label_ca`: a number, its cost and its density, which become two costs."""
        given = self._given.get("_label_ca")
        if given is None:
            return Label(importance=self.weight)
        parts = {key.lower(): one for key, one in given} if type(given) is tuple else {}
        values: list[Any] = [parts.get(name) for name in ("action", "cost", "pdf_value")]
        if not all(_is_number(value) and abs(value) < UNGIVEN for value in values) or not np.float32(values[2]) > 0:
            wanted = '{"action": 1.5, "cost": 0.2, "pdf_value": 0.1}, a pdf_value above 0'
            got = json.dumps(parts) if parts else _shown(given)
            raise Wrong(f"_label_ca: {shortened(got, 60)}, wanted {wanted}", *self._key("_label_ca"))
        action, cost, density = map(float, values)
        return Label(action, self.weight, choices=[(0, cost, 0.0), (0, density, 0.0)])

    def _key(self, key: str) -> Path:
        """The path to a key of the label, which is at the top or beside the features."""
        for path, pairs in ((), self._line), (self._context, self._pairs):
            if any(name.lower() == key for name, _ in pairs):
                return (*path, key)
        return ()

    def labels(self) -> list[Label]:
        """The labels of the actions."""
        actions = self.actions or []
        found = [action.label or Label() for action in actions]
        labeled = [k for k, label in enumerate(found) if label.choices]
        if self._names.logged and len(labeled) > 1:
            path: Path = (*self._context, "_multi", labeled[1], "_label")
            raise Wrong("_label of several actions, wanted one chosen action", *path)
        given, place = self.label(), self._given.get("_labelindex")
        if not given.choices and given.label == UNGIVEN:
            return found
        if place is None:
            raise Wrong("a label without _labelIndex, wanted it to name an action", *self._key(next(iter(self._given))))
        if type(place) is not int or not 0 <= place < len(actions):
            text = f"_labelIndex {_shown(place)}, wanted a number below that of the actions, {len(actions)}"
            raise Wrong(text, *self._key("_labelindex"))
        if self._names.logged and labeled and labeled != [place]:
            path = (*self._context, "_multi", labeled[0], "_label")
            raise Wrong("_label of several actions, wanted one chosen action", *path)
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


def _label_of(given: dict[str, Any], classes: bool, alone: bool = False) -> Label:
    """A label, which may have to be a class, or may be a choice without its probability, from its parts."""
    parts = {name: value for name, value in given.items() if name in _OF_LABELS and value is not None}
    for name, value in parts.items():
        if not _is_number(value) or not abs(value) < UNGIVEN:
            below = " below 3.4e38" if _is_number(value) else ""
            raise Wrong(f"{name}: {_shown(value)}, wanted a number{below}", name)
    if "cost" in parts:
        probability = float(parts.get("probability", 0))
        if not (0 < probability <= 1 or alone):
            raise Wrong(f"probability: {probability}, wanted a number above 0, at most 1", "probability")
        probability = 0.0 if alone else probability
        action = int(parts.get("action", 0))
        if not 0 <= action <= _MOST_ACTIONS:
            raise Wrong(f"action: {action}, wanted a number from 0 to {_MOST_ACTIONS}", "action")
        return Label(choices=[(action, float(parts["cost"]), probability)])
    weight, base, label = (float(parts.get(name, unsaid)) for name, unsaid in _UNSAID)
    if weight < 0:
        raise Wrong(f"weight: {weight:g}, wanted a number of at least 0", "weight")
    if classes and "label" in parts and not (0 <= label <= HIGHEST_CLASS and label.is_integer()):
        raise Wrong(f"label: {label:g}, wanted a class, an integer from 0 to {HIGHEST_CLASS}", "label")
    return Label(label, weight, base)


def _first(values: Any) -> Any:
    return values[0] if type(values) is list else values


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _shown(value: Any) -> str:
    return shortened(repr(value), _LONGEST_SHOWN)


def _finite(value: float, *path: int) -> float:
    if not -_LARGEST <= value <= _LARGEST:
        raise Wrong(f"{_shown(value)}, wanted a number below 3.4e38", *path)
    return value


def refuse(word: str) -> Any:
    """Raises the error about a number that JSON does not have, such as NaN."""
    raise Wrong(f"{word}, wanted a number or null")
