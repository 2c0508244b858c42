"""How commands declare their arguments and options, in Typer's words, and groups of them; all have our help."""

from collections.abc import Callable
from typing import Any

import typer
from typer import Argument as Argument
from typer import Option as Option

from hutch.shell.help import Command as OurCommand
from hutch.shell.help import Group as OurGroup

Command = Callable[..., int | None]
"""A command: a function whose annotations are its options; it returns the exit status, None for 0."""

PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}
"""Settings of all our apps: our help, plain tracebacks, no completion options."""


def ray_option(work: str, heading: str = "Shards") -> Any:
    """The option that names a Ray cluster, of every command with work for one."""
    return Option(metavar="ADDRESS", help=f"{work} on this Ray cluster; auto, local.", rich_help_panel=heading)


class Group(typer.Typer):
    """Commands that are called by a name after a common one.

    Args:
        help: their purpose.
        default: the command that runs if none is named.
    """

    def __init__(self, help: str, default: str = "") -> None:
        super().__init__(
            cls=OurGroup, help=help, no_args_is_help=not default, invoke_without_command=bool(default), **PLAIN
        )

        @self.callback()
        def run(context: typer.Context) -> None:
            if default and context.invoked_subcommand is None:
                group: Any = context.command
                command = group.get_command(context, default)
                command.invoke(command.make_context(default, [], parent=context))

    def command(self, name: str | None = None, *, cls: Any = OurCommand, **options: Any) -> Callable[[Any], Any]:
        """Decorate a function as a command of that name, by default its own."""
        return super().command(name, cls=cls, **options)


def as_app(target: Command | Group, name: str) -> typer.Typer:
    """A function with declared parameters as a Typer app; a group is one.

    Args:
        target: the function or the group.
        name: of the command, if it is one.
    """
    if isinstance(target, Group):
        return target
    app = typer.Typer(**PLAIN)
    app.command(name, cls=OurCommand)(target)
    return app
