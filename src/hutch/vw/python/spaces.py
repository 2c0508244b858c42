"""The namespaces of an example that can be read and changed, feature by feature, as by Vowpal Wabbit's Python methods.

An example is a line of text. A changed one becomes a line again: a number as the name of a feature is its row less the
hash of its namespace, which is what the parser adds.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from hutch.core.batch import CONSTANT_INDEX, CONSTANT_NAMESPACE, Batch
from hutch.core.errors import DataError
from hutch.core.text.hashing import hash_namespace, namespace_id
from hutch.core.text.numbers import LOWEST_POWER, POWERS
from hutch.core.text.parser import ParserOptions

_WHOLE = 1 << 24
"""Below it float32 has every whole number."""
_EXACT_DIGITS = 7
"""Numbers of so many digits are below it."""
_NAME = re.compile(r"\|([^\s:|]*)")


@lru_cache(1 << 12)
def number(value: float) -> str:
    """A value as text that the parser reads to the last bit.

    As in VW it reads a decimal as a whole number in float32, times a power of ten in float32. Where that errs, an
    exponent with a plus makes it call the C library instead.

    >>> number(2), number(0.1), number(0.7), number(-1e-7)
    ('2', '0.1', '0.7', '-0.0000001e+0')
    """
    if value == (whole := int(value)) and -_WHOLE < whole < _WHOLE:
        return str(whole)
    text = repr(value)
    digits = text.lstrip("-").replace(".", "")
    if len(digits) <= _EXACT_DIGITS and digits.isdigit():
        power = POWERS[text.index(".") + 1 - len(text) - LOWEST_POWER]
        if np.float32(int(digits)) * power == np.float32(abs(value)):
            return text
    return f"{np.format_float_positional(value, trim='-') if 'e' in text else text}e+0"


class Space:
    """A namespace of an example.

    Attributes:
        name: as in a line; where namespaces are letters, any with its letter.
        id: its letter, or its hash.
        indices: rows of its features.
        values: of its features.
    """

    def __init__(self, name: str, id: int) -> None:
        self.name, self.id = name, id
        self.indices: list[int] = []
        self.values: list[float] = []


class Spaces:
    """All namespaces of an example but that of the constant.

    Args:
        options: of the parser that reads its line.

    Attributes:
        found: the namespaces, in their order.
    """

    def __init__(self, options: ParserOptions) -> None:
        self._options = options
        self.found: list[Space] = []

    @classmethod
    def of_line(cls, options: ParserOptions, line: str, batch: Batch) -> "Spaces":
        """The namespaces of a line.

        Args:
            options: of its parser.
            line: the text.
            batch: its example.

        Raises:
            DataError: it is not text.
        """
        if line.lstrip().startswith("{"):
            raise DataError("<example>: got JSON, wanted a line of text: only that can be changed")
        names: dict[int, str] = {}
        for name in _NAME.findall(line):
            names.setdefault(namespace_id(name, options.namespaces), name)
        found = cls(options)
        for number, indices, values in batch.row(0):
            if number != CONSTANT_NAMESPACE or number in names:
                space = found.add(names[number])
                space.indices, space.values = indices.tolist(), values.tolist()
        return found

    def add(self, name: str) -> Space:
        """A new namespace at the end.

        Raises:
            DataError: a line cannot hold its name.
        """
        held = name if _is_word(name) else name[:1]
        by_name = self._options.namespaces == "name" and held != name.strip(" ")
        if not _is_word(held.strip(" ")) or by_name:
            wanted = "a name without blanks, colons and bars" if by_name else "one that begins with a letter"
            raise DataError(f"example: got namespace {name!r}, wanted {wanted}")
        space = Space(held, namespace_id(name, self._options.namespaces))
        self.found.append(space)
        return space

    def get(self, name: str) -> Space | None:
        """The namespace of a name; where namespaces are letters, of its letter."""
        number = namespace_id(name, self._options.namespaces)
        return next((space for space in self.found if space.id == number), None)

    def sure(self, name: str) -> Space:
        """The namespace of a name, new at the end if there is none."""
        return self.get(name) or self.add(name)

    def pairs(self) -> Iterator[tuple[int, float]]:
        """Row and value of each feature."""
        for space in self.found:
            yield from zip(space.indices, space.values, strict=True)

    def text(self) -> str:
        """The line behind the label.

        Raises:
            DataError: `--hash all`, by which a number as a name is no row.
        """
        if self._options.hash == "all" and any(space.indices for space in self.found):
            raise DataError("<example>: got features by row with --hash all, wanted names")
        return " ".join(f"|{space.name} {self._features(space)}" for space in self.found) or "|"

    def _features(self, space: Space) -> str:
        seed = hash_namespace(space.name, self._options.hash_seed, self._options.hash)
        rows = ((index - seed) & 0xFFFFFFFF for index in space.indices)
        return " ".join(f"{row}:{number(value)}" for row, value in zip(rows, space.values, strict=True))


def line_of(namespaces: Mapping[str, Any]) -> str | None:
    """Features by namespace as a line; None where a feature is a row, or a name that a line cannot hold.

    >>> line_of({"a": ["x", ("y", 0.5)], "b": {"z": 2}})
    '|a x:1 y:0.5 |b z:2'
    >>> line_of({"a": [(5, 1.0)]})
    """
    parts = []
    for namespace, features in namespaces.items():
        if not _is_word(namespace):
            return None
        words = [f"|{namespace}"]
        for name, value in pairs_of(features):
            if not _is_word(name) or not name:
                return None
            words.append(f"{name}:{number(value)}")
        parts.append(" ".join(words))
    return " ".join(parts)


def _is_word(name: Any) -> bool:
    return isinstance(name, str) and not any(letter in name for letter in " \t\n|:")


def pairs_of(features: Any) -> Iterator[tuple[Any, float]]:
    """Names or rows with their values: of a mapping, or of a list of names and of (name, value).

    Raises:
        DataError: a value is not a number.
    """
    each: Iterable[Any] = features.items() if isinstance(features, Mapping) else features
    for feature in each:
        name, value = feature if isinstance(feature, list | tuple) else (feature, 1)
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise DataError(f"example: got value {value!r} of feature {name!r}, wanted a number")
        yield name, value.item() if isinstance(value, np.number) else value


class NamespaceId:
    """A namespace of an example, by its place or its name.

    Args:
        ex: the `Example`.
        id: the place, from 0; or the name.

    Attributes:
        id: the place, None if a name was given.
        full: the name; None if a place was given.
        ns: its letter.
        ord_ns: the letter's number.

    Raises:
        IndexError: the example has no such place.
        TypeError: neither a place nor a name.
    """

    def __init__(self, ex: Any, id: int | str) -> None:
        self.id: int | None = None
        self.full: str | None = None
        if isinstance(id, int):
            if not 0 <= id < ex.num_namespaces():
                raise IndexError(f"namespace {id}: out of bounds: the example has {ex.num_namespaces()}")
            self.id, self.ord_ns = id, ex.namespace(id)
            self.ns = chr(self.ord_ns) if self.ord_ns <= 0x10FFFF else ""
        elif isinstance(id, str):
            self.full = id or " "
            self.ns = self.full[0]
            self.ord_ns = ord(self.ns)
        else:
            raise TypeError(f"namespace: got {id!r}, wanted a place or a name")


class ExampleNamespace:
    """A namespace of an example as a sequence of (row, value).

    Args:
        ex: the example.
        ns: the namespace.
        ns_hash: its hash; None: that of its name.
    """

    def __init__(self, ex: Any, ns: NamespaceId, ns_hash: int | None = None) -> None:
        if not isinstance(ns, NamespaceId):
            raise TypeError(f"ns: got {ns!r}, wanted a NamespaceId")
        self.ex, self.ns, self.ns_hash = ex, ns, ns_hash

    def num_features_in(self) -> int:
        """Number of its features."""
        return int(self.ex.num_features_in(self.ns))

    def __len__(self) -> int:
        return self.num_features_in()

    def __getitem__(self, i: int) -> tuple[int, float]:
        return self.ex.feature(self.ns, i), self.ex.feature_weight(self.ns, i)

    def iter_features(self) -> Iterator[tuple[int, float]]:
        """Row and value of each feature."""
        for i in range(self.num_features_in()):
            yield self[i]

    def push_feature(self, feature: str | int, v: float = 1.0) -> None:
        """Add a feature, by name or row."""
        self.ex.push_feature(self.ns, feature, v, self.ns_hash)

    def push_features(self, feature_list: Any) -> None:
        """Add features, as `Example.push_features`."""
        self.ex.push_features(self.ns, feature_list)

    def pop_feature(self) -> bool:
        """Remove the last feature; returns whether there was one."""
        return bool(self.ex.pop_feature(self.ns))


CONSTANT_PAIR = CONSTANT_INDEX, 1.0
"""Row and value of the constant, as VW's examples list it."""
