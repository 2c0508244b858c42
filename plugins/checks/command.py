"""Contract checks of a command: that it can be imported, called for help, and understood."""

import inspect
from collections.abc import Callable
from functools import partial

from hutch.core.chain.registry import Command, Registry


def is_found(command: Command) -> None:
    """Its place names a function, or a group of them."""
    try:
        found = command.load()
    except Exception as error:
        raise AssertionError(f"{command.place}: got {type(error).__name__}: {error}, wanted a function") from None
    if not callable(found) and not hasattr(found, "commands"):
        raise AssertionError(f"{command.place}: got {type(found).__name__}, wanted a function")


def says_what_it_does(command: Command) -> None:
    """It has a line of help, and its function a docstring."""
    if not command.help.strip() or "\n" in command.help:
        raise AssertionError(f"help: got {command.help!r}, wanted one line")
    function = command.load()
    if inspect.isfunction(function) and not (function.__doc__ or "").strip():
        raise AssertionError(f"{command.place}: got no docstring, wanted one: it is the text of --help")


def arguments_are_typed(command: Command) -> None:
    """Each argument has an annotation, by which what is typed is read."""
    function = command.load()
    if inspect.isfunction(function):
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.annotation is parameter.empty:
                raise AssertionError(f"{command.place}: {name} has no annotation, wanted one such as {name}: str")


_CHECKS: tuple[Callable[[Command], None], ...] = (is_found, says_what_it_does, arguments_are_typed)


def runs_of_command(command: Command, registry: Registry) -> dict[str, Callable[[], None]]:
    """What the checks of a command run, by the name of the check.

    Args:
        command: as a plugin registers it.
        registry: the installed plugins, which are not needed.
    """
    return {check.__name__: partial(check, command) for check in _CHECKS}
