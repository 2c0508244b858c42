"""Reads command lines that are plainly right, so that they need not wait for Typer.

It never has the last word: whatever it does not fully understand it leaves to Typer, which reports mistakes. What it
does understand, Typer reads in the same way.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hutch.cli.shell.declared import Command, Group, Option, Parameter, parameters_of

_FORMS = {int: r"-?[0-9]{1,15}", float: r"-?[0-9]{1,15}(\.[0-9]{0,20})?(e[-+]?[0-9]{1,2})?"}
_READERS: dict[Any, Callable[[str], Any]] = {str: str, Path: Path, int: int, float: float}


class _Unclear(Exception):
    """Words that Typer must read."""


def understood(target: Command | Group, words: list[str]) -> tuple[Command, dict[str, Any]] | None:
    """The command that words call, and its arguments.

    Args:
        target: a command, or a group of which the first word chooses one.
        words: of the command line behind the name of the target.

    Returns:
        None if the words are not plainly right.

    >>> from typing import Annotated
    >>> def say(times: Annotated[int, Option("-n", min=1, help="How often.")] = 1) -> None: ...
    >>> understood(say, ["-n3"])[1], understood(say, ["-n", "0"]), understood(say, ["--help"])
    ({'times': 3}, None, None)
    """
    try:
        if isinstance(target, Group):
            name, words = (words[0], words[1:]) if words else (target.default, [])
            if name not in target.commands:
                return None
            target = target.commands[name]
        return target, _arguments(parameters_of(target), words)
    except _Unclear:
        return None


def _arguments(parameters: list[Parameter], words: list[str]) -> dict[str, Any]:
    """The value of each parameter.

    Raises:
        _Unclear: the words are not plainly right.
    """
    if not all(word and word.isprintable() for word in words):  # neither empty nor bytes that are not text
        raise _Unclear
    options = _options(parameters)
    standing: list[str] = []
    found: dict[str, list[Any]] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            standing += rest
        elif word[0] == "-" and word != "-":
            for parameter, value in _given(word, rest, options):
                found.setdefault(parameter.name, []).append(value)
        else:
            standing.append(word)
    arguments = [each for each in parameters if not each.names]
    for argument in arguments:
        taken = len(standing) if argument.is_many else 1
        if standing:
            found[argument.name] = [_read(argument, word) for word in standing[:taken]]
        del standing[:taken]
    if standing:
        raise _Unclear
    return {each.name: _value(each, found.get(each.name)) for each in parameters}


def _options(parameters: list[Parameter]) -> dict[str, tuple[Parameter, Any]]:
    """Options by their names, with what a name without a value sets."""
    found = {}
    for parameter in parameters:
        for name in parameter.names:
            yes, _, no = name.partition("/")
            found[yes] = (parameter, True)
            if no:
                found[no] = (parameter, False)
    return found


def _given(
    word: str, rest: Iterator[str], options: dict[str, tuple[Parameter, Any]]
) -> Iterator[tuple[Parameter, Any]]:
    """The options in one word, with their values; a value may be the word behind."""
    if word[1] == "-":
        name, equals, value = word.partition("=")
        parameter, flag = _named(name, options)
        if parameter.value_type is bool:
            if equals:
                raise _Unclear
            yield parameter, flag
        else:
            yield parameter, _read(parameter, value if equals else next(rest, ""))
        return
    letters = word[1:]
    while letters:
        (parameter, flag), letters = _named(f"-{letters[0]}", options), letters[1:]
        if parameter.value_type is bool:
            yield parameter, flag
        else:
            yield parameter, _read(parameter, letters or next(rest, ""))
            return


def _named(name: str, options: dict[str, tuple[Parameter, Any]]) -> tuple[Parameter, Any]:
    if name not in options:
        raise _Unclear
    return options[name]


def _read(parameter: Parameter, text: str) -> Any:
    """The value that a word stands for."""
    kind = parameter.value_type.__args__[0] if parameter.is_many else parameter.value_type
    if not text or (kind in _FORMS and not re.fullmatch(_FORMS[kind], text)):
        raise _Unclear
    value = _READERS[kind](text)
    if isinstance(parameter.said, Option):
        low, high = parameter.said.min, parameter.said.max
        if (low is not None and value < low) or (high is not None and value > high):
            raise _Unclear
    return value


def _value(parameter: Parameter, values: list[Any] | None) -> Any:
    """What a command gets for a parameter: the values given, the last of them, or the default."""
    if values:
        return values if parameter.is_many else values[-1]
    variable = parameter.said.envvar if isinstance(parameter.said, Option) else None
    if parameter.default is ... or (variable is not None and variable in os.environ):
        raise _Unclear
    return parameter.default
