"""Vowpal Wabbit's names for layers, from the layers' own files."""

import re
from collections.abc import Iterator
from dataclasses import replace

from hutch.core.chain import vw_option
from hutch.core.chain.vw_option import Option, VwLayer
from hutch.plugins.defaults import reduction_files

_DECLARATION = re.compile(
    r'\n    (?:name(?:: ClassVar\[str\])? = "(?P<name>\w+)"|vw = (?P<vw>VwLayer\((?:[^\n]+\)\n|\n.*?\n    \)\n)))',
    re.DOTALL,
)
"""Of a class: its name, and its declaration for VW, which ends with a line that closes the parenthesis."""


def declarations(source: str) -> Iterator[tuple[str, VwLayer]]:
    """The layers of a file that declare their names in Vowpal Wabbit.

    Args:
        source: its text; it is not imported, since that would import everything that compiles kernels.

    >>> dict(declarations('\\n    name: ClassVar[str] = "top"\\n    vw = VwLayer(learner="best")\\n'))["top"].learner
    'best'
    """
    name = ""
    for found in _DECLARATION.finditer(source):
        name = found["name"] or name
        if found["vw"]:
            layer: VwLayer = eval(found["vw"], vars(vw_option))
            places = (f"{name}.{option.sets}" if option.sets else name for option in layer.options)
            placed = (replace(option, sets=place) for option, place in zip(layer.options, places, strict=True))
            yield name, replace(layer, options=tuple(placed))


def _declared() -> Iterator[tuple[str, VwLayer]]:
    for file in reduction_files().values():
        with open(file, encoding="utf-8") as source:
            text = source.read()
        if "    vw = VwLayer(" in text:
            yield from declarations(text)


DECLARED = dict(sorted(_declared()))
"""Vowpal Wabbit's view of each layer that declares it, by the layer's name."""

BASES = {name: layer for name, layer in DECLARED.items() if layer.in_place_of}
"""Those of them that are learners in place of the usual one."""

DECISION_OPTIONS: tuple[Option, ...] = tuple(
    option for name, layer in DECLARED.items() if name not in BASES for option in layer.options
)
BASE_OPTIONS: tuple[Option, ...] = tuple(option for layer in BASES.values() for option in layer.options)
