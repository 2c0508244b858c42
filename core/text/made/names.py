"""Names of the features that are made of names, for reports that show names."""

from collections.abc import Iterator

from hutch.core.text.hashing import HashMode, NamespaceMode, hash_text, namespace_id
from hutch.core.text.made.maker import MadeFeatures
from hutch.core.text.made.options import AFFIX_FACTOR, LENGTH_FACTOR, NAMES

_SHOWN = {"name": NAMES, "letter": ("affix", "spelling", "dictionary")}
"""The namespaces as they are shown, VW's where namespaces are letters."""


def made_names(
    found: MadeFeatures, namespace: str, seed: int, name: str, mode: NamespaceMode, hash: HashMode, mask: int
) -> Iterator[tuple[str, str, int]]:
    """Namespace, name and index, of 32 bits, of each feature that is made of one feature.

    Args:
        found: what is made.
        namespace: full name of the feature's namespace.
        seed: hash of the namespace.
        name: of the feature; empty without one.
        mode: how namespaces are distinguished.
        hash: how names are hashed.
        mask: of indices, where they are shown.
    """
    made, word = found.made, name.encode()
    space = found.counted(namespace_id(namespace, mode), mode)
    told = namespace[:1] if mode == "letter" else namespace
    affixes, shapes, dictionaries = _SHOWN[mode]
    for affix in made.affixes if word else ():
        if namespace_id(affix.namespace, mode) == space:
            length = affix.prefix or affix.suffix or 0
            part = word[:length] if affix.prefix else word[-length:]
            factor = AFFIX_FACTOR + (2 * length + (affix.prefix is not None)) * LENGTH_FACTOR
            shown = f"{told}{'+' if affix.prefix else '-'}{length}={part.decode(errors='replace')}"
            yield affixes, shown, hash_text(part, seed, hash) * factor & 0xFFFFFFFF
    for listed in made.shapes:
        if namespace_id(listed, mode) == space:
            shape = shape_of(word)
            yield shapes, f"{told}_{shape}" if told else shape, hash_text(shape, seed)
    for k, dictionary in enumerate(made.dictionaries):
        if namespace_id(dictionary.namespace, mode) == space:
            for index in found.words[k].get(word, ([], []))[0]:
                yield dictionaries, f"{told or ' '}_{name}={int(index) & mask}", int(index)


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
