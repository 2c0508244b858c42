"""Vowpal Wabbit's names for the layers of all installed plugins, Hutch's own and third parties'."""

from dataclasses import replace

from hutch.core.errors import warn
from hutch.plugins.manager import installed
from hutch.vw.options.common import COMMON
from hutch.vw.options.option import Option, VwLayer


def placed(name: str, layer: VwLayer) -> VwLayer:
    """A declaration whose options say the layer that they belong to.

    Args:
        name: of the layer.
        layer: as its plugin declares it, where `sets` names a parameter alone.

    >>> from hutch.vw.options.option import new_int
    >>> placed("top", VwLayer(learner="top", options=(new_int("top", "Keep N.", sets="count"),))).options[0].sets
    'top.count'
    """
    places = (f"{name}.{option.sets}" if option.sets else name for option in layer.options)
    options = (replace(option, sets=place) for option, place in zip(layer.options, places, strict=True))
    return replace(layer, options=tuple(options))


def _declared() -> dict[str, VwLayer]:
    """The layers of all plugins but those that declare an option, or a letter, of another; these are named."""
    registry = installed().registry
    taken = {name: "hutch vw" for group in COMMON.values() for option in group for name in _names_of(option)}
    found: dict[str, VwLayer] = {}
    for name, layer in registry.vw_layers.items():
        own = [given for option in layer.options for given in _names_of(option)]
        clash = next((given for given in own if given in taken), None)
        if clash is not None:
            origin = registry.origins["vw_layers", name]
            warn(f"plugin {origin!r}: the layer {name!r} has the option {clash}, which {taken[clash]} has: left out")
            continue
        found[name] = placed(name, layer)
        taken |= dict.fromkeys(own, f"the layer {name!r}")
    return dict(sorted(found.items()))


def _names_of(option: Option) -> list[str]:
    return [f"--{option.name}", *([f"-{option.short}"] if option.short else [])]


DECLARED = _declared()
"""Vowpal Wabbit's view of each layer that has one, by the layer's name."""

BASES = {name: layer for name, layer in DECLARED.items() if layer.in_place_of}
"""Those of them that are learners in place of the usual one."""

DECISION_OPTIONS: tuple[Option, ...] = tuple(
    option for name, layer in DECLARED.items() if name not in BASES for option in layer.options
)
BASE_OPTIONS: tuple[Option, ...] = tuple(option for layer in BASES.values() for option in layer.options)
