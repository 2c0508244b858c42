"""All commands of `hutch` in Typer."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.main import get_command

from hutch.cli.shell.declared import PLAIN, as_app
from hutch.cli.shell.help import Group
from hutch.cli.shell.outcome import one_message
from hutch.cli.table import COMMANDS, installed, load
from hutch.core.errors import did_you_mean


class Commands(Group):
    """All commands, imported when they run or their help is asked for.

    An error that is the user's becomes one message and an exit status.
    """

    @staticmethod
    def names() -> list[str]:
        """The commands of this installation."""
        return [name for name in COMMANDS if installed(name)]

    def list_commands(self, ctx: Any) -> list[str]:
        return self.names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if not installed(cmd_name):
            return None
        command = get_command(as_app(load(cmd_name), cmd_name))
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not installed(args[0]) and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}; {did_you_mean(args[0], self.names())}")
        return super().resolve_command(ctx, args)

    def purposes(self, ctx: Any) -> Iterator[tuple[str, str]]:
        yield from ((name, COMMANDS[name][1]) for name in self.names())

    def invoke(self, ctx: Any) -> Any:
        try:
            with one_message():
                return super().invoke(ctx)
        except SystemExit as left:
            raise typer.Exit(int(left.code or 0)) from None


app = typer.Typer(cls=Commands, no_args_is_help=True, **(PLAIN | {"add_completion": True}))


def _say_version(wanted: bool) -> None:
    if wanted:
        from hutch import __version__

        print(f"hutch {__version__}")
        raise typer.Exit


@app.callback()
def hutch(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Noisy human labels in, an online model out.

    Example: hutch train data.vw -C chain.yaml -f model
    """
