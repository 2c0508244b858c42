"""The options of a workspace as objects, as Vowpal Wabbit's `get_config` returns them."""

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hutch.vw.options.option import Option
from hutch.vw.options.table import GROUPS, OPTIONS

Config = dict[str, list[tuple[str, list["VWOption"]]]]
"""Options by layer and heading; `general` are those of no layer."""
_GENERAL = "general"


@dataclass
class VWOption:
    """An option of VW.

    Attributes:
        name, short_name: without dashes.
        help_str: what it does.
        keep: whether a model holds it.
        necessary: whether a layer is part of the chain because of it.
        allow_override: whether its first value counts where it is given twice.
        value: as given, else the default.
        value_supplied: whether it was given.
        default_value: None for none.
        default_value_supplied: whether there is one.
        experimental: False.
    """

    name: str
    help_str: str
    short_name: str
    keep: bool
    necessary: bool
    allow_override: bool
    value: Any
    value_supplied: bool
    default_value: Any
    default_value_supplied: bool
    experimental: bool = False

    def is_flag(self) -> bool:
        """Whether it has no value."""
        return isinstance(self.value, bool)

    def __str__(self) -> str:
        if not self.value_supplied:
            return ""
        values = self.value if isinstance(self.value, list) else [self.value]
        return f"--{self.name}" if self.is_flag() else " ".join(f"--{self.name}={value}" for value in values)


def _view(option: Option, given: Namespace) -> VWOption:
    value = getattr(given, option.name)
    supplied = value is not None and value is not False and value != []
    default = option.default if value is None or option.default is not None else type(value)()
    return VWOption(
        name=option.name,
        help_str=option.help,
        short_name=option.short,
        keep=bool(option.sets),
        necessary=option.brings_layer,
        allow_override=option.name in ("learning_rate", "power_t"),
        value=value if supplied else default,
        value_supplied=supplied,
        default_value=default,
        default_value_supplied=default is not None,
    )


def config_of(given: Namespace, layers: Iterable[str] | None = None) -> Config:
    """The options of a command line.

    Args:
        given: the command line, read.
        layers: names of those whose options are wanted beside the general ones; None: of all.
    """
    headings = {option.name: heading for heading, group in GROUPS.items() for option in group}
    found: dict[str, dict[str, list[VWOption]]] = {}
    wanted = None if layers is None else set(layers)
    for option in OPTIONS:
        if option.supported and (wanted is None or not option.layer or option.layer in wanted):
            part = found.setdefault(option.layer or _GENERAL, {})
            part.setdefault(headings[option.name], []).append(_view(option, given))
    return {name: list(groups.items()) for name, groups in found.items()}
