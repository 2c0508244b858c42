"""Groups of commands that import a command's module only when it runs or its help is asked for."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import typer
from typer.main import get_command

from hutch.cli.shell.help import Command, Group
from hutch.core.errors import did_you_mean


class LazyGroup(Group):
    """A group that knows only its commands' names, places and one-line helps.

    Attributes:
        table: name -> (`module:name` of a function or a Typer app, one-line help). A module that is not part of this
            installation leaves its command out.
    """

    table: ClassVar[dict[str, tuple[str, str]]] = {}

    @classmethod
    def names(cls) -> list[str]:
        """The commands of this installation."""
        return [name for name, (target, _) in cls.table.items() if find_spec(target.partition(":")[0])]

    def list_commands(self, ctx: Any) -> list[str]:
        return self.names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.names():
            return None
        module, _, name = self.table[cmd_name][0].partition(":")
        return as_command(getattr(import_module(module), name), cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        names = self.names()
        if args[0] not in names and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}; {did_you_mean(args[0], names)}")
        return super().resolve_command(ctx, args)

    def purposes(self, ctx: Any) -> Iterator[tuple[str, str]]:
        yield from ((name, self.table[name][1]) for name in self.names())


class _App(typer.Typer):
    """A Typer app whose commands are ours."""

    def command(self, name: str | None = None, **options: Any) -> Any:
        return super().command(name, **({"cls": Command} | options))


def new_app(cls: type[Group] = Group, **options: Any) -> typer.Typer:
    """A Typer app as all of ours are: our help, plain tracebacks, no completion options of its own.

    Args:
        cls: the kind of group.
        options: further arguments of `typer.Typer`.
    """
    plain = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}
    return _App(cls=cls, **(plain | options))


def as_command(target: Any, name: str) -> Any:
    """A function or a Typer app as a command of that name."""
    if not isinstance(target, typer.Typer):
        single = new_app()
        single.command(name)(target)
        target = single
    command = get_command(target)
    command.name = name
    return command
