"""The names behind the indices: which feature of a line went to which row."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hutch.core.text.hashing import hash_feature, hash_namespace
from hutch.core.text.parser import ParserOptions, TextParser

_NUMBER = re.compile(r"[-+]?(\d|\.\d|inf|nan)", re.IGNORECASE)
_WHOLE = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d*)?|inf)", re.IGNORECASE)
CONSTANT = "Constant"


@dataclass(frozen=True, slots=True)
class NamedFeature:
    """A feature as text and as the parser sees it.

    Attributes:
        namespace: full name, empty for the anonymous one.
        name: as in the line; the counted place (`0`, `1`, …) of a feature without a name.
        text_value: the value, if it is text and so part of the hash; else None.
        index: below 2^bits.
    """

    namespace: str
    name: str
    text_value: str | None
    index: int

    def __str__(self) -> str:
        parts = [self.namespace, self.name, self.text_value]
        return "^".join(part for part in parts if part) if self.namespace != CONSTANT else CONSTANT


def feature_names(line: str, options: ParserOptions) -> Iterator[NamedFeature]:
    """The features named in a line of VW text, in its order, the constant last.

    Malformed places are not reported here: a name that the parser drops is only a name that nothing points to.

    Args:
        line: one example.
        options: how names are hashed.

    >>> [str(feature) for feature in feature_names("1 |word good bad:2 |user id:ann", ParserOptions())]
    ['word^good', 'word^bad', 'user^id^ann', 'Constant']
    """
    mask = (1 << options.bits) - 1
    is_number = _WHOLE.fullmatch if options.words else _NUMBER.match
    for piece in line.split("|")[1:]:
        head, rest = _split(piece)
        namespace = head.partition(":")[0]
        seed, nameless = hash_namespace(namespace, options.hash_seed, options.hash), 0
        for token in rest.split():
            name, colon, value = token.partition(":")
            text_value = value if colon and value and not is_number(value) else None
            made = options.made.named(namespace, seed, name, options) if options.made else ()
            yield from (NamedFeature(space, text, None, number) for space, text, number in made)
            if not name and text_value is None:
                yield NamedFeature(namespace, str(nameless), None, (seed + nameless) & mask)
                nameless += 1
                continue
            index = hash_feature(namespace, name, options.hash_seed, options.hash)
            if text_value is not None:
                index = hash_namespace(text_value, index, options.hash)
            yield NamedFeature(namespace, name, text_value, index & mask)
    if options.constant:
        batch = TextParser(options).parse(b"|\n")
        yield NamedFeature(CONSTANT, CONSTANT, None, int(batch.indices[-1]))


def _split(piece: str) -> tuple[str, str]:
    """Namespace with its value, and the features, from the text after a bar."""
    match = re.match(r"[^\s]*", piece)
    end = match.end() if match else 0
    return piece[:end], piece[end:]


@dataclass(frozen=True, slots=True)
class Explained:
    """One feature of an example as the chain sees it.

    Attributes:
        index: below 2^bits.
        value: as parsed, float32.
        names: those in the line; several names share an index where they collide.
    """

    index: int
    value: float
    names: tuple[str, ...]


def explain(line: str, options: ParserOptions) -> list[Explained]:
    """How a line was parsed: each of its features in the chain's order, with the names that lead to its index.

    >>> [(e.names, e.value) for e in explain("1 |word good bad:2", ParserOptions())]
    [(('word^good',), 1.0), (('word^bad',), 2.0), (('Constant',), 1.0)]
    """
    names: dict[int, dict[str, None]] = {}
    for feature in feature_names(line, options):
        names.setdefault(feature.index, {})[str(feature)] = None
    batch = TextParser(options).parse(line.encode())
    first, last = (int(batch.row_ptr[0]), int(batch.row_ptr[1])) if len(batch) else (0, 0)
    return [
        Explained(int(batch.indices[i]), float(batch.values[i]), tuple(names.get(int(batch.indices[i]), ())))
        for i in range(first, last)
    ]
