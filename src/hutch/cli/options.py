"""Options that several commands share, most of them Vowpal Wabbit's, taken from the table of its options."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from functools import wraps
from keyword import iskeyword
from types import SimpleNamespace
from typing import Annotated, Any

from hutch.cli.shell.declared import Command, Option
from hutch.vw.option import LEARNER
from hutch.vw.option import Option as VWOption
from hutch.vw.table import NAMED

Overrides = Annotated[
    list[str] | None,
    Option("--set", metavar="PATH=VALUE", help="Change the chain: weights.bits=20, dyadic.rank=3. Repeatable."),
]
"""The option `--set` of commands that take a chain."""

Format = Annotated[
    str | None,
    Option(
        "--format",
        metavar="ENDING",
        help="Read data as if it ended in this: csv, tsv, ssv (semicolons), jsonl, dsjson.",
    ),
]
"""The option `--format` of commands that read data."""

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
        return _taking(command, "vw", added, lambda **given: SimpleNamespace(**{n: given[_argument(n)] for n in names}))

    return decorate


def takes(options: type[Any], name: str) -> Callable[[Command], Command]:
    """Give a command the annotated fields of a dataclass as further options.

    Args:
        options: the dataclass.
        name: of the command's argument that gets one of them.
    """
    declared = [each for each in fields(options) if hasattr(each.type, "__metadata__")]
    added = [_keyword(each.name, ... if each.default is MISSING else each.default, each.type) for each in declared]
    return lambda command: _taking(command, name, added, options)


def _taking(command: Command, name: str, added: list[inspect.Parameter], make: Callable[..., Any]) -> Command:
    """A command with more parameters, of whose values its argument `name` is made."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each.name != name] + added

    @wraps(command)
    def run(**given: Any) -> int | None:
        made = make(**{each.name: given.pop(each.name) for each in added})
        return command(**given, **{name: made})

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


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
    said = Option(*names, help=text or option.help, metavar=option.metavar or None, min=option.least)
    return _keyword(_argument(option.name), default, Annotated[kind if default is not None else kind | None, said])


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    """A parameter of a command; `...` stands for no default."""
    default = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
