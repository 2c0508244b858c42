"""The commands of `hutch`; its own are found without pluggy and without third parties, to start fast."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from hutch.core.chain.registry import Command
from hutch.plugins.defaults import DEFAULT_PLUGINS


@cache
def _own() -> Mapping[str, Command]:
    found: dict[str, Command] = {}

    def register(name: str, place: str, help: str, group: str = "More") -> None:
        found[name] = Command(place, help, group)

    for module in DEFAULT_PLUGINS:
        hook = getattr(import_module(module), "hutch_register_commands", None)
        if hook is not None:
            hook(register)
    return found


def commands_with(name: str) -> Mapping[str, Command]:
    """The commands to look a name up in: Hutch's own if it is among these, else those of all installed plugins.

    Args:
        name: as typed behind `hutch`.

    >>> commands_with("train")["train"].help
    'Learn from data.'
    """
    if name in _own():
        return _own()
    from hutch.plugins.manager import installed

    return installed().registry.commands
