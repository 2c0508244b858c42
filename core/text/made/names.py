"""Names of the features that are made of names, for reports that show names."""

from collections.abc import Iterator, Sequence

from hutch.core.text.hashing import hash_text, namespace_id
from hutch.core.text.made.options import AFFIX_FACTOR, LENGTH_FACTOR, NAMES, Made, Words
from hutch.core.text.parser import ParserOptions

_SHOWN = {"name": NAMES, "letter": ("affix", "spelling", "dictionary")}
"""The namespaces as they are shown, VW's where namespaces are letters."""


def made_names(
    made: Made, dictionaries: Sequence[Words], space: int, seed: int, name: str, options: ParserOptions
) -> Iterator[tuple[str, str, int]]:
    """Namespace, name without that of the feature's namespace, and index, of 32 bits, of each feature made of one.

    Args:
        made: what is made.
        dictionaries: the words of its dictionaries.
        space: id of the feature's namespace.
        seed: its hash.
        name: of the feature; empty without one.
        options: how names are hashed.
    """
    word, mode, mask = name.encode(), options.namespaces, (1 << options.bits) - 1
    affixes, shapes, features = _SHOWN[mode]
    for affix in made.affixes if word else ():
        if namespace_id(affix.namespace, mode) == space:
            length = affix.prefix or affix.suffix or 0
            part = word[:length] if affix.prefix else word[-length:]
            factor = AFFIX_FACTOR + (2 * length + (affix.prefix is not None)) * LENGTH_FACTOR
            shown = f"{'+' if affix.prefix else '-'}{length}={part.decode(errors='replace')}"
            yield affixes, shown, hash_text(part, seed, options.hash) * factor & 0xFFFFFFFF
    for listed in made.shapes:
        if namespace_id(listed, mode) == space:
            yield shapes, f"_{shape_of(word)}", hash_text(shape_of(word), seed)
    for dictionary, words in zip(made.dictionaries, dictionaries, strict=True):
        if namespace_id(dictionary.namespace, mode) == space and word in words:
            for index in words[word][0].tolist():
                yield features, f"_{name}={index & mask}", index


_ALIKE = bytes(
    48 if 48 <= byte <= 57 else 97 if 97 <= byte <= 122 else 65 if 65 <= byte <= 90 else 46 if byte == 46 else 35
    for byte in range(256)
)


def shape_of(word: bytes) -> str:
    """A name with its digits, small and capital letters made alike; all other bytes but dots become `#`.

    >>> shape_of(b"Ab-12")
    'Aa#00'
    """
    return word.translate(_ALIKE).decode()
