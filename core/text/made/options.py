"""What is made of the names of features, as a chain's YAML says it."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from hutch.core.batch import AFFIX_LETTER, DICTIONARY_LETTER, SHAPE_LETTER
from hutch.core.parameters import ExampleValue, Parameters, Within
from hutch.core.text.hashing import NamespaceMode, namespace_id

AFFIX_FACTOR, LENGTH_FACTOR = 13903957, 27942141
"""The index of an affix is the hash of its bytes times the first plus (2 length + prefix) times the second (VW's)."""


class Affix(Parameters):
    """A new feature for each feature of a namespace: the first or the last bytes of its name.

    Attributes:
        namespace: of the features; empty: the anonymous one.
        prefix: number of first bytes.
        suffix: number of last bytes; of the two, one is given.
    """

    namespace: str = ""
    prefix: Annotated[int, Within(ge=1, le=7)] | None = None
    suffix: Annotated[int, Within(ge=1, le=7)] | None = None

    def __post_init__(self) -> None:
        if (self.prefix is None) == (self.suffix is None):
            raise ValueError("wanted either prefix or suffix")


class Dictionary(Parameters):
    """New features for each feature of a namespace whose name is in a file.

    Attributes:
        file: lines `word feature:value feature ...`, in VW's text; gzip, Zstandard and zip are unpacked.
        namespace: of the features; empty: the anonymous one.
    """

    file: Annotated[str, ExampleValue("words.txt")]
    namespace: str = ""


class Made(Parameters):
    """All that a parser makes of names.

    Attributes:
        affixes: the first or last bytes of names, in the namespace `affix`.
        shapes: namespaces; names with their letters and digits made alike, in the namespace `shape`.
        dictionaries: features looked up by names, in the namespace `dictionary`.
        renamed: namespaces that count as another, by the other's name.
    """

    affixes: tuple[Affix, ...] = ()
    shapes: tuple[str, ...] = ()
    dictionaries: tuple[Dictionary, ...] = ()
    renamed: dict[str, tuple[str, ...]] | None = None

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to make."""
        return bool(self.affixes or self.shapes or self.dictionaries or self.renamed)


KINDS = AFFIX, SHAPE, DICTIONARY = range(3)
NAMES = ("affix", "shape", "dictionary")
"""Namespaces of the made features, where those are full names."""


def ids_of_made(mode: NamespaceMode) -> tuple[int, int, int]:
    """Ids of the namespaces of made features: VW's, where namespaces are first letters."""
    if mode == "letter":
        return AFFIX_LETTER, SHAPE_LETTER, DICTIONARY_LETTER
    affix, shape, dictionary = (namespace_id(name) for name in NAMES)
    return affix, shape, dictionary


Words = dict[bytes, tuple[NDArray[np.uint32], NDArray[np.float32]]]
"""Indices, of 32 bits, and values of the features of a dictionary, by word."""
