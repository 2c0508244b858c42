"""Options that several commands share, and commands whose options are the fields of a dataclass."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from typing import Annotated, Any

from hutch.shell.declared import Command, Option

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
        rich_help_panel="Data and passes",
    ),
]
"""The option `--format` of commands that read data."""


def takes(options: type[Any], name: str) -> Callable[[Command], Command]:
    """Give a command the annotated fields of a dataclass as further options.

    Args:
        options: the dataclass.
        name: of the command's argument that gets one of them.
    """
    declared = [each for each in fields(options) if hasattr(each.type, "__metadata__")]
    added = [keyword(each.name, ... if each.default is MISSING else each.default, each.type) for each in declared]
    return lambda command: taking(command, name, added, options)


def taking(command: Command, name: str, added: list[inspect.Parameter], make: Callable[..., Any]) -> Command:
    """A command with more parameters, of whose values its argument `name` is made.

    Args:
        command: has an argument of that name.
        name: of the argument.
        added: the parameters.
        make: makes the argument of their values, given by name.
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each.name != name] + added

    @wraps(command)
    def run(**given: Any) -> int | None:
        made = make(**{each.name: given.pop(each.name) for each in added})
        return command(**given, **{name: made})

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    """A parameter of a command.

    Args:
        name: in Python.
        default: of its value; `...` stands for none.
        annotation: its type and what Typer says of it.
    """
    default = inspect.Parameter.empty if default is ... else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
