"""Options of Vowpal Wabbit for commands, taken from the table of its options."""

import inspect
from collections.abc import Callable, Sequence
from keyword import iskeyword
from types import SimpleNamespace
from typing import Annotated, Any

from hutch.shell.declared import Command, Option
from hutch.shell.options import keyword, taking
from hutch.vw.options.option import LEARNER
from hutch.vw.options.option import Option as VWOption
from hutch.vw.options.table import GROUPS, NAMED

_TYPES: dict[str, Any] = {"flag": bool, "int": int, "float": float, "text": str, "texts": list[str], "words": list[str]}


def takes_vw_options(
    names: Sequence[str], *, defaults: dict[str, Any] | None = None, helps: dict[str, str] | None = None
) -> Callable[[Command], Command]:
    """Give a command options of VW, with the names, kinds and descriptions that the table has.

    Args:
        names: of the options; a short name that the command has itself stays the command's.
        defaults: by name, in place of the table's; `...` is for an option that must be given.
        helps: by name, descriptions in place of the table's.

    Returns:
        A decorator for a command that takes them as the attributes of one argument `vw`.
    """
    values = defaults or {}

    def decorate(command: Command) -> Command:
        own = [each for each in inspect.signature(command).parameters.values() if each.name != "vw"]
        taken = {name for each in own for name in _names_of(each)}
        added = [_parameter(NAMED[name], values, (helps or {}).get(name), taken) for name in names]
        return taking(command, "vw", added, lambda **given: SimpleNamespace(**{n: given[_argument(n)] for n in names}))

    return decorate


def _names_of(parameter: inspect.Parameter) -> list[str]:
    """The given names of an option; none of an argument."""
    said = parameter.annotation.__metadata__[0]
    return [name for name in (said.default, *(said.param_decls or ())) if isinstance(name, str)]


def _argument(name: str) -> str:
    """An option's name in Python, where `lambda` is a keyword."""
    return f"{name}_" if iskeyword(name) else name


def _parameter(option: VWOption, defaults: dict[str, Any], text: str | None, taken: set[str]) -> inspect.Parameter:
    names = [f"--{option.name}", *([f"-{option.short}"] if option.short and f"-{option.short}" not in taken else [])]
    kind = _TYPES[option.kind]
    known = None if option.part in LEARNER else option.default  # the chain has its own
    default = defaults.get(option.name, False if kind is bool else known)
    heading = next(heading for heading, options in GROUPS.items() if option in options)
    said = Option(
        *names,
        help=text or option.help,
        metavar=option.metavar or None,
        min=option.least,
        rich_help_panel=heading,
    )
    return keyword(_argument(option.name), default, Annotated[kind if default is not None else kind | None, said])
