"""Vowpal Wabbit's names for the layers of all installed plugins, Hutch's own and third parties'."""

from dataclasses import replace

from hutch.plugins.manager import installed
from hutch.vw.option import Option, VwLayer


def placed(name: str, layer: VwLayer) -> VwLayer:
    """A declaration whose options say the layer that they belong to.

    Args:
        name: of the layer.
        layer: as its plugin declares it, where `sets` names a parameter alone.

    >>> from hutch.vw.option import new_int
    >>> placed("top", VwLayer(learner="top", options=(new_int("top", "Keep N.", sets="count"),))).options[0].sets
    'top.count'
    """
    places = (f"{name}.{option.sets}" if option.sets else name for option in layer.options)
    options = (replace(option, sets=place) for option, place in zip(layer.options, places, strict=True))
    return replace(layer, options=tuple(options))


DECLARED = {name: placed(name, layer) for name, layer in sorted(installed().registry.vw_layers.items())}
"""Vowpal Wabbit's view of each layer that has one, by the layer's name."""

BASES = {name: layer for name, layer in DECLARED.items() if layer.in_place_of}
"""Those of them that are learners in place of the usual one."""

DECISION_OPTIONS: tuple[Option, ...] = tuple(
    option for name, layer in DECLARED.items() if name not in BASES for option in layer.options
)
BASE_OPTIONS: tuple[Option, ...] = tuple(option for layer in BASES.values() for option in layer.options)
